#!/usr/bin/env bash
# setup.sh [--python | --docs | --tests]: install the packages that are missing, by apt.
#
# Without an option, what building and the demo need; with --python, also what the
# Python extension needs; with --docs, also what the API reference needs; with --tests,
# also what tools/ci.sh needs.  Installs nothing,
# and asks no server, when all is there.
set -euo pipefail

# package and a probe that succeeds when it is there
needs=(
    "gcc                gcc --version"
    "libc6-dev          test -e /usr/include/stdio.h"
    "cmake              cmake --version"
    "make               make --version"
    "pkg-config         pkg-config --version"
    "libuv1-dev         pkg-config --atleast-version=1.44 libuv"
    "libssl-dev         pkg-config --atleast-version=3 libssl"
    "libcmocka-dev      pkg-config cmocka"
    "redis-server       redis-server --version"
    "python3            python3 --version"
    "python3-pip        python3 -m pip --version"
    "ca-certificates    test -e /etc/ssl/certs/ca-certificates.crt"
)
wanted=( # speed or reach only: not missed where apt is not used
    "ninja-build        ninja --version"
)
if [ "${1:-}" = --python ] || [ "${1:-}" = --tests ]; then
    needs+=(
        "python3-dev        python_has_headers"
    )
fi
if [ "${1:-}" = --docs ] || [ "${1:-}" = --tests ]; then
    needs+=(
        "doxygen            doxygen --version"
    )
fi
if [ "${1:-}" = --tests ]; then
    needs+=(
        "g++                g++ --version"
        "clang              clang --version"
        "clang-format       clang-format --version"
        "clang-tidy         clang-tidy --version"
        "cppcheck           cppcheck --version"
        "gcovr              gcovr --version"
        "abigail-tools      abidiff --version"
        "iproute2           ip -V"
        "musl-tools         musl-gcc --version"
        "xz-utils           xz --version"
        "libhiredis-dev     has_static_hiredis"
        "spin               spin -V"
        "python3-matplotlib has_matplotlib"
        "python3-venv       python3 -c 'import ensurepip'"
        "libclang-rt-14-dev clang_has_sanitizers"
    )
fi

clang_has_sanitizers() {
    [ -e "$(clang -print-file-name=libclang_rt.asan-x86_64.a)" ] ||
        [ -e "$(clang -print-file-name=libclang_rt.asan-$(uname -m).a)" ] ||
        [ -e "$(clang -print-resource-dir)/lib/linux/libclang_rt.asan-$(uname -m).a" ]
}

has_static_hiredis() { [ -e "$(gcc -print-file-name=libhiredis.a)" ]; }

# The package is for the system's Python; report.py goes to that one by itself.
has_matplotlib() {
    python3 -c 'import matplotlib' || /usr/bin/python3 -c 'import matplotlib'
}

python_has_headers() {
    [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
}

missing_of() {
    local package probe
    for entry in "$@"; do
        read -r package probe <<<"$entry"
        eval "$probe" >/dev/null 2>&1 || printf '%s ' "$package"
    done
}

missing=$(missing_of "${needs[@]}")
if ! command -v apt-get >/dev/null; then
    if [ -n "$missing" ]; then
        echo "setup: not a Debian-like system; install what Debian calls: $missing" >&2
        exit 1
    fi
    exit 0
fi
missing+=$(missing_of "${wanted[@]}")
if [ -z "${missing// /}" ]; then
    exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup: become root and run: apt-get install $missing" >&2
        exit 1
    }
    sudo=(sudo)
fi
apt() {
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get -o Dpkg::Use-Pty=0 "$@"
}

redis_service_runs() { pgrep -u redis -x redis-server 2>/dev/null; }

echo "setup: installing $missing"
before=$(redis_service_runs || true)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { apt -q update && apt -q -y install --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "setup: apt-get failed (above); needed: $missing" >&2
    exit 1
fi

# A container without a service manager has no use for the service, which the package
# may have started.  Under systemd it is the administrator's.
if [ -z "$before" ] && [ ! -d /run/systemd/system ] && redis_service_runs >/dev/null; then
    "${sudo[@]}" /etc/init.d/redis-server stop >/dev/null 2>&1 || true
fi

missing=$(missing_of "${needs[@]}")
if [ -n "$missing" ]; then
    echo "setup: still missing after the installation: $missing" >&2
    exit 1
fi
