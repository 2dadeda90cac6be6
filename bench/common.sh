# Sourced by the benchmarks after tools/common.sh: how often to measure, where to note what
# was measured, and how to print it.

rounds=${ROUNDS:-5}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS=$rounds must be a number from 1 on"

of_rounds="medians of $rounds rounds"
[ "$rounds" -gt 1 ] || of_rounds='one round'

cores=$(nproc)

# The script that sources this removes it.
tmp=$(mktemp -d)
measured=$tmp/measured

run_psql() {
    psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"
}

# value_of SQL
value_of() {
    run_psql --no-align --tuples-only --command="$1"
}

# record SECTION CONTENDER CLIENTS UNIT VALUE
record() {
    local IFS=$'\t'

    printf '%s\n' "$*" >>"$measured"
}

# calculate EXPRESSION
calculate() {
    awk "BEGIN { printf \"%.6f\", $1 }"
}

# describe_machine SERVER
describe_machine() {
    model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    model=${model:-unnamed processor}
    say "$model, $cores cores"
    say "$(uname -srm)"
    say "$(value_of 'SELECT version()')"
    say "$1; $of_rounds"
}

# print_report REPORT PSQL-OPTION...
# Loads what was recorded into the server, which works out medians and ratios.
print_report() {
    run_psql --command="\\copy bench.measured (section, contender, clients, unit, value) from '$measured'"
    run_psql --file="$1" "${@:2}"
}
