#!/usr/bin/env bash
# platforms.sh <folder> musllinux | aarch64 ...: wheels for other platforms, by hand.
#
#   musllinux  x86_64 with musl; needs musl-tools.  MUSL_PYTHON names a CPython that was built
#              with musl, to try the wheel with.
#   aarch64    glibc; needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross.  AARCH64_ROOT names
#              a folder with Debian's arm64 packages of Python 3.11, libssl3 and what they need,
#              unpacked (dpkg-deb -x), to try the wheel with; needs qemu-user.
#
# TOOLS is the folder of programs that ci.sh has made, <its folder>/tools/bin.  The wheels are
# in <folder>/repaired.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: TOOLS=... $0 <folder> musllinux | aarch64 ..." >&2
    exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../../.."
export PATH=$TOOLS:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1
define=--config-settings=cmake.define.

# Headers of OpenSSL without those of the C library that are beside them.
make_openssl_headers() {
    mkdir -p "$folder/include/openssl"
    cp -L /usr/include/openssl/*.h "/usr/include/$(gcc -print-multiarch)"/openssl/*.h \
        "$folder/include/openssl"
}

# build <platform> <option ...>: the wheel, with the compiler that CC names
build() {
    rm -rf "$folder/$1"
    pip wheel --quiet --no-deps --no-build-isolation -w "$folder/$1" \
        "${define}OPENSSL_INCLUDE_DIR=$folder/include" "${@:2}" .
}

# repair <platform>: its path is in $wheel
repair() {
    rm -rf "$folder/repaired/$1"
    auditwheel repair -w "$folder/repaired/$1" "$folder/$1"/*.whl 2>&1 | tail -n 1
    wheel=$(echo "$folder/repaired/$1"/*.whl)
    abi3audit --strict "$wheel"
}

# try <platform> <Python's version> <tags, as --platform ...> -- <command that is the Python>
try() {
    local home=$folder/try.$1 version=$2 tags=()
    shift 2
    while [ "$1" != -- ]; do
        tags+=(--platform "$1")
        shift
    done
    rm -rf "$home"
    pip install --quiet --only-binary :all: --target "$home" --python-version "$version" \
        --implementation cp --abi "cp${version/./}" --abi abi3 --abi none "${tags[@]}" \
        "$wheel" pytest pytest-timeout
    tests/support/with_redis.sh --url-argument env PATH=/nowhere PYTHONPATH="$home" \
        "${@:2}" bindings/python/tools/smoke.py "${smoke[@]}"
    PYTHONPATH="$home" "${@:2}" -m pytest -q -p no:cacheprovider \
        bindings/python/tests/test_execute.py \
        -k 'sync- or sync] or asyncio-borrowed' | tail -n 1
}

# The C library has the name that it has in Alpine; Debian's calls itself libc.so, as glibc's
# linker script is called.
build_musllinux() {
    local libc=$folder/musl/libc.so
    mkdir -p "$folder/musl/include"
    ln -sfn /usr/include/linux /usr/include/asm-generic "$folder/musl/include"
    ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$folder/musl/include"
    cp -L "$(musl-gcc -print-file-name=libc.so)" "$libc" 2>/dev/null || true
    nm -D "$libc" >/dev/null 2>&1 || cp -L /lib/ld-musl-x86_64.so.1 "$libc"
    patchelf --set-soname libc.musl-x86_64.so.1 "$libc"
    CC=musl-gcc CFLAGS="-idirafter $folder/musl/include" LDFLAGS="-L$folder/musl" \
        build musllinux
    repair musllinux
    python "bindings/python/tools/check_wheel.py" "$wheel" "$libc"
    if [ -n "${MUSL_PYTHON:-}" ]; then
        smoke=(--no-tls) # without a libssl for musl
        try musllinux "$("$MUSL_PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" \
            musllinux_1_2_x86_64 -- "$MUSL_PYTHON" -s
    fi
}

build_aarch64() {
    CC=aarch64-linux-gnu-gcc _PYTHON_HOST_PLATFORM=linux-aarch64 build aarch64 \
        "${define}CMAKE_SYSTEM_NAME=Linux" "${define}CMAKE_SYSTEM_PROCESSOR=aarch64"
    repair aarch64
    python bindings/python/tools/check_wheel.py "$wheel"
    if [ -n "${AARCH64_ROOT:-}" ]; then
        smoke=()
        try aarch64 3.11 manylinux_2_34_aarch64 manylinux_2_17_aarch64 manylinux2014_aarch64 \
            -- "$(command -v qemu-aarch64)" -L "$AARCH64_ROOT" "$AARCH64_ROOT/usr/bin/python3.11" -s
    fi
}

make_openssl_headers
for platform in "$@"; do
    "build_$platform"
    ls -l "$wheel"
done
