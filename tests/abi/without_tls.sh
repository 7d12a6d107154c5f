#!/usr/bin/env bash
# without_tls.sh <object;...>: what a build without TLS makes of the files that know OpenSSL.
# They refer to names of ours only.
set -euo pipefail
export LC_ALL=C

IFS=';' read -ra objects <<<"$1"
names=$(nm --undefined-only --format=posix "${objects[@]}" |
    awk '$2 == "U" && $1 !~ /^(shoal_|_)/ {print $1}' | sort -u)
if [ -n "$names" ]; then
    echo "without TLS the library refers to"
    echo "$names"
    exit 1
fi
echo "${#objects[@]} files, no name of OpenSSL's"
