# SPDX-License-Identifier: MIT
"""All keys, or all elements of a key, page by page, as both faces read them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ._core import Core, freed_last
from ._native import ffi, lib
from ._options import Options
from ._outcomes import error_of
from ._replies import loads
from ._requests import Argument
from ._seconds import microseconds
from ._unique import Unique

_Scan = TypeVar("_Scan")
_OVER = 1  # as C says it

KEYS: int = lib.SHOAL_SCAN_KEYS
HASH: int = lib.SHOAL_SCAN_HASH
SET: int = lib.SHOAL_SCAN_SET
SORTED_SET: int = lib.SHOAL_SCAN_SORTED_SET
_NAMES = {KEYS: "SCAN", HASH: "HSCAN", SET: "SSCAN", SORTED_SET: "ZSCAN"}


def _alone(page: list[Any]) -> list[Any]:
    return page


def _in_pairs(page: list[Any]) -> list[Any]:
    words = iter(page)
    return list(zip(words, words, strict=True))


def _with_scores(page: list[Any]) -> list[Any]:
    return [(member, float(score)) for member, score in _in_pairs(page)]


_ITEMS: dict[int, Callable[[list[Any]], list[Any]]] = {
    KEYS: _alone,
    SET: _alone,
    HASH: _in_pairs,
    SORTED_SET: _with_scores,
}


class ScanBase(Unique):
    """What is scanned, and what has come."""

    def __init__(
        self,
        options: Options,
        kind: int,
        key: Argument | None,
        match: Argument | None,
        count: int | None,
        type: str | None,
        timeout: float | None,
        decode: bool | None,
    ) -> None:
        self._kind = kind
        self._texts = [
            None if text is None else options.encoded((text,))[0]
            for text in (key, match, type)
        ]
        if count is not None and not 0 < count < 1 << 63:
            raise ValueError("count is a positive number")
        self._count = count or 0
        self._timeout_us = 0 if timeout is None else microseconds(timeout)
        self._conversion = options.conversion(decode)
        self._core: Core | None = None
        self._native: Any = None
        self._memory: Any = None
        self._items: deque[Any] = deque()
        self._is_asked = False
        self._is_over = False
        self._reading = threading.Lock()

    @contextmanager
    def _one_reader(self) -> Iterator[None]:
        """Two would each get a part."""
        if not self._reading.acquire(blocking=False):
            raise RuntimeError("somebody else waits for the next page of this scan")
        try:
            yield
        finally:
            self._reading.release()

    def _begin(self, core: Core) -> None:
        key, match, type = (
            ffi.NULL if text is None else ffi.from_buffer("char[]", text + b"\0")
            for text in self._texts
        )
        plan = ffi.new("shoalpy_scan_plan_t *")
        plan.kind, plan.count, plan.type = self._kind, self._count, type
        plan.key.data, plan.match.data = key, match
        plan.key.bytes, plan.match.bytes = (len(t or b"") for t in self._texts[:2])
        holder = ffi.new("shoalpy_scan_t **")
        status = lib.shoalpy_scan_new(core.handle, plan, holder)
        if status < 0:
            raise error_of(status)
        self._native, self._core = holder[0], core

    def _ask(self) -> None:
        """Ask for the next page, unless it was asked for."""
        assert self._core is not None
        if self._core.is_foreign():
            raise error_of(lib.SHOAL_EFORK)
        if self._is_asked or self._is_over:
            return
        status = lib.shoalpy_scan_ask(
            self._native, self._timeout_us, self._conversion.flags
        )
        if status < 0:
            raise error_of(status)
        self._is_over = status == _OVER
        self._is_asked = not self._is_over

    def _take(self, wait_us: int = 0) -> list[Any] | None:
        """The page that was asked for; None: it has not come. Raises why there is
        none; then the next one to be asked for is the same."""
        status = lib.shoalpy_scan_take(self._native, wait_us)
        if status == 0:
            return None
        self._is_asked = False
        if status < 0:
            raise error_of(status)
        if status == _OVER:
            self._is_over = True
            return []
        what = loads(ffi.buffer(lib.shoalpy_scan_data(self._native), status >> 3))
        return _ITEMS[self._kind](self._conversion.value_of(status & 7, what))

    def __repr__(self) -> str:
        state = "over" if self._is_over else "open"
        return f"<{self._public_name()} by {_NAMES[self._kind]}, {state}>"

    def __del__(self) -> None:
        if getattr(self, "_native", None) is not None:
            self._memory = freed_last(self._native, lib.shoalpy_scan_free)


class Scanning(Generic[_Scan]):
    """The part of a client that scans."""

    def _scan(self, *plan: Any) -> _Scan:
        raise NotImplementedError

    def scan(
        self,
        *,
        match: Argument | None = None,
        count: int | None = None,
        type: str | None = None,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> _Scan:
        """All keys, of all primaries of a cluster: an iterator.

        `match`: a pattern; `count`: at about so many keys the server looks for a page;
        `type`: keys of this type alone, such as "hash". `timeout`: seconds for a page;
        None: the client's for each command that the page needs. `decode`: str instead
        of bytes.
        """
        return self._scan(KEYS, None, match, count, type, timeout, decode)

    def hscan(
        self,
        key: Argument,
        *,
        match: Argument | None = None,
        count: int | None = None,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> _Scan:
        """All fields of a hash with their values, as tuples; as `scan()`."""
        return self._scan(HASH, key, match, count, None, timeout, decode)

    def sscan(
        self,
        key: Argument,
        *,
        match: Argument | None = None,
        count: int | None = None,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> _Scan:
        """All members of a set; as `scan()`."""
        return self._scan(SET, key, match, count, None, timeout, decode)

    def zscan(
        self,
        key: Argument,
        *,
        match: Argument | None = None,
        count: int | None = None,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> _Scan:
        """All members of a sorted set with their scores, as tuples; as `scan()`."""
        return self._scan(SORTED_SET, key, match, count, None, timeout, decode)
