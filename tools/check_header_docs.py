#!/usr/bin/env python3
"""Fail if a public function lacks its documentation.

Directly above each stands a /** comment with `Threads:` (first word any, loop, setup
or caller), `Since:`, and, if the function returns int, `Errors:`.  A callback type
has a comment with `Threads:` as well.
"""

import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include" / "shoal"
WORDS = {"any", "loop", "setup", "caller"}
FUNCTION = re.compile(
    r"^(?P<before>(?:SHOAL_\w+(?:\([^)]*\))?\s+)*)SHOAL_EXTERN\s+"
    r"(?P<head>[^;(]*?)(?P<name>shoal_\w+)\s*\(",
    re.MULTILINE,
)
CALLBACK = re.compile(r"^typedef\s[^;{]*?\(\*(?P<name>shoal_\w+_cb)\)", re.MULTILINE)
DOC = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*\Z", re.DOTALL)


def field(doc: str, name: str):
    match = re.search(rf"^[ \t*]*{name}:[ \t]*(.*)$", doc, re.MULTILINE)
    return match.group(1).strip() if match else None


def problems(text: str):
    """Yields (offset, what is wrong)."""
    for match in FUNCTION.finditer(text):
        name = match["name"]
        doc = DOC.search(text[: match.start()])
        if not doc:
            yield match.start(), f"{name} has no /** comment directly above"
            continue
        threads = field(doc[1], "Threads")
        word = re.match(r"\w*", threads or "")[0]
        if threads is None:
            yield match.start(), f"{name} lacks a Threads: line"
        elif word not in WORDS:
            yield match.start(), f"{name}: Threads: begins with '{word}'"
        if not field(doc[1], "Since"):
            yield match.start(), f"{name} lacks a Since: line"
        if match["head"].split() == ["int"] and not field(doc[1], "Errors"):
            yield match.start(), f"{name} returns int and lacks an Errors: line"

    for match in CALLBACK.finditer(text):
        doc = DOC.search(text[: match.start()])
        if not doc or field(doc[1], "Threads") is None:
            yield match.start(), f"{match['name']} lacks a comment with Threads:"

    documented = {match["name"] for match in FUNCTION.finditer(text)}
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for name in re.findall(r"^[A-Za-z][\w \t*]*?\b(shoal_\w+)\s*\(", bare, re.MULTILINE):
        if name not in documented:
            yield 0, f"{name} is declared without SHOAL_EXTERN"


found = [
    f"shoal/{path.name}:{text.count(chr(10), 0, offset) + 1}: {problem}"
    for path in sorted(INCLUDE.glob("*.h"))
    for text in [path.read_text()]
    for offset, problem in problems(text)
]
print("\n".join(found) or "header docs ok")
sys.exit(bool(found))
