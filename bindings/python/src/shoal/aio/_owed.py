# SPDX-License-Identifier: MIT
"""What C owes an event loop: results, by number, and the futures that wait for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from .._native import lib
from .._replies import PLAIN, Conversion
from ._batch import Future, fail_future


class Owed:
    """Futures by number. Each gets one result, and none but its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, default: Conversion) -> None:
        self.waiting: dict[int, Future] = {}
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

    def complete(self, items: list[Any]) -> None:
        """Results from C: [number, what, ...]. KeyError: no future has that number."""
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
        conversion = self._conversions.pop(number, self._default)
        if not self._conversions:
            self._is_quick = not self._default.mends_all
        if future.done():
            return
        try:
            future.set_result(conversion.value_of(kind, what))
        except Exception as error:
            future.set_exception(error)

    def fail_all(self, make_error: Callable[[], BaseException]) -> None:
        """All results are lost; each future gets an exception of its own."""
        futures = list(self.waiting.values())
        self.waiting.clear()
        self._conversions.clear()
        for future in futures:
            fail_future(future, make_error())
