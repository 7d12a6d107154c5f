# SPDX-License-Identifier: MIT
"""The lines of MONITOR, as both faces read them."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._closing import Connected
from ._core import Core, freed_last
from ._lease import Handle, Held, closed
from ._native import ffi, lib
from ._options import Options
from ._outcomes import error_of, new_reason, reason_of
from ._replies import loads
from ._seconds import NEVER, microseconds

_LOST = "lines came faster than the program read them, and some are lost"


class MonitorBase(Held, Connected):
    """A lease that carries MONITOR, and the lines that have come."""

    _what = "monitor"

    def __init__(
        self, options: Options, timeout: float | None, decode: bool | None
    ) -> None:
        self._options = options
        self._timeout_us = 0 if timeout is None else microseconds(timeout)
        self._conversion = options.conversion(decode)
        self._native: Any = None
        self._memory: Any = None
        self._lines: deque[bytes] = deque()
        self._end: tuple[Any, ...] | None = None
        #: The server has agreed; before that the first line is its answer.
        self._is_agreed = False
        self._is_closed = False
        self._reading = threading.Lock()

    def _begin(self, core: Core) -> None:
        """Send MONITOR."""
        if self._is_closed:
            raise closed(self._what)
        handle = Handle(core)
        holder = ffi.new("shoalpy_monitor_t **")
        reason = new_reason()
        status = lib.shoalpy_monitor_new(
            core.handle, handle.native, self._timeout_us, reason, holder
        )
        if status < 0:
            handle.close()
            raise error_of(status, reason_of(reason))
        self._native = holder[0]
        self._handle = handle
        if self._is_closed:  # meanwhile, by another thread, which found no handle
            self._let_go()

    @contextmanager
    def _one_reader(self) -> Iterator[None]:
        """The others would take its lines away."""
        if not self._reading.acquire(blocking=False):
            if self._is_closed:
                raise closed(self._what)
            raise RuntimeError("somebody else waits for the next line of this monitor")
        try:
            yield
        finally:
            self._reading.release()
            self._free()

    def _take(self, wait_us: int = 0) -> bytes | None:
        """The next line; None: none came in time. Raises the reason why none will."""
        handle = self._held()
        if handle.core.is_foreign():
            raise error_of(lib.SHOAL_EFORK)
        if not self._lines and self._end is None:
            self._fill(wait_us)
        if self._lines:
            return self._lines.popleft()
        if self._end is not None:
            self._conversion.value_of(self._end[0], self._end)
        return None

    def _fill(self, wait_us: int) -> None:
        status = lib.shoalpy_monitor_take(self._native, wait_us)
        if status < 0:
            raise error_of(status, _LOST if status == lib.SHOAL_EFULL else "")
        if status > 0:
            data = lib.shoalpy_monitor_data(self._native)
            items = loads(ffi.buffer(data, status))
            if type(items[-1]) is tuple:
                self._end = items.pop()
            self._lines.extend(items)

    def _line(self, line: bytes) -> Any:
        decoding = self._conversion.decoding
        return line if decoding is None else decoding.decode(line)

    def _let_go(self) -> None:
        self._is_closed = True
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()
        self._free()

    def _free(self) -> None:
        """Free C's part of a closed monitor, with its descriptors. While a thread or a
        task still reads, this does nothing: the reader calls it when it is done."""
        if self._is_closed and self._reading.acquire(blocking=False):
            native, self._native = self._native, None
            self._reading.release()
            if self._memory is None:
                lib.shoalpy_monitor_free(native or ffi.NULL)

    def __del__(self) -> None:
        if getattr(self, "_native", None) is not None:
            self._memory = freed_last(self._native, lib.shoalpy_monitor_free)
        super().__del__()


def until_of(timeout: float | None) -> float:
    """When a wait that begins now is over, on the monotonic clock."""
    us = microseconds(timeout)
    return math.inf if us == NEVER else time.monotonic() + us / 1e6
