#!/usr/bin/env bash
# fuzz.sh [seconds [target ...]]: run each fuzz target of tests/fuzz for so many seconds
# (default 10), with libFuzzer, ASan and UBSan.  Needs clang.
#
# Starts from the corpus of the repository and from what earlier runs found; new entries
# go to build/fuzz/corpus/<target>, findings to build/fuzz/findings/<target>.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=${1:-10}
targets=("${@:2}")
build=build/fuzz
jobs=$(nproc 2>/dev/null || echo 2)
failed=0

command -v clang >/dev/null || {
    echo "fuzz: skipped, there is no clang"
    exit 77
}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || {
    echo "usage: tools/fuzz.sh [seconds [target ...]]" >&2
    exit 2
}
make_targets() {
    local options=()
    if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        options=(-G Ninja)
    fi
    if command -v ccache >/dev/null; then
        options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    cmake -S . -B "$build" "${options[@]}" -DCMAKE_C_COMPILER=clang \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-fsanitize=fuzzer-no-link \
        -DSHOAL_SANITIZE=address,undefined -DSHOAL_FUZZ=ON -DSHOAL_BUILD_BENCH=OFF \
        -DSHOAL_BUILD_EXAMPLES=OFF &&
        cmake --build "$build" -j "$jobs" --target fuzz_tests
}

# run <target>: its log is $build/<target>.log, its exit status in $build/<target>.rc
run() {
    local target=$1 dictionary=tests/fuzz/resp.dict
    [ -f "tests/fuzz/$target.dict" ] && dictionary=tests/fuzz/$target.dict
    mkdir -p "$build/corpus/$target" "$build/findings/$target"
    ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 \
        UBSAN_OPTIONS=print_stacktrace=1 \
        "$build/tests/fuzz/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=2048 \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -dict="$dictionary" \
        -artifact_prefix="$build/findings/$target/" "$build/corpus/$target" \
        "tests/fuzz/corpus/$target" >"$build/$target.log" 2>&1
    echo $? >"$build/$target.rc"
}

# stat <target> <name>: one of libFuzzer's final figures
stat() { sed -n "s/^stat::$2: *//p" "$build/$1.log"; }

show() {
    local target=$1 rc
    rc=$(cat "$build/$target.rc" 2>/dev/null || echo 1)
    printf '%-12s %8s %12s %9s %12s %9s\n' "$target" "$seconds" \
        "$(stat "$target" number_of_executed_units)" \
        "$(stat "$target" average_exec_per_sec)" \
        "$(stat "$target" new_units_added)" "$([ "$rc" = 0 ] && echo none || echo FOUND)"
    [ "$rc" = 0 ] || failed=$((failed + 1))
}

explain() {
    local target=$1 input
    [ "$(cat "$build/$target.rc" 2>/dev/null || echo 1)" != 0 ] || return 0
    input=$(sed -n 's/.*Test unit written to //p' "$build/$target.log" | tail -n 1)
    printf '\n--- %s\n' "$target"
    grep -vE '^(#[0-9]+[[:space:]]|INFO:|stat::|Dictionary)|NEW_FUNC|fuzzer::' \
        "$build/$target.log" | head -n 20
    echo "the log is $build/$target.log; to replay:"
    echo "    $build/tests/fuzz/fuzz/fuzz_$target ${input:-tests/fuzz/corpus/$target/*}"
}

mkdir -p "$build"
if ! make_targets >"$build/build.log" 2>&1; then
    tail -n 40 "$build/build.log"
    echo "fuzz: the build failed"
    exit 1
fi

all=()
for program in "$build"/tests/fuzz/fuzz/fuzz_*; do
    all+=("${program##*/fuzz_}")
done
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
for target in "${targets[@]}"; do
    [ -x "$build/tests/fuzz/fuzz/fuzz_$target" ] || {
        echo "fuzz: no target '$target'; there are: ${all[*]}" >&2
        exit 2
    }
done

for target in "${targets[@]}"; do
    while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do
        wait -n || true
    done
    rm -f "$build/$target.rc"
    run "$target" &
done
wait

printf '%-12s %8s %12s %9s %12s %9s\n' target seconds executions "per s" "new entries" \
    findings
for target in "${targets[@]}"; do
    show "$target"
done
for target in "${targets[@]}"; do
    explain "$target"
done
echo "${#targets[@]} targets, $failed with a finding"
[ "$failed" = 0 ]
