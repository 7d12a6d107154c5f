# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""`redis.Redis` whose commands share one pipelined connection."""

from __future__ import annotations

import contextlib
import functools
import time
from typing import TYPE_CHECKING, Any

import redis.client as theirs
from redis import sentinel
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.exceptions import WatchError
from redis.observability.providers import get_observability_instance
from redis.observability.recorder import (
    record_error_count,
    record_operation_duration,
)

import shoal
from shoal.exceptions import FullError, RefusedError

from ._batch import decoder_of, find_callback, read_batch
from ._connection import CoreConnection, Face, Offline, is_offline
from ._errors import (
    FAILURES,
    ends_watch,
    is_parents,
    tell_fate,
    tell_unchanged,
    translate,
    watch_lost,
)
from ._lane import blocking_lane
from ._leased import LeaseConnection, standing
from ._monitor import Monitor
from ._plain_set import PlainSet
from ._pubsub import PubSub
from ._routes import plain_names

if TYPE_CHECKING:
    from typing_extensions import Self

_measuring = get_observability_instance().get_provider_manager


class Redis(PlainSet, theirs.Redis):
    """redis-py's client; its commands are carried by a `shoal.Client`.

    Everything but the transport of commands is redis-py's: methods, callbacks,
    retries, pub/sub, locks, scripts.  All objects over one connection pool share one
    connection, from any number of threads.  What cannot share a connection goes over
    leases: blocking commands, WATCH, MONITOR, CLIENT and the like, and clients with
    `single_connection_client`.  All objects that pubsub() returns share one more.
    Connections of the pool itself carry every command of a pool that the core cannot
    stand in for; `shoal_bypass` says why.

    Errors are redis-py's, with an attribute `fate` (`shoal.Fate`): what is known about
    the execution of the command.
    """

    shoal_repeats_unknown: bool = False
    """After a lost connection or a timeout, redis-py's Retry also sends again what may
    have been executed already.  False: only what was provably not executed."""

    if not TYPE_CHECKING:  # what type checkers see is redis-py's

        @functools.wraps(theirs.Redis.__init__)
        def __init__(self, *args, single_connection_client=False, **options):
            super().__init__(*args, **options)
            if single_connection_client:
                self._single_connection_client = True
                self.connection = self._shoal_connect()

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """As redis-py's; the client closes its pool."""
        client: Any = super().from_url(url, **options)
        return client  # type: ignore[no-any-return]

    @classmethod
    def from_pool(cls, connection_pool: Any) -> Self:
        """As redis-py's; the client closes the pool."""
        client: Any = super().from_pool(connection_pool)
        return client  # type: ignore[no-any-return]

    @property
    def shoal_client(self) -> shoal.Client | None:
        """The client that carries the commands, shared by all objects over the pool.

        None if nothing is carried.  It belongs to the pool: do not close it.
        """
        if self._shoal_has_theirs():
            return None
        core: shoal.Client | None = blocking_lane(self.connection_pool).core
        return core

    @property
    def shoal_bypass(self) -> str | None:
        """Why commands go over redis-py's own connections; None if they are carried."""
        if self._shoal_has_theirs():
            return "the object has a connection of redis-py's"
        return blocking_lane(self.connection_pool).bypass

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command; returns its reply as redis-py's callbacks make it."""
        name = args[0]
        if (
            name not in plain_names
            or self.connection is not None
            or NEVER_DECODE in options
            or _measuring() is not None
        ):
            return self._shoal_run(args, options)
        try:
            lane = self.connection_pool.__shoal_lane__  # type: ignore[attr-defined]
        except AttributeError:
            lane = blocking_lane(self.connection_pool)
        try:
            reply = lane.run(args)
        except FAILURES as error:
            return self._shoal_recover(error, args, options)
        callback = find_callback(self.response_callbacks, name)
        if callback is None:
            return reply
        if not options:
            return callback(reply)
        options.pop("keys", None)
        options.pop(EMPTY_RESPONSE, None)
        return callback(reply, **options)

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

    def pubsub(self, **options: Any) -> PubSub:
        """As redis-py's; all of one pool share a connection."""
        return PubSub(
            self.connection_pool, event_dispatcher=self._event_dispatcher, **options
        )

    def monitor(self) -> Monitor:
        """As redis-py's; its lines come over a lease."""
        return Monitor(self.connection_pool)

    def close(self) -> None:
        """Give back a connection of its own, and close a pool of its own."""
        connection = getattr(self, "connection", None)
        if isinstance(connection, LeaseConnection):
            self.connection = None
            connection.disconnect()
        super().close()

    def _shoal_connect(self) -> Any:
        """A connection for a client that has one of its own."""
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if lane.core is not None:
            connection = LeaseConnection(pool, lane, self.shoal_repeats_unknown)
            try:
                connection.connect()
            except RefusedError:
                connection.disconnect()
            else:
                return connection
        return pool.get_connection()

    def _shoal_has_ours(self) -> bool:
        """Does something of ours stand where it has a connection for itself?"""
        return isinstance(self.connection, Face)

    def _shoal_has_theirs(self) -> bool:
        """Has it a connection of redis-py's for itself?"""
        return self.connection is not None and not self._shoal_has_ours()

    def _shoal_recover(
        self, error: Exception, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """What follows a first failure: another way, or what redis-py makes of it."""
        if isinstance(error, RefusedError):
            return self._shoal_run_apart(args, options)
        failed = None if is_offline(error) else translate(error)
        return self._shoal_run(args, options, failed)

    def _shoal_run(
        self,
        args: tuple[Any, ...],
        options: dict[str, Any],
        failed: Exception | None = None,
    ) -> Any:
        """Run a command with redis-py's retries and measurements.

        `failed` is how the first attempt ended, if there was one.
        """
        if isinstance(self.connection, LeaseConnection):
            return self._shoal_run_single(self.connection, args, options)
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if self.connection is not None or lane.core is None:
            return super().execute_command(*args, **options)
        conn = CoreConnection(pool, lane, self.shoal_repeats_unknown, failed)
        try:
            return self._shoal_try(conn, args, options)
        except Offline:
            return super().execute_command(*args, **options)
        except RefusedError:
            return self._shoal_run_apart(args, options)

    def _shoal_run_apart(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a command that cannot share a connection: over a lease, if one may carry
        it, else over one of redis-py's connections."""
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if lane.core is not None:
            with (
                contextlib.suppress(RefusedError),
                standing(pool, lane, self.shoal_repeats_unknown) as conn,
            ):
                return self._shoal_try(conn, args, options)
        return super().execute_command(*args, **options)

    def _shoal_run_single(
        self, conn: LeaseConnection, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Run a command over this object's own lease.  If a lease may not carry it, the
        object gets one of redis-py's connections, unless what the server knows of the
        lease would be lost."""
        pool = self.connection_pool
        with self.single_connection_lock:
            conn.choose_retry(pool, blocking_lane(pool), self.shoal_repeats_unknown)
            try:
                return super().execute_command(*args, **options)
            except RefusedError as refusal:
                if conn.has_state:
                    raise translate(refusal) from refusal
                conn.disconnect()
                self.connection = pool.get_connection()
            return super().execute_command(*args, **options)

    def _close_connection(
        self, conn: Any, error: Exception | None = None, *details: Any
    ) -> None:
        """What redis-py does before it repeats a command; raises what forbids that."""
        super()._close_connection(conn, error, *details)
        if error is not None and is_parents(error):
            raise error

    def _shoal_try(
        self, conn: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """What redis-py's execute_command() does with a connection."""
        name, start, failures = args[0], time.monotonic(), 0

        def on_failure(error: Exception, count: int) -> None:
            nonlocal failures
            failures = count
            self._close_connection(conn, error, count, start, name)

        try:
            result = conn.retry.call_with_retry(
                lambda: self._send_command_parse_response(conn, name, *args, **options),
                on_failure,
                with_failure_count=True,
            )
        except RefusedError:
            raise
        except Exception as error:
            record_error_count(
                server_address=conn.host,
                server_port=conn.port,
                network_peer_address=conn.host,
                network_peer_port=conn.port,
                error_type=error,
                retry_attempts=failures,
                is_internal=False,
            )
            raise
        record_operation_duration(
            command_name=name,
            duration_seconds=time.monotonic() - start,
            server_address=conn.host,
            server_port=conn.port,
            db_namespace=str(conn.db),
        )
        return result


StrictRedis = Redis


class Pipeline(theirs.Pipeline, Redis):
    """redis-py's pipeline; its batch is carried by a `shoal.Client`."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Run the batch; returns the replies as redis-py's callbacks make them."""
        try:
            return self._shoal_execute(raise_on_error)
        except WatchError as lost:
            tell_fate(lost)
            raise

    def _shoal_execute(self, raise_on_error: bool) -> list[Any]:
        if not self.command_stack and not self.watching:
            return []
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if self.connection is not None or lane.core is None:
            try:
                return super().execute(raise_on_error)
            except (RefusedError, FullError) as refusal:
                raise translate(refusal) from refusal
        batch = self.command_stack, self.scripts, self.explicit_transaction
        for kind in (CoreConnection, LeaseConnection):
            stand_in: Any = kind(pool, lane, self.shoal_repeats_unknown)
            self.connection = stand_in
            try:
                return super().execute(raise_on_error)
            except (RefusedError, FullError) as refusal:
                # Nothing was sent: all of it takes another way.
                self.command_stack, self.scripts, self.explicit_transaction = batch
                if isinstance(refusal, Offline):
                    break
            finally:
                if self.connection is stand_in:  # the scripts could not be looked for
                    self.connection = None
                    stand_in.disconnect()
        return super().execute(raise_on_error)

    def immediate_execute_command(self, *args: Any, **options: Any) -> Any:
        """Run WATCH, or what comes between it and multi(), over a lease."""
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if self.connection is None and lane.core is not None:
            stand_in: Any = LeaseConnection(pool, lane, self.shoal_repeats_unknown)
            self.connection = stand_in
        try:
            return super().immediate_execute_command(*args, **options)
        except RefusedError as refusal:
            if not isinstance(self.connection, LeaseConnection):
                raise
            if self.watching:
                raise translate(refusal) from refusal
            self.connection.disconnect()
            self.connection = None
            self.connection = pool.get_connection()
            return super().immediate_execute_command(*args, **options)
        except WatchError as lost:
            tell_fate(lost)
            raise
        except Exception as error:
            if not (self.watching and ends_watch(error)):
                raise
            self.reset()  # what was watched is lost, but nothing was executed for it
            raise watch_lost(error) from error

    def _execute_transaction(
        self, connection: Any, commands: list[Any], raise_on_error: bool
    ) -> list[Any]:
        """What redis-py's execute() runs, for MULTI ... EXEC."""
        try:
            values: list[Any] = super()._execute_transaction(
                connection, commands, raise_on_error
            )
            return values
        except WatchError as changed:
            tell_unchanged(changed)
            raise

    def _execute_pipeline(
        self, connection: Any, commands: list[Any], raise_on_error: bool
    ) -> list[Any]:
        """What redis-py's execute() runs and repeats, for a batch without MULTI."""
        if not isinstance(connection, Face):
            values: list[Any] = super()._execute_pipeline(
                connection, commands, raise_on_error
            )
            return values
        stand_in: Any = connection
        decode = decoder_of(commands, blocking_lane(self.connection_pool))
        stand_in.send_packed_command(
            [args for args, _ in commands], decode=None if decode is None else False
        )
        values = read_batch(
            commands, stand_in.take_all(), self.response_callbacks, decode
        )
        if raise_on_error:
            self.raise_first_error(commands, values)
        return values

    def reset(self) -> None:  # type: ignore[override]
        """Forget the batch, and what was watched."""
        stand_in: Any = self.connection
        if self._shoal_has_ours():
            self.connection = None  # the pool has not lent it
            stand_in.disconnect()  # which forgets what was watched
        super().reset()


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
    """As `redis.from_url`, with the class of this module."""
    return Redis.from_url(url, **options)
