#!/usr/bin/env python3
"""Fail if tests/ does not mirror src/.

Every source of floors 0-2 has a unit test of its name, and every unit test a source
(or a header-only unit); test cases do not hide in headers.  Higher floors need not have unit tests: real servers and
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
        r"^\s*shoal_unit_test\(\s*([\w/.]+)",
        (UNIT / "units.cmake").read_text(),
        re.MULTILINE,
    )
)
found = []
for floor in MIRRORED:
    for source in sorted((SRC / floor).rglob("*.c")):
        room = source.parent.relative_to(SRC).as_posix()
        if not (UNIT / room / f"test_{source.name}").is_file():
            found.append(f"src/{room}/{source.name} has no unit test")

for test in sorted(UNIT.rglob("test_*.c")):
    room, stem = (
        test.parent.relative_to(UNIT).as_posix(),
        test.stem.removeprefix("test_"),
    )
    unit = f"{room}/{stem}"
    source = f"{room}/{stem.split('.')[0]}"  # test_<unit>.<topic>.c: a part of its tests
    if not any((SRC / f"{source}{suffix}").is_file() for suffix in (".c", ".h")):
        found.append(f"tests/unit/{room}/{test.name} tests nothing: no src/{source}.c")
    if unit not in registered:
        found.append(f"tests/unit/{room}/{test.name} is not in tests/unit/units.cmake")

for header in sorted(UNIT.rglob("*.h")):
    if re.search(r"^static void test_", header.read_text(), re.MULTILINE):
        found.append(f"{header.relative_to(ROOT)} holds test cases: make it a source")

print("\n".join(found) or "mirror ok")
sys.exit(bool(found))
