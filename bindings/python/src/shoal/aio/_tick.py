# SPDX-License-Identifier: MIT
"""The commands of one tick of an event loop, and when they leave together."""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from typing import Any

from .._options import Options
from ._ask import Asker
from ._batch import Batch, Extras, Future, WithExtras, runs_of
from ._loop import future_maker
from ._waiters import waiter_maker

#: Fewer callers are not worth a second write in a tick.
_EARLY_MIN = 64


class Tick(Asker, ABC):
    """What the tasks of an event loop have queued in this tick.

    A command that no other can follow leaves at once, the others when the tick is over.
    If half of all callers have queued, theirs leave before, so that the server works
    while the other half goes on. `waiting` has those who wait for a reply.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        options: Options,
        waiting: Sized,
    ) -> None:
        self.loop = loop
        self.waiting = waiting
        self._options = options
        self.queued = []
        self.create_future = future_maker(loop)
        self.create_waiter = waiter_maker(loop)
        #: For submit(): asking for the running loop costs a system call until CPython
        #: 3.12; the loop's own note of its thread costs none.
        self.knows_thread = sys.version_info < (3, 12) and hasattr(loop, "_thread_id")
        #: One for each command with extras that is queued, or about to be.
        self._marks: list[None] = []
        self._was_lone = False
        #: C's memory is being read, or results may come whose futures are not
        #: registered yet: no other call into C.
        self._is_busy = False
        self._ready = getattr(loop, "_ready", None)

    @abstractmethod
    def _enqueue(self, batch: Batch, *, more_follow: bool = False) -> None:
        """Hand a batch to C; `more_follow`: another one does, at once."""

    @abstractmethod
    def _pump_soon(self) -> None:
        """Let C work, in the next tick."""

    def begin(self) -> None:
        """A command was queued, and nothing is scheduled: see that it leaves. At once
        if no other can follow in this tick, else when the tick is over."""
        if self._ready is None:
            is_last = self._was_lone and not self.waiting
        else:
            is_last = not self._ready
        if is_last and not self._is_busy:
            self.flush()
        else:
            self.schedule()

    def schedule(self) -> None:
        """Flush when this tick is over."""
        if not self.is_scheduled:
            self.loop.call_soon(self.flush)
            self.is_scheduled = True  # not before: Ctrl-C may come in between

    def flush(self) -> None:
        """The tick is over: hand its commands to C."""
        self.is_scheduled = False
        if self._is_busy:
            self.begin()
            return
        self._hand_over()
        outstanding = len(self.waiting)
        self.early = outstanding // 2 * 2 if outstanding >= _EARLY_MIN else 0

    def flush_early(self) -> None:
        """Half of all callers have queued: hand over what there is, so that the server
        works while the other half goes on. Once in a tick."""
        self.early = 0
        if not self._is_busy:
            self._hand_over()

    def _hand_over(self) -> None:
        queued = self.queued
        taken = queued[:]
        if not taken:
            return
        del queued[: len(taken)]
        commands, futures = taken[::2], taken[1::2]
        self._was_lone = len(commands) == 1
        if not self._marks:
            self._enqueue(Batch(commands, futures, self._options))
            return
        del self._marks[: sum(type(command) is WithExtras for command in commands)]
        runs = list(runs_of(commands, futures, self._options))
        for run in runs[:-1]:
            self._enqueue(run, more_follow=True)
        self._enqueue(runs[-1])
        if len(runs) > 1:
            self._pump_soon()  # the last one may have been refused, with its step

    def submit_one(
        self, command: Sequence[Any], extras: Extras, *, is_awaited: bool
    ) -> Future:
        """Queue a command with extras; neighbours with the same ones cross together.
        `is_awaited`: the caller awaits it next."""
        future = self.create_future()
        queued = self.queued
        self._marks.append(None)
        queued += (WithExtras(command, extras), future)
        if not is_awaited:
            self.schedule()  # the caller may go on, and submit more
        elif not self.is_scheduled:
            self.begin()
        return future
