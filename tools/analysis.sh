#!/usr/bin/env bash
# analysis.sh [build folder]: static analysis; one line per tool, then what was found.
#
#   gcc         -fanalyzer and warnings that look at whole functions: the library
#   clang-tidy  .clang-tidy: all but tests.  The analyzer looks at 75000 states of a
#               function and not at 225000: it takes a third of the time, and reached the
#               same returns of 8 of the slowest files.  SHOAL_ANALYZER_NODES is the number
#   cppcheck    everything, tests too
#
# A finding is repaired, or has a reason: beside the line (NOLINT, cppcheck-suppress), in
# a .clang-tidy, or below.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=${1:-build/analysis}
jobs=$(nproc 2>/dev/null || echo 2)
failed=0
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
mkdir -p "$build"

# configure <folder> <cmake option ...>: with assertions, which tell the tools what holds
configure() {
    local folder=$1
    shift
    rm -rf "$folder"
    cmake -C cmake/developer.cmake -S . -B "$folder" "${generator[@]}" \
        -DCMAKE_BUILD_TYPE=Debug -DSHOAL_WERROR=OFF \
        -DSHOAL_BUILD_TESTS=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" \
        >"$folder.log" 2>&1 || { cat "$folder.log"; return 1; }
}

# report <tool> <seconds> <its exit status> <log>: a finding is a line with a place in it
report() {
    local findings
    findings=$(grep -E '^[^ ]+:[0-9]+:([0-9]+:)? (warning|error|style|performance|portability)' \
        "$4" | sort -u)
    if [ "$3" = 0 ] && [ -z "$findings" ]; then
        printf '%-12s 0 findings, %d s\n' "$1" "$2"
        return
    fi
    failed=1
    printf '%-12s %d findings, %d s\n' "$1" "$(grep -c . <<<"$findings")" "$2"
    if [ -n "$findings" ]; then
        echo "$findings"
    else
        tail -n 20 "$4"
    fi
}

# use-of-uninitialized-value: gcc 12 takes a compound literal with a condition in it for
# half written; -Wmaybe-uninitialized and clang look for the same.
run_gcc() {
    configure "$build/gcc" -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS="-O2 -fanalyzer \
        -Wno-analyzer-use-of-uninitialized-value -Wnull-dereference -Wlogical-op \
        -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init" &&
        cmake --build "$build/gcc" -j "$jobs" --target shoal
}

# valkey_link.c: libvalkey is rarely installed
run_tidy() {
    configure "$build/clang" -DCMAKE_C_COMPILER=clang &&
        find src bench examples tools -name '*.c' ! -name valkey_link.c -print0 |
        xargs -0 -P "$jobs" -n 4 clang-tidy --quiet -p "$build/clang" \
            --extra-arg={-Xclang,-analyzer-config} \
            --extra-arg={-Xclang,"max-nodes=${SHOAL_ANALYZER_NODES:-75000}"}
}

# nullPointerRedundantCheck: release 2.10 does not know _Noreturn; clang looks for the same.
# varFuncNullUB: wherever we build, NULL is a pointer, also for an ellipsis.
run_cppcheck() {
    cppcheck -j "$jobs" --std=c11 --quiet --inline-suppr --error-exitcode=1 \
        --enable=warning,performance,portability --suppress=varFuncNullUB \
        --suppress=missingIncludeSystem --suppress=nullPointerRedundantCheck \
        --template='{file}:{line}: {severity}: {message} [{id}]' \
        -D_GNU_SOURCE -DSHOAL_NOTIFIER_EVENTFD=1 -DSHOAL_PARKER_FUTEX=1 \
        -DSHOAL_WAKER_TIMERFD=1 -D__linux__ -I include -I src -I tests -I tools -I bench \
        -I bench/peers/c \
        include src bench examples tests tools
}

for tool in gcc clang-tidy cppcheck; do
    command -v "$tool" >/dev/null || { echo "analysis: no $tool (tools/setup.sh --tests)"; exit 1; }
done
for run in gcc tidy cppcheck; do
    begun=$SECONDS
    "run_$run" >"$build/$run.log" 2>&1
    rc=$?
    report "${run/tidy/clang-tidy}" $((SECONDS - begun)) "$rc" "$build/$run.log"
done
exit "$failed"
