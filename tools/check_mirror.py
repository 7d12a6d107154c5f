#!/usr/bin/env python3
"""Fail if tests/ does not mirror src/.

Every source of floors 0-2 has a unit test of its name, and every unit test a source
(or a header-only unit).  Higher floors need not have unit tests: real servers and
fake ones exercise them.  Every unit test must also be registered.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC, UNIT = ROOT / "src", ROOT / "tests" / "unit"
MIRRORED = ("base", "resp", "core")

registered = set(
    re.findall(
        r"^\s*shoal_unit_test\(\s*([\w/]+)",
        (UNIT / "units.cmake").read_text(),
        re.MULTILINE,
    )
)
found = []
for floor in MIRRORED:
    for source in sorted((SRC / floor).glob("*.c")):
        if not (UNIT / floor / f"test_{source.name}").is_file():
            found.append(f"src/{floor}/{source.name} has no unit test")

for test in sorted(UNIT.glob("*/test_*.c")):
    floor, stem = test.parent.name, test.stem.removeprefix("test_")
    unit = f"{floor}/{stem}"
    if not any((SRC / f"{unit}{suffix}").is_file() for suffix in (".c", ".h")):
        found.append(f"tests/unit/{floor}/{test.name} tests nothing: no src/{unit}.c")
    if unit not in registered:
        found.append(f"tests/unit/{floor}/{test.name} is not in tests/unit/units.cmake")

print("\n".join(found) or "mirror ok")
sys.exit(bool(found))
