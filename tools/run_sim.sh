#!/usr/bin/env bash
# run_sim.sh STEPS [first seed]: lives through so many simulated steps in all, in a
# release build, one process for each processor (SHOAL_SIM_JOBS), each with seeds of its
# own.  A process that fails prints the shrunk history; the others go on.  SHOAL_SIM names
# the simulation: pipe_sim, handover_sim or cluster_sim.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

steps=${1:?usage: tools/run_sim.sh STEPS [first seed]}
first=${2:-1}
jobs=${SHOAL_SIM_JOBS:-$(nproc 2>/dev/null || echo 2)}
program=sim_${SHOAL_SIM:-pipe_sim}
build=build/sim
range=1000000000 # seeds of one process, more than it ever uses

mkdir -p "$build"
generator=()
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
if ! { cmake -C cmake/developer.cmake -B "$build" "${generator[@]}" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DSHOAL_BUILD_BENCH=OFF -DSHOAL_BUILD_EXAMPLES=OFF &&
    cmake --build "$build" -j "$jobs" --target "$program"; } >"$build/log" 2>&1; then
    tail -n 40 "$build/log"
    echo "run_sim: the build failed"
    exit 1
fi

pids=()
for ((job = 0; job < jobs; job++)); do
    SHOAL_SIM_STEPS=$((steps / jobs + 1)) SHOAL_SIM_SEED=$((first + job * range)) \
        "$build/tests/sim/$program" >"$build/$program$job.log" 2>&1 &
    pids+=($!)
done
failed=0
for ((job = 0; job < jobs; job++)); do
    wait "${pids[$job]}" || failed=$((failed + 1))
    echo "process $job, seeds from $((first + job * range)):"
    sed 's/^/  /' "$build/$program$job.log"
done
echo "$jobs processes, $failed failed"
[ "$failed" = 0 ]
