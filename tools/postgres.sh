# Sourced by the scripts in this directory that build a PostgreSQL, after common.sh and
# system.sh. Writes what is not to be seen unless it fails to $tmp/log.

# fetch_source VERSION DIRECTORY
# Makes the directory, with Debian's source of that version in it, without Debian's
# patches. apt-get keeps nothing of it. Only this user can get there: in PostgreSQL's archives
# all users can write to all directories.
fetch_source() {
    local apt=$tmp/apt mirror options
    local release script extra

    release_of "$1"
    mirror=$(mirror)
    mkdir -m 700 "$apt" "$2"
    mkdir -p "$apt"/{lists/partial,cache/archives/partial,source}
    echo "deb-src $mirror ${extra:-$release} main" >"$apt/sources.list"
    options=(-q -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=)
    (
        cd "$apt/source" &&
            apt-get "${options[@]}" update &&
            apt-get "${options[@]}" source --tar-only "postgresql-$1"
    ) >"$tmp/log" 2>&1 &&
        tar -C "$2" --no-same-owner --strip-components=1 -xf "$(printf '%s\n' "$apt"/source/*.tar.*)"
}

# build_postgres SOURCE PREFIX ARGUMENT...
# Builds a copy of a source tree, and installs it and its contrib modules below PREFIX. The
# arguments are for configure. Only this user can get to the copy, whatever its modes are.
build_postgres() {
    local source=$1 prefix=$2

    shift 2
    command -v bison >/dev/null || install_missing bison
    command -v flex >/dev/null || install_missing flex
    install_missing gcc libc6-dev make perl libipc-run-perl
    rm -rf "$tmp/build"
    mkdir -m 700 "$tmp/build"
    mkdir "$tmp/build/postgres"
    tar -C "$source" -cf - --anchored --exclude=./.git . | tar -C "$tmp/build/postgres" -xf - --no-same-owner
    (
        unset MAKELEVEL MAKEFLAGS MFLAGS COPT # the Makefile of PostgreSQL looks at them
        cd "$tmp/build/postgres" &&
            { [ ! -f GNUmakefile ] || make --silent distclean; } &&
            ./configure --prefix="$prefix" "$@" &&
            make --silent -j"$(nproc)" all &&
            make --silent install &&
            make --silent -C contrib -j"$(nproc)" all &&
            make --silent -C contrib install
    ) >"$tmp/log" 2>&1 </dev/null
}
