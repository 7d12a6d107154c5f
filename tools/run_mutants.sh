#!/usr/bin/env bash
# run_mutants.sh [build folder]: builds the simulation with each bug named in
# tests/sim/mutants.txt and requires that its tests fail; without a bug they must pass.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=${1:-build/mutants}
list=tests/sim/mutants.txt
jobs=$(nproc 2>/dev/null || echo 2)
survivors=0
rows=()

if [ ! -f "$list" ]; then
    echo "run_mutants: no $list" >&2
    exit 1
fi
mkdir -p "$build"

generator=()
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi

make_sim() {
    cmake -B "$build" "${generator[@]}" -Wno-dev -DSHOAL_MUTANT="$1" -DSHOAL_WERROR=OFF \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 -DSHOAL_BUILD_BENCH=OFF \
        -DSHOAL_BUILD_EXAMPLES=OFF >"$build/log" 2>&1 &&
        cmake --build "$build" -j "$jobs" --target sim_tests >>"$build/log" 2>&1
    local rc=$?
    generator=()
    [ "$rc" = 0 ] || { tail -n 40 "$build/log"; echo "run_mutants: build failed"; exit 1; }
}

# A seeded bug may also hang: that is seen as well.
run_sim() {
    ctest --test-dir "$build" -L sim --no-tests=error -j "$jobs" --timeout 60 \
        --stop-on-failure >"$build/log" 2>&1
}

make_sim ""
if ! run_sim; then
    tail -n 40 "$build/log"
    echo "run_mutants: the simulation fails without any mutant"
    exit 1
fi

while read -r name _; do
    symbol=SHOAL_MUTANT_$(tr '[:lower:]-' '[:upper:]_' <<<"$name")
    if ! grep -rqw "$symbol" src; then
        echo "run_mutants: no source mentions $symbol"
        exit 1
    fi
    make_sim "$name"
    if run_sim; then
        rows+=("$(printf '%-32s SURVIVED' "$name")")
        survivors=$((survivors + 1))
    else
        killer=$(sed -n 's/^ *[0-9]*\/[0-9]* Test .*: \([^ ]*\) \.\.*\**\(Failed\|Timeout\|.*Exception\).*/\1/p' \
            "$build/log" | head -n 1)
        rows+=("$(printf '%-32s killed by %s' "$name" "${killer:-a failed test}")")
    fi
    echo "${rows[-1]}"
done < <(sed 's/#.*//; /^[[:space:]]*$/d' "$list")

echo "${#rows[@]} mutants, $survivors survived"
[ "$survivors" = 0 ] && [ "${#rows[@]}" -gt 0 ]
