# SPDX-License-Identifier: MIT
"""What a port needs of its event loop; and which loop runs here, or why none."""

from __future__ import annotations

import asyncio
import functools
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ._batch import Future

_INSTEAD = {
    "trio": "trio.to_thread.run_sync()",
    "curio": "curio.run_in_thread()",
}


def running_loop() -> asyncio.AbstractEventLoop:
    """The asyncio loop that runs in this thread. RuntimeError: there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(_why_none(_library())) from None


def _library() -> str:
    """The library that runs this task, by sniffio, which is loaded where other
    libraries than asyncio run; "": not known."""
    sniffio = sys.modules.get("sniffio")
    try:
        return str(sniffio.current_async_library()) if sniffio else ""
    except Exception:  # it is no task
        return ""


def _why_none(library: str) -> str:
    if library in _INSTEAD:
        return (
            f"shoal.aio is for asyncio and uvloop, and this is a task of {library}: "
            f"call a shoal.Client by {_INSTEAD[library]}"
        )
    return (
        "shoal.aio needs a running event loop of asyncio: call it in a coroutine that "
        "asyncio.run() runs; without an event loop use shoal.Client"
    )


class Reading(Protocol):
    """A port, as its loop knows it."""

    loop: asyncio.AbstractEventLoop

    def read(self) -> None:
        """There is something to read."""
        ...

    def lose_loop(self) -> int:
        """The loop was closed before the client. How many commands end here?"""
        ...


class Reader:
    """What a loop calls when there is something to read. A loop drops it when it is
    closed: so the port learns of the end."""

    __slots__ = ("_port",)

    def __init__(self, port: Reading) -> None:
        self._port = weakref.ref(port)

    def __call__(self) -> None:
        port = self._port()
        if port is not None:
            port.read()

    def __del__(self) -> None:
        port = self._port()
        if port is None or sys.is_finalizing() or not port.loop.is_closed():
            return
        lost = port.lose_loop()
        if lost:
            warnings.warn(
                f"{lost} commands of a shoal client were outstanding when their event "
                "loop was closed",
                ResourceWarning,
                source=port,
                stacklevel=1,
            )


def forget_reader(
    loop: asyncio.AbstractEventLoop, fd: int, owners: tuple[Any, ...]
) -> None:
    """Stop watching. The arguments keep the descriptor's owners alive until now."""
    loop.remove_reader(fd)


def future_maker(loop: asyncio.AbstractEventLoop) -> Callable[[], Future]:
    """The loop's create_future(), without a call in between where that is the usual
    one."""
    if getattr(type(loop), "create_future", None) is _usual_create_future:
        return functools.partial(asyncio.Future, loop=loop)
    return loop.create_future


def is_usual(loop: asyncio.AbstractEventLoop) -> bool:
    """Is it one of asyncio's own, or of uvloop's? Their tasks await anything that has
    asyncio's protocol for that."""
    kind = type(loop)
    if getattr(kind, "create_future", None) is _usual_create_future:
        return True
    return kind.__module__.partition(".")[0] == "uvloop"


def may_nest(loop: asyncio.AbstractEventLoop) -> bool:
    """May a task run the loop that runs it? nest_asyncio lets it, from any time on."""
    return bool(getattr(loop, "_nest_patched", False))


_usual_create_future = asyncio.BaseEventLoop.create_future
