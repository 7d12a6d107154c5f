#!/usr/bin/env python3
"""Fail if a source file includes a header from a higher or a sibling floor.

Third-party headers are confined to the places that own them, and public headers
include only a few standard headers and each other.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = [{"base"}, {"resp"}, {"core"}, {"net"}, {"route", "push"}, {"api"}]
OWNERS = {  # include -> only from
    "uv.h": ("net/", "api/uv_entry.c"),
    "shoal/uv.h": ("net/", "api/uv_entry.c"),
    "hiredis/": ("resp/decoder.c", "resp/format.c"),
}
PUBLIC = {"stddef.h", "stdint.h", "stdbool.h"}
PUBLIC_EXTRA = {"format.h": {"stdarg.h"}, "uv.h": {"uv.h"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
RANK = {folder: rank for rank, floor in enumerate(FLOORS) for folder in floor}


def source_violations(src: Path):
    for path in sorted(src.rglob("*.[ch]")):
        name = path.relative_to(src).as_posix()
        here = name.split("/")[0]
        if here not in RANK:
            continue  # stands beside the floors, on top of the public API
        for quote, target in INCLUDE.findall(path.read_text()):
            there = target.split("/")[0]
            if quote == '"' and there not in RANK:
                yield f'src/{name}: "{target}" does not name its floor'
            if there in RANK and there != here and RANK[there] >= RANK[here]:
                yield f"src/{name}: {here}/ may not include {target}"
            for header, owners in OWNERS.items():
                if target.startswith(header) and not name.startswith(owners):
                    yield f"src/{name}: <{target}> belongs to {' and '.join(owners)}"


def public_violations(include: Path):
    for path in sorted(include.glob("shoal/*.h")):
        allowed = PUBLIC | PUBLIC_EXTRA.get(path.name, set())
        for quote, target in INCLUDE.findall(path.read_text()):
            if quote == '"':
                yield f'shoal/{path.name}: include <{target}>, not "{target}"'
            elif target == "shoal/uv.h":
                yield f"shoal/{path.name}: shoal/uv.h is for its users to include"
            elif target not in allowed and not (include / target).is_file():
                yield f"shoal/{path.name}: public headers may not include <{target}>"


found = [*source_violations(ROOT / "src"), *public_violations(ROOT / "include")]
print("\n".join(found) or "layers ok")
sys.exit(bool(found))
