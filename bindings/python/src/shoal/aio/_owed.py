# SPDX-License-Identifier: MIT
"""What C owes an event loop: results, by number, and the futures that wait for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from operator import length_hint
from typing import Any
from weakref import WeakKeyDictionary

from .._native import lib
from .._replies import PLAIN, Conversion
from ._batch import Future, fail_future


class Owed:
    """Futures by number. Each gets one result, and none but its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, default: Conversion) -> None:
        self.waiting: dict[int, Future] = {}
        #: What came for futures that were cancelled just before.
        self.missed: WeakKeyDictionary[Future, tuple[Conversion, int, Any]] = (
            WeakKeyDictionary()
        )
        self._default = default
        #: Of results that are converted in another way, by number.
        self._conversions: dict[int, Conversion] = {}
        self._is_quick = not default.mends_all
        self._set_result = type(loop.create_future()).set_result

    def register(
        self, first: int, futures: list[Future], conversion: Conversion
    ) -> bool:
        """C owes these a result, by numbers from `first`. False: one was taken."""
        numbers = range(first, first + len(futures))
        total = len(self.waiting) + len(futures)
        self.waiting.update(zip(numbers, futures, strict=True))
        if conversion is not self._default:
            self._conversions.update(dict.fromkeys(numbers, conversion))
            self._is_quick = False
        return len(self.waiting) == total

    def pass_on(self, future: Future, late: Future) -> list[int]:
        """Let another future get what was for this one, which is done. The number of
        its command, if the result is still due."""
        if future in self.missed:
            conversion, kind, what = self.missed.pop(future)
            late.set_result(conversion.outcome(kind, what))
            return []
        waiting = list(self.waiting.items())  # a finalizer may submit meanwhile
        numbers = [number for number, other in waiting if other is future]
        self.waiting.update(dict.fromkeys(numbers, late))
        return numbers

    def complete(self, items: list[Any]) -> None:
        """Results from C: [number, what, ...]. KeyError: no future has that number."""
        pop = self.waiting.pop
        pairs = iter(items)
        for first, what in zip(pairs, pairs, strict=True):
            if type(what) is list and self._is_quick:
                futures = list(map(pop, range(first, first + len(what))))
                replies = iter(what)
                done = map(self._set_result, futures, replies)
                while True:
                    try:
                        deque(done, 0)
                        break
                    except asyncio.InvalidStateError:
                        at = len(what) - length_hint(replies) - 1
                        self._miss(futures[at], PLAIN, what[at], self._default)
            elif type(what) is list:
                for number, reply in enumerate(what, first):
                    self._complete_one(number, PLAIN, reply)
            else:
                reply = what[1] if what[0] == lib.SHOALPY_HELP else what
                self._complete_one(first, what[0], reply)

    def _miss(
        self, future: Future, kind: int, what: Any, conversion: Conversion
    ) -> None:
        """It was cancelled: nobody gets this, unless its task asks for it. An exception
        would hold the future by its traceback: it is made when it is asked for."""
        with contextlib.suppress(TypeError):  # another event loop's own kind of future
            self.missed[future] = (conversion, kind, what)

    def _complete_one(self, number: int, kind: int, what: Any) -> None:
        future = self.waiting.pop(number)
        conversion = self._conversions.pop(number, self._default)
        if not self._conversions:
            self._is_quick = not self._default.mends_all
        if future.done():
            self._miss(future, kind, what, conversion)
            return
        try:
            future.set_result(conversion.value_of(kind, what))
        except Exception as error:
            future.set_exception(error)

    def fail_all(self, make_error: Callable[[], BaseException]) -> None:
        """All results are lost; each future gets an exception of its own."""
        futures = list(self.waiting.values())
        self.waiting.clear()
        # C may still write to what these have, if its thread goes on.
        _kept.extend(c for c in self._conversions.values() if c.into)
        self._conversions.clear()
        for future in futures:
            fail_future(future, make_error())


#: Conversions whose results never came: C's part of them must stay.
_kept: list[Conversion] = []
