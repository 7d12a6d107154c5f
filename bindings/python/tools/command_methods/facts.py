# SPDX-License-Identifier: MIT
"""What a server says of its commands, as command_facts.json keeps it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

#: Of the library's table, but without facts.
COMMAND_LEFT = frozenset("DELIFEQ VADD VCARD VDIM VEMB VREM VSIM WAITAOF".split())
_ONE_COST = r"O\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_COST = re.compile(rf"{_ONE_COST}(?:\s*\+\s*{_ONE_COST})*")


@dataclass(frozen=True)
class Word:
    """An argument of a command: a word, or several.

    `kind`: key, string, integer, double, pattern, unix-time, pure-token, oneof, block.
    """

    name: str
    kind: str
    token: str | None = None
    since: str = ""
    is_optional: bool = False
    is_multiple: bool = False
    repeats_token: bool = False
    parts: tuple[Word, ...] = ()

    @property
    def is_choice(self) -> bool:
        """One of several tokens, without values?"""
        return self.kind == "oneof" and all(p.kind == "pure-token" for p in self.parts)

    def words(self, since: str) -> list[tuple[Word, str]]:
        """It, and all in it, with the versions since which they are known."""
        since = self.since or since
        return [(self, since), *(pair for p in self.parts for pair in p.words(since))]

    def syntax(self) -> str:
        """As a manual shows it."""
        shown = self.name
        if self.kind == "pure-token":
            shown = ""
        elif self.kind == "oneof":
            shown = " | ".join(part.syntax() for part in self.parts)
            if not self.is_optional:
                shown = f"<{shown}>"
        elif self.kind == "block":
            shown = " ".join(part.syntax() for part in self.parts)
        token = "" if self.token is None else self.token or '""'
        if self.is_multiple:
            again = f"{token} {shown}".strip() if self.repeats_token else shown
            shown = f"{shown} [{again} ...]"
        shown = f"{token} {shown}".strip()
        return f"[{shown}]" if self.is_optional else shown


@dataclass(frozen=True)
class Facts:
    """A command. `cost`: its complexity."""

    name: str
    since: str
    cost: str
    words: tuple[Word, ...] = field(default=())

    def all_words(self) -> list[tuple[Word, str]]:
        """Every argument, at any depth, with the version since which it is known."""
        return [pair for word in self.words for pair in word.words(self.since)]

    def syntax(self) -> str:
        """As a manual shows it."""
        return " ".join([self.name, *(word.syntax() for word in self.words)])


def _word(row: dict[str, Any]) -> Word:
    flags = row.get("flags", "")
    return Word(
        row["name"],
        row["type"],
        row.get("token"),
        row.get("since", ""),
        "optional" in flags.split(),
        "multiple" in flags.split(),
        "multiple_token" in flags.split(),
        tuple(map(_word, row.get("arguments", ()))),
    )


def read_facts(*texts: str) -> dict[str, Facts]:
    """By the commands' names, such as `CONFIG GET`."""
    return {
        name: Facts(
            name, row["since"], row["cost"], tuple(map(_word, row["arguments"]))
        )
        for text in texts
        for name, row in json.loads(text)["commands"].items()
    }


def _row_of_word(told: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    row |= {key: told[key] for key in ("name", "type", "token", "since") if key in told}
    if "flags" in told:
        row["flags"] = " ".join(sorted(told["flags"]))
    if "arguments" in told:
        row["arguments"] = [_row_of_word(inner) for inner in told["arguments"]]
    return row


def _cost(told: str) -> str:
    """Without the words."""
    found = _COST.search(told)
    return found[0].replace(")+O", ") + O") if found else ""


def rows_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of COMMAND DOCS without the server's sentences."""
    rows: dict[str, Any] = {}
    for name, told in answer.items():
        inner = told.get("subcommands", {})
        if not inner or "arguments" in told:
            rows[name.upper()] = told
        for subname, subtold in inner.items():
            rows[subname.replace("|", " ").upper()] = subtold
    return {
        name: {
            "since": told["since"],
            "cost": _cost(told.get("complexity", "")),
            "arguments": [_row_of_word(word) for word in told.get("arguments", ())],
        }
        for name, told in sorted(rows.items())
        if not name.endswith(" HELP")
    }


def write_facts(answer: dict[str, Any], version: str) -> str:
    """The file, a command a line."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(row)}"
        for name, row in rows_of(answer).items()
    )
    body = ",\n".join(lines)
    return f'{{"server": "{version}", "commands": {{\n{body}\n}}}}\n'
