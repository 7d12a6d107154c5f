#!/usr/bin/env python3
"""Fail if the fuzz corpora of the repository grow beyond what a test run needs.

At most 200 inputs in all, and none above 66 KiB: strings of more than
64 KiB go another way than shorter ones.  The name of an input says why it is
there: a person wrote it (`seed_<what>`), it showed a bug once (`regression_<what>`), or it
reaches code that no other input reaches (`cover_<number>`; `tools/fuzz.sh --minimise`
writes these).  Each folder belongs to a fuzz target.
"""

import re
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent.parent / "tests" / "fuzz"
FILES_MAX = 200
BYTES_MAX = 66 << 10
NAME = re.compile(r"(seed|regression)_[a-z0-9_]+|cover_[0-9]+")

files = sorted(path for path in (FUZZ / "corpus").rglob("*") if not path.is_dir())
found = []
if len(files) > FILES_MAX:
    found.append(f"the corpora have {len(files)} files, more than {FILES_MAX}")
for file in files:
    name = file.relative_to(FUZZ)
    if file.stat().st_size > BYTES_MAX:
        found.append(f"{name} has more than {BYTES_MAX} bytes")
    if not NAME.fullmatch(file.name):
        found.append(f"{name} is no seed_<what>, regression_<what> or cover_<number>")
    if not (FUZZ / f"fuzz_{file.parent.name}.c").is_file():
        found.append(f"{name} belongs to no fuzz target")

print("\n".join(found[:20]) or f"corpora ok: {len(files)} of {FILES_MAX} files")
sys.exit(bool(found))
