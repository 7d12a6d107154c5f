# SPDX-License-Identifier: MIT
"""Subscriptions: the asyncio face."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
import threading
import time
from asyncio import _get_running_loop
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from .._closing import AsyncClosing
from .._events import Event
from .._feed import CLOSE_US, Feed, Hub, Name, Names, SubscriptionBase
from .._items import Item
from .._monitor import until_of
from .._native import ffi, lib
from .._options import Options
from .._outcomes import error_of
from .._seconds import microseconds
from ..exceptions import ClosedError, FullError
from ..stats import SubscriptionStats, take_subscriptions
from ._batch import Future
from ._loop import Reader, forget_reader, running_loop

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

_TAKE = 1000
_READY_MAX = 256
_NAP = 0.002


class LoopHub(Hub):
    """The subscriptions' connection of one event loop, which drives it."""

    def __init__(self, options: Options, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(options, loop=loop)
        self.loop = loop
        self._fd = lib.shoalpy_hub_fd(self.native)
        self._ready: Any = ffi.new("uint64_t[]", _READY_MAX)
        #: Who waits for C, by the numbers of feeds.
        self._awaiting: dict[int, list[Callable[[], None]]] = {}
        self._is_pumping = False
        self._is_poked = False  # on its loop: it will be driven in this turn
        loop.add_reader(self._fd, Reader(self))
        self.poke()

    def poke(self) -> None:
        """Drive it soon: something was asked for. Threads: any."""
        with contextlib.suppress(RuntimeError):  # the loop was closed
            if _get_running_loop() is not self.loop:
                self.loop.call_soon_threadsafe(self.read)
            elif not self._is_poked:
                self.loop.call_soon(self.read)
                self._is_poked = True

    def set_credentials(self, user: str | None, password: str) -> None:
        super().set_credentials(user, password)
        self.poke()

    def read(self) -> None:
        """There may be something to do."""
        self._is_poked = False
        if self.is_closed or self._is_pumping:
            return
        self._is_pumping = True
        try:
            status = lib.shoalpy_hub_pump(self.native, self._ready, _READY_MAX)
        finally:
            self._is_pumping = False
        if status <= 0:
            return
        if status & 1:
            self.loop.call_soon(self.read)
        for number in ffi.unpack(self._ready, status >> 1):
            for wake in self._awaiting.pop(number, ()):
                wake()

    def call_when(
        self, feed: Feed, wake: Callable[[], None], *, is_confirming: bool = False
    ) -> None:
        """Call `wake` once when the feed has items, or its names are confirmed."""
        # Append first: a thread that closes the feed marks it closed, and then looks
        # for `wake`.
        self._awaiting.setdefault(feed.number, []).append(wake)
        try:
            with feed as native:
                lib.shoalpy_feed_await(native, is_confirming)
        except BaseException:
            self._forget(feed, wake)
            raise

    def _forget(self, feed: Feed, wake: Callable[[], None]) -> None:
        awaiting = self._awaiting.get(feed.number, [])
        if wake in awaiting:
            awaiting.remove(wake)
            if not awaiting:
                self._awaiting.pop(feed.number, None)

    def wake(self, feed: Feed) -> None:
        """Call them at once, because the feed was closed. Threads: any."""
        with contextlib.suppress(RuntimeError):  # the loop was closed
            for wake in list(self._awaiting.pop(feed.number, ())):
                self.loop.call_soon_threadsafe(wake)

    async def wait(
        self, feed: Feed, until: float, *, is_confirming: bool = False
    ) -> None:
        """The feed has items, or its names are confirmed, or `until` (of the monotonic
        clock) is over, or the feed was closed."""
        waiter: Future = self.loop.create_future()
        wake = partial(_wake, waiter)
        self.call_when(feed, wake, is_confirming=is_confirming)
        timer = None
        if until != math.inf:
            left = max(0.0, until - time.monotonic())
            timer = self.loop.call_later(left, wake)
        try:
            await waiter
        finally:
            self._forget(feed, wake)
            if timer is not None:
                timer.cancel()

    def end(self) -> None:
        """Close it, on its loop's thread, or when the loop does not run."""
        if not self.is_closed and not self.is_foreign():
            self._detach()
            self.close()
            self._wake_all()

    def _detach(self) -> None:
        self.is_closed = True
        if not self.loop.is_closed():
            self.loop.remove_reader(self._fd)

    def _wake_all(self) -> None:
        awaiting, self._awaiting = self._awaiting, {}
        if not self.loop.is_closed():
            for wakes in list(awaiting.values()):
                for wake in list(wakes):
                    self.loop.call_soon_threadsafe(wake)

    async def end_here(self) -> None:
        """Close it, on its own loop."""
        if self.is_closed:
            return
        self._detach()
        until = time.monotonic() + CLOSE_US / 1e6
        while not self.close(0) and time.monotonic() < until:
            await asyncio.sleep(_NAP)
        self._wake_all()

    def lose_loop(self) -> int:
        """The loop was closed before the client."""
        self.end()
        return 0

    def __del__(self) -> None:
        if self.native is not None and not (self.is_closed or sys.is_finalizing()):
            loop = self.loop
            if loop.is_running() and _get_running_loop() is not loop:
                # Another thread runs the loop: the descriptor lives until it was
                # removed.
                super().__del__()
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(
                        forget_reader, loop, self._fd, (self._memory,)
                    )
                return
            if not loop.is_closed():
                loop.remove_reader(self._fd)
        super().__del__()


class Subscription(SubscriptionBase, AsyncClosing):
    """Messages of the channels and patterns that a client subscribed to, and marks
    between them: an asynchronous iterator, and a context manager; as
    `shoal.Subscription`.

    It belongs to the event loop in which it was made. One task at a time reads.
    """

    def __init__(
        self,
        client: Client,
        names: Names,
        on_message: Callable[[Item], object] | None,
        *settings: Any,
    ) -> None:
        hub = client._open_hub()
        super().__init__(client._options, hub, names, *settings)
        self._hub = hub
        self._on_message = on_message
        if on_message is not None:
            self._deliver_later()
        hub.poke()

    # ---- reading ----

    async def get(self, timeout: float | None = None) -> Item | None:
        """The next item; waits for it for `timeout` seconds. None: none came. If the
        task is cancelled, no item is lost."""
        if timeout is not None:
            microseconds(timeout)
        if self._items and self._reader is None and self._on_message is None:
            try:
                return self._items.popleft()
            except IndexError:  # another thread closed it
                pass
        me = object()
        try:
            self._begin_reading(me)
            until = until_of(timeout)
            while self._items or await self._wait(until):
                try:
                    return self._items.popleft()
                except IndexError:  # another thread closed it
                    self._check_open()
            return None
        finally:
            if self._reader is me:
                self._reader = None

    async def take(self, max: int = _TAKE, timeout: float | None = None) -> list[Item]:
        """Up to `max` items in one list, as soon as there is one; waits for it for
        `timeout` seconds. Empty: none came. The cheapest way to read many."""
        if max < 1:
            raise ValueError("max must be at least 1")
        me = object()
        try:
            self._begin_reading(me)
            if not self._items:
                await self._wait(until_of(timeout), max)
            return self._take_now(max)
        finally:
            if self._reader is me:
                self._reader = None

    def _begin_reading(self, me: object) -> None:
        """Another reader would take its items away."""
        if self._on_message is not None:
            raise RuntimeError("the items of this subscription go to on_message")
        if self._hub.loop is not running_loop():
            raise RuntimeError("a subscription belongs to the event loop that made it")
        if self._reader is not None:
            raise RuntimeError("another task reads this subscription")
        self._reader = me

    async def _wait(self, until: float, count_max: int = _TAKE) -> bool:
        """There is something to read. False: the time is over."""
        has_waited = False
        while True:
            while self._items or self._pull(min(count_max, _TAKE)):
                if self._items and has_waited:
                    return True
                if self._items:  # let others run, too, who may close it
                    await asyncio.sleep(0)
                    has_waited = True
            self._check_open()
            if time.monotonic() >= until:
                return False
            await self._hub.wait(self._feed, until)
            has_waited = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        if self._items and self._reader is None and self._on_message is None:
            try:
                return self._items.popleft()
            except IndexError:  # another thread closed it
                pass
        try:
            item = await self.get()
        except ClosedError:
            if self._is_closed:
                raise StopAsyncIteration from None
            raise
        assert item is not None
        return item

    # ---- on_message ----

    def _deliver_later(self) -> None:
        self._hub.call_when(self._feed, self._deliver)

    def _deliver(self) -> None:
        """Call on_message with what there is, on the event loop."""
        if self._is_closed:
            return
        try:
            is_more = self._pull()
        except BaseException as error:
            self._report(error)
            return
        items, on_message = self._items, self._on_message
        assert on_message is not None
        while items and not self._is_closed:
            try:
                item = items.popleft()
            except IndexError:  # another thread closed it
                break
            try:
                on_message(item)
            except Exception as error:  # of one item; the others are not harmed
                self._report(error)
        try:
            self._check_open()
        except ClosedError:
            return
        except FullError as error:
            self._report(error)
            return
        if is_more:
            self._hub.loop.call_soon(self._deliver)
        else:
            self._deliver_later()

    def _report(self, error: BaseException) -> None:
        self._hub.loop.call_exception_handler(
            {"message": "on_message of a subscription", "exception": error}
        )

    # ---- names ----

    async def add(
        self,
        *channels: Name,
        patterns: Iterable[Name] = (),
        shards: Iterable[Name] = (),
        keyspace: Iterable[Name] = (),
        timeout: float | None = None,
    ) -> None:
        """Subscribe to more, and wait until the server has confirmed them: `timeout`
        seconds at most, None: the client's. Raises what the server answers if it
        refuses one."""
        names = Names(self._options, channels, patterns, shards, keyspace)
        self._feed.add(names.pairs)
        self._hub.poke()
        await self._confirm(names, timeout)

    async def remove(
        self,
        *channels: Name,
        patterns: Iterable[Name] = (),
        shards: Iterable[Name] = (),
        keyspace: Iterable[Name] = (),
    ) -> None:
        """End the subscription to some of its names. Does not wait: for a moment
        messages may still come."""
        names = Names(self._options, channels, patterns, shards, keyspace)
        self._feed.remove(names.pairs)
        self._hub.poke()

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until the server has confirmed every name, as `async with` does:
        `timeout` seconds at most, None: the client's."""
        await self._confirm(self._names, timeout)

    async def _confirm(self, names: Names, timeout: float | None) -> None:
        until = until_of(self._options.timeout_us / 1e6 if timeout is None else timeout)
        while True:
            status = self._feed.wait_confirmed(0)
            if status == 1:
                try:
                    self._raise_if_rejected(names)
                finally:
                    if self._items:  # who waits for some does not know of them
                        self._hub.wake(self._feed)
            if status >= 0:
                return
            is_late = time.monotonic() >= until
            if is_late or status not in (lib.SHOAL_ETIMEOUT, lib.SHOAL_ELOOP):
                raise error_of(status, "not confirmed in time" if is_late else "")
            await self._hub.wait(self._feed, until, is_confirming=True)

    # ---- the end ----

    async def close(self) -> None:
        """End the subscription: no item follows. Does not wait; more calls do
        nothing."""
        self._let_go()
        self._hub.wake(self._feed)
        if not self._hub.is_closed:
            self._hub.poke()

    async def __aenter__(self) -> Self:
        try:
            await self.wait()
        except BaseException:
            await self.close()
            raise
        return self


def _wake(waiter: Future) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Subscribing:
    """The part of a client that subscribes."""

    _options: Options
    _lock: threading.RLock
    _is_closed: bool
    _hubs: dict[asyncio.AbstractEventLoop, LoopHub]

    def subscribe(
        self,
        *channels: Name,
        patterns: Iterable[Name] = (),
        shards: Iterable[Name] = (),
        keyspace: Iterable[Name] = (),
        on_message: Callable[[Item], object] | None = None,
        marks: bool | Literal["all"] = True,
        decode: bool | None = None,
        max_messages: int = 65536,
        max_bytes: int = 64 << 20,
        overflow: Literal["newest", "oldest", "end"] = "newest",
    ) -> Subscription:
        """Subscribe to channels and patterns, over a connection of their own that all
        subscriptions of the event loop share; as `shoal.Client.subscribe`, with
        `async with`. `on_message` is called on the event loop."""
        client: Any = self
        return Subscription(
            client,
            Names(self._options, channels, patterns, shards, keyspace),
            on_message,
            marks,
            decode,
            max_messages,
            max_bytes,
            overflow,
        )

    def subscription_stats(self) -> SubscriptionStats:
        """A snapshot of what the running loop's subscriptions, and their connection,
        have counted since the first was made."""
        loop = running_loop()
        with self._lock:
            if self._is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            return take_subscriptions(self._hubs.get(loop))

    def subscription_events(self) -> list[Event]:
        """What happened to the connection of the running loop's subscriptions since the
        last call, oldest first; the last 128 are kept. Each event is told once. After
        the client was closed: nothing, not even what happened before."""
        hub = self._hubs.get(running_loop())
        return hub.events() if hub is not None and not hub.is_closed else []

    def _open_hub(self) -> LoopHub:
        """That of the running loop."""
        loop = running_loop()
        client: Any = self
        with self._lock:
            if self._is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            hub = self._hubs.get(loop)
            if hub is None or hub.is_closed:
                for other, old in list(self._hubs.items()):
                    if old.is_closed:  # with its loop
                        del self._hubs[other]
                hub = LoopHub(self._options, loop)
                hub.find_prober(lambda: client._find_port().core)
                self._hubs[loop] = hub
            return hub


async def close_hubs(hubs: dict[asyncio.AbstractEventLoop, LoopHub]) -> None:
    """Close those of a client, each on its loop."""
    for loop, hub in hubs.items():
        if loop is _get_running_loop():
            await hub.end_here()
        elif loop.is_running():
            with contextlib.suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(hub.end)
        else:
            hub.end()
