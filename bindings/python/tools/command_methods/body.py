# SPDX-License-Identifier: MIT
"""What a method does: the words of its command in their order, in few steps.

Words that are always there make one tuple. Others are added to it under a condition.
"""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Facts, Word
from .methods import Method, Parameter

#: Words that say how many others follow.
_COUNTED = {"numkeys": "key", "numfields": "field"}


@dataclass(frozen=True)
class _Case:
    """Words that are sent under a condition."""

    head: str
    steps: list[str | _Case]


_Steps = list["str | _Case"]


class _Body:
    """The steps of one method."""

    def __init__(self, method: Method, facts: Facts) -> None:
        self._method = method
        self._facts = facts
        self._counted: Parameter | None = None
        self._used: set[str] = set()

    def lines(self) -> list[str]:
        """The statements. ValueError: an argument has no parameter, or a parameter no
        argument."""
        command = [f'"{word}"' for word in self._method.command.split()]
        steps: _Steps = [*command]
        for word in self._facts.words:
            steps += self._steps(word, word.is_optional)
        unused = {p.name for p in self._method.parameters} - self._used
        if unused:
            raise ValueError(f"{self._method.name}: not sent: {unused}")
        lines = []
        if self._counted is not None and self._counted.shape == "some":
            name = self._counted.name
            lines.append(f"{name} = several({name})")
        fixed, rest = _fixed(steps)
        if not rest:
            return [*lines, f"return self._run({_tuple(fixed)})"]
        lines.append(f"args: tuple[Any, ...] = {_tuple(fixed)}")
        if all(isinstance(step, str) for step in rest[-1:]):
            middle, last = _split_last(rest)
            return [
                *lines, *_statements(middle),
                f"return self._run({_tuple(['*args', *last])})",
            ]  # fmt: skip
        return [*lines, *_statements(rest), "return self._run(args)"]

    def _bound(self, word: str) -> Parameter | None:
        parameter = self._method.by_word.get(word)
        if parameter is not None:
            self._used.add(parameter.name)
        return parameter

    def _needed(self, word: str) -> Parameter:
        parameter = self._bound(word)
        if parameter is None:
            raise ValueError(f"{self._method.name}: {word} has no parameter")
        return parameter

    def _steps(self, word: Word, may_lack: bool) -> _Steps:
        token: _Steps = [] if word.token is None else [f'"{word.token}"']
        if word.kind == "pure-token":
            return (
                [_Case(f"if {self._needed(word.name).given}:", token)]
                if may_lack
                else token
            )
        if word.kind == "oneof":
            return self._choice(word, token, may_lack)
        if word.kind == "block":
            return self._block(word, token, may_lack)
        if word.name in _COUNTED:
            self._counted = self._needed(_COUNTED[word.name])
            return [f"len({self._counted.name})"]
        parameter = self._needed(word.name)
        text = parameter.name
        if parameter.shape == "any" or parameter is self._counted:
            text = f"*{text}"
        elif word.is_multiple:
            text = f"*several({text})"
        return self._unless([*token, text], parameter, may_lack)

    def _unless(self, steps: _Steps, parameter: Parameter, may_lack: bool) -> _Steps:
        if not may_lack or parameter.default != "None":
            return steps
        return [_Case(f"if {parameter.given}:", steps)]

    def _choice(self, word: Word, token: _Steps, may_lack: bool) -> _Steps:
        parameter = self._bound(word.name)
        if parameter is not None:
            return self._unless([*token, parameter.name], parameter, may_lack)
        if token:
            raise ValueError(f"{self._method.name}: {word.name} has no parameter")
        return [step for part in word.parts for step in self._steps(part, True)]

    def _block(self, word: Word, token: _Steps, may_lack: bool) -> _Steps:
        names = [part.name for part in word.parts]
        for pair in (names, names[::-1]):
            parameter = self._bound(":".join(pair))
            if parameter is None:
                continue
            name = parameter.name
            if word.parts[0].is_multiple:
                return [*token, f"*{name}", f"*{name}.values()"]
            helper = "flat" if pair is names else "swapped"
            return [*token, f"*{helper}({name})"]
        if word.is_multiple and len(names) == 1:
            inner = Word(names[0], word.parts[0].kind, is_multiple=True)
            return self._steps(inner, may_lack)
        if word.is_multiple:
            raise ValueError(f"{self._method.name}: {word.name} has no parameter")
        steps = [s for part in word.parts for s in self._steps(part, part.is_optional)]
        if not may_lack:
            return [*token, *steps]
        parameters = [
            self._needed(part.name) for part in word.parts if not part.is_optional
        ]
        needed = [p.given for p in parameters if p.default in ("None", "False")]
        return [_Case(f"if {' or '.join(needed)}:", [*token, *steps])]


def _fixed(steps: _Steps) -> tuple[list[str], _Steps]:
    """The words in front that are always there, and what follows."""
    fixed: list[str] = []
    for at, step in enumerate(steps):
        if isinstance(step, _Case):
            return fixed, steps[at:]
        fixed.append(step)
    return fixed, []


def _split_last(steps: _Steps) -> tuple[_Steps, list[str]]:
    """What precedes the words at the end that are always there, and these."""
    at = len(steps)
    while at and isinstance(steps[at - 1], str):
        at -= 1
    return steps[:at], [step for step in steps[at:] if isinstance(step, str)]


def _tuple(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _statements(steps: _Steps) -> list[str]:
    lines: list[str] = []
    while steps:
        fixed, steps = _fixed(steps)
        if fixed:
            lines.append(f"args += {_tuple(fixed)}")
        if steps:
            case, *steps = steps
            assert isinstance(case, _Case)
            lines.append(case.head)
            lines += [f"    {line}" for line in _statements(case.steps)]
    return lines


def body_of(method: Method, facts: Facts) -> list[str]:
    """The statements of a method: its own, or what the facts say."""
    if not method.body:
        return _Body(method, facts).lines()
    return list(method.body)
