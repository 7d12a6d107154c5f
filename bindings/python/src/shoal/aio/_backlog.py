# SPDX-License-Identifier: MIT
"""Commands of an event loop that the connection has no room for at the moment."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from .._native import lib
from ._batch import Batch, Future


class Backlog:
    """Batches in their order, retried when results make room, or are overdue."""

    def __init__(self, loop: asyncio.AbstractEventLoop, commands_max: int) -> None:
        self._loop = loop
        self._commands_max = commands_max
        self._commands = 0
        self._batches: deque[Batch] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._batches)

    def futures(self) -> Iterator[Future]:
        """The futures of all commands in it."""
        return (future for batch in self._batches for future in batch.futures)

    def append(self, batches: list[Batch], retry: Callable[[], None]) -> None:
        """Keep batches back, behind the others; `retry` is called when time is over."""
        for batch in batches:
            if self._commands + len(batch.commands) > self._commands_max:
                batch.fail(lib.SHOAL_EFULL)
            else:
                self._commands += len(batch.commands)
                self._batches.append(batch)
        self._watch(batches, retry)

    def popleft(self) -> Batch:
        """The oldest batch."""
        batch = self._batches.popleft()
        self._commands -= len(batch.commands)
        return batch

    def put_back(self, batches: list[Batch], retry: Callable[[], None]) -> None:
        """There still is no room for these batches, which were in front."""
        self._batches.extendleft(reversed(batches))
        self._commands += sum(len(batch.commands) for batch in batches)
        self._watch(batches, retry)

    def _watch(self, batches: list[Batch], retry: Callable[[], None]) -> None:
        """Set deadlines, and a timer for the first: perhaps no result makes room."""
        now = self._loop.time()
        for batch in batches:
            batch.set_deadline(now)
        until = batches[0].until
        if self._timer is None and until is not None and until != float("inf"):
            self._timer = self._loop.call_at(until, self._on_time, retry)

    def _on_time(self, retry: Callable[[], None]) -> None:
        self._timer = None
        retry()
        if self._batches and self._timer is None:
            self._watch([self._batches[0]], retry)

    def end(self, status: int) -> None:
        """Everything in it fails, and nothing is retried."""
        while self._batches:
            self.popleft().fail(status)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
