#!/usr/bin/env bash
# free_threaded.sh <source archive> <folder> [python ...]: does a wheel for these
# free-threaded interpreters work?
#
# Without a list, for each CPython from 3.14 on that is at hand and has no GIL: python3.Nt of
# PATH, and those of pyenv.  Such an interpreter has no stable ABI, hence a wheel of its own:
# it is built from the archive, checked, and tried without the GIL, by the smoke test and the
# tests of threads and commands.  TOOLS names a folder with a pip that knows --python, and
# auditwheel.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 <source archive> <folder> [python ...]" >&2
    exit 2
fi
archive=$(realpath "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
cd "$(dirname "$0")/../../.."
here=bindings/python
export PATH=${TOOLS:+$TOOLS:}$PATH
# Their packages are not those of the other tools.
unset PIP_CONSTRAINT

# Which one is this: its version, and where it is.  Nothing, if it has a GIL.
look_at() {
    "$1" -I -c 'import sys, sysconfig
if sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info >= (3, 14):
    print("%d.%dt" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
}

# The first one of each version.
find_interpreters() {
    local seen=" " root python version path
    root=$(pyenv root 2>/dev/null) || root=/nonexistent
    for python in python3.1{4,5,6}t "$root"/versions/3.1*t/bin/python; do
        read -r version path < <(look_at "$python") || continue
        if [[ $seen != *" $version "* ]]; then
            seen+="$version "
            echo "$path"
        fi
    done
}

build() { # its path is in $wheel
    local python=$1 home=$2
    "$python" -m venv "$home/build"
    "$home/build/bin/python" -m pip wheel --quiet --no-deps -w "$home/made" \
        --config-settings=cmake.define.SHOAL_WERROR=ON "$archive"
    auditwheel repair -w "$home/repaired" "$home"/made/*.whl 2>&1 | tail -n 1
    wheel=$(echo "$home"/repaired/*.whl)
    python3 "$here/tools/check_wheel.py" "$wheel"
}

try() { # one interpreter
    local python version home wheel clean
    read -r version python < <(look_at "$1") ||
        { echo "free_threaded: $1 has a GIL, or is older than 3.14" >&2; return 1; }
    home=$folder/$version
    rm -rf "$home"
    build "$python" "$home"
    clean=$home/clean
    "$python" -m venv "$clean"
    "$clean/bin/python" -m pip install --quiet --only-binary :all: "$wheel[uvloop]" \
        hypothesis pytest pytest-timeout pytest-xdist
    tests/support/with_redis.sh --url-argument env -i PATH="$clean/bin" \
        "$clean/bin/python" -I "$here/tools/smoke.py"
    # Packages beside ours may ask for the GIL.
    PYTHON_GIL=0 "$clean/bin/python" -m pytest -q -n 4 -p no:cacheprovider \
        "$here"/tests/test_{execute,threads,free_threads,waiters,asking,loops_move}.py \
        "$here"/tests/test_{subscribe,close_races}.py \
        >"$home/log" 2>&1 || { cat "$home/log"; return 1; }
    tail -n 1 "$home/log"
}

if [ $# = 0 ]; then
    mapfile -t found < <(find_interpreters)
    set -- "${found[@]}"
fi
if [ $# = 0 ]; then
    echo "no free-threaded interpreter from 3.14 on is at hand: none was tried"
    exit 0
fi
for python in "$@"; do
    try "$python"
done
echo "$# free-threaded interpreters ok"
