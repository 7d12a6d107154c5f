#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the methods of commands: bindings/python/src/shoal/_commands.py and .pyi.

What the server says of its commands (COMMAND DOCS) is in command_facts.json: the words
of each and their order, its complexity, and since when it has them. newer_facts.json
has the same of some commands that this server does not have, by hand. methods.txt has
the names, types and words that are ours. The names of commands are compared with those
of the library's own table.

Without arguments, writes the files. --check: writes nothing, and fails if they are out
of date. --facts: renews the facts from the answer of a server, which is read as JSON:

    redis-cli -3 --json COMMAND DOCS | gen_commands.py --facts 7.0.15
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from command_methods.facts import COMMAND_LEFT, Facts, read_facts, write_facts
from command_methods.methods import Method, read_methods
from command_methods.render import render_code, render_stub

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FACTS = HERE / "command_facts.json"
NEWER = HERE / "newer_facts.json"
METHODS = HERE / "methods.txt"
TABLE = ROOT / "src/resp/command_table.inc"
SOURCE = HERE.parent / "src/shoal"


def methods() -> tuple[dict[str, Facts], list[Method]]:
    """All facts, and all methods. ValueError: they contradict each other."""
    facts = read_facts(FACTS.read_text(), NEWER.read_text())
    made, left_out = read_methods(METHODS.read_text(), facts)
    covered = {method.command for method in made} | left_out
    covered |= {"INCR", "DECR"}  # INCRBY and DECRBY have their methods
    table = set(re.findall(r'^    \{"(\S+)",', TABLE.read_text(), re.MULTILINE))
    problems = [
        f"{name}: no method, nor why" for name in sorted(facts.keys() - covered)
    ]
    problems += [f"{name}: no such command" for name in sorted(covered - facts.keys())]
    problems += [
        f"{name}: not in {TABLE.name}"
        for name in sorted({name.split()[0] for name in facts} - table)
    ]
    unknown = table - {name.split()[0] for name in facts} - COMMAND_LEFT
    problems += [f"{name}: nothing is known of it" for name in sorted(unknown)]
    if problems:
        raise ValueError("\n".join(problems))
    return facts, made


def outputs() -> dict[Path, str]:
    """What the files should hold."""
    facts, made = methods()
    return {
        SOURCE / "_commands.py": render_code(made, facts),
        SOURCE / "_commands.pyi": render_stub(made),
    }


def main(arguments: list[str]) -> int:
    """The exit status."""
    if arguments[:1] == ["--facts"] and len(arguments) == 2:
        answer: dict[str, Any] = json.load(sys.stdin)
        FACTS.write_text(write_facts(answer, arguments[1]))
        return 0
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = [
        path for path, text in outputs().items()
        if not path.exists() or path.read_text() != text
    ]  # fmt: skip
    if arguments:
        print(*(f"{path.name} is out of date" for path in stale) if stale else ["ok"])
        return bool(stale)
    for path, text in outputs().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
