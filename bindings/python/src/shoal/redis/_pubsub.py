# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""redis-py's PubSub, whose names are subscribed over a connection that all share.

redis-py's code expects a connection of its own.  It gets a *view*: a subscription of
the connection that all PubSubs of a pool share (with asyncio: of a pool and an event
loop), and what a connection of its own would have been told (_subscriber.py).  A view
that is told to disconnect forgets its names; redis-py subscribes to them anew when it
connects, as ever.

While the shared connection is down, redis-py's own connection is tried: it says in
redis-py's words, and after as many attempts, why there is none.
"""

import asyncio
import math
import threading
import time
from inspect import isawaitable
from typing import Any, Final

import redis.asyncio.client as their_aio
import redis.client as theirs
import redis.exceptions

from shoal._feed import Feed
from shoal._fork import forget_in_child
from shoal._items import Dropped, Gap
from shoal.aio._loop import running_loop
from shoal.exceptions import RedisError

from ._errors import translate
from ._lane import Lane, async_lane, blocking_lane
from ._view import PATIENCE_S, PROBE_S, BaseView

# A reader in a thread looks so often whether somebody else changed the view.
_SLICE_S: Final = 0.1

_ELSEWHERE: Final = "it belongs to another event loop"


class _Unset:
    """As redis-py's: the socket's timeout."""


def _has_come(feed: Feed, seconds: float) -> bool:
    """Wait for something to take."""
    try:
        return feed.wait(round(seconds * 1e6))
    except RedisError as error:
        raise translate(error) from error


async def _wait(feed: Any, until: float) -> None:
    """The same, on the event loop."""
    try:
        await feed.hub.wait(feed, until)
    except RedisError as error:
        raise translate(error) from error


class View(BaseView):
    """Of `redis.Redis`.  Threads: any."""

    __slots__ = ("_lock",)

    def __init__(self, pool: Any, lane: Lane):
        super().__init__(pool, lane)
        self._forget()
        forget_in_child(self)

    def _forget(self) -> None:
        """In the child of a fork: a thread that is not here may hold the lock."""
        self._lock = threading.RLock()

    def connect(self) -> None:
        """Open a subscription, and let redis-py ask for its names."""
        self._recall_failure()
        if not self._open(self._pool.find_lane()):
            return
        if self._was_open:
            for _ in self._callbacks_now():
                pass
        self._was_open = True

    def disconnect(self, *args: Any, **options: Any) -> None:
        """End the subscription."""
        self._close()

    def send_command(self, *args: Any, **options: Any) -> None:
        """Ask for names, or give them up, or PING."""
        self._failure = None
        self.connect()
        self._command(args)
        self._make_sure()

    def _make_sure(self) -> None:
        """There is a connection, or soon will be; or raises why not."""
        feed = self._held()
        if not (feed.hub.is_connected() or _has_come(feed, PATIENCE_S)):
            self._probe(feed)

    def _probe(self, feed: Feed) -> None:
        if feed.hub.is_connected():
            return
        connection = self._pool.new_connection()
        try:
            connection.connect()
        except Exception as error:
            self._failure = error
            raise
        finally:
            connection.disconnect()
        self._was_reached()

    def can_read(self, timeout: float | None = 0) -> bool:
        """Wait for a reply."""
        self._failure = None
        self.connect()
        until = math.inf if timeout is None else time.monotonic() + timeout
        ready = self.subscriber.ready
        while not (ready or self.pump()):
            feed = self._held()
            if self._is_to_be_tried():
                self._probe(feed)
            left = until - time.monotonic()
            if left <= 0:
                return False
            _has_come(feed, min(left, _SLICE_S))
        return True

    def read_response(
        self,
        disable_decoding: bool = False,
        *,
        timeout: Any = _Unset,
        disconnect_on_error: bool = True,
        push_request: bool = False,
    ) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        seconds = self.socket_timeout if timeout is _Unset else timeout
        while self.can_read(seconds):
            try:
                reply = self._take()
            except IndexError:  # another thread was quicker
                continue
            return reply if self._handler is None else self._handler(reply)
        raise redis.exceptions.TimeoutError(f"Timeout reading from {self.host}")


class AsyncView(BaseView):
    """Of `redis.asyncio.Redis`.  Threads: an event loop's."""

    __slots__ = ()

    @property
    def _lock(self) -> Any:
        """All views of a pool share one lock: few threads use such a pool."""
        lane: Any = self._lane
        return lane.lock

    async def connect(self) -> None:
        """Open a subscription, and let redis-py ask for its names."""
        self._recall_failure()
        feed: Any = self._feed
        if feed is not None and feed.hub.loop is not running_loop():
            raise redis.exceptions.ConnectionError(_ELSEWHERE)
        if not self._open(self._pool.find_lane()):
            return
        if self._was_open:
            for outcome in self._callbacks_now():
                await outcome
        self._was_open = True

    async def disconnect(self, *args: Any, **options: Any) -> None:
        """End the subscription."""
        feed: Any = self._feed
        self._close()
        if feed is not None and not feed.hub.is_closed:
            feed.hub.poke()

    async def send_command(self, *args: Any, **options: Any) -> None:
        """Ask for names, or give them up, or PING."""
        self._failure = None
        await self.connect()
        self._command(args)
        feed: Any = self._held()
        feed.hub.poke()
        await self._make_sure(feed)

    async def _make_sure(self, feed: Any) -> None:
        """There is a connection, or soon will be; or raises why not."""
        if feed.hub.is_connected():
            return
        until = time.monotonic() + PATIENCE_S
        await _wait(feed, until)
        if time.monotonic() >= until:
            await self._probe(feed)

    async def _probe(self, feed: Feed) -> None:
        if feed.hub.is_connected():
            return
        connection = self._pool.new_connection()
        try:
            await connection.connect()
        except Exception as error:
            self._failure = error
            raise
        finally:
            await connection.disconnect()
        self._was_reached()

    async def can_read(self, timeout: float = 0) -> bool:
        """Wait for a reply."""
        self._failure = None
        await self.connect()
        until = time.monotonic() + timeout
        ready = self.subscriber.ready
        is_first = True
        while not (ready or self.pump()):
            feed: Any = self._held()
            if self._is_to_be_tried():
                await self._probe(feed)
            now = time.monotonic()
            if now >= until and not is_first:
                return False
            if now >= until:
                await asyncio.sleep(0)  # the connection is read meanwhile
            else:
                await _wait(feed, min(until, now + PROBE_S))
            is_first = False
        return True

    async def read_response(
        self,
        disable_decoding: bool = False,
        timeout: float | None = None,
        *,
        disconnect_on_error: bool = True,
        push_request: bool | None = False,
    ) -> Any:
        """The next reply, or None: none came in time."""
        seconds = self.socket_timeout if timeout is None else timeout
        while await self.can_read(math.inf if seconds is None else seconds):
            try:
                reply = self._take()
            except IndexError:  # another task was quicker
                continue
            if self._handler is None:
                return reply
            outcome = self._handler(reply)
            return await outcome if isawaitable(outcome) else outcome
        if timeout is None:
            raise redis.exceptions.TimeoutError(f"Timeout reading from {self.host}")
        return None


class Views:
    """The pool of a PubSub: its connections are views, if the pool is carried."""

    __slots__ = ("_pool",)

    def __init__(self, pool: Any):
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def get_encoder(self) -> Any:
        """One for all of a pool."""
        lane = self.find_lane()
        return self._pool.get_encoder() if lane.core is None else lane.template.encoder

    def find_lane(self) -> Lane:
        """The pool's present one: a disconnect takes it."""
        return blocking_lane(self._pool)

    def new_connection(self) -> Any:
        """One of redis-py's, to see why there is none."""
        return self._pool.connection_class(**self._pool.connection_kwargs)

    def _new_view(self, lane: Lane) -> Any:
        return View(self, lane)

    def get_connection(self, *args: Any, **options: Any) -> Any:
        """A view, or what the pool has."""
        lane = self.find_lane()
        if lane.core is None:
            return self._pool.get_connection(*args, **options)
        view = self._new_view(lane)
        view.connect()
        return view

    def release(self, connection: Any) -> None:
        """It is not needed any more."""
        if isinstance(connection, View):
            connection.give_up()
            connection.disconnect()
        else:
            self._pool.release(connection)


class AsyncViews(Views):
    """The same for asyncio."""

    __slots__ = ()

    def find_lane(self) -> Lane:
        """The pool's present one: a disconnect takes it."""
        return async_lane(self._pool)

    def _new_view(self, lane: Lane) -> Any:
        return AsyncView(self, lane)

    async def get_connection(self, *args: Any, **options: Any) -> Any:
        """A view, or what the pool has."""
        lane = self.find_lane()
        if lane.core is None:
            return await self._pool.get_connection(*args, **options)
        view = self._new_view(lane)
        await view.connect()
        return view

    async def release(self, connection: Any) -> None:  # type: ignore[override]
        """It is not needed any more."""
        if isinstance(connection, AsyncView):
            connection.give_up()
            await connection.disconnect()
        else:
            await self._pool.release(connection)


class ReadsView:
    """The part of a PubSub that reads."""

    connection: Any

    def parse_response(self, block: bool = True, timeout: float = 0) -> Any:
        """As redis-py's."""
        view = self.connection
        if isinstance(view, View):
            reply = view.take_list()
            if reply is not None:
                return reply
        parent: Any = super()
        return parent.parse_response(block, timeout)


class AsyncReadsView:
    """The same for asyncio."""

    connection: Any

    async def parse_response(self, block: bool = True, timeout: float = 0) -> Any:
        """As redis-py's."""
        view = self.connection
        if isinstance(view, AsyncView):
            reply = view.take_list()
            if reply is not None:
                return reply
        parent: Any = super()
        return await parent.parse_response(block, timeout)


class PubSub(ReadsView, theirs.PubSub):
    """redis-py's; all of one pool share a connection."""

    connection: Any

    def __init__(self, connection_pool: Any, *args: Any, **options: Any):
        views = connection_pool
        if not isinstance(views, Views):
            views = Views(connection_pool)
        super().__init__(views, *args, **options)

    @property
    def shoal_gaps(self) -> tuple[Gap | Dropped, ...]:
        """Where messages may be missing, the latest last: `shoal.Gap` and
        `shoal.Dropped`."""
        return gaps_of(self.connection)

    @property
    def shoal_bypass(self) -> str | None:
        """Why it has a connection of redis-py's; None if it shares one."""
        views: Views = self.connection_pool
        return views.find_lane().bypass


class AsyncPubSub(AsyncReadsView, their_aio.PubSub):
    """The same for asyncio."""

    connection: Any

    def __init__(self, connection_pool: Any, *args: Any, **options: Any):
        views: Any = connection_pool
        if not isinstance(views, AsyncViews):
            views = AsyncViews(connection_pool)
        super().__init__(views, *args, **options)

    @property
    def shoal_gaps(self) -> tuple[Gap | Dropped, ...]:
        """Where messages may be missing, the latest last: `shoal.Gap` and
        `shoal.Dropped`."""
        return gaps_of(self.connection)

    @property
    def shoal_bypass(self) -> str | None:
        """Why it has a connection of redis-py's; None if it shares one."""
        views: Any = self.connection_pool
        lane: Lane = views.find_lane()
        return lane.bypass


def gaps_of(connection: Any) -> tuple[Gap | Dropped, ...]:
    """Those of a view; none of another connection."""
    if isinstance(connection, BaseView):
        return connection.subscriber.gaps
    return ()
