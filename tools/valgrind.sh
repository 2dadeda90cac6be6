# Sourced by tools/inside for make valgrind: the SQL tests on a server that runs
# under valgrind's memcheck, from the postmaster on, and those tests of t/ that
# PROVE_TESTS names.
#
# A report counts if flakeid's code is anywhere in it; others are PostgreSQL's own,
# and only listed. Known ones that are PostgreSQL's although flakeid called it are
# in tools/valgrind.supp.
#
# Packaged servers are not built with USE_VALGRIND, so memcheck knows nothing of
# memory contexts, only of the blocks that they get from malloc(): an access
# outside of a block is seen, one to a neighbour within the block is not; and what
# palloc() returns counts as uninitialised only the first time.

reports=$TMPDIR/reports
mkdir "$reports"

# reported KIND
# The reports so far, each once, without numbers of processes and addresses; only
# those that name flakeid's source or library, if KIND is ours, or else the others.
reported() {
    local file

    for file in "$reports"/*; do
        sed 's/^==[0-9]*== \{0,1\}//' "$file"
        echo
    done | awk -v kind="$1" -v source="$PWD/src/" '
        BEGIN { RS = "" }
        {
            ours = index($0, source) || index($0, "/flakeid.so")
            gsub(/0x[0-9A-Fa-f]+/, "0x...")
            if ((kind == "ours") == (ours > 0) && !count[$0]++)
                order[++n] = $0
        }
        END {
            for (i = 1; i <= n; i++)
                print count[order[i]] " times:\n" order[i] "\n"
        }'
}

cat tools/fault.c >>src/flakeid.c
COPT="-g -O1 -fno-omit-frame-pointer -fno-inline ${COPT-}"
with_llvm=no
install_privately

# With the paths of source files, by which reported() knows flakeid's. A report
# about a child is in a file of its own.
wrap_server "exec valgrind --quiet --vgdb=no --leak-check=no --error-limit=no --num-callers=40 \
--fullpath-after= --suppressions=$PWD/tools/valgrind.supp \
--log-file=$reports/%p \"\$server\" \"\$@\""
export PGCTLTIMEOUT=600


make_faults heap freed uninitialised

# What LLVM compiles at run time is not flakeid's.
CONF="jit = off
${CONF-}"
[ -n "${PROVE_TESTS-}" ] || TAP_TESTS=
export PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT-1800} UNIQUE_BATCHES=${UNIQUE_BATCHES-1}
status=0
(run_tests) || status=$?

theirs=$(reported theirs)
ours=$(reported ours)
if [ -n "$theirs" ]; then
    say "reports about PostgreSQL alone, which do not count (their beginnings):"
    awk 'BEGIN { RS = ""; FS = "\n" } { for (i = 1; i <= 5; i++) print $i; print "" }' <<<"$theirs"
fi
if [ -n "$ours" ]; then
    say "reports that name flakeid:"
    echo "$ours"
    die "valgrind has found something: see above"
fi
[ "$status" -eq 0 ] || exit "$status"
say "valgrind has found nothing in flakeid, in $(ls "$reports" | wc -l) processes"
