# Sourced after bench/common.sh by the benchmarks of a server: how to time statements, run
# pgbench, read the WAL and draw pictures.

# Compiles the library of bench/growth/floor.c: $tmp/floor/floor.
build_floor() {
    cp -r bench/growth "$tmp/floor"
    make --silent --directory="$tmp/floor" PG_CONFIG="${PG_CONFIG:-pg_config}" with_llvm=no \
        >"$tmp/make" 2>&1 || {
        cat "$tmp/make" >&2
        die "bench/growth/floor.c could not be compiled"
    }
}

# time_statements SECTION [CALLS [POINT]]
# Runs statements in one session, and records in milliseconds how long each took
# as psql sees it; or in microseconds for each of so many calls. On standard input:
# contender, tab, statement. With - for a contender the time is not recorded. POINT is
# where on a curve this is, or 1.
time_statements() {
    local contender statement word rest

    while IFS=$'\t' read -r contender statement; do
        printf '\\echo contender %s\n%s;\n' "$contender" "$statement"
    done >"$tmp/statements"
    {
        printf '%s\n' '\timing on'
        cat "$tmp/statements"
    } | run_psql --output=/dev/null >"$tmp/times"
    while read -r word rest; do
        if [ "$word" = contender ]; then
            contender=$rest
        elif [ "$contender" != - ]; then
            if [ $# -eq 1 ]; then
                record "$1" "$contender" 1 ms "${rest%% *}"
            else
                record "$1" "$contender" "${3-1}" 'us a call' \
                    "$(calculate "1000 * ${rest%% *} / $2")"
            fi
        fi
    done <"$tmp/times"
}

# transactions_per_second CLIENTS PGBENCH-OPTION...
# Runs $tmp/script and prints that, leaving out the time that connecting took.
transactions_per_second() {
    local clients=$1

    shift
    pgbench --no-vacuum --file="$tmp/script" --client="$clients" \
        --jobs=$((clients < cores ? clients : cores)) "$@" >"$tmp/pgbench" 2>&1 || {
        cat "$tmp/pgbench" >&2
        die "pgbench failed"
    }
    sed -n 's/^tps = \([0-9.]*\) .*/\1/p' "$tmp/pgbench"
}

restart_server() {
    pg_ctl restart --silent --wait --log="$tmp/server.log" || {
        cat "$tmp/server.log" >&2
        die "the server did not restart"
    }
}

# The end of the WAL, flushed. (It is a record of a transaction that does so.)
wal_mark="pg_logical_emit_message(true, 'bench', 'mark')"

# flushes_between START END
# Prints how often a horizon was flushed between two places in the WAL. Each
# time leaves a record of the generic resource manager, which nothing else here
# uses.
flushes_between() {
    pg_waldump --path="$PGDATA/pg_wal" --rmgr=Generic --start="$1" --end="$2" | wc -l
}

# can_draw
# Whether there is gnuplot; then the machine and the date are in $caption.
can_draw() {
    command -v gnuplot >/dev/null || {
        say "no pictures: gnuplot is missing"
        return 1
    }
    caption=$(value_of "
        SELECT concat_ws(' · ', 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1),
                                'flakeid ' || extversion, '$of_rounds', current_date)
        FROM pg_extension WHERE extname = 'flakeid'")
    model=$(sed -E 's/\((R|TM)\)//g; s/ (CPU|Processor)?( @.*)?$//' <<<"$model")
    caption="$model, $cores cores · $caption"
    mkdir -p docs/img
}

# finish_picture PICTURE TITLE
# Makes docs/img/PICTURE.svg of what gnuplot has drawn in $tmp/drawn.svg: puts into it a
# title for those who cannot see it, and bench/style.xml, by which it changes its colours
# on a dark background.
finish_picture() {
    local color

    sed -e 's/^<svg *$/<svg role="img"/' \
        -e 's/<title>gnuplot_plot_[0-9]*<\/title>//' \
        -e "s/<title>Gnuplot<\/title>/<title>$2<\/title>/" \
        -e 's/rgb( *\([0-9]*\), *\([0-9]*\), *\([0-9]*\))/rgb(\1,\2,\3)/g' \
        -e 's/[[:blank:]]*$//' -e '/^$/d' \
        -e '/^<desc>/{' -e 'r bench/style.xml' -e 'd' -e '}' \
        "$tmp/drawn.svg" >"docs/img/$1.svg"
    for color in $(grep -o 'rgb([0-9,]*)' "docs/img/$1.svg" | sort -u); do
        grep -qF "$color" bench/style.xml ||
            say "warning: bench/style.xml does not say what $color is in the dark"
    done
}
