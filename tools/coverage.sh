#!/usr/bin/env bash
# coverage.sh [build folder]: the tests with AddressSanitizer, but those of packaging and the
# bench; and the lines and branches of src/ that they reach, per file.
#
# The tests are linked with the library's own objects: those alone count what is reached.
# Not counted as branches: what assert() adds, and the line of a switch, whose cases are
# lines themselves.  A line that no test can reach says GCOVR_EXCL_LINE and why.
# --report: only the figures, of what has run in the build folder already.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

lines_min=95
branches_min=88
# Every branch of those that decide what a caller is told.
whole=(core/conn_fsm.c core/fence/fence_rule.c core/greeting/former.c
    core/{handover,hold_rule}.c
    core/pipe/{inbound,pipe,pipe_endings,pipe_extent,pipe_fence,pipe_give_up,pipe_hold,pipe_move,pipe_output,pipe_replies}.c
    core/pipe/{pipe_time,pipe_values,renewal,request_ring}.c
    core/push/probe_rule.c core/{extra,settle_rule}.c net/{stream_tls,tls_words}.c resp/{decoder,frame,large_string,partial_value,scanner,string_run}.c)

report_only=no
if [ "${1:-}" = --report ]; then
    report_only=yes
    shift
fi
build=$(realpath -m "${1:-build/coverage}")
jobs=$(nproc 2>/dev/null || echo 2)
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
if command -v ccache >/dev/null; then
    generator+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi

# A forked child that ends by _exit() writes down what it reached, too.
wrap_exit() {
    mkdir -p "$build"
    printf '%s\n' 'void __gcov_dump(void);' '_Noreturn void __real__exit(int code);' \
        '_Noreturn void __wrap__exit(int code);' \
        'void __wrap__exit(int code) { __gcov_dump(); __real__exit(code); }' |
        gcc -x c -c -o "$build/wrap_exit.o" -
}

run_tests() {
    rm -rf "$build/tree"
    wrap_exit || return 1
    cmake -C cmake/developer.cmake -S . -B "$build/tree" "${generator[@]}" \
        -DCMAKE_C_COMPILER=gcc -DSHOAL_WERROR=OFF -DSHOAL_SANITIZE=address \
        -DSHOAL_BUILD_BENCH=OFF -DCMAKE_C_FLAGS_DEBUG=-g1 \
        -DCMAKE_C_FLAGS=-O0 -DSHOAL_LIBRARY_FLAGS="--coverage -fprofile-update=atomic" \
        -DCMAKE_EXE_LINKER_FLAGS="--coverage -Wl,--wrap=_exit $build/wrap_exit.o" \
        >/dev/null ||
        return 1
    cmake --build "$build/tree" -j "$jobs" >"$build/log" 2>&1 ||
        { tail -n 40 "$build/log"; return 1; }
    # Most of them wait, hence four times the jobs.
    ctest --test-dir "$build/tree" -j $((4 * jobs)) --output-on-failure --no-tests=error \
        -L '^(unit|sim|fuzz|fault|matrix|integration|example)$'
}

command -v gcovr >/dev/null || { echo "coverage: no gcovr (tools/setup.sh --tests)"; exit 1; }
if [ "$report_only" = no ]; then
    run_tests || { echo "coverage: the tests failed"; exit 1; }
fi
# gcov computes the count of a branch from others', and where a process ended in between it may
# say -1: gcovr would end there, or wait for ever for the thread that did.
gcovr -r . --gcov-ignore-parse-errors --object-directory "$build/tree" -f src/ -j "$jobs" \
    --exclude-branches-by-pattern '^\s*(assert|switch) ?\(.*' \
    --json-summary "$build/summary.json" "$build/tree/src" 2>"$build/gcovr.log" ||
    { cat "$build/gcovr.log"; exit 1; }
exec python3 tools/check_coverage.py "$build/summary.json" "$lines_min" "$branches_min" \
    "${whole[@]}"
