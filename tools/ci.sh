#!/usr/bin/env bash
# ci.sh [test | deep | stage ...]: what CI runs, in two tiers.
#
#   test   every suite once, without sanitizers (the default); Python's wheel is built beside
#          the tests of the C code
#   deep   the suites again in other builds, and what looks at the sources and at the suites;
#          the analysis of the sources beside them, of the lowest priority
#
# Logs are in build/ci/<stage>.log; the first stage that fails ends the run, and what its
# failing tests said is at the end of the output.  The column `cpu` is what ended during a
# stage, with what ran beside it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

jobs=$(nproc 2>/dev/null || echo 2)
logs=build/ci
first=(lint gcc python)
deep=(asan tsan musl wheels mutants) # and by hand: fuzz
beside= # the process of start_beside()
summary=() cpu=0
said=() # by the runners, at their ends
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
    cmake -C cmake/developer.cmake -S . -B "$logs/$stage" "${options[@]}" "$@"
}

compile() { cmake --build "$logs/$1" -j "$jobs" "${@:2}"; }

# tests <stage> <labels, as a regular expression> [option of ctest ...]
# Most of them wait, for servers and deadlines: hence four times the jobs.
tests() {
    ctest --test-dir "$logs/$1" --output-on-failure --no-tests=error \
        -j $((4 * jobs)) -L "$2" "${@:3}"
}

run_lint() { tools/lint.sh; }

# The lint, abi, headers and package tests as well, but those that tools/lint.sh runs.
# The library is as it ships.  Its tests are compiled without optimisation and debug
# information, which saves two fifths of their compilation.  The stage musl optimises those of
# unit, fault and integration: some warnings come from the optimiser alone.  The bench programs
# take libshoal.a as it is: one user of the package optimises it again.
run_gcc() {
    configure gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSHOAL_TEST_FLAGS='-O0;-g0;-U_FORTIFY_SOURCE' -DSHOAL_BENCH_LTO=OFF \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--strip-debug &&
        compile gcc && tests gcc . -E '^lint/(layers|mirror|header_docs|command_table)$'
}

run_asan() { tools/coverage.sh "$logs/asan"; }

# Real clusters and sentinels show these builds no more than played ones do.
played='^integration/((cluster|sentinel)_.*|situations|server_keys|scan)$'

# Unit tests that have threads, as net/gate: races are not sought in the others.
threaded_units() {
    grep -rlE 'pthread_create|uv_thread_create' tests/unit tests/python --include='test_*.c' |
        sed -E 's!^tests/(unit/)?!!; s!/test_!/!; s![.]c$!!'
}

# Some kernels place memory where ThreadSanitizer cannot follow; without
# randomisation they do not.  The tests' own code is compiled without optimisation, which
# takes a third of the time.
run_tsan() {
    local run=(tools/ci.sh) units
    units=$(threaded_units) && [ -n "$units" ] || return 1
    configure tsan -DCMAKE_C_COMPILER=clang -DSHOAL_SANITIZE=thread \
        -DCMAKE_C_FLAGS_DEBUG=-g1 -DCMAKE_C_FLAGS=-O1 -DSHOAL_TEST_FLAGS=-O0 \
        -DSHOAL_BUILD_BENCH=OFF &&
        compile tsan --target fault_tests integration_tests examples \
            $(sed 's!/!_!g; s!^!test_!' <<<"$units") ||
        return 1
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        run=(setarch "$(uname -m)" -R tools/ci.sh)
    fi
    "${run[@]}" --tests tsan . -E "$played" \
        -R "^(fault|integration|example)/|^unit/($(paste -sd '|' <<<"$units"))$"
}

# Another C library, and a libuv, hiredis and cmocka made for it, without what only Linux has:
# timerfd, eventfd and futex.  The library has no headers of the kernel's of its own.
# Undefined behaviour ends a program there: -DSHOAL_SANITIZE=undefined tells more.
run_musl() {
    local headers=$PWD/$logs/musl-headers
    local cmocka=${SHOAL_DEPS_CACHE:-$PWD/build/_deps}/cmocka
    local undefined='-fsanitize=undefined -fsanitize-undefined-trap-on-error'
    mkdir -p "$headers"
    ln -sfn /usr/include/linux /usr/include/asm-generic "$headers"
    ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$headers"
    tools/fetch_cmocka.sh "$cmocka" &&
        configure musl -DCMAKE_C_COMPILER=musl-gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo \
            -DCMAKE_C_FLAGS="-idirafter $headers $undefined" -DSHOAL_LIBUV=bundled \
            -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O2 -DNDEBUG" \
            -DSHOAL_CMOCKA_SRC="$cmocka" -DSHOAL_LTO=OFF -DSHOAL_TLS=OFF \
            -DSHOAL_WAKER=uv -DSHOAL_NOTIFIER=pipe -DSHOAL_PARKER=semaphore \
            -DSHOAL_BUILD_BENCH=OFF -DSHOAL_BUILD_EXAMPLES=OFF &&
        compile musl --target unit_tests sim_tests fault_tests integration_tests &&
        tests musl '^(unit|sim|fault|integration)$' -E "$played"
}

run_python() {
    configure gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null &&
        compile gcc --target shoal-fault-proxy shoal-certificates >/dev/null || return 1
    local part=()
    if [ -n "$beside" ]; then
        part=(tests)
        finish_beside || { cat "$logs/beside.log"; return 1; }
        cat "$logs/beside.log"
    fi
    SHOAL_FAULT_PROXY=$PWD/$logs/gcc/bin/shoal-fault-proxy \
        SHOAL_CERTIFICATES=$PWD/$logs/gcc/bin/shoal-certificates \
        bindings/python/tools/ci.sh "$logs/python" "${part[@]}"
}

run_wheels() { bindings/python/tools/ci.sh "$logs/python" wheels; }

# A twentieth of them, another one with each commit; make mutants: all, and longer.
run_mutants() { tools/run_mutants.py --quick --share 20 "$logs/mutants"; }

run_fuzz() { # a few seconds each; without clang there is nothing to run
    tools/fuzz.sh 3
    local rc=$?
    [ "$rc" = 77 ] || return "$rc"
}

run_analysis() { tools/analysis.sh "$logs/analysis"; }

describe() {
    case $1 in
    lint) echo "layers, mirror, header docs, command table, format" ;;
    gcc) echo "release build, gcc -Werror, every test of the C code" ;;
    asan) echo "AddressSanitizer, leaks: all but packaging and bench; what of src/ they reach" ;;
    tsan) echo "ThreadSanitizer, clang -Werror: units with threads, fault, integration, examples" ;;
    musl) echo "musl, bundled libuv, portable parts, UBSan: unit, sim, fault, integration" ;;
    python) echo "types, a wheel, the binding in a clean environment, every test" ;;
    wheels) echo "wheels from tree and archive have the same, without a network; each CPython" ;;
    mutants) echo "a simulation or a test finds a twentieth of the seeded bugs" ;;
    fuzz) echo "libFuzzer: each target for a few seconds" ;;
    analysis) echo "clang-tidy, gcc -fanalyzer, cppcheck: no findings" ;;
    *) return 1 ;;
    esac
}

# The runners' own words: of ctest, pytest, and the tools of the deep stages.
runners='^[0-9]+% tests passed|^Total Test time|^The following tests FAILED|^[[:space:]]+[0-9]+ - '
runners+='|^[0-9]+ (passed|failed).* in [0-9.]+s|^conformance: '
runners+='|^[0-9]+ mutants|killed by|^[0-9]+ targets|^fuzz: |^[a-z-]+ +0 findings|^all '
runners+='|^wheels ok|^no free-threaded|^[0-9]+ (free-threaded )?interpreters ok'

print_summary() {
    printf '\n'
    printf '%s\n' "${said[@]}"
    printf '\n%-10s %-8s %7s %7s  %s\n' stage result seconds cpu what
    printf '%s\n' "${summary[@]}"
    printf '%d s in all\n' $((SECONDS - started))
}

# Sets `cpu` to the seconds of processor that this script's children have used.
count_cpu() {
    times >"$logs/times.$$" # in this shell: another one has other children
    cpu=$(awk -F'[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' \
        "$logs/times.$$")
    rm "$logs/times.$$"
}

# finish <stage> <result> <begun> <cpu at its begin>
finish() {
    count_cpu
    summary+=("$(printf '%-10s %-8s %7d %7d  %s' "$1" "$2" $((SECONDS - $3)) \
        $((cpu - $4)) "$(describe "$1")")")
    said+=("--- $1" "$(grep -E "$runners" "$logs/$1.log")")
}

run_stage() {
    local stage=$1 begun=$SECONDS cpu_begun
    count_cpu
    cpu_begun=$cpu
    printf '\n=== %s: %s\n' "$stage" "$(describe "$stage")"
    if "run_$stage" >"$logs/$stage.log" 2>&1; then
        finish "$stage" ok "$begun" "$cpu_begun"
        printf 'ok, %d s\n' $((SECONDS - begun))
        return
    fi
    finish "$stage" FAILED "$begun" "$cpu_begun"
    fail "$stage"
}

fail() {
    print_summary
    python3 tools/show_failures.py "$logs/$1.log"
    echo "FAILED: $1; the log is $logs/$1.log"
    exit 1
}

# start_beside <command ...>: of the lowest priority, beside the stages that follow.  Tests wait
# for servers and deadlines half of the time, and what only computes has the processors then.
start_beside() {
    # Where sessions share the processors as such, nice counts within one of them alone.
    # When this script is killed, its group ends too.
    setsid nice -n 19 setpriv --pdeathsig TERM bash -c '
        trap "trap - TERM; kill 0" TERM
        [ ! -w /proc/self/autogroup ] || echo 19 >/proc/self/autogroup
        "$@" & wait $!' bash "$@" >"$logs/beside.log" 2>&1 &
    beside=$!
    trap 'kill -- -"$beside" 2>/dev/null; wait' EXIT
}

finish_beside() {
    local status=0
    wait "$beside" || status=$?
    beside=
    trap - EXIT
    return "$status"
}

finish_analysis() {
    local status=0
    finish_beside || status=$?
    said+=("--- analysis" "$(grep -E "$runners" "$logs/analysis.log")")
    summary+=("$(grep -E '^analysis +(ok|FAILED) ' "$logs/beside.log")")
    [ "$status" = 0 ] || fail analysis
}

if [ "${1:-}" = --tests ]; then
    tests "${@:2}"
    exit
fi
case ${1:-test} in
test) stages=("${first[@]}") ;;
deep) stages=("${deep[@]}") ;;
*) stages=("$@") ;;
esac
for stage in "${stages[@]}"; do
    describe "$stage" >/dev/null || { echo "ci: no stage '$stage'" >&2; exit 2; }
done
case ${1:-test} in
test) start_beside bindings/python/tools/ci.sh "$logs/python" build ;;
deep) start_beside tools/ci.sh analysis ;;
esac
for stage in "${stages[@]}"; do
    run_stage "$stage"
    if [ "${1:-}" = deep ] && [ -n "$beside" ] && [ -z "$(jobs -rp)" ]; then
        finish_analysis
    fi
done
[ -z "$beside" ] || finish_analysis
print_summary
echo "all stages passed"
