# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""`redis.asyncio.Redis` whose commands share one pipelined connection.

    from shoal.redis.asyncio import Redis

Every other name of `redis.asyncio` can be had from here too.
"""

from __future__ import annotations

import contextlib
import time
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

import redis.asyncio
import redis.asyncio.client as theirs
from redis.asyncio import sentinel
from redis.asyncio.observability.recorder import (
    record_error_count,
    record_operation_duration,
)
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.exceptions import WatchError
from redis.observability.providers import get_observability_instance

import shoal
import shoal.aio
from shoal.exceptions import FullError, RefusedError

from ._async_cluster import ClusterPipeline, RedisCluster
from ._batch import decoder_of, find_callback, read_batch
from ._connection import AsyncCoreConnection, Face, Offline, is_offline
from ._errors import (
    FAILURES,
    ends_watch,
    is_parents,
    tell_fate,
    tell_unchanged,
    translate,
    watch_lost,
)
from ._lane import async_lane
from ._leased import AsyncLeaseConnection, async_standing
from ._monitor import AsyncMonitor
from ._plain_set import PlainSet
from ._pubsub import AsyncPubSub
from ._routes import plain_names

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ClusterPipeline",
    "Pipeline",
    "Redis",
    "RedisCluster",
    "Sentinel",
    "StrictRedis",
    "from_url",
]

# What callbacks return nearly always; asking whether such a thing is awaitable is
# slower than the callback.
_VALUES: Final = frozenset(
    {bool, int, float, str, bytes, list, dict, set, tuple, type(None)}
)

_measuring = get_observability_instance().get_provider_manager


class Redis(PlainSet, theirs.Redis):  # type: ignore[misc]
    """redis-py's asyncio client; its commands are carried by a `shoal.aio.Client`.

    Everything but the transport of commands is redis-py's: methods, callbacks,
    retries, pub/sub, locks, scripts.  All objects over one connection pool share one
    connection; what tasks ask for in one turn of the event loop leaves in one write.
    What cannot share a connection goes over leases: blocking commands, WATCH, MONITOR,
    CLIENT and the like, and clients with `single_connection_client`.  All objects that
    pubsub() returns share one more.  Connections of the pool itself carry every command
    of a pool that the core cannot stand in for; `shoal_bypass` says why.

    Errors are redis-py's, with an attribute `fate` (`shoal.Fate`): what is known about
    the execution of the command.
    """

    shoal_repeats_unknown: bool = False
    """After a lost connection or a timeout, redis-py's Retry also sends again what may
    have been executed already.  False: only what was provably not executed."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:  # type: ignore[override]
        """As redis-py's; the client closes its pool."""
        client: Any = super().from_url(url, **options)
        return client  # type: ignore[no-any-return]

    @classmethod
    def from_pool(cls, connection_pool: Any) -> Self:
        """As redis-py's; the client closes the pool."""
        client: Any = super().from_pool(connection_pool)
        return client  # type: ignore[no-any-return]

    @property
    def shoal_client(self) -> shoal.aio.Client | None:
        """The client that carries the commands, shared by all objects over the pool.

        None if nothing is carried.  It belongs to the pool: do not close it.
        """
        if self._shoal_has_theirs():
            return None
        core: shoal.aio.Client | None = async_lane(self.connection_pool).core
        return core

    @property
    def shoal_bypass(self) -> str | None:
        """Why commands go over redis-py's own connections; None if they are carried."""
        if self._shoal_has_theirs():
            return "the object has a connection of redis-py's"
        return async_lane(self.connection_pool).bypass

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command; returns its reply as redis-py's callbacks make it."""
        name = args[0]
        if (
            name not in plain_names
            or self.connection is not None
            or self.single_connection_client
            or NEVER_DECODE in options
            or _measuring() is not None
        ):
            return await self._shoal_run(args, options)
        try:
            lane = self.connection_pool.__shoal_lane__  # type: ignore[attr-defined]
        except AttributeError:
            lane = async_lane(self.connection_pool)
        try:
            reply = await lane.begin(args)
        except FAILURES as error:
            return await self._shoal_recover(error, args, options)
        callback = find_callback(self.response_callbacks, name)
        if callback is None:
            return reply
        if options:
            options.pop("keys", None)
            options.pop(EMPTY_RESPONSE, None)
            result = callback(reply, **options)
        else:
            result = callback(reply)
        if type(result) not in _VALUES and isawaitable(result):
            return await result
        return result

    def pipeline(
        self, transaction: bool = True, shard_hint: str | None = None
    ) -> Pipeline:
        """A pipeline, whose batch leaves as one block over the shared connection.

        With WATCH, or with a command that cannot share, all of it goes over a lease.
        """
        pipeline = Pipeline(
            self.connection_pool, self.response_callbacks, transaction, shard_hint
        )
        pipeline.shoal_repeats_unknown = self.shoal_repeats_unknown
        return pipeline

    def pubsub(self, **options: Any) -> AsyncPubSub:
        """As redis-py's; all of one pool share a connection, one per event loop."""
        return AsyncPubSub(
            self.connection_pool, event_dispatcher=self._event_dispatcher, **options
        )

    def monitor(self) -> AsyncMonitor:
        """As redis-py's; its lines come over a lease."""
        return AsyncMonitor(self.connection_pool)

    async def initialize(self) -> Self:
        """Connect, if the client has a connection of its own."""
        if self.single_connection_client and self.connection is None:
            async with self._single_conn_lock:
                if self.connection is None:
                    self.connection = await self._shoal_connect()
        client: Any = await super().initialize()
        return client  # type: ignore[no-any-return]

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Give back a connection of its own, and close a pool of its own."""
        connection: Any = self.connection
        if isinstance(connection, AsyncLeaseConnection):
            self.connection = None
            connection.let_go()
        await super().aclose(close_connection_pool)

    async def _shoal_connect(self) -> Any:
        """A connection for a client that has one of its own."""
        pool = self.connection_pool
        lane = async_lane(pool)
        if lane.core is not None:
            connection = AsyncLeaseConnection(pool, lane, self.shoal_repeats_unknown)
            try:
                await connection.connect()
            except RefusedError:
                connection.let_go()
            else:
                return connection
        return await pool.get_connection()

    def _shoal_has_ours(self) -> bool:
        """Does something of ours stand where it has a connection for itself?"""
        return isinstance(self.connection, Face)

    def _shoal_has_theirs(self) -> bool:
        """Has it a connection of redis-py's for itself?"""
        return self.connection is not None and not self._shoal_has_ours()

    async def _shoal_recover(
        self, error: Exception, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """What follows a first failure: another way, or what redis-py makes of it."""
        if isinstance(error, RefusedError):
            return await self._shoal_run_apart(args, options)
        failed = None if is_offline(error) else translate(error)
        return await self._shoal_run(args, options, failed)

    async def _shoal_run(
        self,
        args: tuple[Any, ...],
        options: dict[str, Any],
        failed: Exception | None = None,
    ) -> Any:
        """Run a command with redis-py's retries and measurements.

        `failed` is how the first attempt ended, if there was one.
        """
        if self.single_connection_client:
            return await self._shoal_run_single(args, options)
        pool = self.connection_pool
        lane = async_lane(pool)
        if self.connection is not None or lane.core is None:
            return await super().execute_command(*args, **options)
        conn = AsyncCoreConnection(pool, lane, self.shoal_repeats_unknown, failed)
        try:
            return await self._shoal_try(conn, args, options)
        except Offline:
            return await super().execute_command(*args, **options)
        except RefusedError:
            return await self._shoal_run_apart(args, options)

    async def _shoal_run_apart(
        self, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Run a command that cannot share a connection: over a lease, if one may carry
        it, else over one of redis-py's connections."""
        pool = self.connection_pool
        lane = async_lane(pool)
        if lane.core is not None:
            with (
                contextlib.suppress(RefusedError),
                async_standing(pool, lane, self.shoal_repeats_unknown) as conn,
            ):
                return await self._shoal_try(conn, args, options)
        return await super().execute_command(*args, **options)

    async def _shoal_run_single(
        self, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Run a command over this object's own lease.  If a lease may not carry it, the
        object gets one of redis-py's connections, unless what the server knows of the
        lease would be lost."""
        await self.initialize()
        conn: Any = self.connection
        if not isinstance(conn, AsyncLeaseConnection):
            return await super().execute_command(*args, **options)
        pool = self.connection_pool
        conn.choose_retry(pool, async_lane(pool), self.shoal_repeats_unknown)
        try:
            return await super().execute_command(*args, **options)
        except RefusedError as refusal:
            if conn.has_state:
                raise translate(refusal) from refusal
        async with self._single_conn_lock:
            if self.connection is conn:
                conn.let_go()
                self.connection = await pool.get_connection()
        return await super().execute_command(*args, **options)

    async def _close_connection(
        self, conn: Any, error: BaseException | None = None, *details: Any
    ) -> None:
        """What redis-py does before it repeats a command; raises what forbids that."""
        await super()._close_connection(conn, error, *details)
        if error is not None and is_parents(error):
            raise error

    async def _shoal_try(
        self, conn: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """What redis-py's execute_command() does with a connection."""
        name, start, failures = args[0], time.monotonic(), 0

        async def on_failure(error: Exception, count: int) -> None:
            nonlocal failures
            failures = count
            await self._close_connection(conn, error, count, start, name)

        try:
            result = await conn.retry.call_with_retry(
                lambda: self._send_command_parse_response(conn, name, *args, **options),
                on_failure,
                with_failure_count=True,
            )
        except RefusedError:
            raise
        except Exception as error:
            await record_error_count(
                server_address=conn.host,
                server_port=conn.port,
                network_peer_address=conn.host,
                network_peer_port=conn.port,
                error_type=error,
                retry_attempts=failures,
                is_internal=False,
            )
            raise
        await record_operation_duration(
            command_name=name,
            duration_seconds=time.monotonic() - start,
            server_address=conn.host,
            server_port=conn.port,
            db_namespace=str(conn.db),
        )
        return result


StrictRedis = Redis


class Pipeline(theirs.Pipeline, Redis):  # type: ignore[misc]
    """redis-py's pipeline; its batch is carried by a `shoal.aio.Client`."""

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Run the batch; returns the replies as redis-py's callbacks make them."""
        try:
            return await self._shoal_execute(raise_on_error)
        except WatchError as lost:
            tell_fate(lost)
            raise

    async def _shoal_execute(self, raise_on_error: bool) -> list[Any]:
        if not self.command_stack and not self.watching:
            return []
        pool = self.connection_pool
        lane = async_lane(pool)
        if self.connection is not None or lane.core is None:
            try:
                return await super().execute(raise_on_error)
            except (RefusedError, FullError) as refusal:
                raise translate(refusal) from refusal
        batch = self.command_stack, self.scripts, self.explicit_transaction
        for kind in (AsyncCoreConnection, AsyncLeaseConnection):
            stand_in: Any = kind(pool, lane, self.shoal_repeats_unknown)
            self.connection = stand_in
            try:
                return await super().execute(raise_on_error)
            except (RefusedError, FullError) as refusal:
                # Nothing was sent: all of it takes another way.
                self.command_stack, self.scripts, self.explicit_transaction = batch
                if isinstance(refusal, Offline):
                    break
            finally:
                if self.connection is stand_in:  # the scripts could not be looked for
                    self.connection = None
                    await stand_in.disconnect()
        return await super().execute(raise_on_error)

    async def immediate_execute_command(self, *args: Any, **options: Any) -> Any:
        """Run WATCH, or what comes between it and multi(), over a lease."""
        pool = self.connection_pool
        lane = async_lane(pool)
        if self.connection is None and lane.core is not None:
            stand_in: Any = AsyncLeaseConnection(pool, lane, self.shoal_repeats_unknown)
            self.connection = stand_in
        try:
            return await super().immediate_execute_command(*args, **options)
        except RefusedError as refusal:
            conn: Any = self.connection
            if not isinstance(conn, AsyncLeaseConnection):
                raise
            if self.watching:
                raise translate(refusal) from refusal
            conn.let_go()
            self.connection = None
            self.connection = await pool.get_connection()
            return await super().immediate_execute_command(*args, **options)
        except WatchError as lost:
            tell_fate(lost)
            raise
        except Exception as error:
            if not (self.watching and ends_watch(error)):
                raise
            await self.reset()  # what was watched is lost; nothing was executed for it
            raise watch_lost(error) from error

    async def _execute_transaction(
        self, connection: Any, commands: list[Any], raise_on_error: bool
    ) -> list[Any]:
        """What redis-py's execute() runs, for MULTI ... EXEC."""
        try:
            values: list[Any] = await super()._execute_transaction(
                connection, commands, raise_on_error
            )
            return values
        except WatchError as changed:
            tell_unchanged(changed)
            raise

    async def _execute_pipeline(
        self, connection: Any, commands: list[Any], raise_on_error: bool
    ) -> list[Any]:
        """What redis-py's execute() runs and repeats, for a batch without MULTI."""
        if not isinstance(connection, Face):
            values: list[Any] = await super()._execute_pipeline(
                connection, commands, raise_on_error
            )
            return values
        pipe: Any = connection
        decode = decoder_of(commands, async_lane(self.connection_pool))
        await pipe.send_packed_command(
            [args for args, _ in commands], decode=None if decode is None else False
        )
        values = read_batch(
            commands, connection.take_all(), self.response_callbacks, decode
        )
        for at, value in enumerate(values):
            if type(value) not in _VALUES and isawaitable(value):
                values[at] = await value
        if raise_on_error:
            self.raise_first_error(commands, values)
        return values

    async def reset(self) -> None:  # type: ignore[override]
        """Forget the batch, and what was watched."""
        stand_in: Any = self.connection
        if self._shoal_has_ours():
            self.connection = None  # the pool has not lent it
            await stand_in.disconnect()  # which forgets what was watched
        await super().reset()


class Sentinel(sentinel.Sentinel):
    """redis-py's; the clients of primaries are `Redis` of this module.

    The core asks the sentinels itself, over connections of its own. When they name
    another primary, it moves there. Clients of replicas use redis-py's connections.
    """

    def master_for(
        self, service_name: str, redis_class: Any = Redis, *args: Any, **options: Any
    ) -> Any:
        """As redis-py's."""
        return super().master_for(service_name, redis_class, *args, **options)

    def slave_for(
        self, service_name: str, redis_class: Any = Redis, *args: Any, **options: Any
    ) -> Any:
        """As redis-py's."""
        return super().slave_for(service_name, redis_class, *args, **options)

    def replica_for(
        self, service_name: str, redis_class: Any = Redis, *args: Any, **options: Any
    ) -> Any:
        """As redis-py's."""
        return self.slave_for(service_name, redis_class, *args, **options)


def from_url(url: str, **options: Any) -> Redis:
    """As `redis.asyncio.from_url`, with the class of this module."""
    return Redis.from_url(url, **options)


def __getattr__(name: str) -> Any:
    return getattr(redis.asyncio, name)
