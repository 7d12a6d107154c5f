# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""`redis.asyncio.RedisCluster` whose commands share one pipelined connection to each
node."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import redis.asyncio.cluster as theirs
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.event import AsyncAfterSlotsCacheRefreshEvent
from redis.exceptions import RedisClusterException, RedisError, ResponseError
from redis.observability.providers import get_observability_instance
from redis.utils import safe_str, truncate_text

import shoal.aio
from shoal._requests import blocks
from shoal.exceptions import FullError, RefusedError

from ._batch import decoder_of, find_callback
from ._cluster import (
    SPECIAL,
    AsyncClusterLane,
    AsyncNodeConnection,
    async_cluster_lane,
    following,
    key_form,
    node_lists,
    outcome,
    read,
    read_from,
    translate_cluster,
)
from ._connection import Attempts
from ._errors import FAILURES, may_have_run
from ._lane import NAME, taken_from
from ._plain_set import PlainSet
from ._routes import wire_form
from ._settings import Nodes

if hasattr(theirs, "ClusterPubSub"):
    from ._async_cluster_pubsub import AsyncClusterPubSub

_measuring = get_observability_instance().get_provider_manager

# redis-py's code closes its client to make it look for the nodes again.
_looks_again: ContextVar[bool] = ContextVar("_looks_again", default=False)


@contextlib.contextmanager
def _their_way() -> Iterator[None]:
    """While redis-py's own code carries a command."""
    token = _looks_again.set(True)
    try:
        yield
    finally:
        _looks_again.reset(token)


class RedisCluster(PlainSet, theirs.RedisCluster):  # type: ignore[misc]
    """redis-py's asyncio client of a cluster; its commands are carried by a
    `shoal.aio.Client`.

    Commands with keys, pipelines of them, and transactions without WATCH share one
    connection to each node; what tasks ask for in one turn of the event loop leaves in
    one write to each.  All objects that pubsub() returns share one more to each.  What
    goes to nodes that are named, or to several nodes, goes over redis-py's own
    connections, and so does everything if the core cannot stand in; `shoal_bypass` says
    why.

    Errors are redis-py's, with an attribute `fate` (`shoal.Fate`): what is known about
    the execution of the command.
    """

    shoal_repeats_unknown: bool = False
    """After a lost connection or a timeout, a command that may have been executed
    already is sent again, as often as Retry says."""

    _shoal_has_news = False

    @property
    def shoal_client(self) -> shoal.aio.Client | None:
        """The client that carries the commands; None if nothing is carried.

        It belongs to this object: do not close it.
        """
        core: shoal.aio.Client | None = self._shoal_lane().core
        return core

    @property
    def shoal_bypass(self) -> str | None:
        """Why commands go over redis-py's own connections; None if they are carried."""
        return self._shoal_lane().bypass

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command; returns its reply as redis-py's callbacks make it."""
        name = args[0]
        lane: AsyncClusterLane | None = vars(self).get(NAME)
        if (
            lane is None
            or name not in lane.keyed
            or self._initialize
            or not SPECIAL.isdisjoint(options)
            or _measuring() is not None
        ):
            return await self._shoal_run(args, options)
        try:
            reply = await lane.begin(args)
        except FAILURES as error:
            return await self._shoal_run(args, options, error)
        callback = find_callback(lane.callbacks, name)
        if callback is None:
            return reply
        options.pop("keys", None)
        return callback(reply, **options)

    def pipeline(
        self, transaction: Any | None = None, shard_hint: Any | None = None
    ) -> ClusterPipeline:
        """A pipeline, whose commands leave together.

        `transaction`: as MULTI ... EXEC; all keys are of one slot then.
        """
        if shard_hint:
            raise RedisClusterException("shard_hint is deprecated in cluster mode")
        return ClusterPipeline(self, transaction)  # type: ignore[abstract]

    if hasattr(theirs, "ClusterPubSub"):

        def pubsub(
            self, node: Any = None, host: Any = None, port: Any = None, **options: Any
        ) -> AsyncClusterPubSub:
            """As redis-py's; all of one client and event loop share a connection to
            each node, unless a node is named."""
            return AsyncClusterPubSub(self, node, host, port, **options)

    async def aclose(self) -> None:
        """Close all connections; the next command opens others."""
        core = None if _looks_again.get() else taken_from(self)
        try:
            await super().aclose()
        finally:
            if core is not None:
                await core.close()

    if not TYPE_CHECKING:  # what type checkers see is redis-py's
        get_nodes = following(theirs.RedisCluster.get_nodes)
        get_node = following(theirs.RedisCluster.get_node)
        get_primaries = following(theirs.RedisCluster.get_primaries)
        get_replicas = following(theirs.RedisCluster.get_replicas)
        get_random_node = following(theirs.RedisCluster.get_random_node)
        get_node_from_key = following(theirs.RedisCluster.get_node_from_key)
        get_default_node = following(theirs.RedisCluster.get_default_node)

    def _shoal_follow(self) -> None:
        """redis-py's view of the cluster becomes the core's, if that has changed."""
        lane: AsyncClusterLane | None = vars(self).get(NAME)
        if lane is None or asyncio._get_running_loop() is None:
            return
        manager: Any = self.nodes_manager
        nodes = lane.news(manager)
        if not nodes:
            return
        made = {}
        for node in nodes:
            made[node.name] = theirs.ClusterNode(
                node.host, node.port, node.role, **manager.connection_kwargs
            )
        manager.set_nodes(
            manager.nodes_cache, {node.name: node for node in made.values()}, True
        )
        made = {name: manager.nodes_cache[node.name] for name, node in made.items()}
        manager.slots_cache = node_lists(nodes, made)
        default = manager.default_node and manager.default_node.name
        primaries = manager.get_nodes_by_server_type("primary")
        stays = [node for node in primaries if node.name == default]
        manager.default_node = (stays or primaries)[0]
        if manager._dynamic_startup_nodes:
            manager.set_nodes(manager.startup_nodes, manager.nodes_cache, True)
        manager._epoch += 1
        self._shoal_has_news = True

    async def _shoal_tell(self) -> None:
        """Tell those of redis-py's listeners for whom slots have moved."""
        self._shoal_follow()
        if self._shoal_has_news:
            self._shoal_has_news = False
            event = AsyncAfterSlotsCacheRefreshEvent()
            await self.nodes_manager._event_dispatcher.dispatch_async(event)

    def _shoal_lane(self) -> AsyncClusterLane:
        lane: AsyncClusterLane | None = vars(self).get(NAME)
        return async_cluster_lane(self, self._shoal_nodes()) if lane is None else lane

    def _shoal_nodes(self) -> Nodes:
        """What redis-py knows of the nodes."""
        manager = self.nodes_manager
        known: list[Any] = sorted(
            manager.nodes_cache.values() or manager.startup_nodes.values(),
            key=lambda node: str(node.server_type),
        )
        refusal = None
        if manager.address_remap is not None:
            refusal = "the parameter address_remap"
        return Nodes(
            known[0].connection_class,
            known[0].connection_kwargs,
            [(node.host, int(node.port)) for node in known],
            self.retry.get_retries(),
            self.response_callbacks,
            refusal,
            read_from(self),
        )

    async def _shoal_run(
        self,
        args: tuple[Any, ...],
        options: dict[str, Any],
        failed: Exception | None = None,
    ) -> Any:
        """Run a command that needs more than the quick way.

        `failed` is how the first attempt ended, if there was one.
        """
        form = None
        if "target_nodes" not in options and not isinstance(failed, RefusedError):
            if self._initialize:
                await self.initialize()
            lane = self._shoal_lane()
            form = key_form(self, lane, args)
            if form is not None and not await lane.reach():
                form = None
        retries, attempts = self.retry.get_retries(), Attempts()
        while form is not None:
            try:
                with attempts:
                    if failed is not None:
                        raise translate_cluster(failed, args[0]) from failed
                    return await self._shoal_try(lane, args, form, options)
            except RefusedError:
                break
            except ResponseError:
                if EMPTY_RESPONSE in options:
                    return options[EMPTY_RESPONSE]
                raise
            except RedisError as error:
                repeats = self.shoal_repeats_unknown and may_have_run(error)
                if not repeats or retries == 0:
                    raise
                failed = None
                retries -= 1
        with _their_way():
            await self._shoal_tell()
            return await super().execute_command(*args, **options)

    async def _shoal_try(
        self,
        lane: AsyncClusterLane,
        args: tuple[Any, ...],
        form: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """One attempt, with redis-py's measurements."""
        start = time.monotonic()
        problem: Exception | None = None
        try:
            decode = False if NEVER_DECODE in options else None
            with lane.options_of(form) as more:
                run = lane.execute if more or blocks(form) else lane.submit
                reply = await run(*form, decode=decode, **more)
        except RefusedError:
            raise
        except FAILURES as error:
            problem = translate_cluster(error, args[0])
        await self._record_command_metric(
            args[0], time.monotonic() - start, lane.template, problem
        )
        if problem is not None:
            raise problem
        return read(args, reply, options, lane.callbacks)


class ClusterPipeline(theirs.ClusterPipeline):
    """redis-py's pipeline of a cluster; a `shoal.aio.Client` carries its batch."""

    def __init__(self, client: RedisCluster, transaction: bool | None = None) -> None:
        super().__init__(client, transaction)
        self._execution_strategy = (_Transaction if transaction else _Batch)(self)


class _Batch(theirs.PipelineStrategy):
    """Commands that leave together, each to the node of its keys."""

    _pipe: Any

    async def execute(
        self, raise_on_error: bool = True, allow_redirections: bool = True
    ) -> list[Any]:
        """As redis-py's.  The core repeats what was not executed, and follows slots
        that move, so nothing is repeated here."""
        client: RedisCluster = self._pipe.cluster_client
        stack = self._command_queue
        if stack and client._initialize:
            await client.initialize()
        lane = client._shoal_lane()
        forms = [key_form(client, lane, command.args) for command in stack]
        if (
            None in forms
            or any(blocks(form) for form in forms if form is not None)
            or not allow_redirections
            or not await lane.reach()
        ):
            with _their_way():
                await client._shoal_tell()
                return await super().execute(raise_on_error, allow_redirections)
        try:
            return await self._shoal_execute(client, lane, forms, raise_on_error)
        finally:
            await self.reset()

    async def _shoal_execute(
        self,
        client: RedisCluster,
        lane: AsyncClusterLane,
        forms: list[Any],
        raise_on_error: bool,
    ) -> list[Any]:
        stack = self._command_queue
        start = time.monotonic()
        decode = decoder_of([(c.args, c.kwargs) for c in stack], lane)
        try:
            replies = await lane.execute_many(
                forms, decode=None if decode is None else False, return_exceptions=True
            )
        except FAILURES as error:
            raise translate_cluster(error, stack[0].args[0]) from error
        for command, reply in zip(stack, replies, strict=True):
            command.result = await self._shoal_result(
                client, lane, command, reply, decode
            )
        if stack:
            await client._record_command_metric(
                "PIPELINE", time.monotonic() - start, lane.template
            )
        if raise_on_error:
            _raise_first(stack)
        return [command.result for command in stack]

    async def _shoal_result(
        self,
        client: RedisCluster,
        lane: AsyncClusterLane,
        command: Any,
        reply: Any,
        decode: Any,
    ) -> Any:
        args, options = command.args, command.kwargs
        if isinstance(reply, RefusedError):
            try:
                return await client.execute_command(*args, **options)
            except RedisError as error:
                return error
        return outcome(lane, args, reply, options, decode)


def _raise_first(stack: list[Any]) -> None:
    """Raise the first error, in redis-py's words."""
    for command in stack:
        error = command.result
        if isinstance(error, Exception):
            text = truncate_text(" ".join(map(safe_str, command.args)))
            message = (
                f"Command # {command.position + 1} ({text}) of pipeline "
                f"caused error: {error.args}"
            )
            error.args = (message, *error.args[1:])
            raise error


class _Transaction(theirs.TransactionStrategy):
    """MULTI ... EXEC over the shared connection, unless keys are watched."""

    _pipe: Any
    _transaction_connection: Any
    _shoal_refused = False

    async def execute(
        self, raise_on_error: bool = True, allow_redirections: bool = True
    ) -> list[Any]:
        """As redis-py's."""
        await self._pipe.cluster_client._shoal_lane().reach()
        with _their_way():
            try:
                return await super().execute(raise_on_error, allow_redirections)
            except (RefusedError, FullError):
                # Nothing was sent: all of it takes redis-py's way.
                self._transaction_connection = None
                self._shoal_refused = True
                return await super().execute(raise_on_error, allow_redirections)

    def _get_client_and_connection_for_transaction(self) -> Any:
        """Where redis-py's code gets a connection for all that follows."""
        client: RedisCluster = self._pipe.cluster_client
        lane = client._shoal_lane()
        carried = (
            self._transaction_connection is None
            and self._executing
            and not (self._watching or self._shoal_refused)
            and bool(self._pipeline_slots)
            and lane.reached
            and all(wire_form(c.args) is not None for c in self._command_queue)
        )
        if not carried:
            return super()._get_client_and_connection_for_transaction()
        self._transaction_connection = AsyncNodeConnection(
            lane, client.shoal_repeats_unknown
        )
        return client.get_default_node(), self._transaction_connection

    async def _reinitialize_on_error(self, error: Any, failure_count: int) -> None:
        """What redis-py does before it repeats; raises what forbids that."""
        if may_have_run(error) and not self._pipe.cluster_client.shoal_repeats_unknown:
            raise error
        if isinstance(self._transaction_connection, AsyncNodeConnection):
            self._transaction_connection = None
        await super()._reinitialize_on_error(error, failure_count)

    async def reset(self) -> None:
        """Forget the commands, and the connection."""
        if isinstance(self._transaction_connection, AsyncNodeConnection):
            self._transaction_connection = None
        await super().reset()
