# SPDX-License-Identifier: MIT
"""Subscriptions: the blocking face."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from ._closing import Closing
from ._events import Event
from ._feed import Hub, Name, Names, SubscriptionBase
from ._items import Item
from ._monitor import until_of
from ._native import lib
from ._options import Options
from ._outcomes import error_of
from ._seconds import microseconds
from .exceptions import ClosedError, FullError
from .stats import SubscriptionStats, take_subscriptions

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

_SLICE_US = 100_000
_TAKE = 1000


class Subscription(SubscriptionBase, Closing):
    """Messages of the channels and patterns that a client subscribed to, and marks
    between them: an iterator, and a context manager.

    Made by `Client.subscribe()`. One thread at a time reads; any thread may add and
    remove names, and close it.
    """

    def __init__(
        self,
        client: Client,
        names: Names,
        on_message: Callable[[Item], object] | None,
        *settings: Any,
    ) -> None:
        super().__init__(client._options, client._open_hub(), names, *settings)
        self._thread: threading.Thread | None = None
        if on_message is not None:
            self._thread = threading.Thread(
                target=self._call_all,
                args=(on_message,),
                name="shoal subscription",
                daemon=True,
            )
            self._thread.start()

    # ---- reading ----

    def get(self, timeout: float | None = None) -> Item | None:
        """The next item; waits for it for `timeout` seconds. None: none came."""
        if timeout is not None:
            microseconds(timeout)
        if self._items and self._thread is None and self._reader is None:
            try:
                return self._items.popleft()
            except IndexError:  # another thread took it
                pass
        me = object()
        try:
            self._begin_reading(me)
            until = until_of(timeout)
            while self._items or self._wait(until):
                try:
                    return self._items.popleft()
                except IndexError:  # another thread closed it
                    self._check_open()
            return None
        finally:
            self._end_reading(me)

    def take(self, max: int = _TAKE, timeout: float | None = None) -> list[Item]:
        """Up to `max` items in one list, as soon as there is one; waits for it for
        `timeout` seconds. Empty: none came. The cheapest way to read many."""
        if max < 1:
            raise ValueError("max must be at least 1")
        me = object()
        try:
            self._begin_reading(me)
            if not self._items:
                self._wait(until_of(timeout), max)
            return self._take_now(max)
        finally:
            self._end_reading(me)

    def _begin_reading(self, me: object) -> None:
        """Another reader would take its items away."""
        if self._thread not in (None, threading.current_thread()):
            raise RuntimeError("the items of this subscription go to on_message")
        with self._pulling:
            if self._reader is not None:
                raise RuntimeError("another thread reads this subscription")
            self._reader = me

    def _end_reading(self, me: object) -> None:
        """Also if an exception of a signal handler came before it had begun."""
        if self._reader is me:
            self._reader = None

    def _wait(self, until: float, count_max: int = _TAKE) -> bool:
        """There is something to read. False: the time is over."""
        while True:
            while self._items or self._pull(min(count_max, _TAKE)):
                if self._items:
                    return True
            self._check_open()
            left_us = max(0.0, until - time.monotonic()) * 1e6
            if left_us == 0:
                return False
            self._feed.wait(int(min(left_us, _SLICE_US)))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if self._items and self._thread is None and self._reader is None:
            try:
                return self._items.popleft()
            except IndexError:  # another thread took it
                pass
        try:
            item = self.get()
        except ClosedError:
            if self._is_closed:
                raise StopIteration from None
            raise
        assert item is not None
        return item

    def _call_all(self, on_message: Callable[[Item], object]) -> None:
        """The thread of on_message."""
        while True:
            try:
                items = self.take()
            except ClosedError:
                return
            except FullError:
                _report()
                return
            for item in items:
                if self._is_closed:
                    return
                try:
                    on_message(item)
                except Exception:  # of one item; the others are not harmed
                    _report()

    # ---- names ----

    def add(
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
        self._confirm(names, timeout)

    def remove(
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

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the server has confirmed every name, as `with` does: `timeout`
        seconds at most, None: the client's."""
        self._confirm(self._names, timeout)

    def _confirm(self, names: Names, timeout: float | None) -> None:
        until = until_of(self._options.timeout_us / 1e6 if timeout is None else timeout)
        while True:
            left_us = max(0.0, until - time.monotonic()) * 1e6
            status = self._feed.wait_confirmed(int(min(left_us, _SLICE_US)))
            if status == 1:
                self._raise_if_rejected(names)
            if status >= 0:
                return
            if left_us == 0 or status not in (lib.SHOAL_ETIMEOUT, lib.SHOAL_EINTR):
                raise error_of(status, "not confirmed in time" if not left_us else "")

    # ---- the end ----

    def close(self) -> None:
        """End the subscription: no item follows. More calls do nothing. With
        `on_message`, waits for a call that runs, unless it is made in that call."""
        self._let_go()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            while thread.is_alive() and not self._feed.hub.is_foreign():
                thread.join(_SLICE_US / 1e6)

    def __enter__(self) -> Self:
        try:
            self.wait()
        except BaseException:
            self.close()
            raise
        return self


def _report() -> None:
    """Tell the exception that is handled, as that of a thread."""
    kind, error, traceback = sys.exc_info()
    me = threading.current_thread()
    threading.excepthook(threading.ExceptHookArgs((kind, error, traceback, me)))


class Subscribing:
    """The part of a client that subscribes."""

    _options: Options
    _lock: threading.RLock
    _is_closed: bool
    _hub: Hub | None = None

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
        subscriptions of the client share. `with` waits until the server has confirmed
        every name; after a loss the library subscribes anew.

        Items are `Message`, and where messages are or may be missing, `Gap` and
        `Dropped`. `marks`: False: messages alone; "all": also `Subscribed` and
        `Suspended`. `on_message`: a function that gets each item, on a thread of the
        subscription's own; without it, iterate, or call `get()` or `take()`.
        `decode`: str instead of bytes, where it is UTF-8; None: as the client does.

        Up to `max_messages` messages, or `max_bytes` of memory, wait to be read; then
        `overflow` says whether the "newest" or the "oldest" messages are dropped, and
        `Dropped` stands where they are missing; or whether the subscription shall
        "end": FullError follows what there is.
        """
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
        """A snapshot of what the client's subscriptions, and their connection, have
        counted since the first was made. Any thread."""
        with self._lock:
            if self._is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            return take_subscriptions(self._hub)

    def subscription_events(self) -> list[Event]:
        """What happened to the connection of the client's subscriptions since the last
        call, oldest first; the last 128 are kept. Any thread; each event is told
        once. After the client was closed: nothing, not even what happened before."""
        hub = self._hub
        return hub.events() if hub is not None and not hub.is_closed else []

    def _open_hub(self) -> Hub:
        client: Any = self
        with self._lock:
            if self._is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            if self._hub is None or self._hub.is_closed:
                hub = Hub(self._options)
                hub.find_prober(client._open)
                self._hub = hub
            return self._hub

    def _close_hub(self) -> None:
        hub, self._hub = self._hub, None
        if hub is not None and not hub.is_closed:
            hub.close()
