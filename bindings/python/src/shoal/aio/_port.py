# SPDX-License-Identifier: MIT
"""Between one event loop and one connection: the commands of a tick cross into C
together, and one wake-up brings all results. Python never runs inside C."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import weakref
from asyncio import current_task
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from operator import setitem
from typing import Any

from .._core import Core, freed_last
from .._native import ffi, lib
from .._options import Options
from .._outcomes import error_of, reason_of
from .._replies import new_reader
from .._requests import new_packer, new_taker
from .._targets import NO_TARGET
from ..exceptions import ClosedError, DesyncError
from ._backlog import Backlog
from ._batch import Batch, Extras, Future
from ._loans import LARGE, Loan, take_back
from ._loop import Reader, forget_reader, may_nest
from ._owed import Owed, Taken
from ._tick import Tick
from ._waiters import any_done

_submit = lib.shoalpy_port_submit
_pump = lib.shoalpy_port_pump
_NULL = ffi.NULL

#: Results that may wait in the completion queue of a shared connection; and commands
#: that may wait for room in the connection.
_OUTSTANDING_MAX = _BACKLOG_MAX = 1 << 20
#: A status of C's that has results: their bytes stand above the lowest bit.
_ONE_BYTE = 2
#: Commands that cross into C together at most.
BATCH_MAX = 4096
#: A part of a batch may be accepted although the whole was not.
_OF_A_PART = (lib.SHOAL_EFULL, lib.SHOAL_ETOOBIG, lib.SHOAL_EREFUSED)
#: While a connection closes, it is looked at so often, in seconds.
_CLOSING_NAP = 0.001
#: So long a port to which nothing is due waits before it asks for room again.
_ROOM_NAP = 0.001
#: So long the end of a connection, or the outcome of a cancel, may take.
_CANCEL_SECONDS = 1.0


class Port(Tick):
    """One event loop's way to one connection; used on that loop's thread only."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        core: Core,
        options: Options,
        on_end: weakref.WeakMethod[Callable[[Port], None]],
    ) -> None:
        holder = ffi.new("shoalpy_port_t **")
        status = lib.shoalpy_port_new(core.handle, _OUTSTANDING_MAX, holder)
        if status < 0:
            raise error_of(status)
        self._owed = Owed(loop, options.default)
        super().__init__(loop, options, self._owed)
        self.core = core
        self._on_end = on_end
        #: That of a borrowed connection goes with the core.
        self._native: Any = holder[0]
        self._memory: Any = None
        self._view = lib.shoalpy_port_view(holder[0])
        self._read_value = new_reader(self._view)
        self._take = new_taker(lib.shoalpy_port_requests(holder[0]))
        #: Of the stream that is packed, and not in it.
        self._large: list[bytes] = []
        # An interrupt may have left what was never sent. No cycle with this object.
        self._pack = new_packer(partial(setitem, self._large, slice(None)))
        #: Always the same set: see `queued`.
        self._loans: set[Loan] = set()
        self._is_done = type(loop.create_future()).done
        self._cancelled: list[Future] = []
        self._backlog = Backlog(loop, _BACKLOG_MAX)
        #: Results that came while a task was submitting.
        self._arrived: list[Any] = []
        self._has_made_room = False
        #: The backlog is looked at again soon, without a result.
        self._is_looking = False
        self.is_open = True
        #: Done when the close is.
        self._closed: asyncio.Future[None] | None = None
        # Without a close the port goes with the client, unless it has work.
        loop.add_reader(self._view.fd, Reader(self))
        self._pump_soon()  # a borrowed connection begins with its first step

    # ---- commands ----

    def has_queued(self) -> bool:
        """Are there commands that C does not have yet?"""
        return bool(self.queued or self._backlog)

    def submit(
        self, commands: list[Sequence[Any]], extras: Extras, *, waits_for_room: bool
    ) -> list[Future]:
        """Queue one caller's commands behind those of this tick; hand all over."""
        futures = [self.create_future() for _ in commands]
        batch = Batch(commands, futures, self._options)
        batch.flags, batch.timeout_us, batch.conversion, batch.target = extras
        batch.waits_for_room = waits_for_room
        batch.is_of_one = True
        if not self._is_busy:
            self._hand_over()
        self._enqueue(batch)
        return futures

    def _enqueue(self, batch: Batch, *, more_follow: bool = False) -> None:
        if any_done(batch.futures, self._is_done):  # cancelled in the same tick
            batch.leave_out_done()
        if not batch.commands:
            return
        for piece in batch.pieces(BATCH_MAX):
            must_wait = self._is_busy or self._backlog
            kept = [piece] if must_wait else self._send(piece, more_follow)
            if kept:
                self._backlog.append(kept, self._retry)
                self._look_again()
        if self._is_busy:
            self.loop.call_soon(self._retry)

    def _retry(self) -> None:
        """There may be room for what was kept back."""
        if self._is_busy:
            self.loop.call_soon(self._retry)
            return
        while self._backlog:
            batch = self._backlog.popleft()
            if batch.is_over(self.loop.time()):
                continue
            batch.leave_out_done()
            kept = self._send(batch)
            if kept:
                self._backlog.put_back(kept, self._retry)
                self._look_again()
                return

    def _look_again(self) -> None:
        """Ask for room again soon, if no result is due whose arrival would do that.
        Other ports' commands make room, or the next turn of the connection, which
        counts what the last results left."""
        if not self.waiting and not self._is_looking:
            self._is_looking = True
            self.loop.call_later(_ROOM_NAP, self._on_look)

    def _on_look(self) -> None:
        self._is_looking = False
        self._retry()

    def _send(self, batch: Batch, more_follow: bool = False) -> list[Batch]:
        """Hand a batch to C: whole, or in halves if there is no room for the whole.
        Returns what there was no room for."""
        if not self.is_open:
            batch.fail(lib.SHOAL_ECLOSED)
            return []
        self._is_busy = True  # C may have what is packed
        try:
            try:
                stream = self._packed(batch)
            except MemoryError:
                batch.fail(lib.SHOAL_ENOMEM)
                return []
            status = (
                lib.SHOAL_EINVAL
                if stream is None
                else _submit(
                    self._native,
                    stream,
                    0 if stream is _NULL else len(stream),
                    batch.flags,
                    batch.left_us(self.loop.time())
                    if batch.until
                    else batch.timeout_us,
                    batch.conversion.flags,
                    more_follow,
                    NO_TARGET if batch.target is None else batch.target.target,
                    batch.conversion.into,
                )
            )
            if status >= 0:
                if not self._owed.register(
                    self._view.first, batch.futures, batch.conversion
                ):
                    self._doubt()
                _working.add(self)
                if items := self._read(status):
                    self._arrived += items
                    self.loop.call_soon(self._deliver)
        finally:
            self._is_busy = False
        return self._send_otherwise(batch, status) if status < 0 else []

    def _packed(self, batch: Batch) -> Any:
        """What C reads: a stream; NULL if it has taken the commands themselves; None if
        they must be encoded first."""
        if self._options.encodes and not batch.is_encoded:
            return None
        if self._take(batch.commands):
            return _NULL
        try:
            stream = self._pack(batch.commands)
            if len(stream) >= LARGE or self._large:
                self._lend(stream)
        except MemoryError:
            raise
        except Exception:
            return None
        return stream

    def _lend(self, stream: bytes) -> None:
        """C may send large arguments of this stream from where they are."""
        loan = Loan(stream, self._large[:])
        self._large.clear()
        self._loans.add(loan)
        loan.lend(self._native)

    def _send_encoded(self, batch: Batch) -> list[Batch]:
        batch.encode()
        return self._send(batch) if batch.commands else []

    def _send_otherwise(self, batch: Batch, status: int) -> list[Batch]:
        """Nothing of the batch was queued."""
        take_back(self._loans)
        if status == lib.SHOAL_EINVAL and not batch.is_encoded:
            return self._send_encoded(batch)
        may_be_split = batch.may_be_split() and status in _OF_A_PART
        if may_be_split and (batch.waits_for_room or status != lib.SHOAL_EFULL):
            front, back = batch.halves()
            kept = self._send(front)
            return [*kept, back] if kept else self._send(back)
        if status == lib.SHOAL_EFULL and batch.may_wait(self.core):
            return [batch]
        batch.fail(status, reason_of(self._view.error))
        return []

    # ---- results ----

    def _pump_soon(self) -> None:
        self.loop.call_soon(self.read)

    def read(self) -> None:
        """There may be results, or work for C."""
        if not self.is_open:
            return
        if self._is_busy:
            self._pump_soon()
        else:
            self._pump(is_now=True)

    def _pump(self, *, is_now: bool = False) -> int:
        """Let C work, and complete what it has. Its status."""
        self._is_busy = True
        try:
            status = int(_pump(self._native))
            self._arrived += self._read(status)
        finally:
            self._is_busy = False
        self._complete_and_fill(is_now=is_now)
        return status

    def _read(self, status: int) -> list[Any]:
        """C's results, copied out of its memory."""
        if status & 1 and status > 0:
            self._pump_soon()
        try:
            if status == lib.SHOAL_ENOMEM:
                raise MemoryError
            if status >= _ONE_BYTE:
                return list(self._read_value(status >> 1))
        except MemoryError:  # results are lost: all commands fail
            self._fail_all(lambda: MemoryError("no memory for replies"))
            self.detach()
        except Exception:
            self._doubt()
        return []

    def _deliver(self) -> None:
        """What came while a task was submitting."""
        if self._is_busy:
            self.loop.call_soon(self._deliver)
        else:
            self._complete_and_fill(is_now=True)

    def _complete_and_fill(self, *, is_now: bool) -> None:
        """Complete what is there. Results may have made room for what was kept back,
        also if a task ends with an interrupt meanwhile."""
        try:
            self._complete(is_now=is_now)
        finally:
            if self._has_made_room and self._backlog:
                self._has_made_room = False
                self._retry()

    def _complete(self, *, is_now: bool) -> None:
        """Tell the tasks of the results that are there. `is_now`: the event loop calls,
        so that no task runs; they go on in here, one after the other. Not if one of
        them may run the loop anew, which cannot call this port again meanwhile."""
        if self._loans:
            take_back(self._loans)
        taken: list[Taken] = []
        was_busy, self._is_busy = self._is_busy, True
        items, self._arrived = self._arrived, []
        try:
            self._owed.take(items, taken)
        except KeyError:  # no future has that number
            self._doubt()
        finally:
            self._is_busy = was_busy
        if not self.waiting:
            _working.discard(self)
        self._has_made_room |= bool(items)
        loop = self.loop
        if not is_now or current_task(loop) is not None or may_nest(loop):
            self._owed.resolve(taken, is_now=False)
        elif taken:
            self._run_tasks(taken)

    def _run_tasks(self, taken: list[Taken]) -> None:
        """Let the tasks of these go on. What they queue leaves together, when all have
        run; or when the tick is over, if others may follow."""
        was_scheduled, self.is_scheduled = self.is_scheduled, True
        is_over = False
        try:
            self._owed.resolve(taken, is_now=True)
            is_over = not self._ready
        finally:
            if not was_scheduled:
                self.is_scheduled = False
                if is_over:
                    self.flush()
                elif self.queued:
                    self.schedule()

    # ---- cancelling ----

    def give_up_late(self, future: Future) -> Future | None:
        """Cancel a command whose future is done. Another one gets what becomes of it;
        None: C never had it."""
        if self._is_busy or not self.is_open:
            return None
        late = self.create_future()
        self._is_busy = True
        try:
            numbers = self._owed.pass_on(future, late)
        finally:
            self._is_busy = False
        self._cancel(numbers)
        return late if numbers or late.done() else None

    def give_up(self, futures: Iterable[Future]) -> None:
        """No task waits for these any more: commands not written are never sent.
        Threads: any, because a coroutine may be closed in another one."""
        futures = list(futures)
        if asyncio._get_running_loop() is not self.loop:
            self.loop.call_soon_threadsafe(self.give_up, futures)
            return
        if not self._cancelled:
            self.loop.call_soon(self._cancel_given_up)
        self._cancelled.extend(futures)

    def _cancel_given_up(self) -> None:
        if self._is_busy:
            self.loop.call_soon(self._cancel_given_up)
            return
        # A finalizer may give up more at any time: to the list that is current then.
        given_up, self._cancelled = self._cancelled, []
        gone = {id(future) for future in given_up}
        for future in self._backlog.futures():
            if id(future) in gone:
                future.cancel()
        if not self.is_open:
            return
        self._cancel(self._numbers(gone))

    def _numbers(self, gone: Container[int] | None = None) -> list[int]:
        """Of the futures with these ids, or of all; nothing comes in between."""
        self._is_busy = True
        try:
            return self._owed.numbers(gone)
        finally:
            self._is_busy = False

    def _cancel(self, numbers: list[int]) -> None:
        for number in numbers:
            lib.shoalpy_port_cancel(self._native, number)
        if numbers:
            self._pump()

    # ---- the end ----

    def _fail_all(self, make_error: Callable[[], BaseException]) -> None:
        """Fail all commands to which C owes a result."""
        with contextlib.suppress(RuntimeError):  # the loop may be closed
            self._complete(is_now=False)
        _working.discard(self)
        self._owed.fail_all(make_error)

    def _doubt(self) -> None:
        """The results do not fit the commands: none may be believed any more."""
        self._fail_all(lambda: DesyncError("results do not fit the commands"))
        self.detach()

    def detach(self) -> None:
        """No more commands; results still due are dropped with their futures."""
        if not self.is_open:
            return
        self.is_open = False
        self.core.loans.update(self._loans)
        self._loans.clear()
        take_back(self.core.loans)
        on_end = self._on_end()
        if on_end is not None:
            on_end(self)
        if not self.loop.is_closed():
            self.loop.remove_reader(self._view.fd)
        self._backlog.end(lib.SHOAL_ECLOSED)
        if not self.core.is_borrowed and self._memory is None:
            lib.shoalpy_port_free(self._native)

    def abandon(self) -> None:
        """The loop does not run, so it does not drive the connection. If it goes on,
        its tasks hear of the end; if it was closed, its futures end here."""
        self.detach()
        if self.core.is_borrowed:
            self.core.close(_CANCEL_SECONDS)
        if self.loop.is_closed():
            self._hand_over()  # what was queued fails
            self._fail_all(lambda: ClosedError("the event loop was closed"))
        else:
            self.loop.call_soon_threadsafe(
                self._fail_all, lambda: ClosedError("the client was closed")
            )

    def lose_loop(self) -> int:
        """The loop was closed before the client. How many commands end here?"""
        if not self.is_open:
            return 0
        futures = [*self._owed.futures(), *self._backlog.futures(), *self.queued[1::2]]
        lost = sum(not future.done() for future in futures)
        self.abandon()
        return lost

    def __del__(self) -> None:
        """Dropped without a close, with nothing outstanding."""
        if not getattr(self, "is_open", False) or sys.is_finalizing():
            return
        loop, fd = self.loop, self._view.fd
        if not self.core.is_borrowed:
            self._memory = freed_last(self._native, lib.shoalpy_port_free)
        if loop.is_closed():
            return
        if loop.is_running() and asyncio._get_running_loop() is not loop:
            # Another thread runs the loop: the descriptor lives until it was removed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(
                    forget_reader, loop, fd, (self.core, self._memory)
                )
        else:
            loop.remove_reader(fd)

    def begin_close(self, drain: float) -> None:
        """For other threads' close(): on this port's loop, end by itself."""
        self._closed_in(drain, owns_core=True)

    async def close(self, drain: float, owns_core: bool) -> None:
        """Finish what is outstanding in `drain` seconds, and end. A task that is
        cancelled here leaves early; the close goes on."""
        await asyncio.shield(self._closed_in(drain, owns_core))

    def _closed_in(self, drain: float, owns_core: bool) -> asyncio.Future[None]:
        if self._closed is None:
            self._closed = self.loop.create_future()
            self._go_on(self._close(drain, owns_core))
        return self._closed

    def _go_on(self, steps: Iterator[None]) -> None:
        """Close up to the next nap. No task does it, but the loop's timer: a loop that
        ends meanwhile drops the steps with it, and that is their end, too."""
        assert self._closed is not None
        try:
            for _ in steps:
                self.loop.call_later(_CLOSING_NAP, self._go_on, steps)
                return
        except BaseException as error:
            self._closed.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self._closed.set_result(None)

    def _close(self, drain: float, owns_core: bool) -> Iterator[None]:
        """Close; what it yields are naps."""
        if not self.is_open:
            return
        self.flush()
        self.loop.remove_reader(self._view.fd)
        try:
            yield from self._pump_while(lambda: self._is_owed(owns_core), drain)
            if owns_core:
                self.core.begin_close(0)
                while not self._has_ended():
                    yield
            else:
                self._cancel(self._numbers())
                yield from self._pump_while(lambda: bool(self.waiting), _CANCEL_SECONDS)
        finally:  # the loop may end during the close
            if owns_core and not self.core.is_gone:
                self.core.close(_CANCEL_SECONDS)
            if self.loop.is_closed():
                self.abandon()
            elif self.is_open:
                self._pump()
                self.detach()
            self._fail_all(lambda: ClosedError("the client was closed"))

    def _is_owed(self, owns_core: bool) -> bool:
        """Are results outstanding, those of other loops of the core included?"""
        if self.waiting or self._backlog:
            return True
        return owns_core and not self.core.is_borrowed and not self.core.is_idle(0)

    def _pump_while(self, is_so: Callable[[], bool], seconds: float) -> Iterator[None]:
        until = self.loop.time() + seconds
        while self.is_open and is_so() and self.loop.time() < until:
            self._pump()
            yield

    def _has_ended(self) -> bool:
        """Go on with the close of the core."""
        if self.core.is_borrowed:
            has_gone = bool(self._pump() == lib.SHOAL_ECLOSED)
        else:
            has_gone = self.core.has_gone(0)
            if self.is_open:  # else C has freed it
                self._pump()
        if has_gone:
            self.core.note_gone()
        return has_gone


#: Ports to which C owes results. They live until then, even if their client is gone.
_working: set[Port] = set()
