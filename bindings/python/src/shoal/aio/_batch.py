# SPDX-License-Identifier: MIT
"""Commands that cross into C together, and the futures that wait for them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .. import stats
from .._core import Core
from .._flags import CONTIGUOUS
from .._lease import LEASES_MAX, Handle
from .._native import lib
from .._options import Options
from .._outcomes import NO_ROOM, error_of
from .._replies import Conversion
from .._requests import blocks
from .._seconds import NEVER
from .._targets import Route

Future = asyncio.Future[Any]
#: Flags, timeout in us, conversion, target.
Extras = tuple[int, int, Conversion, Handle | Route | None]


def fail_future(future: Future, error: BaseException) -> None:
    """End the future with an exception. If its loop is closed, the tasks that wait for
    it cannot be told. asyncio logs nothing of it then, because thousands may end with
    their loop."""
    if future.done():
        return
    with contextlib.suppress(RuntimeError):
        future.set_exception(error)
    if future.get_loop().is_closed():
        future.exception()


class WithExtras(NamedTuple):
    """A command in a queue with flags, a timeout or a conversion of its own."""

    command: Sequence[Any]
    extras: Extras


def _extras_of(pair: tuple[Any, Future]) -> Extras | None:
    command = pair[0]
    return command.extras if type(command) is WithExtras else None


def runs_of(
    commands: list[Any], futures: list[Future], options: Options
) -> Iterator[Batch]:
    """Batches of neighbours with the same extras, in order."""
    pairs = zip(commands, futures, strict=True)
    for extras, run in itertools.groupby(pairs, _extras_of):
        rows = list(run)
        plain = [c.command if type(c) is WithExtras else c for c, _ in rows]
        batch = Batch(plain, [future for _, future in rows], options)
        if extras is not None:
            batch.flags, batch.timeout_us, batch.conversion, batch.target = extras
        yield batch


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
        "target",
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
        self.target: Handle | Route | None = None
        self.is_encoded = False
        self.is_of_one = False  # all commands are of one call
        self.waits_for_room = True
        #: When it is too late, in the loop's time; None: it was never kept back.
        self.until: float | None = None

    def _part(self, begin: int, end: int | None) -> Batch:
        part = Batch(self.commands[begin:end], self.futures[begin:end], self._options)
        part.conversion = self.conversion
        part.flags = self.flags
        part.timeout_us = self.timeout_us
        part.target = self.target
        part.is_encoded = self.is_encoded
        part.is_of_one = self.is_of_one
        part.waits_for_room = self.waits_for_room
        part.until = self.until
        return part

    def may_be_split(self) -> bool:
        """May others' commands come between its own?"""
        return len(self.commands) > 1 and not self.flags & CONTIGUOUS

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
        """Every argument to bytes. Commands that cannot be encoded fail, and are left
        out; commands that one caller gave together fail together."""
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
                fail_future(future, error)
        self.commands, self.futures = commands, futures

    def _fail_encoding(self, error: Exception) -> None:
        for future in self.futures:
            fail_future(future, type(error)(*error.args))

    def fail(self, status: int, detail: str = "") -> None:
        """Fail all of it: none was queued."""
        for future in self.futures:
            fail_future(future, error_of(status, detail))

    def may_wait(self, core: Core) -> bool:
        """Until there is room? Not for leases, which commands that block need: others
        would stand in line behind them until one of these ends."""
        if not self.waits_for_room:
            return False
        wanted = sum(map(blocks, self.commands)) if self.target is None else 0
        return not wanted or stats.take(core).leases_now + wanted <= LEASES_MAX

    def left_us(self, now: float) -> int:
        """What is left of its time, for C; 0: the client's timeout, all of it, or that
        of a command that blocks."""
        if self.until is None or self.until == float("inf"):
            return self.timeout_us
        if self.timeout_us == 0 and any(map(blocks, self.commands)):
            return 0
        return max(1, round((self.until - now) * 1e6))

    def leave_out_done(self) -> None:
        """Leave out commands whose future is done; a contiguous batch stays whole."""
        if self.flags & CONTIGUOUS:
            return
        pairs = zip(self.commands, self.futures, strict=True)
        kept = [(command, future) for command, future in pairs if not future.done()]
        self.commands = [command for command, _ in kept]
        self.futures = [future for _, future in kept]

    def is_over(self, now: float) -> bool:
        """Its time has passed, and it failed; or all of its futures are done."""
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
