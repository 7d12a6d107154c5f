#!/usr/bin/env bash
# Every check that needs no build.  clang-format is left out where it is not installed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
failed=0

step() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        printf '%-18s %s\n' "$name" "$(tail -n 1 <<<"$output")"
    elif [ $? -eq 77 ]; then
        printf '%-18s skipped: %s\n' "$name" "$(tail -n 1 <<<"$output")"
    else
        printf '%-18s FAILED\n%s\n' "$name" "$output"
        failed=1
    fi
}

formatted() {
    command -v clang-format >/dev/null || { echo "no clang-format"; return 77; }
    local bad
    bad=$(find include src tests tools bench examples bindings -name '*.[ch]' \
        ! -name native.cdef.h -print0 | # cffi's "..." is not C
        xargs -0 -r clang-format --dry-run 2>&1 |
        sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: .*/\1/p' | sort | uniq -c)
    [ -z "$bad" ] || { echo "$bad"; echo "run: make format"; return 1; }
    echo "format ok"
}

# A // comment is visibly temporary; a size beyond the cap needs a better cut.
plain_sources() {
    local found=0 cap file lines
    if grep -nE '^[^"]*(^|[^:"])//' -r include src bindings --include='*.[ch]'; then
        echo "comments are /* */"
        found=1
    fi
    while read -r file; do
        cap=700
        [[ $file == include/* ]] && cap=350
        lines=$(wc -l <"$file")
        if [ "$lines" -gt "$cap" ]; then
            echo "$file has $lines lines, more than $cap"
            found=1
        fi
    done < <(find include src bindings -name '*.[ch]')
    [ "$found" = 0 ] && echo "sources ok"
}

# The public headers as Doxygen reads them.
reference() {
    command -v doxygen >/dev/null || { echo "no doxygen"; return 77; }
    local folder
    folder=$(mktemp -d)
    tools/docs.sh "$folder"
    local rc=$?
    rm -rf "$folder"
    [ "$rc" = 0 ] && echo "reference ok"
}

step "layers" python3 tools/check_layers.py
step "mirror" python3 tools/check_mirror.py
step "header docs" python3 tools/check_header_docs.py
step "code in docs" python3 tools/check_docs_code.py
step "reference" reference
step "mutants" python3 tools/run_mutants.py --check
step "fuzz corpora" python3 tools/check_corpus.py
step "command table" python3 tools/gen_command_table.py --check
step "packaging" python3 packaging/check.py
step "cdef" python3 bindings/python/tools/check_cdef.py
step "sources" plain_sources
step "format" formatted
exit "$failed"
