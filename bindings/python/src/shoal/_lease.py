# SPDX-License-Identifier: MIT
"""Leases of the C library, as both faces hold them."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

from ._core import Core
from ._native import ffi, lib
from ._outcomes import error_of

if TYPE_CHECKING:
    from typing_extensions import Self

#: As many connections leases and blocking commands can have at a time.
CONNECTIONS_MAX: int = lib.SHOAL_LEASE_CONNECTIONS_MAX
#: As many leases and blocking commands a connection can have at a time.
LEASES_MAX: int = CONNECTIONS_MAX + lib.SHOAL_LEASE_WAITING_MAX


class Handle:
    """A lease of the C library. It is given back once it is closed and nobody uses it:
    no call of another thread and, because they hold this object, no queue."""

    __slots__ = ("_is_closed", "_lock", "_users", "core", "native", "target")

    def __init__(self, core: Core) -> None:
        self.native: Any = None
        self._is_closed = False
        self._users = 0
        self._lock = threading.RLock()  # a signal handler may interrupt its holder
        holder = ffi.new("shoal_lease_t **")
        status = lib.shoalpy_core_lease(core.handle, holder)
        if status == lib.SHOAL_EFULL:
            raise error_of(status, f"{LEASES_MAX} leases and blocking commands exist")
        if status < 0:
            raise error_of(status)
        self.core = core
        self.native = holder[0]
        self.target: Any = ffi.new("shoalpy_target_t *", {"lease": holder[0]})

    def __enter__(self) -> Self:
        """A call begins to use it."""
        if self.core.is_foreign():
            raise error_of(lib.SHOAL_EFORK)
        with self._lock:
            if self._is_closed:
                raise closed("lease")
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            self._give_back()

    def close(self) -> None:
        """Nobody begins to use it any more."""
        if not self.core.is_foreign():
            with self._lock:
                self._is_closed = True
                self._give_back()

    def _give_back(self) -> None:
        if self._is_closed and self._users == 0:
            native, self.native = self.native, None
            lib.shoal_lease_close(native or ffi.NULL)

    def __del__(self) -> None:
        """In a garbage cycle, the object that closes this handle may come later."""
        native, self.native = getattr(self, "native", None), None
        lib.shoal_lease_close(native or ffi.NULL)


def closed(what: str) -> BaseException:
    """The exception of a use after the end."""
    return error_of(lib.SHOAL_ECLOSED, f"the {what} was closed")


class Held:
    """The handle of a lease that its owner has not closed."""

    _what = "lease"  # in words
    _handle: Handle | None = None

    def _held(self) -> Handle:
        """ClosedError: it was closed."""
        if self._handle is None:
            raise closed(self._what)
        return self._handle

    def __del__(self) -> None:
        handle = self._handle
        if handle is None or handle.core.is_foreign() or handle.core.is_closed:
            return
        self._handle = None
        handle.close()
        warnings.warn(
            f"unclosed {self._what} of a shoal client to {handle.core.server}",
            ResourceWarning,
            source=self,
            stacklevel=1,
        )

    def _state(self) -> str:
        return "closed" if self._handle is None else "open"
