#!/usr/bin/env bash
# run.sh <build folder>: installs into a new prefix, then builds and runs a user of
# the package in four ways: find_package and pkg-config, each shared and static.
# Expects SHOAL_TEST_URL (tests/support/with_redis.sh).
set -euo pipefail

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/shoal-package.XXXXXX")
manifest=$build/install_manifest.txt # of the user's own installation, if any
if [ -f "$manifest" ]; then cp -p "$manifest" "$scratch/manifest"; fi

restore() {
    rm -f "$manifest"
    if [ -f "$scratch/manifest" ]; then mv "$scratch/manifest" "$manifest"; fi
    rm -rf "$scratch"
}
trap restore EXIT
prefix=$scratch/prefix
cc=${CC:-cc}

quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log"
        echo "failed: $*"
        exit 1
    }
}

run() {
    printf '%-20s ' "$1:"
    shift
    "$@" "$SHOAL_TEST_URL"
}

quietly cmake --install "$build" --prefix "$prefix"
libdir=$(dirname "$(find "$prefix" -name libshoal.a)")
for file in "$prefix/include/shoal/shoal.h" "$prefix/share/doc/shoal/LICENSE" \
    "$libdir/libshoal.so" \
    "$libdir/pkgconfig/shoal.pc" "$libdir/cmake/shoal/shoalConfigVersion.cmake"; do
    [ -e "$file" ] || { echo "not installed: $file"; exit 1; }
done

# -fno-lto: libshoal.a serves a linker that does not optimise; that of pkg-config does.
quietly cmake -S "$here" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_EXE_LINKER_FLAGS=-fno-lto
quietly cmake --build "$scratch/consumer"
run "CMake, shared" "$scratch/consumer/consumer_shared"
run "CMake, static" "$scratch/consumer/consumer_static"

export PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
read -ra cflags < <(pkg-config --cflags shoal)
read -ra libs < <(pkg-config --libs shoal)
quietly "$cc" "${cflags[@]}" "$here/consumer.c" -o "$scratch/shared" "${libs[@]}" \
    $(pkg-config --libs libuv) -Wl,-rpath,"$libdir"
run "pkg-config, shared" "$scratch/shared"

# --static names what the archive needs; the archive itself is asked for by file name.
read -ra libs < <(pkg-config --static --libs shoal)
quietly "$cc" "${cflags[@]}" "$here/consumer.c" -o "$scratch/static" \
    "${libs[@]/#-lshoal/-l:libshoal.a}"
run "pkg-config, static" "$scratch/static"
if ldd "$scratch/static" | grep libshoal; then
    echo "the static consumer needs the shared library"
    exit 1
fi

# Removing what was installed leaves no file behind.
quietly cmake -P "$build/uninstall.cmake"
left=$(find "$prefix" -type f -o -type l)
[ -z "$left" ] || { echo "uninstall left: $left"; exit 1; }
echo "package ok"
