# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""What stands where redis-py's PubSub expects a connection of its own (_pubsub.py)."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final
from weakref import ref

import redis.exceptions

from shoal._feed import Feed
from shoal.exceptions import RedisError

from ._errors import translate
from ._lane import Lane
from ._subscriber import Subscriber

_TAKE: Final = 1024
# The shared connection has as long to come back by itself.
PATIENCE_S: Final = 0.1
# A server that redis-py's connection has reached is asked again after as long.
PROBE_S: Final = 1.0


class BaseView:
    """What both faces have in common.

    next_health_check  never: the shared connection looks after itself
    _lock              of the names, and of what is taken
    """

    __slots__ = (
        "__weakref__", "_callbacks", "_down_at", "_encoder", "_failure", "_feed",
        "_handler", "_is_released", "_lane", "_pool", "_was_open",
        "subscriber",
    )  # fmt: skip

    next_health_check: Final = math.inf
    _lock: Any
    #: What makes the replies.
    _subscriber_kind: ClassVar[type[Subscriber]] = Subscriber

    def __init__(self, pool: Any, lane: Lane):
        template = lane.template
        self._pool = pool
        self._lane = lane
        self._encoder = template.encoder
        self._callbacks: tuple[Any, ...] = ()  # smaller than a list
        self._handler: Callable[[Any], Any] | None = None
        self._feed: Feed | None = None
        self._was_open = False
        self._is_released = False
        #: Since when the server owes answers and there is no connection.
        self._down_at: float | None = None
        #: Of the last attempt to connect: redis-py connects anew after a failure, and
        #: this one need not be tried twice.
        self._failure: Exception | None = None
        decode = None
        if template.encoder.decode_responses:
            decode = self._decoded
        self.subscriber = self._subscriber_kind(decode, lane.fences, self._tells_holes)

    # ---- what redis-py reads of a connection ----

    @property
    def host(self) -> Any:
        """Of the server."""
        return getattr(self._lane.template, "host", None)

    @property
    def port(self) -> Any:
        """Of the server."""
        return getattr(self._lane.template, "port", None)

    @property
    def db(self) -> Any:
        """Publishing knows no databases."""
        return self._lane.template.db

    @property
    def retry(self) -> Any:
        """The pool's Retry, which may have been changed."""
        return self._lane.retry(self._pool)

    @property
    def encoder(self) -> Any:
        """redis-py's."""
        return self._encoder

    @property
    def protocol(self) -> Any:
        """RESP version."""
        return self._lane.template.protocol

    @property
    def socket_timeout(self) -> Any:
        """Of the pool."""
        return self._lane.template.socket_timeout

    @property
    def health_check_interval(self) -> Any:
        """Of the pool; for the shared connection."""
        return self._lane.template.health_check_interval

    @property
    def credential_provider(self) -> Any:
        """The shared connection asks it."""
        return self._lane.template.credential_provider

    @property
    def is_connected(self) -> bool:
        """Has it a subscription?"""
        return self._feed is not None

    @property
    def _sock(self) -> Any:
        """Is not None as long as it has a subscription; Celery polls its fileno()."""
        return self._feed

    @property
    def _parser(self) -> "BaseView":
        """Which takes the handler of pushes."""
        return self

    def set_pubsub_push_handler(self, handler: Callable[[Any], Any]) -> None:
        """With RESP3 it gets each reply, and what it returns is handed on."""
        self._handler = handler if str(self.protocol) == "3" else None

    def should_reconnect(self) -> bool:
        """Never: the shared connection looks after itself."""
        return False

    def register_connect_callback(self, callback: Any) -> None:
        """Call it when the view is connected again."""
        reference = _reference(callback)
        if reference not in self._callbacks:
            self._callbacks += (reference,)

    def deregister_connect_callback(self, callback: Any) -> None:
        """Do not."""
        reference = _reference(callback)
        self._callbacks = tuple(one for one in self._callbacks if one != reference)

    def _callbacks_now(self) -> Iterator[Any]:
        """What those return whose objects live."""
        for owner, function in self._callbacks:
            found = owner()
            if found is not None:
                yield function(found, self)

    def extract_connection_details(self) -> str:
        """For redis-py's debug log."""
        return f"shared subscriptions to {self.host}:{self.port}"

    # ---- the subscription ----

    def _tells_holes(self) -> bool:
        """redis-py raises what its Retry would not try again."""
        return bool(self.retry.get_retries() == 0)

    def _decoded(self, data: bytes) -> Any:
        try:
            return self._encoder.decode(data, force=True)
        except UnicodeDecodeError:
            return data

    def _open(self, lane: Lane) -> bool:
        """Open a subscription; false: there is one."""
        with self._lock:
            if self._feed is not None:
                return False
            if self._is_released:  # somebody still reads
                raise redis.exceptions.ConnectionError("Connection closed")
            self._down_at = None
            if lane.core is None:  # the pool's parameters were changed
                raise redis.exceptions.ConnectionError(lane.bypass)
            try:
                self._feed = Feed(lane.core._open_hub(), [])
            except RedisError as error:
                raise translate(error) from error
            return True

    def _close(self) -> None:
        with self._lock:
            feed, self._feed = self._feed, None
            self.subscriber.forget()
        if feed is not None:
            feed.close()

    def give_up(self) -> None:
        """It is not connected any more, whoever still uses it; disconnect() follows."""
        with self._lock:
            self._is_released = True

    def _held(self) -> Feed:
        feed = self._feed
        if feed is None:
            raise redis.exceptions.ConnectionError("Connection closed")
        return feed

    def _command(self, args: tuple[Any, ...]) -> None:
        """Ask for what a command asks for."""
        encode = self._encoder.encode
        name, *rest = (encode(arg) for arg in args)
        with self._lock:
            feed = self._held()
            change = self.subscriber.ask(name.decode(), rest)
            try:
                if change.removed:
                    feed.remove(change.removed)
                if change.added:
                    feed.add(change.added)
            except BaseException as error:  # as redis-py's: it is not known what it has
                self._close()
                if isinstance(error, RedisError):
                    raise translate(error) from error
                raise

    def pump(self) -> bool:
        """Take what has come; is there something to read?"""
        subscriber = self.subscriber
        with self._lock:
            feed = self._feed
            if feed is not None:
                encoder = self._encoder
                as_text = encoder.decode_responses and _is_plain(encoder)
                try:
                    items, has_marks = feed.take(_TAKE, as_text)
                    if items:
                        self._read(feed, items, has_marks, as_text)
                except RedisError as error:
                    raise translate(error) from error
        return bool(subscriber.ready)

    def _read(self, feed: Feed, items: Any, has_marks: bool, as_text: bool) -> None:
        if self._encoder.decode_responses and not as_text:
            items = map(self._decode_message, items)
        served = self.subscriber.read(items, has_marks)
        if served:
            feed.remove(served)

    def _decode_message(self, item: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(item) > 3:
            return item
        return tuple(
            self._decoded(part) if type(part) is bytes else part for part in item
        )

    def take_list(self) -> Any:
        """A reply for which nothing more is to be done, or None."""
        ready = self.subscriber.ready
        if self._handler is not None:
            return None
        try:
            if not (ready or self.pump()):
                return None
            reply = ready.pop(0)
        except (IndexError, redis.exceptions.RedisError):
            return None  # another thread was quicker; redis-py is to see the failure
        if type(reply) is list:
            return reply
        ready.insert(0, reply)
        return None

    def _take(self) -> Any:
        """The next reply; raises it if it is an error."""
        reply = self.subscriber.ready.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    # ---- without a connection ----

    def _is_to_be_tried(self) -> bool:
        """Has the server owed answers for a while, without a connection?"""
        if not self.subscriber.is_owed() or self._held().hub.is_connected():
            self._down_at = None
            return False
        now = time.monotonic()
        if self._down_at is None:
            self._down_at = now
        return now - self._down_at >= PATIENCE_S

    def _was_reached(self) -> None:
        """The shared connection needs a moment, too."""
        self._down_at = time.monotonic() + PROBE_S - PATIENCE_S

    def _recall_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


def _reference(method: Any) -> tuple[Any, Any]:
    """A method, without its object; smaller than a WeakMethod."""
    return ref(method.__self__), method.__func__


def _is_plain(encoder: Any) -> bool:
    """Does C decode as redis-py would?"""
    return encoder.encoding.lower() in ("utf-8", "utf8") and (
        encoder.encoding_errors == "strict"
    )
