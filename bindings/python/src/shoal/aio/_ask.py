# SPDX-License-Identifier: MIT
"""The part of a tick through which each awaited command passes."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from asyncio import _get_running_loop
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from .._replies import HAS_CONSTRUCTORS
from ._batch import Future


class SlowAsker:
    """What native/interpreter/ask.c does, for builds without it."""

    loop: asyncio.AbstractEventLoop
    #: In order: a command, its future, a command ... Always the same list, and a pair
    #: enters it at once: finalizers and signal handlers may run between any two steps,
    #: and submit.
    queued: list[Any]
    #: For what is awaited at once, by one task.
    create_waiter: Callable[[], Future]
    #: At this length the queue is handed over before the end of the tick; 0: never.
    early: int = 0
    #: flush() will be called when this tick is over.
    is_scheduled: bool = False

    @abstractmethod
    def begin(self) -> None:
        """A command was queued, and nothing is scheduled: see that it leaves."""

    @abstractmethod
    def flush_early(self) -> None:
        """Half of all callers have queued."""

    def ask(self, command: Sequence[Any]) -> Future | None:
        """Queue what the caller awaits next. None: another loop runs here, or none."""
        if self.loop is not _get_running_loop():
            return None
        future = self.create_waiter()
        queued = self.queued
        queued += (command, future)
        if not self.is_scheduled:
            self.begin()
        elif len(queued) == self.early:
            self.flush_early()
        return future


if TYPE_CHECKING or not HAS_CONSTRUCTORS:
    Asker = SlowAsker
else:
    Asker = _native.new_asker_type(_get_running_loop)
