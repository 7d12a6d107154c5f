# SPDX-License-Identifier: MIT
"""The programs of docs/FRAMEWORKS.md, with the line of ours and without it.

A block of Python in the document begins with the name of its file, `# shop.py`; blocks
of one chapter with the same name are one file.  A block of shell is the command that
runs it.
"""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
DOCUMENT = ROOT / "docs/FRAMEWORKS.md"
#: The server that the document speaks of.
_URL = "redis://127.0.0.1:6379"
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")
_WAS = re.compile(r"^(\s*).*# was: (.*)$")


def as_before(line: str) -> str | None:
    """A line of a program that does not know us; None: there was no such line."""
    was = _WAS.match(line)
    if was:
        return was[1] + was[2]
    return None if re.search(r"\bshoal\b", line) else line


def without_ours(source: str) -> str:
    """The program before the change."""
    lines = [as_before(line) for line in source.splitlines()]
    return "".join(line + "\n" for line in lines if line is not None)


def chapter(heading: str, document: Path = DOCUMENT) -> str:
    """The text below a heading of two signs."""
    parts = re.split(r"^## (.*)\n", document.read_text(), flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    return texts[heading]


def files(text: str, url: str, ours: bool = True) -> dict[str, str]:
    """The files of a chapter, for the server at `url`."""
    found: dict[str, str] = {}
    for language, block in _BLOCK.findall(text):
        name = _FILE.match(block)
        if language == "python" and name:
            found[name[1]] = found.get(name[1], "") + block.replace(_URL, url)
    return found if ours else {n: without_ours(s) for n, s in found.items()}


def commands(text: str, url: str, ours: bool = True) -> list[list[str]]:
    """The commands of a chapter, as words."""
    found: list[list[str]] = []
    for language, block in _BLOCK.findall(text):
        if language == "sh":
            lines = block.replace("\\\n", " ").replace(_URL, url).splitlines()
            found += [shlex.split(line, comments=True) for line in lines if line]
    return found if ours else [_words_without_ours(words) for words in found]


def _words_without_ours(words: list[str]) -> list[str]:
    """Less each option whose value is a name of ours."""
    kept: list[str] = []
    for word in words:
        if re.match(r"shoal\b", word):
            kept.pop()
        else:
            kept.append(word)
    return kept
