# SPDX-License-Identifier: MIT
"""Commands gathered by hand, for both faces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._commands import GatheredCommands
from ._requests import Argument
from ._unique import Unique
from .exceptions import DataError, ExecAbortError, ResponseError

if TYPE_CHECKING:
    from typing_extensions import Self

_MULTI = ("MULTI",)
_EXEC = ("EXEC",)


class Gathered(GatheredCommands, Unique):
    """Commands that wait to be run together."""

    def __init__(self, *, is_unit: bool) -> None:
        self._commands: list[tuple[Argument, ...]] = []
        self._is_unit = is_unit

    def add(self, *args: Argument) -> Self:
        """Append a command; returns the pipeline, so that calls can be chained."""
        if not args:
            raise DataError("a command without a name")
        self._commands.append(args)
        return self

    def _run(self, args: tuple[Argument, ...]) -> Self:
        """What `add(*args)` does, for the methods of commands."""
        self._commands.append(args)
        return self

    def __len__(self) -> int:
        return len(self._commands)

    def __repr__(self) -> str:
        kind = "transaction" if self._is_unit else "pipeline"
        return f"<{kind} of {len(self)} commands>"

    def clear(self) -> None:
        """Forget the commands that were not run."""
        self._commands.clear()

    def _taken(self) -> list[tuple[Argument, ...]]:
        """What is to be sent; the pipeline is empty then."""
        commands, self._commands = self._commands, []
        if self._is_unit and commands:
            return [_MULTI, *commands, _EXEC]
        return commands

    def _replies(self, outcomes: list[Any], raises: bool) -> list[Any]:
        """The replies of the commands among the outcomes of what was sent."""
        if self._is_unit and outcomes:
            outcomes = _of_transaction(outcomes)
        return without_exceptions(outcomes) if raises else outcomes


def without_exceptions(outcomes: list[Any]) -> list[Any]:
    """Raises the first exception among the outcomes, if there is one."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes


def _of_transaction(outcomes: list[Any]) -> list[Any]:
    """EXEC's list. If nothing was executed, the reason is raised."""
    last = outcomes[-1]
    if not isinstance(last, BaseException):
        return list(last) if last is not None else [None] * (len(outcomes) - 2)
    if isinstance(last, ExecAbortError):
        for rejected in outcomes[1:-1]:
            if isinstance(rejected, ResponseError):
                raise last from rejected
    raise last
