# Sourced by tools/engine, tools/run and tools/inside: how Citus is built.
# tools/engine says what such a file has.

engine_name=Citus

engine_packages=(cmake flex g++ git libcurl4-openssl-dev libicu-dev libkrb5-dev liblz4-dev
    libpam0g-dev libpq-dev libreadline-dev libselinux1-dev libssl-dev libxml2-dev libxslt1-dev
    libzstd-dev zlib1g-dev)

engine_products=()

engine_is_source() {
    [ -f "$1/src/backend/distributed/citus.control" ] && [ -f "$1/configure" ]
}

engine_version() {
    sed -n 's/^AC_INIT(\[Citus\], \[\(.*\)\])$/\1/p' "$1/configure.ac"
}

# The line that refuses others: "$version_num" != '16' -a "$version_num" != '17'
engine_postgres() {
    grep -F 'test "$version_num" != ' "$1/configure.ac" | grep -oE "'[0-9]+'" | tr -d "'"
}

engine_build() {
    cd "$1"
    ./configure PG_CONFIG="$PG_CONFIG"
    make -j"$(nproc)" with_llvm=no
    make with_llvm=no install-extension
}
