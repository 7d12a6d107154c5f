# SPDX-License-Identifier: MIT
"""Subscriptions of the C library, as both faces hold them."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ._core import Core, freed_last
from ._credentials import Desk, native_text
from ._events import Event, take_events
from ._interpreter import HAS_GIL
from ._items import Item, Reading
from ._lease import closed
from ._native import ffi, lib
from ._options import Options
from ._outcomes import error_of, new_reason, reason_of
from ._replies import loads
from .exceptions import FullError, RedisError, from_reply

if TYPE_CHECKING:
    import asyncio

_OVERFLOWS: dict[str, int] = {
    "newest": lib.SHOAL_OVERFLOW_NEWEST,
    "oldest": lib.SHOAL_OVERFLOW_OLDEST,
    "end": lib.SHOAL_OVERFLOW_END,
}
_ITEMS_MAX: int = lib.SHOALPY_FEED_ITEMS_MAX
#: How long a close of a hub waits.
CLOSE_US = 1_000_000

Name = str | bytes


class Names:
    """Names of one call, as C has them. The bytes stay as long as this object."""

    def __init__(
        self,
        options: Options,
        channels: Iterable[Name] = (),
        patterns: Iterable[Name] = (),
        shards: Iterable[Name] = (),
        keyspace: Iterable[Name] = (),
    ) -> None:
        #: C's kinds and the bytes.
        self.pairs: list[tuple[int, bytes]] = []
        for kind, names in (
            (lib.SHOAL_NAME_CHANNEL, channels),
            (lib.SHOAL_NAME_PATTERN, patterns),
            (lib.SHOAL_NAME_SHARD, shards),
            (lib.SHOAL_NAME_KEYSPACE, keyspace),
        ):
            if isinstance(names, (str, bytes)):
                raise TypeError("names come as a list or tuple, not as one string")
            if given := tuple(names):
                self.pairs += [(kind, name) for name in options.encoded(given)]
        self.native = native_names(self.pairs)


def native_names(pairs: list[tuple[int, bytes]]) -> Any:
    """Names with C's kinds, as C has them."""
    names = ffi.new("shoal_name_t[]", len(pairs))
    for row, (kind, name) in zip(names, pairs, strict=True):
        row.kind, row.data, row.bytes = kind, ffi.from_buffer(name), len(name)
    return names


class Hub:
    """The connection of subscriptions: one per event loop, which drives it, or one per
    blocking client, with a thread of the library's."""

    def __init__(
        self, options: Options, *, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._pid = _pid
        self.server = options.server
        self.is_borrowed = loop is not None
        self.is_closed = False
        self.native: Any = None
        self._memory: Any = None
        self._desk: Desk | None = None
        native = options.native(borrowed=self.is_borrowed)
        holder = ffi.new("shoalpy_hub_t **")
        reason = new_reason()
        try:
            if options.provider is not None:
                self._desk = Desk(options.provider, native, loop)
            status = lib.shoalpy_hub_open(native, self.is_borrowed, holder, reason)
        finally:
            lib.shoal_options_free(native)
        if status < 0:
            self._close_desk()
            raise error_of(status, reason_of(reason))
        self.native = holder[0]
        _open_hubs.add(self)

    def is_foreign(self) -> bool:
        """Was it opened by the process that this one was forked from?"""
        return self._pid != _pid

    def is_connected(self) -> bool:
        """Has it a connection now?"""
        return not self.is_closed and bool(lib.shoalpy_hub_is_connected(self.native))

    def find_prober(self, find: Callable[[], Core]) -> None:
        """If it is to be probed, this client publishes the probes."""
        if lib.shoalpy_hub_is_probed(self.native):
            lib.shoalpy_hub_set_prober(self.native, find().handle)

    def events(self) -> list[Event]:
        """What happened since the last call."""
        return take_events(lib.shoalpy_hub_events, self.native)

    def set_credentials(self, user: str | None, password: str) -> None:
        """Authenticate with these from now on. A closed one does nothing."""
        status = lib.shoalpy_hub_set_credentials(
            self.native, native_text(user), native_text(password)
        )
        if status < 0 and status != lib.SHOAL_ECLOSED:
            raise error_of(status)

    def close(self, wait_us: int = CLOSE_US) -> bool:
        """End all subscriptions. False: it goes on (of a borrowed one)."""
        self.is_closed = True
        if self.is_foreign() or not lib.shoalpy_hub_close(self.native, wait_us):
            return False
        _open_hubs.discard(self)
        self._close_desk()
        return True

    def forget(self) -> None:
        """In the child of a fork: the connection, and what a loop watches, are the
        parent's."""
        if self in _open_hubs:
            _open_hubs.discard(self)
            self._pid = 0  # no process: it is foreign from now on
            self.is_closed = True
            lib.shoalpy_hub_forget(self.native)

    def _close_desk(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()

    def __del__(self) -> None:
        if self.native is None or self.is_foreign() or sys.is_finalizing():
            return
        if not self.is_closed:
            self.close()
        # Feeds of the same garbage keep C's part until they are freed.
        self._memory = freed_last(self.native, lib.shoalpy_hub_free)


class Feed:
    """A subscription of C's. It is freed once it is closed and nobody uses it.

    `names`: pairs of C's kind and the bytes. Threads: any, but one takes items.
    """

    __slots__ = ("_is_closed", "_lock", "_users", "hub", "native", "number")

    def __init__(
        self,
        hub: Hub,
        names: list[tuple[int, bytes]],
        max_messages: int = 0,
        max_bytes: int = 0,
        overflow: int = lib.SHOAL_OVERFLOW_NEWEST,
    ) -> None:
        self.native: Any = None
        self._is_closed = False
        self._users = 0
        self._lock = threading.RLock()  # a signal handler may interrupt its holder
        holder = ffi.new("shoalpy_feed_t **")
        status = lib.shoalpy_feed_open(
            hub.native,
            native_names(names),
            len(names),
            max_messages,
            max_bytes,
            overflow,
            holder,
        )
        if status < 0:
            raise error_of(status)
        self.hub = hub
        self.native = holder[0]
        #: In its hub.
        self.number: int = lib.shoalpy_feed_number(holder[0])

    def add(self, names: list[tuple[int, bytes]]) -> None:
        """Subscribe to more; does not wait."""
        self._change(lib.shoalpy_feed_add, names)

    def remove(self, names: list[tuple[int, bytes]]) -> None:
        """End the subscription to some of them; does not wait."""
        self._change(lib.shoalpy_feed_remove, names)

    def _change(
        self, change: Callable[[Any, Any, int], int], names: list[tuple[int, bytes]]
    ) -> None:
        with self as native:
            status = change(native, native_names(names), len(names))
        if status < 0:
            raise error_of(status)

    def take(self, count_max: int, as_text: bool = False) -> tuple[list[Any], bool]:
        """What there is, as C writes it (native/feed.h); has it marks, or messages of
        shards? Never waits."""
        with self as native:
            status = lib.shoalpy_feed_take(native, count_max, as_text)
            if status > 0:
                data = lib.shoalpy_feed_data(native)
                return loads(ffi.buffer(data, status >> 1)), bool(status & 1)
        if status < 0:
            raise error_of(status)
        return [], False

    def wait(self, wait_us: int) -> bool:
        """Wait until there is something to take; false: not yet. A signal ends it."""
        with self as native:
            return bool(lib.shoalpy_feed_wait(native, wait_us) == 0)

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to take; -1 if it is
        closed, as that of a socket. It may only be polled."""
        with contextlib.suppress(RedisError), self as native:
            return int(lib.shoalpy_feed_fd(native))
        return -1

    def wait_confirmed(self, wait_us: int) -> int:
        """As shoal_subscription_wait()."""
        with self as native:
            return int(lib.shoalpy_feed_wait_confirmed(native, wait_us))

    def __enter__(self) -> Any:
        """A call begins to use it."""
        if self.hub.is_foreign():
            raise error_of(lib.SHOAL_EFORK)
        with self._lock:
            if self._is_closed:
                raise closed("subscription")
            self._users += 1
        return self.native

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            self._free()

    def close(self) -> None:
        """Nobody begins to use it any more."""
        if not self.hub.is_foreign():
            with self._lock:
                self._is_closed = True
                self._free()

    def _free(self) -> None:
        if self._is_closed and self._users == 0:
            native, self.native = self.native, None
            lib.shoalpy_feed_free(native or ffi.NULL)

    def __del__(self) -> None:
        if self.native is not None and not self.hub.is_foreign():
            native, self.native = self.native, None
            lib.shoalpy_feed_free(native)


class SubscriptionBase:
    """The part of a subscription that both faces have: its feed, and items that have
    crossed but were not read."""

    _feed: Feed
    _reader: object = None  # a call, or None

    def __init__(
        self,
        options: Options,
        hub: Hub,
        names: Names,
        marks: object,
        decode: bool | None,
        max_messages: int,
        max_bytes: int,
        overflow: str,
    ) -> None:
        self._options = options
        self._reading = Reading(options.conversion(decode).decoding, marks)
        self._items: deque[Item] = deque()
        self._is_closed = False
        self._pulling = threading.RLock()
        #: The last pull brought as much as it asked for: there may be more.
        self._is_more = True
        self._names = names
        if overflow not in _OVERFLOWS:
            raise ValueError(
                f'overflow must be "newest", "oldest" or "end", not {overflow!r}'
            )
        if max_messages < 1 or max_bytes < 1:
            raise ValueError("max_messages and max_bytes must be at least 1")
        self._feed = Feed(
            hub, names.pairs, max_messages, max_bytes, _OVERFLOWS[overflow]
        )
        _subscriptions.add(self)

    @property
    def gaps(self) -> int:
        """How many gaps were read so far."""
        return self._reading.gaps

    @property
    def dropped(self) -> int:
        """How many messages were dropped so far, as far as items were read."""
        return self._reading.dropped

    def _pull(self, count_max: int = _ITEMS_MAX) -> bool:
        """Bring items over from C. False: there were none."""
        reading = self._reading
        with self._pulling:  # in the order of C's
            try:
                taken, has_marks = self._feed.take(count_max, reading.as_text)
            except MemoryError:  # items are lost
                self._let_go()
                raise
            self._items.extend(reading.items(taken, has_marks))
            self._is_more = len(taken) == count_max
        return bool(taken)

    def _take_now(self, count_max: int) -> list[Item]:
        """Up to count_max items that are there."""
        items = self._items
        while self._is_more and len(items) < count_max:
            self._pull(min(count_max - len(items), _ITEMS_MAX))
        with self._pulling:  # another thread that adds names may bring items
            if len(items) <= count_max:
                taken = _all_of(items)
            else:
                try:
                    taken = [items.popleft() for _ in range(count_max)]
                except IndexError:  # it was closed meanwhile
                    taken = []
        if not taken:
            self._check_open()
        return taken

    def _check_open(self) -> None:
        """Raises the reason why nothing follows what was read."""
        if self._is_closed:
            raise closed("subscription")
        end = self._reading.end
        if end is not None:
            if self._feed.hub.is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            raise FullError(end)

    def _raise_if_rejected(self, names: Names) -> None:
        """The server has refused a name, perhaps one of these: raises its error."""
        while self._pull() and self._is_more:
            continue
        for key in names.pairs:
            if text := self._reading.rejected.get(key):
                error = from_reply(text)
                error.args = (f"{key[1]!r}: {error.args[0]}",)
                raise error

    def _let_go(self) -> None:
        self._is_closed = True
        self._items.clear()
        self._feed.close()

    def __del__(self) -> None:
        feed = getattr(self, "_feed", None)
        if feed is None or self._is_closed or feed.hub.is_foreign():
            return
        self._is_closed = True
        feed.close()
        if not feed.hub.is_closed and not sys.is_finalizing():
            warnings.warn(
                f"unclosed subscription of a shoal client to {feed.hub.server}",
                ResourceWarning,
                source=self,
                stacklevel=1,
            )

    def _state(self) -> str:
        if self._is_closed:
            return "closed"
        return "ended" if self._reading.end is not None else "open"


def _all_of(items: deque[Item]) -> list[Item]:
    """Take them, while another thread may close, which clears them."""
    taken: list[Item] = []
    if HAS_GIL:
        taken += items
        items.clear()
        return taken
    with contextlib.suppress(IndexError):
        while True:
            taken.append(items.popleft())
    return taken


#: Of this process, without a system call.
_pid = os.getpid()
_open_hubs: weakref.WeakSet[Hub] = weakref.WeakSet()
_subscriptions: weakref.WeakSet[SubscriptionBase] = weakref.WeakSet()


def _close_all() -> None:
    """At the end of the interpreter: threads of on_message end, too. Those that an
    event loop drives are left to the system: its thread may be using them."""
    for hub in list(_open_hubs):
        if not hub.is_borrowed:
            hub.close()


def _forget_all() -> None:
    """In the child of a fork: the parent's connections are not ours."""
    global _pid
    _pid = os.getpid()
    for hub in list(_open_hubs):
        hub.forget()
    for subscription in list(_subscriptions):
        subscription._items.clear()
        subscription._reader = None
        subscription._pulling = threading.RLock()
    _subscriptions.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
