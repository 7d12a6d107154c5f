#!/usr/bin/env python3
"""Fail if a source file includes a header from a higher or a sibling floor.

Third-party headers are confined to the places that own them, and public headers
include only a few standard headers and each other.  Nothing above `route` names a
connection or a pipe.  No floor has a circle of includes; a unit is x.c with x.h.
"""

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = [{"base"}, {"resp"}, {"core"}, {"net"}, {"route"}, {"client"}, {"api"}]
OWNERS = {  # include -> only from
    "uv.h": ("net/", "api/uv.c"),
    "shoal/uv.h": ("net/", "api/uv.c"),
    "openssl/": ("net/tls_",),
    "hiredis/": ("resp/decoder.c", "resp/reader_types.h", "resp/format.c"),
}
ABOVE_ROUTE = ("client/", "api/")
HIDDEN = ("net/conn.h", "net/stream", "net/resolver.h", "net/dialer", "core/pipe/")
HIDDEN_NAME = re.compile(
    r"\bshoal__(?:conn|pipe)_\w+|\bSHOAL__(?:CONN|PIPE)_\w+"
    r"|(?:->|\.)\s*(?:conn|pipe)\b"
)
PUBLIC = {"stddef.h", "stdint.h", "stdbool.h"}
PUBLIC_EXTRA = {"format.h": {"stdarg.h"}, "uv.h": {"uv.h"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
RANK = {folder: rank for rank, floor in enumerate(FLOORS) for folder in floor}
COMMENT_OR_TEXT = re.compile(
    r"/\*.*?\*/|'(?:\\.|[^'\\\n])+'" r'|"(?:\\.|[^"\\\n])*"', re.DOTALL
)


def hidden_violations(name: str, text: str):
    """What a file above `route` says of connections and pipes, outside of comments."""
    for _, target in INCLUDE.findall(text):
        if target.startswith(HIDDEN):
            yield f"src/{name}: nothing above route/ may include {target}"
    code = COMMENT_OR_TEXT.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        for word in HIDDEN_NAME.findall(line):
            yield f"src/{name}:{number}: nothing above route/ may name {word}"


def circles(src: Path):
    """One circle of includes for each floor that has any."""
    for floor in RANK:
        units: dict[str, set[str]] = {}
        for path in sorted((src / floor).rglob("*.[ch]")):
            unit = path.relative_to(src).with_suffix("").as_posix()
            included = {
                target.rsplit(".", 1)[0]
                for _, target in INCLUDE.findall(path.read_text())
            }
            units.setdefault(unit, set()).update(included - {unit})
        try:
            TopologicalSorter(units).prepare()
        except CycleError as error:
            circle = [f"src/{unit}" for unit in reversed(error.args[1])]
            yield f"a circle of includes: {' -> '.join(circle)}"


def source_violations(src: Path):
    for path in sorted(src.rglob("*.[ch]")):
        name = path.relative_to(src).as_posix()
        here = name.split("/")[0]
        if here not in RANK:
            continue  # stands beside the floors, on top of the public API
        text = path.read_text()
        if name.startswith(ABOVE_ROUTE):
            yield from hidden_violations(name, text)
        for quote, target in INCLUDE.findall(text):
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


found = [
    *source_violations(ROOT / "src"),
    *circles(ROOT / "src"),
    *public_violations(ROOT / "include"),
]
print("\n".join(found) or "layers ok")
sys.exit(bool(found))
