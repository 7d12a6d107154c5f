#!/usr/bin/env bash
# build.sh [suite [folder]]: builds Debian packages of this tree as a distributor would: in a
# bare root of the suite (default trixie), from the distribution's libraries, with no network.
# Runs lintian, installs the packages into another bare root, and there compiles and runs an
# example against them.  All of it is in the folder, default build/debian.
set -euo pipefail
cd "$(dirname "$0")/../.."
. packaging/root.sh
own_mounts packaging/debian/build.sh "$@"

suite=${1:-trixie}
mkdir -p "${2:-build/debian}"
folder=$(cd "${2:-build/debian}" && pwd)
recipe=packaging/debian/debian
version=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' $recipe/changelog)
log=$folder/build.log

step() {
    local name=$1
    shift
    printf -- '-- %s\n' "$name"
    "$@" >"$log" 2>&1 || { tail -n 60 "$log"; echo "failed: $name ($log)"; exit 1; }
}

apt() { in_root "$1" / apt-get -q -y --no-install-recommends "${@:2}"; }

packages() {
    make_root "$folder/root" "$suite"
    local root=$folder/root tree=/build/shoal-$version
    copy_tree "$root$tree"
    tar -C "$root/build" -czf "$root/build/shoal_$version.orig.tar.gz" "shoal-$version"
    cp -r $recipe "$root$tree/debian"
    step "what building needs" prepare "$root" "$tree"
    step "dpkg-buildpackage, offline" unshare --net chroot "$root" \
        sh -c "cd $tree && LC_ALL=C.UTF-8 dpkg-buildpackage -us -uc"
    grep -E 'tests passed' "$log"
    step "lintian" in_root "$root" /build sh -c \
        'lintian --allow-root --fail-on error,warning --tag-display-limit 0 ./*.changes'
    cat "$log"
    rm -rf "$folder/result"
    mkdir "$folder/result"
    find "$root/build" -maxdepth 1 -type f -exec cp -t "$folder/result" {} +
}

prepare() {
    apt "$1" update
    apt "$1" install build-essential lintian
    in_root "$1" "$2" apt-get -q -y --no-install-recommends build-dep ./
}

# Nothing of shoal's sources is there but the test.
use() {
    local root=$folder/clean
    make_root "$root" "$suite"
    mkdir -p "$root/use"
    cp "$folder"/result/*.deb "$root/use"
    tar -c examples/hello.c tests/support/with_redis.sh -C $recipe/.. debian/tests |
        tar -C "$root/use" -xf -
    step "installation" install "$root"
    step "example against the packages" in_root "$root" /use debian/tests/example
    cat "$log"
}

install() {
    apt "$1" update
    in_root "$1" /use sh -c \
        'apt-get -q -y --no-install-recommends install ./*.deb gcc libc6-dev pkgconf redis-server'
}

packages
use
(cd "$folder/result" && ls ./*.deb)
echo "debian packages ok: $suite"
