# SPDX-License-Identifier: MIT
"""A client of the C library, held by Python: opened, closed, given up after a fork."""

from __future__ import annotations

import atexit
import os
import sys
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from ._credentials import Desk, native_text
from ._events import Event, take_events, text_of
from ._native import ffi, lib
from ._options import Options
from ._outcomes import error_of, failure, new_reason, reason_of
from .exceptions import Fate

if TYPE_CHECKING:
    import asyncio

_FAILURES = {
    lib.SHOAL_EAUTH: "credentials rejected",
    lib.SHOAL_ETLS: "TLS failed",
}
_WAIT_US = 100_000
#: How long the end of the interpreter waits for connections to close.
_EXIT_SECONDS = 1.0


class ConnectionInfo(NamedTuple):
    """A connection at one moment."""

    number: int  #: of the connection in its client, from 1; `Event.connection`
    state: str  #: idle, dialing, greeting, ready, waiting (to dial again) or closed
    protocol: int  #: RESP version agreed with the server; 0: none yet
    server_id: int  #: as `CLIENT ID` tells it; 0: not known
    epoch: int  #: how often it was dialed so far
    server: str  #: "host:port", "[::1]:port", or the path of a Unix socket


def freed_last(pointer: Any, free: Any) -> Any:
    """For a __del__(), which stores the returned value in its object: C's memory is
    freed together with the object, not by the finalizer.

    A garbage collection calls the finalizers of all objects of a cycle, in any order: a
    later one may still use the memory that an earlier one was to free. The collection
    does not finalize a value that a finalizer made. The value goes with its object,
    when all finalizers have been called. A value of ffi.gc() that was made earlier
    would be finalized like the others.
    """
    return ffi.gc(pointer, free)


class Core:
    """One connection. `borrowed`: the event loop that uses it drives it. `loop`: that
    of a client of asyncio's."""

    __slots__ = (
        "__weakref__", "_desk", "_memory", "handle", "is_borrowed", "is_closed",
        "is_gone", "loans", "pid", "server",
    )  # fmt: skip

    def __init__(
        self,
        options: Options,
        *,
        borrowed: bool,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.pid = os.getpid()
        self.server = options.server
        self.handle: Any = None
        #: Memory that C may still read, although the event loop that lent it is gone.
        self.loans: set[Any] = set()
        self._desk: Desk | None = None
        native = options.native(borrowed=borrowed)
        holder = ffi.new("shoalpy_core_t **")
        reason = new_reason()
        try:
            if options.provider is not None:
                self._desk = Desk(options.provider, native, loop)
            status = lib.shoalpy_core_open(native, borrowed, holder, reason)
        finally:
            lib.shoal_options_free(native)
        if status < 0:
            self._close_desk()
            raise error_of(status, reason_of(reason))
        self.handle = holder[0]
        self.is_borrowed = borrowed
        self.is_closed = self.is_gone = False
        _open_cores.add(self)

    def __del__(self) -> None:
        """No object holds it any more, so no thread is in a call on it. If it was not
        closed, no caller waits for its results either. Finalizers of the same garbage
        may come later, and still call it: see freed_last()."""
        if not getattr(self, "handle", None) or self.is_foreign():
            return
        if sys.is_finalizing():  # another thread may be in a call, for ever
            return
        was_closed = self.is_closed
        if not was_closed:
            self.close(_EXIT_SECONDS)
        if self.is_gone or self.has_gone(0):
            self._close_desk()
            self._memory = freed_last(self.handle, lib.shoalpy_core_free)
        else:
            _kept.extend(self.loans)
        if not was_closed:  # last of all, because the warning may be an exception
            warnings.warn(
                f"unclosed connection of a shoal client to {self.server}",
                ResourceWarning,
                source=self,
                stacklevel=1,
            )

    def is_foreign(self) -> bool:
        """Was it opened by the process that this one was forked from?"""
        return self.pid != os.getpid()

    def state(self) -> str:
        """The connection's state, in a word or two."""
        if self.is_closed:
            return "closed"
        status = lib.shoalpy_core_is_ready(self.handle)
        if status in _FAILURES:
            return _FAILURES[status]
        return "ready" if status == 0 else "connecting"

    def begin_close(self, drain_us: int) -> None:
        """Refuse new commands; those outstanding have drain_us to finish."""
        if not self.is_closed:
            self.is_closed = True
            lib.shoalpy_core_close(self.handle, drain_us)

    def has_gone(self, wait_us: int) -> bool:
        """Wait for the end of the close; true when it has come. A borrowed one is
        driven on."""
        if self.is_gone:
            return True
        if self.is_borrowed:
            return bool(lib.shoalpy_core_step(self.handle, wait_us))
        return bool(lib.shoalpy_core_wait_gone(self.handle, wait_us))

    def note_gone(self) -> None:
        """It has gone. Its handle refuses calls, and is freed with this object: other
        threads may be about to use it."""
        _open_cores.discard(self)
        self._close_desk()
        self.is_gone = True

    def _close_desk(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()

    def refuse(self) -> None:
        """Refuse new commands. Those outstanding go on until the close begins."""
        lib.shoalpy_core_refuse(self.handle)

    def is_idle(self, wait_us: int) -> bool:
        """Has every command its result? Waits for `wait_us` at most. Not for a borrowed
        one."""
        return self.is_closed or bool(lib.shoalpy_core_wait_idle(self.handle, wait_us))

    def drain(self, seconds: float) -> None:
        """Refuse new commands, and wait for those outstanding. An exception from a
        signal handler ends the wait; the close that follows ends what is left."""
        self.refuse()
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.is_idle(min(_WAIT_US, round(left * 1e6))):
                return

    def close(self, seconds: float) -> bool:
        """Close without a drain, and wait for it. False: not in `seconds`."""
        self.begin_close(0)
        until = time.monotonic() + seconds
        while not self.has_gone(_WAIT_US):
            if time.monotonic() > until:
                return False
        self.note_gone()
        return True

    def connection(self, number: int) -> ConnectionInfo:
        """One connection, now. ValueError: there is none of that number."""
        info = ffi.new("shoal_connection_info_t *")
        info.size = ffi.sizeof("shoal_connection_info_t")
        status = lib.SHOAL_ENOENT
        if 0 < number < 1 << 64:
            status = lib.shoalpy_core_connection(self.handle, number, info)
        if status == lib.SHOAL_ENOENT:
            raise ValueError(f"there is no connection {number}")
        if status < 0:
            raise error_of(status)
        return ConnectionInfo(
            number,
            text_of(lib.shoal_connection_state_name(info.state)),
            info.protocol,
            info.server_id,
            info.epoch,
            text_of(info.server),
        )

    def reconnect(self) -> None:
        """Connect anew, now."""
        status = lib.shoalpy_core_reconnect(self.handle)
        if status < 0:
            raise error_of(status)

    def set_credentials(self, user: str | None, password: str) -> None:
        """Authenticate with these from now on."""
        status = lib.shoalpy_core_set_credentials(
            self.handle, native_text(user), native_text(password)
        )
        if status < 0:
            raise error_of(status)

    def reload_tls(self) -> None:
        """Read the files of TLS again, now."""
        reason = new_reason()
        status = lib.shoalpy_core_reload_tls(self.handle, reason)
        if status < 0:
            raise error_of(status, reason_of(reason))

    def not_ready(self, status: int) -> BaseException:
        """The exception of a wait for the connection that ended with `status`."""
        text = ffi.new("char[]", lib.SHOALPY_FAILURE_BYTES)
        lib.shoalpy_core_failure(self.handle, text)
        reason = text_of(text)
        if status == lib.SHOAL_ETIMEOUT:
            reason = f"not ready in time: {reason or 'the first attempt is under way'}"
            return failure(status, Fate.NOT_EXECUTED, reason.encode(), 0, 1)
        return error_of(status, reason)

    def events(self) -> list[Event]:
        """What happened since the last call."""
        return take_events(lib.shoalpy_core_events, self.handle)


#: Of connections that did not end.
_kept: list[Any] = []
_open_cores: weakref.WeakSet[Core] = weakref.WeakSet()


def _close_all() -> None:
    """At the end of the interpreter, while threads can still be waited for. Connections
    that an event loop drives are left to the system: its thread may be using them."""
    cores = [core for core in _open_cores if not core.is_borrowed]
    for core in cores:
        core.begin_close(0)
    for core in cores:
        core.close(_EXIT_SECONDS)


def _forget_all() -> None:
    """In the child of a fork: the parent's connections are not ours."""
    for core in list(_open_cores):
        core.is_closed = True
        lib.shoalpy_core_forget(core.handle)
    _open_cores.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
