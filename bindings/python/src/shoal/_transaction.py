# SPDX-License-Identifier: MIT
"""Optimistic locking: what both faces decide alike.

An attempt watches keys, lets the caller's function read them and queue commands, and
sends these as one unit. EXEC's nil proves that nothing was executed, and so does a loss
before the server had the whole unit: both lead to another attempt. A loss after that
proves nothing: it is raised, never repeated.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ._native import lib
from ._pipeline import Gathered
from .exceptions import ConnectionError, Fate, WatchError

ATTEMPTS = 8
_DELAY_MAX_MS = 32.0
_uniform = random.SystemRandom().uniform


class Rounds:
    """The attempts of one transaction."""

    def __init__(self, func: Callable[..., Any], attempts: int) -> None:
        if not callable(func):
            raise TypeError(f"func must be callable, not {type(func).__name__}")
        if type(attempts) is not int:
            kind = type(attempts).__name__
            raise TypeError(f"attempts must be an int, not {kind}")
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {attempts}")
        self._most = attempts
        self._done = 0

    def next_delay(self, loss: ConnectionError | None) -> float:
        """An attempt failed, by this loss or because a key changed: so many seconds
        until the next one. Raises the reason if it was the last."""
        self._done += 1
        if self._done >= self._most:
            if loss is not None:
                raise loss
            raise WatchError(
                f"the watched keys changed during each of {self._most} attempts"
            )
        most_ms = min(_DELAY_MAX_MS, 2.0**self._done)
        return _uniform(1.0, most_ms) / 1000


class AttemptBase(Gathered):
    """One attempt: reads now, and gathers what is to be executed as one unit."""

    def __init__(self) -> None:
        super().__init__(is_unit=True)

    def unit(self) -> list[tuple[Any, ...]]:
        """What is to be sent: MULTI ... EXEC, or nothing."""
        return self._taken()

    def may_follow(self, error: ConnectionError, *, was_sent: bool) -> bool:
        """Was the connection lost, and is it proved that the unit was not executed, so
        that another attempt may follow? Before the unit was sent, it is."""
        is_loss = error.status == lib.SHOAL_ECONN
        return is_loss and (not was_sent or error.fate is Fate.NOT_EXECUTED)

    def replies(self, outcomes: list[Any]) -> list[Any] | None:
        """EXEC's list; None: it was nil, a key had changed. Raises what went wrong."""
        return None if outcomes[-1] is None else self._replies(outcomes, True)
