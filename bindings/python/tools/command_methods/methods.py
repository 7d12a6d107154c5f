# SPDX-License-Identifier: MIT
"""methods.txt: the names, types and words of the methods, bound to the facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .facts import Facts, Word

_PARAMETER = re.compile(
    r"(?P<star>\*)?(?P<name>\w+)(?P<shape>\[\]|\{\})?(?:\((?P<default>[^)]*)\))?"
    r"(?::(?P<type>[^=]+))?(?:=(?P<word>\S+))?"
)
_TYPES = {"integer": "int", "unix-time": "int", "double": "float", "pure-token": "bool"}
#: Ranges may be open, or have no end: "(1", "-inf".
_RANGES = ("min", "max")
_SHAPES = {None: "one", "[]": "some", "{}": "map"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method.

    `shape`: one word, any number of them at the end, some in a list, or a map. `word`:
    its argument's name; of a map two. `type`: of one word, as Python writes it.
    """

    name: str
    shape: str
    word: str
    type: str
    default: str | None

    @property
    def is_flag(self) -> bool:
        """Is it a token without a value?"""
        return self.type == "bool"

    @property
    def given(self) -> str:
        """The condition under which a caller gave it."""
        return self.name if self.is_flag else f"{self.name} is not None"

    def annotation(self, key: str) -> str:
        """`key`: the type of the keys of a map."""
        text = self.type
        if self.shape == "some":
            text = f"{text} | Iterable[{text}]"
        elif self.shape == "map":
            text = f"Mapping[{key}, {text}]"
        return f"{text} | None" if self.default == "None" else text


@dataclass(frozen=True)
class Result:
    """What a method returns: with RESP3, and with RESP2 if that differs."""

    resp3: str
    resp2: str | None = None


@dataclass(frozen=True)
class Method:
    """A method of a command."""

    name: str
    command: str
    parameters: tuple[Parameter, ...]
    result: Result
    when: tuple[str, Result] | None
    body: tuple[str, ...]
    summary: str
    by_word: dict[str, Parameter] = field(compare=False)


def _with_contexts(
    words: tuple[Word, ...], is_left: bool
) -> Iterator[tuple[Word, bool]]:
    """Every argument, and whether a command may do without it."""
    for word in words:
        may_lack = is_left or word.is_optional
        yield word, may_lack
        yield from _with_contexts(word.parts, may_lack or word.kind == "oneof")


def _type_of(word: Word) -> str:
    if word.is_choice:
        tokens = ", ".join(f'"{part.token}"' for part in word.parts)
        return f"Literal[{tokens}]"
    if word.kind == "double" and word.name in _RANGES:
        return "Argument"
    return _TYPES.get(word.kind, "Argument")


def _parameter(text: str, facts: Facts) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    if not found:
        raise ValueError(f"{facts.name}: no parameter: {text}")
    name, default, type = found["name"], found["default"], found["type"]
    word = found["word"] or name
    shape = "any" if found["star"] else _SHAPES[found["shape"]]
    known: dict[str, tuple[Word, bool]] = {}
    for inner, lacks in _with_contexts(facts.words, False):
        known.setdefault(inner.name, (inner, lacks))
    leaf, may_lack = known.get(word.rpartition(":")[2], (None, False))
    if type is not None and not found["word"]:
        may_lack = False
    if type is None:
        type = "Argument" if leaf is None else _type_of(leaf)
    type = re.sub(r"\s*([|,])\s*", lambda m: " | " if m[1] == "|" else ", ", type)
    if type.endswith(" | None"):
        type, default = type[: -len(" | None")], "None"
    elif type == "bool":
        default = default or "False"
    elif default is None and may_lack and shape != "any":
        default = "None"
    return Parameter(name, shape, word, type, default)


def _result(text: str) -> Result:
    resp3, _, resp2 = (part.strip() for part in text.partition(" / "))
    return Result(resp3, resp2 or None)


def _method(lines: list[str], facts: dict[str, Facts]) -> Method:
    name, *rest = lines[0].split()
    words = []
    while rest and re.fullmatch(r"[A-Z][A-Z_-]*", rest[0]):
        words.append(rest.pop(0))
    names = {re.sub("[ -]", "_", known).lower(): known for known in facts}
    command = " ".join(words) or names.get(name, name)
    if command not in facts:
        raise ValueError(f"{command}: no such command")
    parameters = tuple(_parameter(text, facts[command]) for text in rest)
    when, result = None, None
    body: list[str] = []
    summary: list[str] = []
    for line in lines[1:]:
        text = line.strip()
        if text.startswith("when "):
            given, _, alternative = text[5:].partition(" -> ")
            when = given, _result(alternative)
        elif text.startswith("-> "):
            result = _result(text[3:])
        elif text.startswith("> "):
            body.append(text[2:])
        else:
            summary.append(text)
    if result is None or not summary:
        raise ValueError(f"{name}: no result, or no words")
    by_word = {parameter.word: parameter for parameter in parameters}
    return Method(
        name, command, parameters, result, when, tuple(body), " ".join(summary), by_word
    )


def read_methods(text: str, facts: dict[str, Facts]) -> tuple[list[Method], set[str]]:
    """All methods by their names, and the commands that have none."""
    entries: list[list[str]] = []
    left_out = set()
    for line in text.splitlines():
        if line.startswith("! "):
            words = line[2:].split()
            command = words[0] if words[1].upper() != words[1] else " ".join(words[:2])
            left_out.add(command)
        elif line.startswith(" "):
            entries[-1].append(line)
        elif line and not line.startswith("#"):
            entries.append([line])
    methods = sorted(
        (_method(lines, facts) for lines in entries), key=lambda method: method.name
    )
    return methods, left_out
