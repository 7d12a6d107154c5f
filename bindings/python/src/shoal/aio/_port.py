# SPDX-License-Identifier: MIT
"""Between one event loop and one connection.

Commands of one tick of the loop cross into C together and leave in one write; one
wake-up brings all results that were read, decoded at once. Python never runs inside C.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._core import Core
from .._native import ffi, lib
from .._options import Options
from .._outcomes import error_of
from .._replies import PLAIN, Conversion, loads
from .._requests import new_packer
from ..exceptions import ClosedError
from ._backlog import Backlog, Batch

Future = asyncio.Future[Any]

_submit = lib.shoalpy_port_submit
_pump = lib.shoalpy_port_pump
_loads = loads
_buffer = ffi.buffer

#: Results that may wait in the completion queue of a shared connection.
_OUTSTANDING_MAX = 1 << 20
#: Commands that cross into C together at most.
BATCH_MAX = 4096
#: Fewer callers are not worth a second write in a tick.
_EARLY_MIN = 64
#: A part of a batch may be accepted although the whole was not.
_OF_A_PART = (lib.SHOAL_EFULL, lib.SHOAL_ETOOBIG, lib.SHOAL_EREFUSED)
#: While a connection closes, it is looked at so often, in seconds.
_CLOSING_NAP = 0.001


class Port:
    """One event loop's way to one connection; used on that loop's thread only."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: Core, options: Options
    ) -> None:
        holder = ffi.new("shoalpy_port_t **")
        status = lib.shoalpy_port_new(core.handle, _OUTSTANDING_MAX, holder)
        if status < 0:
            raise error_of(status)
        self.loop = loop
        self.core = core
        self._options = options
        self._native: Any = holder[0]
        if not core.is_borrowed:
            self._native = ffi.gc(holder[0], lib.shoalpy_port_free)
        self._view = lib.shoalpy_port_view(holder[0])
        self._pack = new_packer()
        #: Of this tick, in order: commands, and the futures that wait for them.
        self.commands: list[Sequence[Any]] = []
        self.futures: list[Future] = []
        #: By number: the futures that C owes a result.
        self.waiting: dict[int, Future] = {}
        self._set_result = type(loop.create_future()).set_result
        self._is_done = type(loop.create_future()).done
        self.create_future = _future_maker(loop)
        #: Asking for the running loop costs a system call until CPython 3.12; the
        #: loop's own note of its thread costs none.
        self.knows_thread = sys.version_info < (3, 12) and hasattr(loop, "_thread_id")
        #: Results that are converted in another way than the client's, by number.
        self._conversions: dict[int, Conversion] = {}
        self._is_quick = not options.default.mends_all
        self._cancelled: list[Future] = []
        self._backlog = Backlog(loop, self._retry)
        self._was_lone = False
        self._is_scheduled = False
        #: So many commands in one tick are handed over before its end; 0: never.
        self.early = 0
        self._ready = getattr(loop, "_ready", None)
        self.is_open = True
        self._closing: asyncio.Task[None] | None = None
        loop.add_reader(self._view.fd, self._on_readable)
        self._pump_soon()  # a borrowed connection begins with its first step

    # ---- commands ----

    def begin(self) -> None:
        """The first command of this tick was queued: see that it leaves. At once if no
        other can follow in this tick, else when the tick is over."""
        if self._is_scheduled:
            return
        if self._ready is None:
            is_last = self._was_lone and not self.waiting
        else:
            is_last = not self._ready
        if is_last:
            self.flush()
        else:
            self._is_scheduled = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """The tick is over: hand its commands to C."""
        self._is_scheduled = False
        self._hand_over()
        outstanding = len(self.waiting)
        self.early = outstanding // 2 if outstanding >= _EARLY_MIN else 0

    def flush_early(self) -> None:
        """Half of all callers have queued: hand over what there is, so that the server
        works while the other half goes on. Once in a tick."""
        self.early = 0
        self._hand_over()

    def _hand_over(self) -> None:
        commands, futures = self.commands, self.futures
        if not commands:
            return
        self.commands, self.futures = [], []
        if True in map(self._is_done, futures):  # cancelled in the same tick
            commands, futures = _without_done(commands, futures)
        self._was_lone = len(commands) == 1
        self._enqueue(Batch(commands, futures, self._options))

    def submit(
        self,
        commands: list[Sequence[Any]],
        flags: int,
        timeout_us: int,
        conversion: Conversion,
        *,
        waits_for_room: bool = True,
    ) -> list[Future]:
        """Queue commands with extras, behind those of this tick."""
        self._hand_over()
        futures = [self.create_future() for _ in commands]
        batch = Batch(commands, futures, self._options)
        batch.flags = flags
        batch.timeout_us = timeout_us
        batch.conversion = conversion
        batch.waits_for_room = waits_for_room
        batch.is_of_one = True
        self._enqueue(batch)
        return futures

    def _enqueue(self, batch: Batch) -> None:
        for piece in batch.pieces(BATCH_MAX):
            kept = [piece] if self._backlog else self._send(piece)
            if kept:
                self._backlog.append(kept)

    def _retry(self) -> None:
        """There may be room for what was kept back."""
        while self._backlog:
            batch = self._backlog.popleft()
            if batch.is_over(self.loop.time()):
                continue
            kept = self._send(batch)
            if kept:
                self._backlog.put_back(kept)
                return

    def _send(self, batch: Batch) -> list[Batch]:
        """Hand a batch to C: whole, or in halves if there is no room for the whole.
        Returns what there was no room for."""
        if not self.is_open:
            batch.fail(ClosedError("the client is closed"))
            return []
        try:
            if self._options.encodes and not batch.is_encoded:
                raise ValueError("an encoding that C does not know")
            stream = self._pack(batch.commands)
        except Exception:
            return self._send_encoded(batch)
        conversion = batch.conversion
        status = _submit(
            self._native,
            stream,
            len(stream),
            batch.flags,
            batch.timeout_us,
            conversion.flags,
        )
        if status >= 0:
            first = self._view.first
            numbers = range(first, first + len(batch.futures))
            self.waiting.update(zip(numbers, batch.futures, strict=True))
            if conversion is not self._options.default:
                self._conversions.update(dict.fromkeys(numbers, conversion))
                self._is_quick = False
            if status:
                self._take(status)
            return []
        return self._send_otherwise(batch, status)

    def _send_encoded(self, batch: Batch) -> list[Batch]:
        batch.encode()
        return self._send(batch) if batch.commands else []

    def _send_otherwise(self, batch: Batch, status: int) -> list[Batch]:
        """Nothing of the batch was queued."""
        if status == lib.SHOAL_EINVAL and not batch.is_encoded:
            return self._send_encoded(batch)
        may_be_split = batch.may_be_split() and status in _OF_A_PART
        if may_be_split and (batch.waits_for_room or status != lib.SHOAL_EFULL):
            front, back = batch.halves()
            kept = self._send(front)
            return [*kept, back] if kept else self._send(back)
        if status == lib.SHOAL_EFULL and batch.waits_for_room:
            return [batch]
        batch.fail(error_of(status))
        return []

    # ---- results ----

    def _pump_soon(self) -> None:
        self.loop.call_soon(self._on_readable)

    def _on_readable(self) -> None:
        if not self.is_open:
            return
        status = _pump(self._native)
        if status:
            self._take(status)

    def _take(self, status: int) -> None:
        """C has results, or wants another pump."""
        if status < 0:
            self._fail_all(error_of(status))
            return
        count = status >> 1
        if count:
            self._complete(_loads(_buffer(self._view.data, count)))
            if self._backlog:
                self._retry()
        if status & 1:
            self._pump_soon()

    def _complete(self, items: list[Any]) -> None:
        pop = self.waiting.pop
        pairs = iter(items)
        for first, what in zip(pairs, pairs, strict=True):
            if type(what) is list and self._is_quick:
                numbers = range(first, first + len(what))
                done = map(self._set_result, map(pop, numbers), what)
                while True:
                    try:
                        deque(done, 0)
                        break
                    except asyncio.InvalidStateError:
                        continue  # it was cancelled: its reply goes nowhere
            elif type(what) is list:
                for number, reply in enumerate(what, first):
                    self._complete_one(number, PLAIN, reply)
            else:
                reply = what[1] if what[0] == lib.SHOALPY_HELP else what
                self._complete_one(first, what[0], reply)

    def _complete_one(self, number: int, kind: int, what: Any) -> None:
        future = self.waiting.pop(number)
        conversion = self._conversions.pop(number, self._options.default)
        if not self._conversions:
            self._is_quick = not self._options.default.mends_all
        if future.done():
            return
        try:
            future.set_result(conversion.value_of(kind, what))
        except Exception as error:
            future.set_exception(error)

    # ---- cancelling ----

    def give_up(self, futures: Iterable[Future]) -> None:
        """Nobody waits for these any more: what was not written never will be."""
        if not self._cancelled:
            self.loop.call_soon(self._cancel_given_up)
        self._cancelled.extend(futures)

    def _cancel_given_up(self) -> None:
        gone = {id(future) for future in self._cancelled}
        self._cancelled.clear()
        for future in self._backlog.futures():
            if id(future) in gone:
                future.cancel()
        if not self.is_open:
            return
        numbers = [n for n, future in self.waiting.items() if id(future) in gone]
        for number in numbers:
            lib.shoalpy_port_cancel(self._native, number)
        if numbers:
            self._on_readable()

    # ---- the end ----

    def _fail_all(self, error: BaseException) -> None:
        waiting, self.waiting = self.waiting, {}
        self._conversions.clear()
        for future in waiting.values():
            if not future.done():
                future.set_exception(error)

    def detach(self) -> None:
        """No more commands; results still due are dropped with their futures."""
        if not self.is_open:
            return
        self.is_open = False
        if not self.loop.is_closed():
            self.loop.remove_reader(self._view.fd)
        self._backlog.end(ClosedError("the client is closed"))
        if not self.core.is_borrowed:
            ffi.release(self._native)

    def abandon(self) -> None:
        """The loop runs no more: nobody waits for anything."""
        self.detach()
        if self.core.is_borrowed:
            self.core.close(0.0)

    def begin_close(self, drain: float) -> None:
        """For other threads' close(): on this port's loop, end by itself."""
        if self.is_open:
            self._closing = self.loop.create_task(self.close(drain, True))

    async def close(self, drain: float, owns_core: bool) -> None:
        """Finish what is outstanding in `drain` seconds, and end."""
        if not self.is_open:
            return
        self._hand_over()
        self.loop.remove_reader(self._view.fd)
        if owns_core:
            self.core.begin_close(round(drain * 1e6))
            if self.core.is_borrowed:
                await self._close_borrowed()
            else:
                await self._close_shared()
        self.detach()
        self._fail_all(ClosedError("the client was closed"))

    async def _close_borrowed(self) -> None:
        while (status := _pump(self._native)) != lib.SHOAL_ECLOSED:
            if status:
                self._take(status)
            await asyncio.sleep(_CLOSING_NAP)
        self.is_open = False
        self.core.note_gone()

    async def _close_shared(self) -> None:
        while not self.core.has_gone(0):
            self._on_readable()
            await asyncio.sleep(_CLOSING_NAP)
        self._on_readable()
        self.core.note_gone()


def _future_maker(loop: asyncio.AbstractEventLoop) -> Callable[[], Future]:
    """The loop's create_future(), without a call in between where that is the usual
    one."""
    if getattr(type(loop), "create_future", None) is _usual_create_future:
        return functools.partial(asyncio.Future, loop=loop)
    return loop.create_future


_usual_create_future = asyncio.BaseEventLoop.create_future


def _without_done(
    commands: list[Sequence[Any]], futures: list[Future]
) -> tuple[list[Sequence[Any]], list[Future]]:
    """Leave out those that nobody waits for any more."""
    kept = [(c, f) for c, f in zip(commands, futures, strict=True) if not f.done()]
    return [c for c, _ in kept], [f for _, f in kept]
