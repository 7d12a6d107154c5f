# SPDX-License-Identifier: MIT
"""All ways to use a client behind one set of words, so that one test body fits all."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import shoal
import shoal.aio

from .scale import SCALE
from .wire import PATIENCE_S

_T = TypeVar("_T")

LOOPS = ("asyncio", "uvloop")
DRIVERS = ("borrowed", "thread", "shared")
ASYNC_MODES = tuple(f"{loop}-{driver}" for loop in LOOPS for driver in DRIVERS)
#: CI leaves out two that differ from others in nothing but their combination.
MODES = (
    ("sync", *ASYNC_MODES)
    if SCALE > 1
    else (
        "sync", "asyncio-borrowed", "asyncio-shared", "uvloop-borrowed",
        "uvloop-thread",
    )
)  # fmt: skip


def new_loop(name: str) -> asyncio.AbstractEventLoop:
    """An event loop of that kind."""
    if name == "uvloop":
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return asyncio.new_event_loop()


class Face:
    """A client of either kind, to be called from synchronous code.

    `client` is the client itself; with asyncio its coroutines run on `loop`.
    """

    def __init__(self, mode: str, url: str, **options: Any) -> None:
        self.mode = mode
        self.is_async = mode != "sync"
        self._sync: shoal.Client | None = None
        self.client: Any
        if not self.is_async:
            self._sync = self.client = shoal.Client(url, **options)
            return
        name, driver = mode.split("-")
        self.loop = new_loop(name)
        if driver == "shared":
            self._sync = shoal.Client(url, **options)
            self.client = self._sync.aio()
        else:
            self.client = shoal.aio.Client(url, thread=driver == "thread", **options)

    def run(self, main: Callable[[Any], Awaitable[_T]]) -> _T:
        """Run a coroutine function with the client, on the loop."""

        async def whole() -> _T:
            return await main(self.client)

        return self.loop.run_until_complete(whole())

    def _do(self, name: str, *args: Any, **options: Any) -> Any:
        if not self.is_async:
            return getattr(self.client, name)(*args, **options)

        async def act(client: Any) -> Any:
            outcome = getattr(client, name)(*args, **options)
            return await outcome if inspect.isawaitable(outcome) else outcome

        return self.run(act)

    def method(self, name: str, *args: Any, **options: Any) -> Any:
        """A method of the client's, for a command."""
        return self._do(name, *args, **options)

    def execute(self, *args: Any, **options: Any) -> Any:
        """As the client's."""
        return self._do("execute", *args, **options)

    def execute_many(self, commands: Any, **options: Any) -> list[Any]:
        """As the client's."""
        replies: list[Any] = self._do("execute_many", commands, **options)
        return replies

    def readinto(self, buffer: Any, *args: Any, **options: Any) -> int | None:
        """As the client's."""
        count: int | None = self._do("readinto", buffer, *args, **options)
        return count

    def lease(self) -> "FaceLease":
        """A lease, under the same words."""
        return FaceLease(self, self._do("lease"))

    def monitor(self, **options: Any) -> "FaceMonitor":
        """A monitor, under the same words."""
        return FaceMonitor(self, self._do("monitor", **options))

    def subscribe(self, *channels: Any, **options: Any) -> "FaceSubscription":
        """A subscription, under the same words."""
        return FaceSubscription(self, self._do("subscribe", *channels, **options))

    def transaction(
        self, func: Callable[[Any], Any], *keys: Any, **options: Any
    ) -> Any:
        """As the client's. `func` gets an attempt whose execute() it calls by `yield`,
        which gives the reply: `reply = yield "GET", "k"`."""

        def drive(attempt: Any) -> Any:
            steps = func(attempt)
            try:
                command = next(steps)
                while True:
                    command = steps.send(attempt.execute(*command))
            except StopIteration as end:
                return end.value

        async def drive_async(attempt: Any) -> Any:
            steps = func(attempt)
            try:
                command = next(steps)
                while True:
                    command = steps.send(await attempt.execute(*command))
            except StopIteration as end:
                return end.value

        chosen = drive_async if self.is_async else drive
        return self._do("transaction", chosen, *keys, **options)

    def wait_ready(self, timeout: float | None = None) -> None:
        """As the client's."""
        self._do("wait_ready", timeout)

    def stats(self, connection: int | None = None) -> shoal.Stats:
        """As the client's."""
        stats: shoal.Stats = self._do("stats", connection)
        return stats

    def subscription_stats(self) -> shoal.SubscriptionStats:
        """As the client's."""
        stats: shoal.SubscriptionStats = self._do("subscription_stats")
        return stats

    def subscription_events(self) -> list[shoal.Event]:
        """As the client's."""
        events: list[shoal.Event] = self._do("subscription_events")
        return events

    def events(self) -> list[shoal.Event]:
        """As the client's."""
        events: list[shoal.Event] = self._do("events")
        return events

    def pass_time(self, seconds: float) -> None:
        """Let things happen; a borrowed connection lives while its loop runs."""
        if self.is_async:
            self.loop.run_until_complete(asyncio.sleep(seconds))
        else:
            time.sleep(seconds)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for what happens beside the calls, for example that a gauge sinks."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < end
            self.pass_time(0.001)

    def begin(self, name: str, *args: Any, **options: Any) -> Callable[[], Any]:
        """A call beside what follows; its outcome is waited for later."""
        if not self.is_async:
            call = getattr(self.client, name)
            return ThreadPoolExecutor(1).submit(call, *args, **options).result
        task = self.loop.create_task(getattr(self.client, name)(*args, **options))
        self.pass_time(0)
        return lambda: self.loop.run_until_complete(task)

    def run_pipeline(self, pipeline: Any, **options: Any) -> list[Any]:
        """`pipeline.run()`, awaited if it has to be."""
        if not self.is_async:
            replies: list[Any] = pipeline.run(**options)
            return replies

        async def act(_: Any) -> list[Any]:
            replies: list[Any] = await pipeline.run(**options)
            return replies

        return self.run(act)

    def close(self, drain: float = 0.0) -> None:
        """Close the client; it may be used on, as a closed one."""
        self._do("close", drain)
        if self._sync is not None and self.is_async:
            self._sync.close()

    def end(self) -> None:
        """Close all, the loop too."""
        if self.is_async and self.loop.is_closed():
            if self._sync is not None:
                self._sync.close()
            return
        self.close()
        if self.is_async:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()


class FaceLease:
    """A lease of a face, to be called from synchronous code."""

    def __init__(self, face: Face, lease: Any) -> None:
        self.face = face
        self.lease = lease

    def _do(self, name: str, *args: Any, **options: Any) -> Any:
        if not self.face.is_async:
            return getattr(self.lease, name)(*args, **options)

        async def act(_: Any) -> Any:
            return await getattr(self.lease, name)(*args, **options)

        return self.face.run(act)

    def method(self, name: str, *args: Any, **options: Any) -> Any:
        """A method of the lease's, for a command."""
        return self._do(name, *args, **options)

    def execute(self, *args: Any, **options: Any) -> Any:
        """As the lease's."""
        return self._do("execute", *args, **options)

    def readinto(self, buffer: Any, *args: Any, **options: Any) -> int | None:
        """As the lease's."""
        count: int | None = self._do("readinto", buffer, *args, **options)
        return count

    def execute_many(self, commands: Any, **options: Any) -> list[Any]:
        """As the lease's."""
        replies: list[Any] = self._do("execute_many", commands, **options)
        return replies

    def close(self) -> None:
        """As the lease's."""
        self._do("close")

    def __enter__(self) -> "FaceLease":
        self._do("__aenter__" if self.face.is_async else "__enter__")
        return self

    def __exit__(self, *_: object) -> None:
        ends = (None, None, None)
        self._do("__aexit__" if self.face.is_async else "__exit__", *ends)


class FaceMonitor:
    """A monitor of a face, to be called from synchronous code."""

    def __init__(self, face: Face, monitor: Any) -> None:
        self.face = face
        self.monitor = monitor

    def _do(self, name: str, *args: Any, **options: Any) -> Any:
        if not self.face.is_async:
            return getattr(self.monitor, name)(*args, **options)

        async def act(_: Any) -> Any:
            return await getattr(self.monitor, name)(*args, **options)

        return self.face.run(act)

    def next_line(self, **options: Any) -> Any:
        """As the monitor's."""
        return self._do("next_line", **options)

    def close(self) -> None:
        """As the monitor's."""
        self._do("close")

    def __iter__(self) -> "FaceMonitor":
        return self

    def __next__(self) -> Any:
        try:
            return self._do("__anext__" if self.face.is_async else "__next__")
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> "FaceMonitor":
        self._do("__aenter__" if self.face.is_async else "__enter__")
        return self

    def __exit__(self, *_: object) -> None:
        ends = (None, None, None)
        self._do("__aexit__" if self.face.is_async else "__exit__", *ends)


class FaceSubscription(FaceMonitor):
    """A subscription of a face, to be called from synchronous code."""

    def __enter__(self) -> "FaceSubscription":
        super().__enter__()
        return self

    def get(self, timeout: float | None = PATIENCE_S) -> Any:
        """As the subscription's."""
        return self._do("get", timeout)

    def take(self, count_max: int = 1000, timeout: float | None = PATIENCE_S) -> Any:
        """As the subscription's."""
        return self._do("take", count_max, timeout)

    def add(self, *channels: Any, **options: Any) -> None:
        """As the subscription's."""
        self._do("add", *channels, **options)

    def remove(self, *channels: Any, **options: Any) -> None:
        """As the subscription's."""
        self._do("remove", *channels, **options)
