#!/usr/bin/env bash
# check.sh <model.pml> [C compiler]: verify a Promela model.  As it stands it must hold;
# with each -D<BROKEN_...> that it names, it must not.  77 if spin is missing.
set -euo pipefail
model=$(readlink -f "$1")
compiler=${2:-cc}

if ! command -v spin >/dev/null; then
    echo "skipped: spin is not installed (apt-get install spin)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# verify [-D...]: the verifier's report; all reachable states, no invalid end states
verify() {
    spin -a "$@" "$model" >spin.log || { cat spin.log; exit 2; }
    "$compiler" -w -O1 -DSAFETY -DNOREDUCE -o pan pan.c
    ./pan -m100000 >report.log 2>&1 || true
    grep -Eq 'pan: out of memory|max search depth too small' report.log &&
        { cat report.log; exit 2; }
    grep -E 'errors: [0-9]+' report.log
}

errors_in() { sed -n 's/.*errors: \([0-9]*\).*/\1/p' <<<"$1"; }
states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' report.log; }

failed=0
found=$(verify)
echo "$(basename "$model"): $(states) states, $(errors_in "$found") errors"
[ "$(errors_in "$found")" = 0 ] || { cat report.log; failed=1; }
for broken in $(grep -o 'BROKEN_[A-Z_]*' "$model" | sort -u); do
    found=$(verify "-D$broken")
    echo "  $broken: $(errors_in "$found") errors, after $(states) states"
    [ "$(errors_in "$found")" != 0 ] || failed=1
done
exit $failed
