# Sourced by tools/engine, tools/run and tools/inside: how TimescaleDB is built.
# tools/engine says what such a file has.

engine_name=TimescaleDB

engine_packages=(cmake libicu-dev libkrb5-dev libssl-dev)

engine_products=(build)

engine_is_source() {
    [ -f "$1/version.config" ] && [ -f "$1/timescaledb.control.in" ] && [ -f "$1/CMakeLists.txt" ]
}

engine_version() {
    sed -n 's/^version *= *//p' "$1/version.config"
}

# The line that refuses others: LESS "15") OR (${PG_VERSION_MAJOR} GREATER "18"
engine_postgres() {
    seq $(sed -nE 's/.*PG_VERSION_MAJOR\} LESS "([0-9]+)".*PG_VERSION_MAJOR\} GREATER "([0-9]+)".*/\1 \2/p' \
        "$1/CMakeLists.txt")
}

# Warnings of a compiler that is newer than the source are no errors.
engine_build() {
    cd "$1"
    ./bootstrap -DPG_CONFIG="$PG_CONFIG" -DCMAKE_BUILD_TYPE=Release \
        -DREGRESS_CHECKS=OFF -DTAP_CHECKS=OFF -DWARNINGS_AS_ERRORS=OFF
    make -C build -j"$(nproc)"
    make -C build install
}
