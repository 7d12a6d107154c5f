#!/usr/bin/env bash
# fuzz.sh [seconds [target ...]]: run each fuzz target of tests/fuzz for so many seconds
# (default 10), with libFuzzer, ASan and UBSan.  Needs clang.
#
# A run starts from the corpus of the repository and from what earlier runs found.  It
# writes new inputs to build/fuzz/corpus/<target> and findings to
# build/fuzz/findings/<target>, and nothing into the repository.
#
# fuzz.sh --minimise [target ...]: rewrite the corpora of the repository.  Of their inputs,
# of those that the runs found, and of pairs of them in a row, libFuzzer keeps few that
# together reach every edge.  Seeds and regressions stay, whatever they reach.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=${1:-10}
targets=("${@:2}")
build=build/fuzz
input_bytes_max=2048
jobs=$(nproc 2>/dev/null || echo 2)
failed=0

command -v clang >/dev/null || {
    echo "fuzz: skipped, there is no clang"
    exit 77
}
[[ $seconds =~ ^([1-9][0-9]*|--minimise)$ ]] || {
    echo "usage: tools/fuzz.sh [seconds | --minimise [target ...]]" >&2
    exit 2
}

# corpus_of <target>: the scanner reads the streams of the decoder.
corpus_of() { echo "tests/fuzz/corpus/${1/#scanner/decoder}"; }

make_targets() {
    local options=()
    if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        options=(-G Ninja)
    fi
    if command -v ccache >/dev/null; then
        options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    cmake -C cmake/developer.cmake -S . -B "$build" "${options[@]}" \
        -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS=-fsanitize=fuzzer-no-link \
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
        "$build/tests/fuzz/fuzz/fuzz_$target" -max_total_time="$seconds" \
        -max_len=$input_bytes_max -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -dict="$dictionary" \
        -artifact_prefix="$build/findings/$target/" "$build/corpus/$target" \
        "$(corpus_of "$target")" >"$build/$target.log" 2>&1
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
    echo "    $build/tests/fuzz/fuzz/fuzz_$target ${input:-$(corpus_of "$target")/*}"
}

# join <folder> <joined>: writes inputs that are two of the folder in a row, the second one
# often without its first bytes, which configure the target.
join() {
    python3 - "$@" <<'EOF'
import itertools, pathlib, random, sys
folder, joined = map(pathlib.Path, sys.argv[1:])
random.seed(1)
inputs = [path.read_bytes() for path in sorted(folder.iterdir())]
pairs = list(itertools.permutations(inputs, 2))
for number, (first, second) in enumerate(random.sample(pairs, min(len(pairs), 3000))):
    (joined / str(number)).write_bytes(first + second[random.randrange(6) :])
EOF
}

# reach_all <corpus> <kept> <folder ...>: copies inputs of the folders to <kept>, until it
# reaches all edges that they reach, in every target that reads this corpus.
reach_all() {
    local corpus=$1 kept=$2 target
    for target in "${all[@]}"; do
        [ "$(corpus_of "$target")" = "$corpus" ] || continue
        "$build/tests/fuzz/fuzz/fuzz_$target" -set_cover_merge=1 -use_counters=0 \
            -max_len=$input_bytes_max "$kept" "${@:3}" >"$build/$target.log" 2>&1 || {
            tail -n 20 "$build/$target.log"
            return 1
        }
    done
}

# minimise <corpus>: an input that stays keeps its name.
minimise() {
    local corpus=$1 work=$build/minimised sources=("$1") target file number=1
    for target in "${all[@]}"; do
        [ "$(corpus_of "$target")" = "$corpus" ] && [ -d "$build/corpus/$target" ] &&
            sources+=("$build/corpus/$target")
    done
    rm -rf "$work"
    mkdir -p "$work"/{first,joined,kept}
    find "$corpus" \( -name 'seed_*' -o -name 'regression_*' \) \
        -exec cp -t "$work/kept" {} +
    reach_all "$corpus" "$work/first" "${sources[@]}" &&
        join "$work/first" "$work/joined" &&
        reach_all "$corpus" "$work/kept" "$work/first" "$work/joined" || return 1

    # libFuzzer names the inputs by the SHA-1 of their content.
    for file in "$corpus"/cover_*; do
        [ -e "$file" ] || continue
        rm "$work/kept/$(sha1sum "$file" | cut -c 1-40)" 2>/dev/null || rm "$file"
    done
    for file in "$work"/kept/*; do
        case ${file##*/} in seed_* | regression_*) continue ;; esac
        while [ -e "$corpus/cover_$(printf %02d $number)" ]; do
            number=$((number + 1))
        done
        mv "$file" "$corpus/cover_$(printf %02d $number)"
    done
    printf '%-16s %d inputs\n' "${corpus##*/}" "$(find "$corpus" -type f | wc -l)"
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

if [ "$seconds" = --minimise ]; then
    mapfile -t corpora < <(for target in "${targets[@]}"; do corpus_of "$target"; done | sort -u)
    for corpus in "${corpora[@]}"; do
        minimise "$corpus" || exit 1
    done
    exec python3 tools/check_corpus.py
fi

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
