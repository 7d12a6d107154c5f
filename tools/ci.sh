#!/usr/bin/env bash
# ci.sh [stage ...]: everything CI runs, or the named stages only.
# Logs are in build/ci/<stage>.log; the first stage that fails ends the run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

jobs=$(nproc 2>/dev/null || echo 2)
logs=build/ci
stages=(lint analysis gcc clang asan tsan portable python mutants fuzz coverage)
summary=()
started=$SECONDS
mkdir -p "$logs"

# configure <stage> <cmake option ...>
configure() {
    local stage=$1 options=()
    shift
    if [ ! -f "$logs/$stage/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        options+=(-G Ninja)
    fi
    if command -v ccache >/dev/null; then
        options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    cmake -S . -B "$logs/$stage" -DSHOAL_WERROR=ON "${options[@]}" "$@"
}

compile() { cmake --build "$logs/$1" -j "$jobs" "${@:2}"; }

# tests <stage> <labels, as a regular expression; empty: all>
tests() {
    ctest --test-dir "$logs/$1" --output-on-failure --no-tests=error -j "$jobs" \
        ${2:+-L "$2"}
}

run_lint() { tools/lint.sh; }

run_gcc() { # also the lint, abi, headers and package tests
    configure gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo &&
        compile gcc && tests gcc ""
}

run_clang() {
    configure clang -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo &&
        compile clang && tests clang '^(unit|sim|fuzz)$'
}

run_asan() {
    configure asan -DCMAKE_C_COMPILER=gcc -DSHOAL_SANITIZE=address,undefined &&
        compile asan && tests asan '^(unit|sim|fuzz|fault|matrix|integration|example|bench)$'
}

# Some kernels place memory where ThreadSanitizer cannot follow; without
# randomisation they do not.
run_tsan() {
    configure tsan -DCMAKE_C_COMPILER=clang -DSHOAL_SANITIZE=thread &&
        compile tsan || return 1
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        setarch "$(uname -m)" -R tools/ci.sh --tests tsan '^(unit|fuzz|fault|integration|example)$'
    else
        tests tsan '^(unit|fuzz|fault|integration|example)$'
    fi
}

run_portable() {
    configure portable -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSHOAL_WAKER=uv -DSHOAL_NOTIFIER=pipe -DSHOAL_PARKER=semaphore \
        -DSHOAL_BUILD_BENCH=OFF \
        -DSHOAL_BUILD_EXAMPLES=OFF &&
        compile portable --target fault_tests integration_tests &&
        tests portable '^(fault|integration)$'
}

run_python() { bindings/python/tools/ci.sh "$logs/python"; }

run_mutants() { tools/run_mutants.sh --quick "$logs/mutants"; } # make mutants: all

run_fuzz() { # a few seconds each; without clang there is nothing to run
    tools/fuzz.sh 5
    local rc=$?
    [ "$rc" = 77 ] || return "$rc"
}

run_analysis() { tools/analysis.sh "$logs/analysis"; }

run_coverage() { tools/coverage.sh "$logs/coverage"; }

describe() {
    case $1 in
    lint) echo "layers, mirror, header docs, command table, format" ;;
    gcc) echo "release build, gcc -Werror, every test" ;;
    clang) echo "release build, clang -Werror, unit and sim" ;;
    asan) echo "AddressSanitizer, UBSan, leaks: all but packaging" ;;
    tsan) echo "ThreadSanitizer: unit, fault, integration, examples" ;;
    portable) echo "without timerfd and eventfd: fault and integration" ;;
    python) echo "wheels, types, the binding from a clean environment" ;;
    mutants) echo "the simulation finds every seeded bug" ;;
    fuzz) echo "libFuzzer: each target for a few seconds" ;;
    analysis) echo "clang-tidy, gcc -fanalyzer, cppcheck: no findings" ;;
    coverage) echo "lines and branches of src/ that the tests reach" ;;
    *) return 1 ;;
    esac
}

print_summary() {
    printf '\n%-10s %-8s %6s  %s\n' stage result seconds what
    printf '%s\n' "${summary[@]}"
    printf '%d s in all\n' $((SECONDS - started))
}

run_stage() {
    local stage=$1 begun=$SECONDS rc
    printf '\n=== %s: %s\n' "$stage" "$(describe "$stage")"
    if [ "$stage" = gcc ] || [ "$stage" = lint ]; then
        "run_$stage" 2>&1 | tee "$logs/$stage.log"
        rc=${PIPESTATUS[0]}
    else
        "run_$stage" >"$logs/$stage.log" 2>&1
        rc=$?
        if [ "$rc" = 0 ]; then
            grep -E '^[0-9]+% tests passed|^[0-9]+ mutants|killed by|^[0-9]+ targets|^fuzz: |^[a-z-]+ +0 findings|^all ' "$logs/$stage.log"
        else
            tail -n 60 "$logs/$stage.log"
        fi
    fi
    if [ "$rc" != 0 ]; then
        summary+=("$(printf '%-10s %-8s %6d  %s' "$stage" FAILED $((SECONDS - begun)) \
            "$(describe "$stage")")")
        print_summary
        echo "FAILED: $stage; the log is $logs/$stage.log"
        exit 1
    fi
    summary+=("$(printf '%-10s %-8s %6d  %s' "$stage" ok $((SECONDS - begun)) \
        "$(describe "$stage")")")
}

if [ "${1:-}" = --tests ]; then
    tests "$2" "$3"
    exit
fi
if [ $# -gt 0 ]; then
    stages=("$@")
fi
for stage in "${stages[@]}"; do
    describe "$stage" >/dev/null || { echo "ci: no stage '$stage'" >&2; exit 2; }
done
for stage in "${stages[@]}"; do
    run_stage "$stage"
done
print_summary
echo "all stages passed"
