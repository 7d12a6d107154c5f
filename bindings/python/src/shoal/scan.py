# SPDX-License-Identifier: MIT
"""All keys, or all elements of a key, page by page: the blocking face."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _scan

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

_SLICE_US = 100_000


class Scan(_scan.ScanBase):
    """What a scan finds: an iterator. Made by `Client.scan()` and its kin.

    What is there from the beginning to the end comes at least once, and may come
    several times. After an exception the iteration can go on: nothing is left out. One
    thread at a time reads.
    """

    def __init__(self, client: Client[Any], *plan: Any) -> None:
        super().__init__(client._options, *plan)
        self._client = client

    def pages(self) -> Iterator[list[Any]]:
        """What the server finds at a time, as lists; some are empty."""
        while (page := self._next_page()) is not None:
            yield page

    def _next_page(self) -> list[Any] | None:
        with self._one_reader():
            if self._native is None:
                self._begin(self._client._core or self._client._open())
            self._ask()
            page = None
            while page is None and not self._is_over:
                page = self._take(_SLICE_US)
            return None if self._is_over else page

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        while not self._items:
            page = self._next_page()
            if page is None:
                raise StopIteration
            self._items.extend(page)
        return self._items.popleft()
