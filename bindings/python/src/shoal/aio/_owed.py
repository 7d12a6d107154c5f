# SPDX-License-Identifier: MIT
"""What C owes an event loop: results, by number, and the futures that wait for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Container
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

from .._native import lib
from .._replies import PLAIN, Conversion
from ._batch import Future, fail_future
from ._waiters import resolve

#: Futures, and the reply of each; or one future, its result, and the conversion and
#: kind of that.
Taken = tuple[list[Future], list[Any], Conversion | None, int]
#: A run is cut into this many parts at most.
_PARTS_MAX = 16


class Owed:
    """Futures by number. Each gets one result, and none but its own.

    Commands that crossed together have numbers in a row, and most results come so: the
    futures of a batch stand as one run, until a result comes out of turn.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, default: Conversion) -> None:
        #: Runs of futures by the number of the first; not empty.
        self._runs: dict[int, list[Future]] = {}
        #: Those of runs in which a result came out of turn, by number.
        self._others: dict[int, Future] = {}
        self._count = 0
        #: What came for futures that were cancelled just before.
        self.missed: WeakKeyDictionary[Future, tuple[Conversion, int, Any]] = (
            WeakKeyDictionary()
        )
        self._default = default
        #: Of results that are converted in another way, by number.
        self._conversions: dict[int, Conversion] = {}
        self._is_quick = not default.mends_all
        kind = type(loop.create_future())
        #: Of what is no waiter: for a value, for an exception.
        self._setters = (kind.set_result, kind.set_exception)

    def __len__(self) -> int:
        return self._count

    def futures(self) -> list[Future]:
        """All of them."""
        return [*chain.from_iterable(self._runs.values()), *self._others.values()]

    def numbers(self, gone: Container[int] | None) -> list[int]:
        """The numbers of the futures with these ids; None: of all."""
        runs = (enumerate(run, first) for first, run in self._runs.items())
        pairs = chain(chain.from_iterable(runs), self._others.items())
        return [n for n, future in pairs if gone is None or id(future) in gone]

    def register(
        self, first: int, futures: list[Future], conversion: Conversion
    ) -> bool:
        """C owes these a result, by numbers from `first`. False: one was taken."""
        count = len(futures)
        if conversion is not self._default:
            numbers = range(first, first + count)
            self._conversions.update(dict.fromkeys(numbers, conversion))
            self._is_quick = False
        was_taken = first in self._runs or first in self._others
        self._runs[first] = futures[:]
        self._count += count
        return not was_taken

    def _take(self, first: int, count: int) -> list[Future]:
        """The futures of these numbers, which get a result now."""
        runs = self._runs
        taken = runs.pop(first, None)
        if taken is None:
            return self._take_others(first, count)
        while len(taken) < count and (more := runs.pop(first + len(taken), None)):
            taken += more
        if len(taken) < count:
            runs[first] = taken
            return self._take_others(first, count)
        if len(taken) > count:
            rest = taken[count:]
            del taken[count:]
            if len(rest) > _PARTS_MAX * count:  # to cut each part off costs its square
                self._others.update(enumerate(rest, first + count))
            else:
                runs[first + count] = rest
        self._count -= count
        return taken

    def _take_others(self, first: int, count: int) -> list[Future]:
        """The same for numbers that no run begins with."""
        for number, run in self._runs.items():
            self._others.update(enumerate(run, number))
        self._runs.clear()
        numbers = range(first, first + count)
        taken = [self._others[number] for number in numbers]
        for number in numbers:
            del self._others[number]
        self._count -= count
        return taken

    def pass_on(self, future: Future, late: Future) -> list[int]:
        """Let another future get what was for this one, which is done. The number of
        its command, if the result is still due."""
        if future in self.missed:
            conversion, kind, what = self.missed.pop(future)
            late.set_result(conversion.outcome(kind, what))
            return []
        numbers = self.numbers({id(future)})
        for number in numbers:
            self._take(number, 1)
            self._others[number] = late
            self._count += 1
        return numbers

    def take(self, items: list[Any], taken: list[Taken]) -> None:
        """Results from C: [number, what, ...]. They come to `taken`, with their
        futures: resolve() follows. KeyError: no future has that number."""
        pairs = iter(items)
        for first, what in zip(pairs, pairs, strict=True):
            if type(what) is list and self._is_quick:
                taken.append((self._take(first, len(what)), what, None, PLAIN))
            elif type(what) is list:
                for number, reply in enumerate(what, first):
                    taken.append(self._take_one(number, PLAIN, reply))
            else:
                reply = what[1] if what[0] == lib.SHOALPY_HELP else what
                taken.append(self._take_one(first, what[0], reply))

    def resolve(self, taken: list[Taken], *, is_now: bool) -> None:
        """Complete what was taken. `is_now`: no task runs, and those that wait go on in
        here; if one of them ends with an interrupt, the others later."""
        failure: BaseException | None = None
        for futures, values, conversion, kind in taken:
            try:
                if conversion is None:
                    self._resolve(futures, values, is_now)
                else:
                    self._resolve_one(futures, values, conversion, kind, is_now)
            except BaseException as error:
                failure = error if failure is None else failure
                is_now = False
        try:
            if failure is not None:
                raise failure
        finally:
            del failure

    def _resolve(self, futures: list[Future], values: list[Any], is_now: bool) -> None:
        missed: list[int] = []
        try:
            resolve(futures, values, self._setters[False], False, is_now, missed)
        finally:
            for at in missed:
                self._miss(futures[at], PLAIN, values[at], self._default)

    def _resolve_one(
        self,
        futures: list[Future],
        results: list[Any],
        conversion: Conversion,
        kind: int,
        is_now: bool,
    ) -> None:
        """The same for one whose result is converted first."""
        missed = [0] if futures[0].done() else []
        if not missed:
            is_error, value = self._outcome(conversion, kind, results[0])
            setter: Any = self._setters[is_error]
            resolve(futures, [value], setter, is_error, is_now, missed)
        if missed:
            self._miss(futures[0], kind, results[0], conversion)

    @staticmethod
    def _outcome(conversion: Conversion, kind: int, what: Any) -> tuple[bool, Any]:
        """Is it an exception; and the value, or that. The traceback holds this frame,
        and not that of the caller, which holds the exception."""
        try:
            return False, conversion.value_of(kind, what)
        except Exception as error:
            return True, error

    def _miss(
        self, future: Future, kind: int, what: Any, conversion: Conversion
    ) -> None:
        """It was cancelled: nobody gets this, unless its task asks for it. An exception
        would hold the future by its traceback: it is made when it is asked for."""
        with contextlib.suppress(TypeError):  # another event loop's own kind of future
            self.missed[future] = (conversion, kind, what)

    def _take_one(self, number: int, kind: int, what: Any) -> Taken:
        """A result that is converted."""
        futures = self._take(number, 1)
        conversion = self._conversions.pop(number, self._default)
        if not self._conversions:
            self._is_quick = not self._default.mends_all
        return futures, [what], conversion, kind

    def fail_all(self, make_error: Callable[[], BaseException]) -> None:
        """All results are lost; each future gets an exception of its own."""
        futures = self.futures()
        self._runs.clear()
        self._others.clear()
        self._count = 0
        # C may still write to what these have, if its thread goes on.
        _kept.extend(c for c in self._conversions.values() if c.into)
        self._conversions.clear()
        for future in futures:
            fail_future(future, make_error())


#: Conversions whose results never came: C's part of them must stay.
_kept: list[Conversion] = []
