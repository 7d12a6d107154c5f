# SPDX-License-Identifier: MIT
"""The shared connection that belongs to one of redis-py's pools.

All Redis objects over one pool share one lane, whose core connects at the first
command.  It is found by an attribute of the pool, so that it lives as long, and it is
closed when the pool is told to disconnect; the next command opens another.  A pool that
the core cannot stand in for has a lane too, which refuses every command: the refusal
leads to redis-py's own connections, as it does for single commands.
"""

import asyncio
import logging
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from types import MethodType
from typing import Any, Final, NoReturn

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel
from redis.retry import AbstractRetry

import shoal
import shoal.aio
from shoal._fork import forget_in_child
from shoal._greenlets import patched_by
from shoal._lease import CONNECTIONS_MAX
from shoal._options import Options
from shoal._replies import Conversion
from shoal.exceptions import RedisError, RefusedError

from ._errors import error_reply
from ._fences import Fences
from ._settings import Family, NotCarried, check_pool, core_options

# Double underscores, because pools that are mocks have every other attribute.
NAME: Final = "__shoal_lane__"

BLOCKING: Final = Family(
    redis.ConnectionPool,
    redis.BlockingConnectionPool,
    redis.Connection,
    redis.UnixDomainSocketConnection,
    redis.SSLConnection,
    redis.sentinel.SentinelConnectionPool,
    redis.sentinel.SentinelManagedConnection,
    redis.sentinel.SentinelManagedSSLConnection,
    redis.sentinel.Sentinel,
)
ASYNCIO: Final = Family(
    redis.asyncio.ConnectionPool,
    redis.asyncio.BlockingConnectionPool,
    redis.asyncio.Connection,
    redis.asyncio.UnixDomainSocketConnection,
    redis.asyncio.SSLConnection,
    redis.asyncio.sentinel.SentinelConnectionPool,
    redis.asyncio.sentinel.SentinelManagedConnection,
    redis.asyncio.sentinel.SentinelManagedSSLConnection,
    redis.asyncio.sentinel.Sentinel,
)


def _convert_as_redis_py(options: Options) -> None:
    """Replies in the types that redis-py's callbacks know, and its exceptions."""
    options.set_conversions(
        *(
            Conversion(decoding, is_classic=True, error=error_reply)
            for decoding in (None, options.decoding)
        )
    )


def open_blocking(**options: Any) -> shoal.Client:
    package = patched_by()
    if package is not None:
        raise NotCarried(
            f"{package} has patched the sockets; ours would hold up greenlets"
        )
    return shoal.Client(**options)


def _refuse(*args: Any, **options: Any) -> NoReturn:
    raise RefusedError("this pool's commands go over its own connections")


_log: Final = logging.getLogger("shoal.redis")
_told: Final[set[str]] = set()


def _tell_once(reason: str) -> None:
    """For each reason, whatever number of pools has it."""
    if reason not in _told:
        _told.add(reason)
        _log.warning("commands go over redis-py's own connections: %s", reason)


class Places(list["Place"]):
    """One for each connection that leases can have at a time.  A list, because its
    methods are atomic, also in what a garbage collection calls."""

    __slots__ = ("__weakref__",)

    @classmethod
    def of_all(cls) -> "Places":
        """All of them are free."""
        places = cls()
        places.extend(Place(places) for _ in range(CONNECTIONS_MAX))
        return places


class Place:
    """Of one connection; who drops it gives it back, whatever interrupts the taker."""

    __slots__ = ("_places",)

    def __init__(self, places: Places):
        self._places = weakref.ref(places)

    def __enter__(self) -> None:
        """For a command that blocks, which takes a lease for itself."""

    def __exit__(self, *_: object) -> None:
        """Whoever holds it drops it."""

    def __del__(self) -> None:
        places = self._places()
        if places is not None:
            places.append(Place(places))


class Lane:
    """What carries the commands of one pool.

    template  a connection of redis-py's that is never connected: host, port, db, retry
    core      the client, or None
    bypass    why there is no core, or None
    standing  over leases: what carries commands that change their connection, of each
              event loop, or of all threads (None)
    fences    of all its PubSubs
    at_end    closes the core if the pool goes without a disconnect
    """

    _fences_kind: type[Fences] = Fences

    def __init__(self, pool: Any, family: Family, open_core: Callable[..., Any]):
        self.template: Any = None
        self.core: Any = None
        self.bypass: str | None = None
        self.standing: dict[Any, Any] = {}
        self.fences = self._fences_kind()
        self.at_end: Any = None
        self._retry_asked: Any = None
        self._places = Places.of_all()
        self._process = os.getpid()
        try:
            core = open_core(**self._core_options(pool, family))
            _convert_as_redis_py(core._options)
            self.core = core
        except NotCarried as reason:
            self.bypass = str(reason)
            _tell_once(self.bypass)
        except (redis.RedisError, RedisError, TypeError, ValueError) as error:
            # redis-py or the core does not accept a value: redis-py tells the caller.
            self.bypass = f"{type(error).__name__}: {error}"

    def _core_options(self, pool: Any, family: Family) -> dict[str, Any]:
        check_pool(pool, family)
        self.template = self._make_template(pool)
        return core_options(pool, self.template, family)

    def take_place(self) -> "Place":
        """Before a lease takes a connection: while all are taken, it would wait in line
        for one, as no connection of redis-py's does.  RefusedError: they are."""
        self.after_fork()
        try:
            return self._places.pop()
        except IndexError:
            raise RefusedError(f"{CONNECTIONS_MAX} leases are in use") from None

    def after_fork(self) -> None:
        """In a forked child: what the parent's threads hold is not given back here."""
        if self._process != os.getpid():
            self.standing = {}
            self._places = Places.of_all()
            self._process = os.getpid()

    def _make_template(self, pool: Any) -> Any:
        self._retry_asked = pool.connection_kwargs.get("retry")
        return pool.connection_class(**pool.connection_kwargs)

    def retry(self, pool: Any) -> AbstractRetry[Any]:
        """redis-py's Retry object as a connection made now would have it."""
        if pool.connection_kwargs.get("retry") is not self._retry_asked:
            self.template = self._make_template(pool)
        retry: AbstractRetry[Any] = self.template.retry
        return retry


class BlockingLane(Lane):
    """The lane of a `redis.ConnectionPool`.  Threads: any."""

    def __init__(self, pool: Any):
        super().__init__(pool, BLOCKING, open_blocking)
        self.run: Callable[[tuple[Any, ...]], Any] = _refuse
        self.execute: Callable[..., Any] = _refuse
        self.execute_many: Callable[..., list[Any]] = _refuse
        if self.core is not None:
            self.run = self.core._run
            self.execute = self.core.execute
            self.execute_many = self.core.execute_many


class AsyncLane(Lane):
    """The lane of a `redis.asyncio.ConnectionPool`.  Threads: an event loop's.

    lock  of the views of its PubSubs
    """

    def __init__(self, pool: Any):
        super().__init__(pool, ASYNCIO, shoal.aio.Client)
        self._forget()
        forget_in_child(self)
        self.begin: Callable[[tuple[Any, ...]], Awaitable[Any]] = _refuse
        self.submit: Callable[..., Awaitable[Any]] = _refuse
        self.execute: Callable[..., Awaitable[Any]] = _refuse
        self.execute_many: Callable[..., Awaitable[list[Any]]] = _refuse
        if self.core is not None:
            self.begin = self.core._begin
            self.submit = self.core._submit_awaited
            self.execute = self.core.execute
            self.execute_many = self.core.execute_many

    def _forget(self) -> None:
        """In the child of a fork: a thread that is not here may hold the lock."""
        self.lock = threading.RLock()


def blocking_lane(pool: Any) -> BlockingLane:
    """The pool's lane, which is made if there is none.  Threads: any."""
    lane = vars(pool).get(NAME)
    if lane is None:
        lane = adopt(pool, BlockingLane(pool), close_core, disconnect=_disconnect)
    return lane  # type: ignore[no-any-return]


def async_lane(pool: Any) -> AsyncLane:
    """The asyncio pool's lane, which is made if there is none.  Threads: its loop's."""
    lane = vars(pool).get(NAME)
    if lane is None:
        lane = adopt(pool, AsyncLane(pool), abandon, disconnect=_async_disconnect)
    return lane  # type: ignore[no-any-return]


def adopt(
    pool: Any, made: Lane, at_end: Callable[[Any], None], **ends: Callable[..., Any]
) -> Any:
    """The lane that was made, or that of another thread that was quicker.

    `ends` take the place of the pool's methods of these names.
    """
    lane = vars(pool).setdefault(NAME, made)
    if lane is made and lane.core is not None:
        for name, end in ends.items():
            setattr(pool, name, MethodType(end, pool))
        lane.at_end = weakref.finalize(pool, at_end, lane.core)
        lane.at_end.atexit = False
    return lane


def taken_from(pool: Any, inuse_connections: bool = True) -> Any:
    """Take the lane from its pool; returns the client to close, or None.  The client's
    connection is always in use: a disconnect that spares such connections spares it."""
    lane = vars(pool).pop(NAME, None) if inuse_connections else None
    if lane is None:
        return None
    if lane.at_end is not None:
        lane.at_end.detach()
    return lane.core


def _disconnect(pool: Any, inuse_connections: bool = True) -> Any:
    """The disconnect() of a pool with a lane: the core's connection is in use."""
    core = taken_from(pool, inuse_connections)
    if core is not None:
        core.close()
    return type(pool).disconnect(pool, inuse_connections)


async def _async_disconnect(pool: Any, inuse_connections: bool = True) -> Any:
    """The same for asyncio."""
    core = taken_from(pool, inuse_connections)
    if core is not None:
        await core.close()
    return await type(pool).disconnect(pool, inuse_connections)


def close_core(core: shoal.Client) -> None:
    """The pool is gone without a close."""
    core.close()


def abandon(core: shoal.aio.Client) -> None:
    """The same for asyncio: an event loop that uses the core closes it."""
    running = [loop for loop in list(core._ports) if loop.is_running()]
    if running:
        asyncio.run_coroutine_threadsafe(core.close(), running[0])
