# SPDX-License-Identifier: MIT
"""Commands of an event loop that the connection has no room for at the moment."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._native import lib
from .._options import NEVER, Options
from .._outcomes import NO_ROOM, error_of

Future = asyncio.Future[Any]


class Batch:
    """Commands that cross into C together, and the futures that wait for them."""

    __slots__ = (
        "_options",
        "commands",
        "conversion",
        "flags",
        "futures",
        "is_encoded",
        "is_of_one",
        "timeout_us",
        "until",
        "waits_for_room",
    )

    def __init__(
        self, commands: list[Sequence[Any]], futures: list[Future], options: Options
    ) -> None:
        self.commands = commands
        self.futures = futures
        self._options = options
        self.conversion = options.default
        self.flags = 0
        self.timeout_us = 0
        self.is_encoded = False
        self.is_of_one = False  # one caller's
        self.waits_for_room = True
        #: When it is too late, in the loop's time; None: it was never kept back.
        self.until: float | None = None

    def _part(self, begin: int, end: int | None) -> Batch:
        part = Batch(self.commands[begin:end], self.futures[begin:end], self._options)
        part.conversion = self.conversion
        part.flags = self.flags
        part.timeout_us = self.timeout_us
        part.is_encoded = self.is_encoded
        part.is_of_one = self.is_of_one
        part.waits_for_room = self.waits_for_room
        part.until = self.until
        return part

    def may_be_split(self) -> bool:
        """May others' commands come between its own?"""
        return len(self.commands) > 1 and not self.flags & lib.SHOAL_CALL_CONTIGUOUS

    def pieces(self, size: int) -> list[Batch]:
        """Batches of that size at most, if it may be split."""
        if len(self.commands) <= size or not self.may_be_split():
            return [self]
        return [self._part(i, i + size) for i in range(0, len(self.commands), size)]

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches instead of this one."""
        middle = len(self.commands) // 2
        return self._part(0, middle), self._part(middle, None)

    def encode(self) -> None:
        """Every argument to bytes. Commands that cannot be fail, and are left out; what
        one caller gave together fails together."""
        self.is_encoded = True
        commands: list[Sequence[Any]] = []
        futures: list[Future] = []
        for command, future in zip(self.commands, self.futures, strict=True):
            try:
                commands.append(self._options.encoded(command))
                futures.append(future)
            except Exception as error:
                if self.is_of_one:
                    self._fail_encoding(error)
                    commands, futures = [], []
                    break
                if not future.done():
                    future.set_exception(error)
        self.commands, self.futures = commands, futures

    def _fail_encoding(self, error: Exception) -> None:
        for future in self.futures:
            if not future.done():
                future.set_exception(type(error)(*error.args))

    def fail(self, status: int, detail: str = "") -> None:
        """None of it was queued, for this reason."""
        for future in self.futures:
            if not future.done():
                future.set_exception(error_of(status, detail))

    def left_us(self, now: float) -> int:
        """What is left of its time, for C; 0: the client's own, whole."""
        if self.until is None or self.until == float("inf"):
            return self.timeout_us
        return max(1, round((self.until - now) * 1e6))

    def leave_out_done(self) -> None:
        """Nobody waits for some of these any more; a contiguous batch stays whole."""
        if self.flags & lib.SHOAL_CALL_CONTIGUOUS:
            return
        pairs = zip(self.commands, self.futures, strict=True)
        kept = [(command, future) for command, future in pairs if not future.done()]
        self.commands = [command for command, _ in kept]
        self.futures = [future for _, future in kept]

    def is_over(self, now: float) -> bool:
        """Its time has passed, and it failed; or nobody waits any more."""
        if all(future.done() for future in self.futures):
            return True
        if self.until is None or now < self.until:
            return False
        self.fail(lib.SHOAL_ETIMEOUT, NO_ROOM)
        return True

    def set_deadline(self, now: float) -> None:
        """It is kept back from now on."""
        if self.until is None:
            timeout_us = self.timeout_us or self._options.timeout_us
            self.until = float("inf") if timeout_us == NEVER else now + timeout_us / 1e6


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
        """Of all commands in it."""
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
        """There still is no room for what was in front."""
        self._batches.extendleft(reversed(batches))
        self._commands += sum(len(batch.commands) for batch in batches)
        self._watch(batches, retry)

    def _watch(self, batches: list[Batch], retry: Callable[[], None]) -> None:
        """If no result comes to make room, time passes all the same."""
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
