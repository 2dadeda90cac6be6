# Sourced by the scripts in this directory: messages, packages, and which
# PostgreSQL to use.

oldest_version=15

say() {
    printf 'flakeid: %s\n' "$*"
}

die() {
    say "error: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "packages are missing, and only root can install them:" \
            "run this as root, or install sudo"
    fi
}

# Prints an id for what root builds: one that no user has, so that nobody else can change
# it meanwhile, as processes of nobody's could; but nobody where there are no such ids.
unused_user() {
    local id=$((0x70000000 + $$))

    setpriv "--reuid=$id" true 2>/dev/null || id=nobody
    echo "$id"
}

# NEEDRESTART_SUSPEND keeps Ubuntu's needrestart from restarting services, which
# could be the user's own PostgreSQL. Others of these scripts wait for this one: apt-get
# does not by itself where it updates its lists. They wait at a file that only root can
# open; apt's own lock on it is of another kind (fcntl's). Not forked, flock is apt-get, which
# at Control-C comes to an end first.
apt_get() {
    as_root flock --no-fork --timeout 600 --conflict-exit-code 75 /var/lib/dpkg/lock-frontend \
        env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get -q -o DPkg::Lock::Timeout=300 "$@" || {
        [ $? -ne 75 ] || say "another of these scripts has been using apt-get for 10 minutes: try again later"
        return 1
    }
}

# apt-get update, once in a run.
refresh_package_lists() {
    if [ -z "${lists_are_fresh-}" ]; then
        say "apt-get update, to install what is missing"
        apt_get update || die "apt-get update failed: see above"
        lists_are_fresh=yes
    fi
}

is_installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status} ' "$1" 2>/dev/null) == installed* ]]
}

is_available() {
    [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

# install_missing PACKAGE...
# Installs those of the packages that are missing. When none is, neither apt-get
# nor sudo is called.
install_missing() {
    local package version missing=()

    # Elsewhere than on Debian and its kin the user sees to it himself.
    command -v dpkg-query >/dev/null || return 0

    for package; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0

    refresh_package_lists
    for version in $(apt-get install --simulate --no-install-recommends "${missing[@]}" 2>/dev/null |
        sed -nE 's/^Inst postgresql-([a-z]+-)*([0-9]+) .*/\2/p' | sort -u); do
        ! is_foreign "$version" ||
            die "${missing[*]} would go over /usr/lib/postgresql/$version, which is not of Debian's packages"
    done
    say "installing with apt-get: ${missing[*]}"
    apt_get install -y --no-remove --no-install-recommends -o DPkg::Pre-Invoke::="$forbid_main_cluster" \
        -o DPkg::Post-Invoke::="$permit_main_cluster" "${missing[@]}" ||
        die "apt-get could not install ${missing[*]}: see above"
}

# install_if_available PACKAGE...
# Installs those of the packages that are missing and that apt-get knows, as far
# as it can: what needs them does without.
install_if_available() {
    local package wanted=()

    command -v dpkg-query >/dev/null || return 0

    for package; do
        is_installed "$package" || ! is_available "$package" ||
            wanted+=("$package")
    done
    [ ${#wanted[@]} -gt 0 ] || return 0
    apt-get install --simulate --no-remove --no-install-recommends "${wanted[@]}" >/dev/null 2>&1 || {
        say "going on without ${wanted[*]}: not to be had with what is installed"
        return 0
    }
    (install_missing "${wanted[@]}") && lists_are_fresh=yes || say "going on without ${wanted[*]}"
}

# unpack DIR PROGRAM PACKAGE
# Puts a program into PATH if it is not there. Debian's package of it would start a
# service, now and at every boot; so it is unpacked in DIR, and only what it
# needs is installed.
unpack() {
    PATH=$PATH:/usr/sbin
    if command -v "$2" >/dev/null || ! command -v dpkg-query >/dev/null ||
        ! is_available "$3"; then
        return 0
    fi
    # Of alternatives the first.
    install_if_available $(apt-cache show --no-all-versions "$3" |
        sed -n 's/^Depends: //p' | tr ',' '\n' | sed 's/^ *\([^ :|]*\).*/\1/')
    say "unpacking $3, for the time of the test"
    mkdir -p "$1"
    (
        cd "$1"
        apt-get -q download "$3" && dpkg-deb --extract "$3"_*.deb .
    ) >"$1/$3.log" 2>&1 || say "going on without $3: $(tail -n 1 "$1/$3.log")"
    PATH=$PATH:$1/usr/bin:$1/usr/sbin
}

# temporary_parent
# Prints where to make a temporary directory. Programs also look into the parents of theirs
# for packages and settings, as npm and Node.js do, and in /tmp these are anybody's. So for
# root it is where only root can write.
temporary_parent() {
    local parent=/tmp

    [ "$(id -u)" -ne 0 ] || parent=/var/cache
    echo "${FLAKEID_TMP:-$parent}"
}

# What npm and Node.js would take from the parents of a directory, and is neither the
# user's nor root's.
of_others_above() {
    local parent=$1 name

    while [ "$parent" != / ]; do
        parent=$(dirname "$parent")
        for name in "$parent"/{node_modules,package.json,.npmrc}; do
            if { [ -e "$name" ] || [ -h "$name" ]; } && ! [[ $(stat -c %u "$name") =~ ^(0|$(id -u))$ ]]; then
                echo "$name"
                return 0
            fi
        done
    done
}

# install_from_npm DIR PACKAGE_JSON
# Puts the packages that are named there into DIR, and says so in
# JAVASCRIPT_PACKAGES, if npm is there and Node.js is not too old for them. npm keeps
# what it has downloaded in the user's cache. No package's own script is run, and npm does
# not look for a workspace in the parents of the directory. Those of
# devDependencies are left out unless JAVASCRIPT is "all": not by --omit=dev, which keeps
# what is an optional peer of another package.
install_from_npm() {
    local others

    others=$(of_others_above "$1")
    if [ -n "$others" ]; then
        say "going without the packages of npm: Node.js would use $others, which is somebody else's"
        return 0
    fi
    if ! command -v npm >/dev/null || [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
        say "going on without the packages of npm: npm and Node.js 20 are not there"
        return 0
    fi
    say "npm install, for the time of the test"
    mkdir -p "$1"
    JAVASCRIPT=${JAVASCRIPT-} node -e 'const p = require(process.argv[1]);
        if (process.env.JAVASCRIPT !== "all") delete p.devDependencies;
        console.log(JSON.stringify(p));' "$2" >"$1/package.json"
    if (cd "$1" && timeout 300 npm install --no-workspaces --loglevel=error --no-audit --no-fund --no-update-notifier \
        --no-package-lock --ignore-scripts --prefer-offline \
        --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000) \
        >"$1/npm.log" 2>&1; then
        export JAVASCRIPT_PACKAGES=$1
    else
        say "going on without the packages of npm: $(head -n 1 "$1/npm.log")"
    fi
}

# Debian's server packages create and start a cluster "main" when they are first
# installed. The private server needs none, so a file tells them not to: from when apt-get
# has dpkg's lock to when it gives it back. So the user's own apt-get, which waits for the
# lock, does not find it. What killed scripts have left goes first.
cluster_conf_dir=/etc/postgresql-common/createcluster.d
cluster_conf=$cluster_conf_dir/flakeid-$$.conf
forbid_main_cluster="mkdir -p $cluster_conf_dir && rm -f $cluster_conf_dir/flakeid-*.conf &&
    echo 'create_main_cluster = false' >$cluster_conf"
permit_main_cluster="rm -f $cluster_conf; rmdir --ignore-fail-on-non-empty $cluster_conf_dir"

# On exit, in case apt-get was killed.
allow_main_cluster() {
    [ ! -e "$cluster_conf" ] || as_root sh -c "$permit_main_cluster"
}

# choose_postgres
# Sets $bindir to that of the PostgreSQL to use, $postgres_packages to the packages
# it is made of, $plproxy_packages to that of PL/Proxy for it, and $other_packages to
# those of other extensions that tests use, which may not exist: that of PG_CONFIG;
# else the newest one installed, with its development files if any has them; else
# the newest one to be had.
choose_postgres() {
    local version

    postgres_packages=()
    plproxy_packages=()
    other_packages=()
    if [ -n "${PG_CONFIG-}" ]; then
        bindir=$("$PG_CONFIG" --bindir) ||
            die "PG_CONFIG=$PG_CONFIG does not work: give the path of a" \
                "pg_config, or leave PG_CONFIG out"
        [[ $bindir =~ ^/usr/lib/postgresql/([0-9]+)/bin$ ]] || return 0
        version=${BASH_REMATCH[1]}
    else
        version=$(newest_version is_complete) || {
            command -v apt-get >/dev/null || die_without_postgres
            refresh_package_lists
            version=$(newest_version is_completable) ||
                version=$(newest_version is_installable) ||
                die_without_postgres
        }
        bindir=/usr/lib/postgresql/$version/bin
    fi
    # Nothing is installed over a server that is not of this package: it does as it is.
    ! is_foreign "$version" || return 0
    postgres_packages=("postgresql-$version" "postgresql-server-dev-$version")
    plproxy_packages=("postgresql-$version-plproxy")
    other_packages=("postgresql-$version-partman" "postgresql-$version-cron")
}

die_without_postgres() {
    die "PostgreSQL $oldest_version or later is needed, with its development" \
        "files, and none was found: name one with PG_CONFIG=/path/to/pg_config"
}

# newest_version CONDITION
# Prints the newest supported version that meets the condition.
newest_version() {
    local version

    for version in $(known_versions | sort -rnu); do
        if [ "$version" -ge "$oldest_version" ] && "$1" "$version"; then
            echo "$version"
            return 0
        fi
    done
    return 1
}

known_versions() {
    local dir

    for dir in /usr/lib/postgresql/*/bin; do
        dir=${dir%/bin}
        echo "${dir##*/}"
    done | grep -x '[0-9]*'
    if command -v apt-cache >/dev/null; then
        apt-cache pkgnames postgresql-server-dev- |
            sed -n 's/^postgresql-server-dev-\([0-9]*\)$/\1/p'
    fi
}

# Whether a server of this version is there that is not of Debian's package.
is_foreign() {
    local postgres=/usr/lib/postgresql/$1/bin/postgres

    [ -e "$postgres" ] && ! dpkg-query -S "$postgres" 2>/dev/null | grep -q "^postgresql-$1:"
}

is_complete() {
    [ -x "/usr/lib/postgresql/$1/bin/postgres" ] &&
        [ -f "/usr/lib/postgresql/$1/lib/pgxs/src/makefiles/pgxs.mk" ]
}

is_completable() {
    [ -x "/usr/lib/postgresql/$1/bin/postgres" ] && ! is_foreign "$1" &&
        is_available "postgresql-server-dev-$1"
}

is_installable() {
    ! is_foreign "$1" && is_available "postgresql-$1" && is_available "postgresql-server-dev-$1"
}
