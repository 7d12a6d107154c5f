# SPDX-License-Identifier: MIT
"""Credentials that change: those that the program sets, and its providers."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ._native import ffi, lib
from ._outcomes import error_of

#: User (None: the server's default user) and password; and for providers the seconds
#: after which they are to be asked again (none: when a server refuses).
Credentials: TypeAlias = tuple[str | None, str] | tuple[str | None, str, float]
#: A function, or coroutine function, that the library calls when it needs credentials.
Provider: TypeAlias = Callable[[], Credentials | Awaitable[Credentials]]

if TYPE_CHECKING:
    import asyncio

_SLICE = 0.5
#: Desks whose clients are gone: C never frees one.
_free: list[Any] = []


def split(credentials: object) -> tuple[str | None, str, int]:
    """User, password, and the milliseconds until they are asked for again (0: never).
    TypeError and ValueError name no value: it may be a secret."""
    if not isinstance(credentials, tuple) or len(credentials) not in (2, 3):
        raise TypeError("credentials must be (user, password) or with seconds behind")
    user, password = credentials[0], credentials[1]
    check(user, password)
    seconds = credentials[2] if len(credentials) == 3 else 0
    if type(seconds) not in (int, float) or not 0 <= seconds <= 1e15:
        raise ValueError("the third of the credentials must be a number of seconds")
    return user, password, max(1, round(seconds * 1000)) if seconds else 0


def check(user: object, password: object) -> None:
    """TypeError or ValueError: these are no credentials."""
    for value, name in (user, "user"), (password, "password"):
        if value is None and name == "user":
            continue
        if not isinstance(value, str):
            raise TypeError(f"the {name} must be a str")
        if "\0" in value:
            raise ValueError(f"the {name} has a NUL character")
        if not has_utf8(value):
            raise ValueError(f"the {name} has a lone surrogate")


def has_utf8(text: str) -> bool:
    """Python's own exception would hold the text, which may be a secret."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def native_text(value: str | None) -> Any:
    """As C takes it."""
    return ffi.NULL if value is None else ffi.new("char[]", value.encode())


class Desk:
    """A thread that answers the questions of one connection of C's. `loop`: where a
    coroutine of the provider runs; None: in a loop of its own."""

    __slots__ = ("__weakref__", "_open", "_pid", "loop", "native", "provider")

    def __init__(
        self,
        provider: Provider,
        options: Any,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        try:
            self.native = _free.pop()
        except IndexError:
            self.native = lib.shoalpy_desk_new()
        if self.native == ffi.NULL:
            raise MemoryError
        self._pid = os.getpid()
        self.provider = provider
        self.loop = loop
        status = lib.shoalpy_desk_serve(self.native, options)
        if status < 0:
            raise error_of(status)
        lib.shoalpy_desk_open(self.native)
        #: Has one item until it is closed: C's part may serve another client then.
        self._open = [self.native]
        # The thread keeps neither provider nor loop: both may know the client.
        thread = threading.Thread(
            target=_serve,
            args=(self.native, weakref.ref(self)),
            name="shoal credentials",
            daemon=True,
        )
        try:
            thread.start()
        except BaseException:  # no thread, or a signal handler's: then it ends
            self.close()
            raise

    def close(self) -> None:
        """No more questions."""
        if self._pid == os.getpid():  # its lock may be held in the parent
            with contextlib.suppress(IndexError):  # it was closed before
                lib.shoalpy_desk_close(self._open.pop())


def _serve(native: Any, find: Callable[[], Desk | None]) -> None:
    while (request := lib.shoalpy_desk_take(native)) != ffi.NULL:
        _answer(request, find())
    _free.append(native)


def _answer(request: Any, desk: Desk | None) -> None:
    if desk is None:
        lib.shoal_credentials_fail(request, native_text("the client is closed"))
        return
    try:
        user, password, refresh_ms = split(_result(desk))
    except BaseException as error:  # whatever it raises; its text may have a secret
        reason = native_text(f"{type(error).__name__} in the provider")
        lib.shoal_credentials_fail(request, reason)
        return
    status = lib.shoal_credentials_give(
        request, native_text(user), native_text(password), refresh_ms
    )
    if status == lib.SHOAL_ENOMEM:
        lib.shoal_credentials_fail(request, native_text("no memory"))


def _result(desk: Desk) -> object:
    loop, result = desk.loop, desk.provider()
    if not isinstance(result, Awaitable):
        return result
    import asyncio
    from concurrent.futures import TimeoutError as Late

    if loop is None or loop.is_closed():
        return asyncio.run(_awaited(result))
    future = asyncio.run_coroutine_threadsafe(_awaited(result), loop)
    while lib.shoalpy_desk_is_awaited(desk.native):
        try:
            return future.result(_SLICE)
        except Late:
            if future.done():  # the provider's own
                raise
            if not loop.is_running():
                break
    future.cancel()
    raise RuntimeError("nobody waits, or the loop does not run")


async def _awaited(result: Awaitable[object]) -> object:
    return await result


os.register_at_fork(after_in_child=_free.clear)
