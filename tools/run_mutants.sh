#!/usr/bin/env bash
# run_mutants.sh [--quick] [build folder]: builds the simulation once with every bug of
# tests/sim/mutants.txt in it, runs it with one bug at a time, and prints which oracle
# found it, after how many steps, and in how many of 10 blocks of 10^6 steps with seeds
# of their own: 9 are required.  --quick: 1 of 3.  Without a bug it must pass.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

blocks=10
required=9
if [ "${1:-}" = --quick ]; then
    blocks=3
    required=1
    shift
fi
build=${1:-build/mutants}
list=tests/sim/mutants.txt
jobs=$(nproc 2>/dev/null || echo 2)
sim=$build/tests/sim/sim_pipe_sim
found=$build/found

mkdir -p "$build"
generator=()
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
if ! { cmake -B "$build" "${generator[@]}" -Wno-dev -DSHOAL_MUTANT=all -DSHOAL_WERROR=OFF \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 -DSHOAL_BUILD_BENCH=OFF \
    -DSHOAL_BUILD_EXAMPLES=OFF &&
    cmake --build "$build" -j "$jobs" --target sim_pipe_sim; } >"$build/log" 2>&1; then
    tail -n 40 "$build/log"
    echo "run_mutants: the build failed"
    exit 1
fi

# The list and the sources name the same bugs.
listed=$(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$list" | sort)
seeded=$(grep -rhoE 'SHOAL__MUTANT\([A-Z_]+\)' src/resp src/core tests/sim |
    sed 's/.*(\(.*\))/\1/' | tr '[:upper:]_' '[:lower:]-' | sort -u)
if [ -z "$listed" ] || [ "$listed" != "$seeded" ]; then
    diff <(echo "$listed") <(echo "$seeded")
    echo "run_mutants: $list (<) and the sources (>) differ"
    exit 1
fi

# run_block <mutant or none> <block>: one line of what was found.  A bug may also hang or
# crash: that is seen as well.
run_block() {
    local name=$1 block=$2 output oracle steps
    [ "$name" = none ] && name=
    if output=$(SHOAL_SIM_MUTANT=$name SHOAL_SIM_SEED=$((block * 1000000 + 1)) \
        SHOAL_SIM_STEPS=1000000 SHOAL_SIM_SHRINK=0 timeout 120 "$sim" 2>&1); then
        echo "$1 $block survived"
        return
    fi
    oracle=$(grep -aoE '^seed [0-9]+.*: (O[0-9]|it crashed)' <<<"$output" |
        sed 's/.*: //; s/it //' | head -n 1)
    steps=$(sed -n 's/^found after \([0-9]*\) steps/\1/p' <<<"$output")
    echo "$1 $block ${oracle:-hangs} ${steps:-0}"
}
export -f run_block
export sim

# The shrinker: from a seed that fails to a short history that fails in the same way,
# also when it is replayed from its line.
check_shrinking() {
    local output words replayed
    output=$(SHOAL_SIM_MUTANT=$1 SHOAL_SIM_SEED=1 "$sim" 2>&1)
    words=$(grep -aoE 'SHOAL_SIM_(STEPS|SEED|KEEP|OFF)=[^ ]*' <<<"$output")
    # shellcheck disable=SC2086
    replayed=$(env $words SHOAL_SIM_MUTANT="$1" "$sim" 2>&1 | grep -a '^seed')
    grep -a '^shrunk' <<<"$output"
    if ! grep -aq 'it still fails: ' <<<"$output" ||
        [ "${replayed##*us: }" != "$(sed -n 's/.*it still fails: //p' <<<"$output")" ]; then
        echo "run_mutants: the history of $1 was not shrunk: $replayed"
        return 1
    fi
}

for name in none $listed; do
    for ((block = 0; block < blocks; block++)); do
        echo "$name $block"
    done
done | xargs -P "$jobs" -L 1 bash -c 'run_block "$0" "$1"' >"$found"

sort -k1,1 -k2,2n "$found" | awk -v blocks="$blocks" -v required="$required" '
    $1 == "none" { if ($3 != "survived") unsound = 1; next }
    !($1 in killed) { names[++count] = $1; killed[$1] = 0; first[$1] = "-"; by[$1] = "-" }
    $3 != "survived" {
        killed[$1]++
        if (by[$1] == "-") by[$1] = $3
        if ($2 == 0) first[$1] = $4
    }
    END {
        printf "%-28s %-8s %12s %8s\n", "mutant", "found by", "after steps", "blocks"
        for (i = 1; i <= count; i++) {
            name = names[i]
            verdict = killed[name] < required ? "SURVIVED" : ""
            survivors += killed[name] < required
            printf "%-28s %-8s %12s %5d/%d %s\n", name, by[name], first[name],
                killed[name], blocks, verdict
        }
        if (unsound) print "run_mutants: the simulation fails without any mutant"
        printf "%d mutants, %d survived\n", count, survivors
        exit unsound || survivors > 0 || count == 0
    }' || exit 1
check_shrinking once-resent
