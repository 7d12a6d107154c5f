# SPDX-License-Identifier: MIT
"""All keys, or all elements of a key, page by page: the asyncio face."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from .._native import lib
from .._outcomes import error_of
from .._scan import ScanBase
from ._batch import Future
from ._loop import running_loop
from ._port import Port

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client


def _wake(waiter: Future) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Scan(ScanBase):
    """What a scan finds: an asynchronous iterator; as `shoal.Scan`.

    It belongs to the event loop that reads it first. One task at a time reads. If the
    task is cancelled, nothing is lost: another one can go on.
    """

    def __init__(self, client: Client[Any], *plan: Any) -> None:
        super().__init__(client._options, *plan)
        self._client = client
        self._port: Port | None = None

    async def pages(self) -> AsyncIterator[list[Any]]:
        """What the server finds at a time, as lists; some are empty."""
        while (page := await self._next_page()) is not None:
            yield page

    async def _next_page(self) -> list[Any] | None:
        with self._one_reader():
            if self._port is None:
                port = self._client._find_port()
                self._begin(port.core)
                self._port = port
            if self._port.loop is not running_loop():
                raise RuntimeError(
                    "a scan belongs to the event loop that read it first: make another"
                )
            if not self._port.is_open:
                raise error_of(lib.SHOAL_ECLOSED)
            self._ask()
            page = None
            while page is None and not self._is_over:
                await self._until_readable(self._port)
                page = self._take()
            return None if self._is_over else page

    async def _until_readable(self, port: Port) -> None:
        loop, fd = port.loop, lib.shoalpy_scan_fd(self._native)
        waiter = loop.create_future()
        loop.call_soon(port.read)  # its loop drives it
        loop.add_reader(fd, _wake, waiter)
        try:
            await waiter
        finally:
            loop.remove_reader(fd)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._items:
            page = await self._next_page()
            if page is None:
                raise StopAsyncIteration
            self._items.extend(page)
        return self._items.popleft()
