#!/usr/bin/env bash
# distributor.sh <include folder of hiredis>: shoal as a distributor builds it, from
# nothing but libraries of the system, outside of the tree, with no network and no
# pkg-config; each kind of library alone, and not optimised: other tests look at that.  A system without hiredis >= 1.1 is given one, in
# a prefix.  Expects SHOAL_TEST_URL (tests/support/with_redis.sh).
set -euo pipefail

include=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/shoal-package.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cc=${CC:-cc}
export SHOAL_DEPS_CACHE=$scratch/cache # nothing that was downloaded before is in reach

offline=()
if unshare --map-root-user --net true 2>/dev/null; then
    offline=(unshare --map-root-user --net)
fi

fail() {
    echo "distributor: $*" >&2
    exit 1
}

quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log"
        fail "failed: $*"
    }
}

configure() { # configure <folder> <option ...>, without pkg-config
    local generator=()
    if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    if command -v ccache >/dev/null; then
        generator+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    "${offline[@]}" cmake -S "$root" -B "$scratch/$1" "${generator[@]}" \
        -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DSHOAL_LTO=OFF \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 "${@:2}"
}

# make_hiredis <prefix>: a shared hiredis, as a newer distribution has it.
make_hiredis() {
    mkdir -p "$1/lib" "$1/include/hiredis"
    cp "$include"/hiredis/*.h "$1/include/hiredis"
    quietly "$cc" -w -O2 -fPIC -shared -Wl,-soname,libhiredis.so.1 \
        -o "$1/lib/libhiredis.so.1" "$include"/hiredis/{alloc,async,hiredis,net,read,sds}.c
    ln -s libhiredis.so.1 "$1/lib/libhiredis.so"
}

# With nothing there, CMake names both ways, and downloads nothing.
if configure bare -DCMAKE_FIND_ROOT_PATH="$scratch" \
    -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY >"$scratch/log" 2>&1; then
    fail "configured without any library"
fi
for words in 'two ways' 'Install it' 'SHOAL_LIBUV=bundled' 'SHOAL_LIBUV_SRC'; do
    grep -q -- "$words" "$scratch/log" || { cat "$scratch/log"; fail "no word of: $words"; }
done
[ ! -e "$SHOAL_DEPS_CACHE" ] || fail "something was downloaded"

system=$scratch/system
export LD_LIBRARY_PATH=$system/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -f "$include/hiredis/read.c" ]; then
    make_hiredis "$system"
else
    mkdir "$system"
fi

# kind <name> <BUILD_SHARED_LIBS> <the only library that is installed>
kind() {
    quietly configure build -DCMAKE_PREFIX_PATH="$system" -DBUILD_SHARED_LIBS="$2"
    quietly "${offline[@]}" cmake --build "$scratch/build"
    quietly cmake --install "$scratch/build" --prefix "$scratch/$1"
    local installed
    installed=$(cd "$scratch/$1" && find . -name 'libshoal.*' ! -type l -printf '%f\n')
    [[ $installed == $3 ]] || fail "BUILD_SHARED_LIBS=$2 installs $installed"

    quietly cmake -S "$here" -B "$scratch/use_$1" -DSHOAL_ONE_KIND=ON \
        -DCMAKE_PREFIX_PATH="$scratch/$1;$system" \
        -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
    quietly cmake --build "$scratch/use_$1"
    printf '%s: ' "$1"
    "$scratch/use_$1/consumer" "$SHOAL_TEST_URL"
}

kind static OFF libshoal.a
kind shared ON 'libshoal.so.*'
[ ! -e "$SHOAL_DEPS_CACHE" ] || fail "something was downloaded"
if [ ! -f "$scratch/shared/share/doc/shoal/LICENSE" ]; then fail "no licence"; fi
echo "distributor ok${offline:+, offline}"
