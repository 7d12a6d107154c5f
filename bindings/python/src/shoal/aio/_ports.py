# SPDX-License-Identifier: MIT
"""Which connection each event loop has, and how all of them end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import weakref
from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any

from .._closing import AsyncClosing
from .._core import Core
from .._fork import forget_in_child
from .._native import lib
from .._options import Options
from .._outcomes import error_of
from .._seconds import drain_seconds
from ._batch import Future
from ._loop import running_loop
from ._port import Port
from .subscription import LoopHub, close_hubs

if TYPE_CHECKING:
    from ..client import Client as SyncClient

#: How often a wait for others looks, in seconds.
NAP = 0.002
#: So long another loop may take to close its connection, beyond the drain time.
_CLOSE_SECONDS = 1.0


class Ports(AsyncClosing):
    """The part of a client that has connections.

    By default each loop has one of its own, and drives it. `is_threaded`: all have the
    same, which a thread of the library drives; `shared`: it is that of this client.
    """

    def __init__(
        self,
        options: Options,
        *,
        is_threaded: bool,
        shared: SyncClient[Any] | None = None,
    ) -> None:
        self._options = options
        self._is_threaded = is_threaded
        self._shared = shared
        self._core: Core | None = None  # of is_threaded
        self._port: Port | None = None  # of the loop that was here last
        self._ports: dict[asyncio.AbstractEventLoop, Port] = {}
        self._hubs: dict[asyncio.AbstractEventLoop, LoopHub] = {}  # of subscriptions
        self._is_closed = False
        self._lock = threading.RLock()
        forget_in_child(self)

    def _find_port(self) -> Port:
        """The port of the running loop."""
        loop = running_loop()
        port = self._ports.get(loop)
        if port is None:
            with self._lock:  # other threads find all ports there are
                if self._is_closed:
                    raise error_of(lib.SHOAL_ECLOSED)
                core = self._core_for_port(loop)
                port = Port(
                    loop, core, self._options, weakref.WeakMethod(self._port_ended)
                )
                is_closed = self._is_closed  # a signal handler may have been here
                if not is_closed:
                    self._ports[loop] = port
                    hub = self._hubs.get(loop)
                    if hub is not None and not hub.is_closed:
                        hub.find_prober(lambda: core)  # the former one has ended
            if is_closed:
                port.abandon()
                raise error_of(lib.SHOAL_ECLOSED)
        self._port = port
        return port

    def _port_ended(self, port: Port) -> None:
        """The next command of its loop gets another one."""
        if self._port is port:
            self._port = None
        if self._ports.get(port.loop) is port:
            self._ports.pop(port.loop, None)  # a close takes all of them

    def _core_for_port(self, loop: asyncio.AbstractEventLoop) -> Core:
        if self._shared is not None:
            return self._shared._core or self._shared._open()
        if not self._is_threaded:
            return Core(self._options, borrowed=True, loop=loop)
        with self._lock:  # loops of other threads
            if self._core is None:
                self._core = Core(self._options, borrowed=False, loop=loop)
            return self._core

    def _forget(self) -> None:
        """In the child of a fork: all of this belongs to the parent."""
        for port in self._ports.values():
            port.is_open = False
        for hub in self._hubs.values():
            hub.forget()
        self._ports.clear()
        self._hubs.clear()
        self._core = self._port = None
        self._lock = threading.RLock()

    def _port_of(self, future: Future) -> Port | None:
        port = self._port
        if port is None or port.loop is not future.get_loop():
            port = self._ports.get(future.get_loop())
        return port

    async def close(self, drain: float = 0.0) -> None:
        """Close the connections; outstanding commands have `drain` seconds to finish,
        then they fail with ClosedError. More calls do nothing. `drain` is at most
        86400."""
        drain = drain_seconds(drain)
        with self._lock:
            self._is_closed = True
            ports, self._ports = self._ports, {}
            core, self._core = self._core, None
            hubs, self._hubs = self._hubs, {}
        self._port = None
        await close_hubs(hubs)
        until = time.monotonic() + drain
        owns = self._shared is None
        for loop, port in list(ports.items()):  # one may end meanwhile
            if loop is _get_running_loop():
                await port.close(drain, owns)
            elif port.core.is_borrowed:
                await _close_elsewhere(port, drain)
            # Any other loop gets the results, which say that the client was closed.
        if core is not None:
            await _close_shared(core, until)

    async def aclose(self, drain: float = 0.0) -> None:
        """The same as `close()`."""
        await self.close(drain)

    def _state(self) -> str:
        """The state of the running loop's connection, or of the one of all loops."""
        if self._is_closed:
            return "closed"
        if self._shared is not None:
            return self._shared._state()
        loop = _get_running_loop()
        port = None if loop is None else self._ports.get(loop)
        core = self._core if port is None else port.core
        return "not connected" if core is None else core.state()


async def _close_elsewhere(port: Port, drain: float) -> None:
    """Close the port of a loop that another thread runs, or that does not run."""
    until = time.monotonic() + drain + _CLOSE_SECONDS
    with contextlib.suppress(RuntimeError):  # the loop has ended
        port.loop.call_soon_threadsafe(port.begin_close, drain)
    while port.is_open and port.loop.is_running() and time.monotonic() < until:
        await asyncio.sleep(NAP)
    if port.is_open and not port.loop.is_running():
        port.abandon()


async def _close_shared(core: Core, until: float) -> None:
    """The core of all loops. A task that is cancelled here ends what is outstanding."""
    try:
        while not core.is_idle(0) and time.monotonic() < until:
            await asyncio.sleep(NAP)
    finally:
        core.begin_close(0)
    while not core.has_gone(0):
        await asyncio.sleep(NAP)
    core.note_gone()
