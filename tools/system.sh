# Sourced by the scripts in this directory that need a Debian of their own, after
# common.sh: makes one with debootstrap in the directory $root, runs commands in
# it, and removes it. Writes what is not to be seen unless it fails to $tmp/log.
#
# Which Debian:
#   $release        its name
#   $script         the script of debootstrap that knows it, or empty
#   $sources        lines for its /etc/apt/sources.list besides, or not set
#   $extra          where else PostgreSQL $version is to be had from, or empty
#   $MIRROR         where Debian is to be had; the mirror that apt uses, if not set
#   $ARCH           Debian's name of the machine, as s390x; this one, if not set. For
#                   one that this machine cannot be, call emulate first

# release_of VERSION
# Sets $release, $script and $extra: which release of Debian has this version of
# PostgreSQL, which script of debootstrap knows it, and where its packages are if
# not there.
release_of() {
    script=
    extra=
    case $1 in
        15) release=bookworm ;;
        17) release=trixie ;;
        18) release=forky script=/usr/share/debootstrap/scripts/sid ;;
        19) release=forky script=/usr/share/debootstrap/scripts/sid extra=experimental ;;
        *) die "no release of Debian is known to have PostgreSQL $1: 15, 17, 18 and 19 can be tested" ;;
    esac
}

# copy_tree DIRECTORY COPY [EXCLUDED...]
# Copies a source tree, but not what an earlier build left, nor what is excluded.
copy_tree() {
    local from=$1 to=$2

    shift 2
    mkdir "$to"
    tar -C "$from" -cf - --anchored --exclude=./.git "${@/#/--exclude=./}" \
        --no-anchored --exclude='*.o' --exclude='*.bc' --exclude='*.so' . |
        tar -C "$to" -xf - --no-same-owner
}

mirror() {
    local uri

    uri=${MIRROR-}
    [ -n "$uri" ] || uri=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' | head -n 1)
    [ -n "$uri" ] || die "apt knows no mirror of Debian: give one with MIRROR="
    echo "$uri"
}

# emulate DIRECTORY
# Has the kernel run programs for $ARCH with QEMU until stop_emulation, unless it runs
# them by itself. QEMU is unpacked in DIRECTORY: if Debian's package of it were installed,
# the kernel would do that from then on, at every boot.
binfmt=/proc/sys/fs/binfmt_misc
handler=
emulate() {
    local machine kind type mask program zeros='\x00\x00\x00\x00\x00\x00\x00\x00' ones='\xff\xff\xff\xff\xff\xff\xff'

    # What an ELF file begins with: 64 bits and which byte comes first, then that it is
    # an executable or (with the mask) a library, and for which machine.
    case "$(dpkg --print-architecture) $ARCH" in
        "$ARCH $ARCH" | 'amd64 i386') return 0 ;;
        *\ arm64) machine=aarch64 kind='\x02\x01' type='\x02\x00\xb7\x00' mask='\xfe\xff\xff\xff' ;;
        *\ s390x) machine=s390x kind='\x02\x02' type='\x00\x02\x00\x16' mask='\xff\xfe\xff\xff' ;;
        *) die "ARCH=$ARCH: arm64, s390x, and i386 on amd64 are to be had besides this machine" ;;
    esac
    unpack "$1" "qemu-$machine-static" qemu-user-static
    program=$(command -v "qemu-$machine-static" || command -v "qemu-$machine") ||
        die "qemu-user-static is needed, and was not found"
    if [ ! -e "$binfmt/register" ]; then
        mount -t binfmt_misc binfmt_misc "$binfmt" ||
            die "the kernel cannot be told what runs programs for $ARCH: it needs binfmt_misc"
        binfmt_mounted=yes
    fi
    handler=flakeid-$$
    # P keeps the program's name as it was given; F has the kernel open QEMU now, so
    # that the new system need not have it.
    printf '%s\n' ":$handler:M::\\x7fELF$kind\\x01\\x00$zeros$type:$ones\\x00\\xff${ones}$mask:$program:PF" \
        >"$binfmt/register"
}

stop_emulation() {
    [ -z "$handler" ] || [ ! -e "$binfmt/$handler" ] || echo -1 >"$binfmt/$handler"
    # Unless somebody else has begun to use it.
    [ -z "${binfmt_mounted-}" ] || [ "$(ls -x "$binfmt")" != 'register  status' ] || umount "$binfmt"
}

in_system() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# Mounts what PostgreSQL needs, unless it is there; leave_system undoes that.
mounted=()
enter_system() {
    local type directory

    for type in proc:proc tmpfs:dev/shm; do
        directory=$root/${type#*:}
        type=${type%%:*}
        if ! mountpoint --quiet "$directory"; then
            mount -t "$type" "$type" "$directory" || return 1
            mounted+=("$directory")
        fi
    done
}

leave_system() {
    [ ${#mounted[@]} -eq 0 ] || umount "${mounted[@]}" 2>/dev/null || true
    mounted=()
}

# make_system PACKAGE...
# Makes one with nothing but these packages, and what they depend on. Installing
# PostgreSQL's server creates no cluster there.
make_system() {
    local mirror

    mirror=$(mirror)
    debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
        ${ARCH:+"--arch=$ARCH"} "$release" "$root" "$mirror" ${script:+"$script"} >"$tmp/log" 2>&1 || return 1
    cp /etc/resolv.conf "$root/etc/"
    cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
    # No question about a file that has just been copied and is a package's own.
    printf '%s\n' 'Acquire::Check-Valid-Until "false";' \
        'DPkg::Options { "--force-confold"; };' >"$root/etc/apt/apt.conf.d/90flakeid"
    printf '%s\n' "${sources-}" >>"$root/etc/apt/sources.list"
    if [ -n "$extra" ]; then
        # From there nothing but PostgreSQL and its library.
        echo "deb $mirror $extra main" >>"$root/etc/apt/sources.list"
        printf '%s\n' "Package: /^postgresql.*-$version\$/ libpq5 libpq-dev" \
            "Pin: release a=$extra" 'Pin-Priority: 990' >"$root/etc/apt/preferences.d/flakeid"
    fi
    mkdir -p "$root/dev/shm" "$root$cluster_conf_dir"
    echo 'create_main_cluster = false' >"$root$cluster_conf_dir/none.conf"
    enter_system || return 1
    in_system apt-get -q update >>"$tmp/log" 2>&1
    in_system apt-get -q install -y --no-install-recommends "$@" >>"$tmp/log" 2>&1
}

# The processes that have it as their root directory.
processes_in_system() {
    local process

    for process in /proc/[0-9]*; do
        if [ "$(readlink "$process/root")" = "$root" ]; then
            echo "${process#/proc/}"
        fi
    done 2>/dev/null
}

# First politely: to a postmaster, QUIT means to stop at once, but to tidy up the
# shared memory.
remove_system() {
    local pids signal=QUIT tries=0

    while pids=$(processes_in_system) && [ -n "$pids" ] && [ "$tries" -le 100 ]; do
        [ $((tries += 1)) -le 50 ] || signal=KILL
        kill "-$signal" $pids 2>/dev/null || true
        sleep 0.1
    done
    leave_system
    rm -rf --one-file-system "$root"
}
