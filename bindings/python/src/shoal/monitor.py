# SPDX-License-Identifier: MIT
"""Every command that the server executes: the blocking face."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ._closing import Closing
from ._monitor import MonitorBase, until_of
from .exceptions import ClosedError

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

_SLICE_US = 100_000


class Monitor(MonitorBase, Closing):
    """Every command that the server executes, as a line of text: an iterator, and a
    context manager.

    Made by `Client.monitor()`. It has a connection of its own, and lines until it is
    closed or the connection is lost, which raises ConnectionError. One thread at a time
    reads; any thread may close it. Up to 16 MiB of lines wait to be read; if more come,
    FullError follows those.
    """

    def __init__(
        self, client: Client[Any], timeout: float | None, decode: bool | None
    ) -> None:
        super().__init__(client._options, timeout, decode)
        self._client = client

    def next_line(self, timeout: float | None = None) -> Any:
        """The next line, as bytes or str; waits for it for `timeout` seconds. None:
        none came."""
        with self._one_reader():
            self._start()
            line = self._wait(until_of(timeout))
            return None if line is None else self._line(line)

    def _start(self) -> None:
        """Send MONITOR, and wait for the server's answer."""
        if self._native is None:
            self._begin(self._client._core or self._client._open())
        if not self._is_agreed:
            self._wait(until_of(None))
            self._is_agreed = True

    def _wait(self, until: float) -> bytes | None:
        while True:
            left_us = max(0.0, until - time.monotonic()) * 1e6
            line = self._take(int(min(left_us, _SLICE_US)))
            if line is not None or left_us == 0:
                return line

    def close(self) -> None:
        """No more lines. Does not wait; more calls do nothing."""
        self._let_go()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return self.next_line()
        except ClosedError:
            if self._is_closed:
                raise StopIteration from None
            raise

    def __enter__(self) -> Self:
        with self._one_reader():
            try:
                self._start()
            except BaseException:
                self.close()
                raise
        return self
