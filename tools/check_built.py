#!/usr/bin/env python3
"""check_built.py <build folder>: fail if a C source of the tree is built by nothing.

A pattern that finds sources by name drops a new folder in silence; this check reads what
the build really compiles (compile_commands.json) and compares it with what is there.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bench", "examples", "tests", "tools", "bindings")
ELSEWHERE = {  # built, but by another build than this one
    "tests/package/": "tests/package/run.sh builds it against an installed package",
    "bench/peers/c/valkey_link.c": "where libvalkey is installed",
    "bindings/python/native/": "cmake/Python.cmake builds it into the wheel",
}

commands = json.loads((Path(sys.argv[1]) / "compile_commands.json").read_text())
built = {Path(command["directory"], command["file"]).resolve() for command in commands}
found = []
for folder in FOLDERS:
    for path in sorted((ROOT / folder).rglob("*.c")):
        name = path.relative_to(ROOT).as_posix()
        if path not in built and not name.startswith(tuple(ELSEWHERE)):
            found.append(f"{name} is built by no target")

print("\n".join(found) or f"built ok: {len(built)} sources")
sys.exit(bool(found))
