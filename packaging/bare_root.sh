#!/usr/bin/env bash
# bare_root.sh [folder [goal ...]]: `make demo` and `make test` of this tree in a bare Debian 12
# root that has nothing else; the folder is build/bare by default.  Takes long.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/root.sh
own_mounts packaging/bare_root.sh "$@"

mkdir -p "${1:-build/bare}"
folder=$(cd "${1:-build/bare}" && pwd)
goals=("${@:2}")
[ ${#goals[@]} -gt 0 ] || goals=(demo test)

make_root "$folder/root" bookworm
copy_tree "$folder/root/shoal"
in_root "$folder/root" / sh -c 'apt-get -q update && apt-get -q -y install make' \
    >"$folder/make.log" 2>&1 # all else is the Makefile's affair
for goal in "${goals[@]}"; do
    printf -- '-- make %s\n' "$goal"
    in_root "$folder/root" /shoal make "$goal" 2>&1 | tee "$folder/$goal.log" | tail -n 60
done
echo "bare root ok: ${goals[*]}"
