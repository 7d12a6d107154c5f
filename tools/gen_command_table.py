#!/usr/bin/env python3
"""Write src/resp/command_table.inc and src/resp/reply_shape_masks.inc.

The first holds what the COMMAND reply of a redis-server says, and the shape of each
command's reply; the second the shapes.  Both take the shapes from tools/reply_shapes.txt.

Starts a private server on a Unix socket.  With --check, writes nothing and fails if
the files are out of date; the answer of another server version proves nothing, so then
only the shapes are compared, as where no server is installed.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from command_table.render import render_masks, render_table
from command_table.rows import table_rows
from command_table.server import ask_server
from command_table.shapes import FormatError, Shapes, compare_names, read_shapes

ROOT = Path(__file__).resolve().parent.parent
SHAPES = ROOT / "tools" / "reply_shapes.txt"
TABLE = ROOT / "src" / "resp" / "command_table.inc"
MASKS = ROOT / "src" / "resp" / "reply_shape_masks.inc"


def read_text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def stale_shapes(shapes: Shapes) -> list[str]:
    """What of the shapes is out of date; needs no server."""
    rows = re.findall(r'^    \{"(\S+)",.*, (\d+)\},$', read_text(TABLE), re.MULTILINE)
    written = {name: int(shape) for name, shape in rows}
    compare_names(shapes, written)
    found = [] if read_text(MASKS) == render_masks(shapes) else [MASKS.name]
    return found if written == shapes.index_of else [*found, TABLE.name]


def check(shapes: Shapes, server: str | None) -> int:
    if stale := stale_shapes(shapes):
        print(f"out of date: {', '.join(stale)}")
        return 1
    if not server:
        print("the shapes are ok; no redis-server to ask about the rest (skipped)")
        return 77
    source, commands = ask_server(server)
    current = read_text(TABLE)
    made_from = re.search(r"command_table\.py from ([\w. ]+);", current)
    if made_from and made_from[1] != source:
        print(f"{TABLE.name} was made from {made_from[1]}, here is {source} (skipped)")
        return 0
    is_same = current == render_table(source, table_rows(commands), shapes)
    print("command table ok" if is_same else f"{TABLE.name} is out of date")
    return not is_same


def write(shapes: Shapes, server: str | None) -> int:
    if not server:
        print("no redis-server to ask")
        return 1
    source, commands = ask_server(server)
    rows = table_rows(commands)
    compare_names(shapes, rows)
    TABLE.write_text(render_table(source, rows, shapes))
    MASKS.write_text(render_masks(shapes))
    return 0


def main() -> int:
    run = check if sys.argv[1:] == ["--check"] else write
    server = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")
    try:
        return run(read_shapes(SHAPES.read_text().splitlines()), server)
    except FormatError as error:
        print(f"{SHAPES.name}: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
