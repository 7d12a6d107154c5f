# Sourced.  Bare Debian roots, for scripts that show what a new machine would do.
# shellcheck shell=bash

# Mounts of this process end with it.  Call first, with "$0" "$@".
own_mounts() {
    if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
        echo "$(basename "$1"): wants to be root, and debootstrap" >&2
        exit 77
    fi
    if [ -z "${SHOAL_OWN_MOUNTS:-}" ]; then
        SHOAL_OWN_MOUNTS=1 exec unshare --mount "$@"
    fi
}

# make_root <folder> <suite>: a fresh one.  What debootstrap made is kept beside it.
make_root() {
    local kept
    kept=$(dirname "$1")/$2.tar
    rm -rf --one-file-system "$1"
    mkdir -p "$1"
    if [ ! -f "$kept" ]; then
        echo "-- debootstrap $2"
        debootstrap --variant=minbase "$2" "$1" >"$1.log" 2>&1 || { tail "$1.log"; return 1; }
        printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d" # no service starts
        chmod +x "$1/usr/sbin/policy-rc.d"
        tar -C "$1" -cf "$kept.new" . && mv "$kept.new" "$kept"
    else
        tar -C "$1" -xf "$kept"
    fi
    cp /etc/resolv.conf /etc/hosts "$1/etc" # debootstrap writes neither
    if [ -d /usr/local/share/ca-certificates ]; then # whom this machine trusts besides
        cp -r /usr/local/share/ca-certificates "$1/usr/local/share"
    fi
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
}

# in_root <root> <folder in it> <command ...>; settings of pip and of proxies come along.
in_root() {
    local root=$1 folder=$2 settings
    shift 2
    mapfile -t settings < <(env | grep -iE '^(pip_|[a-z]+_proxy=)')
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "${settings[@]}" \
        sh -c 'cd "$1" && shift && exec "$@"' sh "$folder" "$@"
}

# copy_tree <folder>: what git knows of this tree, with changes that are not committed.
copy_tree() {
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard |
        tar --null --ignore-failed-read -cf - -T - | tar -C "$1" -xf -
}
