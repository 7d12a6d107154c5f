#!/usr/bin/env bash
# interpreters.sh <wheel> <folder> [python ...]: does the wheel work with these interpreters?
#
# Without a list, with each CPython from 3.10 on that is at hand and has a GIL: python3.N of
# PATH, and those of pyenv.  Each has the wheel and what it needs in a folder of its own under
# <folder>, and runs the smoke test and the core tests there, without a compiler in reach.
# TOOLS names a folder with a pip that knows --python.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 <wheel> <folder> [python ...]" >&2
    exit 2
fi
wheel=$(realpath "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
cd "$(dirname "$0")/../../.."
pip=${TOOLS:+$TOOLS/}pip
# Commands and replies of both faces.
core=(bindings/python/tests/test_execute.py -k 'sync- or sync] or uvloop-borrowed')

# Which CPython is this: its version, and where it is.  Nothing, if the wheel is not for it.
look_at() {
    "$1" -I -c 'import sys, platform
is_ours = platform.python_implementation() == "CPython" and "t" not in sys.abiflags
if is_ours and sys.version_info >= (3, 10):
    print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
}

# The first one of each version.
find_interpreters() {
    local seen=" " root python version path
    root=$(pyenv root 2>/dev/null) || root=/nonexistent
    for python in python3.1{0,1,2,3,4,5} "$root"/versions/3.1*/bin/python; do
        read -r version path < <(look_at "$python") || continue
        if [[ $seen != *" $version "* ]]; then
            seen+="$version "
            echo "$path"
        fi
    done
}

try() { # one interpreter
    local python version home
    read -r version python < <(look_at "$1") ||
        { echo "interpreters: $1 is no CPython from 3.10 on" >&2; return 1; }
    home=$folder/$version
    rm -rf "$home"
    "$pip" --python "$python" install --quiet --only-binary :all: --root-user-action ignore \
        --target "$home" "$wheel[uvloop]" pytest pytest-timeout
    mkdir -p "$home/nothing"
    tests/support/with_redis.sh --url-argument env -i PATH="$home/nothing" \
        PYTHONPATH="$home" "$python" -s bindings/python/tools/smoke.py
    PYTHONPATH="$home" "$python" -s -m pytest -q -p no:cacheprovider "${core[@]}" \
        >"$home/log" 2>&1 || { cat "$home/log"; return 1; }
    tail -n 1 "$home/log"
}

if [ $# = 0 ]; then
    mapfile -t found < <(find_interpreters)
    set -- "${found[@]}"
fi
[ $# -gt 0 ] || { echo "interpreters: none at hand" >&2; exit 1; }
for python in "$@"; do
    try "$python"
done
echo "$# interpreters ok"
