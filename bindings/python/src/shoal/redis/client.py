# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""`redis.Redis` whose commands share one pipelined connection."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import redis.client as theirs
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.observability.providers import get_observability_instance
from redis.observability.recorder import (
    record_error_count,
    record_operation_duration,
)

import shoal
from shoal.exceptions import FullError, RefusedError

from ._batch import find_callback, read_batch
from ._connection import CoreConnection, is_offline
from ._errors import FAILURES, translate
from ._lane import BlockingLane, blocking_lane
from ._routes import plain_names

if TYPE_CHECKING:
    from typing_extensions import Self

_measuring = get_observability_instance().get_provider_manager


class Redis(theirs.Redis):
    """redis-py's client; its commands are carried by a `shoal.Client`.

    Everything but the transport of commands is redis-py's: methods, callbacks,
    retries, pub/sub, locks, scripts.  All objects over one connection pool share one
    connection, from any number of threads.  What cannot share a connection goes over
    the pool's own: blocking commands, WATCH, pub/sub, MONITOR, CLIENT and the like,
    clients with `single_connection_client`, and every command of a pool that the core
    cannot stand in for; `shoal_bypass` says why.

    Errors are redis-py's, with an attribute `fate` (`shoal.Fate`): what is known about
    the execution of the command.
    """

    shoal_repeats_unknown: bool = False
    """After a lost connection or a timeout, redis-py's Retry also sends again what may
    have been executed already.  False: only what was provably not executed."""

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
        if self.connection is not None:
            return None
        core: shoal.Client | None = blocking_lane(self.connection_pool).core
        return core

    @property
    def shoal_bypass(self) -> str | None:
        """Why commands go over redis-py's own connections; None if they are carried."""
        if self.connection is not None:
            return "the object has a connection of its own"
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
            reply = lane.execute(*args)
        except FAILURES as error:
            return self._shoal_recover(error, args, options)
        callback = find_callback(self.response_callbacks, name)
        if callback is None:
            return reply
        options.pop("keys", None)
        options.pop(EMPTY_RESPONSE, None)
        return callback(reply, **options)

    def pipeline(
        self, transaction: bool = True, shard_hint: str | None = None
    ) -> Pipeline:
        """A pipeline, whose batch leaves as one block over the shared connection.

        With WATCH, or with a command that cannot share, all of it goes over one of
        redis-py's own connections.
        """
        pipeline = Pipeline(
            self.connection_pool, self.response_callbacks, transaction, shard_hint
        )
        pipeline.shoal_repeats_unknown = self.shoal_repeats_unknown
        return pipeline

    def _shoal_recover(
        self, error: Exception, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """What follows a first failure: another way, or what redis-py makes of it."""
        if isinstance(error, RefusedError):
            return super().execute_command(*args, **options)
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
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if self.connection is not None or lane.core is None:
            return super().execute_command(*args, **options)
        conn = CoreConnection(pool, lane, self.shoal_repeats_unknown, failed)
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
            return super().execute_command(*args, **options)
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
        pool = self.connection_pool
        lane = blocking_lane(pool)
        if self.connection is not None or lane.core is None or self._keeps_bytes(lane):
            return super().execute(raise_on_error)
        batch = self.command_stack, self.scripts, self.explicit_transaction
        stand_in: Any = CoreConnection(pool, lane, self.shoal_repeats_unknown)
        self.connection = stand_in
        try:
            return super().execute(raise_on_error)
        except (RefusedError, FullError):
            # Nothing was sent: all of it takes a connection of its own.
            self.command_stack, self.scripts, self.explicit_transaction = batch
            return super().execute(raise_on_error)

    def _execute_pipeline(
        self, connection: Any, commands: list[Any], raise_on_error: bool
    ) -> list[Any]:
        """What redis-py's execute() runs and repeats, for a batch without MULTI."""
        if not isinstance(connection, CoreConnection):
            values: list[Any] = super()._execute_pipeline(
                connection, commands, raise_on_error
            )
            return values
        connection.send_packed_command([args for args, _ in commands])
        values = read_batch(commands, connection.take_all(), self.response_callbacks)
        if raise_on_error:
            self.raise_first_error(commands, values)
        return values

    def reset(self) -> None:  # type: ignore[override]
        """Forget the batch, and what was watched."""
        if isinstance(self.connection, CoreConnection):
            self.connection = None  # the pool has not lent it
        super().reset()

    def _keeps_bytes(self, lane: BlockingLane) -> bool:
        """Whether a batch that is decoded holds commands whose replies are not."""
        return lane.template.encoder.decode_responses and any(
            NEVER_DECODE in options for _, options in self.command_stack
        )


def from_url(url: str, **options: Any) -> Redis:
    """As `redis.from_url`, with the class of this module."""
    return Redis.from_url(url, **options)
