# SPDX-License-Identifier: MIT
"""Every command that the server executes: the asyncio face."""

from __future__ import annotations

import asyncio
import math
import time
from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any

from .._closing import AsyncClosing
from .._monitor import MonitorBase, until_of
from .._native import lib
from ..exceptions import ClosedError
from ._batch import Future
from ._loop import running_loop
from ._port import Port

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client


class Monitor(MonitorBase, AsyncClosing):
    """Every command that the server executes, as a line of text: an asynchronous
    iterator, and a context manager; as `shoal.Monitor`.

    It belongs to the event loop that reads it first. One task at a time reads.
    """

    def __init__(
        self, client: Client[Any], timeout: float | None, decode: bool | None
    ) -> None:
        super().__init__(client._options, timeout, decode)
        self._client = client
        self._port: Port | None = None
        self._waiter: Future | None = None

    async def next_line(self, timeout: float | None = None) -> Any:
        """The next line, as bytes or str; waits for it for `timeout` seconds. None:
        none came. If the task is cancelled, no line is lost."""
        with self._one_reader():
            await self._start()
            line = await self._wait(until_of(timeout))
            return None if line is None else self._line(line)

    async def _start(self) -> None:
        """Send MONITOR, and wait for the server's answer."""
        if self._port is None:
            port = self._client._find_port()
            self._begin(port.core)
            self._port = port
            port.loop.call_soon(port.read)  # its loop drives it
        if self._port.loop is not running_loop():
            raise RuntimeError(
                "a monitor belongs to the event loop that read it first: make another"
            )
        if not self._is_agreed:
            await self._wait(until_of(None))
            self._is_agreed = True

    async def _wait(self, until: float) -> bytes | None:
        while True:
            is_late = time.monotonic() >= until
            line = self._take()
            if line is not None or is_late:
                return line
            await self._until_readable(until)

    async def _until_readable(self, until: float) -> None:
        """There is something to take, or the time is over, or it was closed."""
        loop = asyncio.get_running_loop()
        fd = lib.shoalpy_monitor_fd(self._native)
        waiter = self._waiter = loop.create_future()
        timer = None
        if until != math.inf:
            timer = loop.call_later(until - time.monotonic(), self._wake)
        loop.add_reader(fd, self._wake)
        try:
            await waiter
        finally:
            self._waiter = None
            loop.remove_reader(fd)
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def close(self) -> None:
        """No more lines. Does not wait for anything; more calls do nothing."""
        self._let_go()
        # Its own loop wakes by itself: the end of the lease comes as the last line.
        if self._port is not None and self._port.loop is _get_running_loop():
            self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.next_line()
        except ClosedError:
            if self._is_closed:
                raise StopAsyncIteration from None
            raise

    async def __aenter__(self) -> Self:
        with self._one_reader():
            try:
                await self._start()
            except BaseException:
                await self.close()
                raise
        return self
