# SPDX-License-Identifier: MIT
"""Credentials that change: those that the program sets, and its providers."""

from __future__ import annotations

import os
import sys
import threading
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


def native_text(value: str | None) -> Any:
    """As C takes it."""
    return ffi.NULL if value is None else ffi.new("char[]", value.encode())


class Desk:
    """A thread that answers the questions of one connection of C's."""

    __slots__ = ("_loop", "_pid", "_provider", "native")

    def __init__(self, provider: Provider, options: Any) -> None:
        try:
            self.native = _free.pop()
        except IndexError:
            self.native = lib.shoalpy_desk_new()
        if self.native == ffi.NULL:
            raise MemoryError
        self._pid = os.getpid()
        self._provider = provider
        #: Where a coroutine of the provider runs.
        self._loop = _running_loop()
        status = lib.shoalpy_desk_serve(self.native, options)
        if status < 0:
            raise error_of(status)
        lib.shoalpy_desk_open(self.native)
        thread = threading.Thread(
            target=_serve,
            args=(self.native, provider, self._loop),
            name="shoal credentials",
            daemon=True,
        )
        thread.start()

    def close(self) -> None:
        """No more questions."""
        if self._pid == os.getpid():  # its lock may be held in the parent
            lib.shoalpy_desk_close(self.native)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The blocking face does without asyncio."""
    module = sys.modules.get("asyncio")
    return None if module is None else module._get_running_loop()


def _serve(
    desk: Any, provider: Provider, loop: asyncio.AbstractEventLoop | None
) -> None:
    while (request := lib.shoalpy_desk_take(desk)) != ffi.NULL:
        _answer(desk, request, provider, loop)
    _free.append(desk)


def _answer(
    desk: Any,
    request: Any,
    provider: Provider,
    loop: asyncio.AbstractEventLoop | None,
) -> None:
    try:
        user, password, refresh_ms = split(_result(desk, provider, loop))
    except BaseException as error:  # whatever it raises; its text may have a secret
        reason = native_text(f"{type(error).__name__} in the provider")
        lib.shoal_credentials_fail(request, reason)
        return
    status = lib.shoal_credentials_give(
        request, native_text(user), native_text(password), refresh_ms
    )
    if status == lib.SHOAL_ENOMEM:
        lib.shoal_credentials_fail(request, native_text("no memory"))


def _result(
    desk: Any, provider: Provider, loop: asyncio.AbstractEventLoop | None
) -> object:
    result = provider()
    if not isinstance(result, Awaitable):
        return result
    import asyncio
    from concurrent.futures import TimeoutError as Late

    if loop is None or loop.is_closed():
        return asyncio.run(_awaited(result))
    future = asyncio.run_coroutine_threadsafe(_awaited(result), loop)
    while lib.shoalpy_desk_is_open(desk):
        try:
            return future.result(_SLICE)
        except Late:
            if future.done():  # the provider's own
                raise
    future.cancel()
    raise RuntimeError("the client is closed")


async def _awaited(result: Awaitable[object]) -> object:
    return await result


os.register_at_fork(after_in_child=_free.clear)
