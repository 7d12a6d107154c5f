# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""`redis.RedisCluster` whose commands share one pipelined connection to each node.

Every other name of `redis.cluster`, such as `ClusterNode`, can be had from here too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import redis.cluster as theirs
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.cluster import get_node_name
from redis.event import AfterSlotsCacheRefreshEvent
from redis.exceptions import RedisClusterException, RedisError, ResponseError
from redis.observability.providers import get_observability_instance

import shoal
from shoal._requests import blocks
from shoal.exceptions import FullError, RefusedError

from ._batch import decoder_of, find_callback
from ._cluster import (
    SPECIAL,
    BlockingClusterLane,
    NodeConnection,
    blocking_cluster_lane,
    following,
    key_form,
    node_lists,
    outcome,
    read,
    read_from,
    translate_cluster,
)
from ._cluster_pubsub import ClusterPubSub
from ._connection import Attempts
from ._errors import FAILURES, may_have_run
from ._lane import NAME, taken_from
from ._plain_set import PlainSet
from ._routes import wire_form
from ._settings import Nodes

__all__ = ["ClusterPipeline", "RedisCluster"]

_measuring = get_observability_instance().get_provider_manager


class RedisCluster(PlainSet, theirs.RedisCluster):
    """redis-py's client of a cluster; its commands are carried by a `shoal.Client`.

    Commands with keys, pipelines of them, and transactions without WATCH share one
    connection to each node, from any number of threads.  All objects that pubsub()
    returns share one more to each.  What goes to nodes that are named, or to several
    nodes, goes over redis-py's own connections, and so does everything if the core
    cannot stand in; `shoal_bypass` says why.

    Errors are redis-py's, with an attribute `fate` (`shoal.Fate`): what is known about
    the execution of the command.
    """

    shoal_repeats_unknown: bool = False
    """After a lost connection or a timeout, a command that may have been executed
    already is sent again, as often as Retry says."""

    @property
    def shoal_client(self) -> shoal.Client | None:
        """The client that carries the commands; None if nothing is carried.

        It belongs to this object: do not close it.
        """
        core: shoal.Client | None = self._shoal_lane().core
        return core

    @property
    def shoal_bypass(self) -> str | None:
        """Why commands go over redis-py's own connections; None if they are carried."""
        return self._shoal_lane().bypass

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command; returns its reply as redis-py's callbacks make it."""
        name = args[0]
        lane: BlockingClusterLane | None = vars(self.nodes_manager).get(NAME)
        if (
            lane is None
            or name not in lane.keyed
            or not SPECIAL.isdisjoint(options)
            or _measuring() is not None
        ):
            return self._shoal_run(args, options)
        try:
            reply = lane.run(args)
        except FAILURES as error:
            return self._shoal_run(args, options, error)
        options.pop("keys", None)
        callback = find_callback(lane.callbacks, name)
        if callback is not None:
            reply = callback(reply, **options)
        callback = find_callback(self.cluster_response_callbacks, name)
        return reply if callback is None else callback(reply, **options)

    def pipeline(
        self, transaction: bool | None = None, shard_hint: str | None = None
    ) -> ClusterPipeline:
        """A pipeline, whose commands leave together.

        `transaction`: as MULTI ... EXEC; all keys are of one slot then.
        """
        if shard_hint:
            raise RedisClusterException("shard_hint is deprecated in cluster mode")
        return ClusterPipeline(
            nodes_manager=self.nodes_manager,
            commands_parser=self.commands_parser,
            startup_nodes=self.nodes_manager.startup_nodes,
            result_callbacks=self.result_callbacks,
            cluster_response_callbacks=self.cluster_response_callbacks,
            read_from_replicas=self.read_from_replicas,
            load_balancing_strategy=self.load_balancing_strategy,
            reinitialize_steps=self.reinitialize_steps,
            retry=self.retry,
            lock=self._lock,
            transaction=transaction,
            event_dispatcher=self._event_dispatcher,
            shoal_parent=self,
        )

    def pubsub(
        self, node: Any = None, host: Any = None, port: Any = None, **options: Any
    ) -> ClusterPubSub:
        """As redis-py's; all of one client share a connection to each node, unless a
        node is named."""
        return ClusterPubSub(self, node, host, port, **options)

    def disconnect_connection_pools(self) -> None:
        """Close all connections; the next command opens others."""
        core = taken_from(self.nodes_manager)
        if core is not None:
            core.close()
        super().disconnect_connection_pools()

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
        manager: Any = self.nodes_manager
        lane: BlockingClusterLane | None = vars(manager).get(NAME)
        nodes = [] if lane is None else lane.news(manager)
        if not nodes:
            return
        with manager._lock:
            made = {}
            for node in nodes:
                known = manager.nodes_cache.get(get_node_name(node.host, node.port))
                connection = known and known.redis_connection
                made[node.name] = theirs.ClusterNode(
                    node.host, node.port, node.role, connection
                )
            manager.create_redis_connections(list(made.values()))
            manager.nodes_cache = {node.name: node for node in made.values()}
            manager.slots_cache = node_lists(nodes, made)
            default = manager.default_node and manager.default_node.name
            primaries = manager.get_nodes_by_server_type("primary")
            stays = [node for node in primaries if node.name == default]
            manager.default_node = (stays or primaries)[0]
            if manager._dynamic_startup_nodes:
                manager.startup_nodes = manager.nodes_cache
            manager._epoch += 1
        manager._event_dispatcher.dispatch(AfterSlotsCacheRefreshEvent())

    def _shoal_lane(self) -> BlockingClusterLane:
        lane: BlockingClusterLane | None = vars(self.nodes_manager).get(NAME)
        if lane is None:
            lane = blocking_cluster_lane(self.nodes_manager, self._shoal_nodes())
        return lane

    def _shoal_nodes(self) -> Nodes:
        """What redis-py knows of the nodes."""
        manager: Any = self.nodes_manager
        known = sorted(
            manager.nodes_cache.values(), key=lambda node: str(node.server_type)
        )
        client = self._shoal_node_client()
        pool = client.connection_pool
        refusal = None
        if self.user_on_connect_func is not None:
            refusal = "the parameter redis_connect_func"
        elif manager.address_remap is not None:
            refusal = "the parameter address_remap"
        elif pool.cache is not None:
            refusal = "a client-side cache"
        return Nodes(
            pool.connection_class,
            pool.connection_kwargs,
            [(node.host, int(node.port)) for node in known],
            self.retry.get_retries(),
            client.response_callbacks,
            refusal,
            read_from(self),
        )

    def _shoal_node_client(self) -> Any:
        """redis-py's client of some node."""
        manager: Any = self.nodes_manager
        node = manager.default_node or next(iter(manager.nodes_cache.values()))
        return self.get_redis_connection(node)

    def _shoal_run(
        self,
        args: tuple[Any, ...],
        options: dict[str, Any],
        failed: Exception | None = None,
    ) -> Any:
        """Run a command that needs more than the quick way.

        `failed` is how the first attempt ended, if there was one.
        """
        if "target_nodes" in options or isinstance(failed, RefusedError):
            return super().execute_command(*args, **options)
        if not hasattr(self, "commands_parser"):  # it is made by a command
            return super().execute_command(*args, **options)
        lane = self._shoal_lane()
        form = key_form(self, lane, args)
        if form is None or not lane.reach():
            return super().execute_command(*args, **options)
        retries, attempts = self.retry.get_retries(), Attempts()
        while True:
            try:
                with attempts:
                    if failed is not None:
                        raise translate_cluster(failed, args[0]) from failed
                    return self._shoal_try(lane, args, form, options)
            except RefusedError:
                return super().execute_command(*args, **options)
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

    def _shoal_try(
        self,
        lane: BlockingClusterLane,
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
                reply = lane.execute(*form, decode=decode, **more)
        except RefusedError:
            raise
        except FAILURES as error:
            problem = translate_cluster(error, args[0])
        self._record_command_metric(
            args[0], time.monotonic() - start, lane.template, problem
        )
        if problem is not None:
            raise problem
        return read(
            args, reply, options, lane.callbacks, self.cluster_response_callbacks
        )


class ClusterPipeline(theirs.ClusterPipeline):
    """redis-py's pipeline of a cluster; its batch is carried by a `shoal.Client`."""

    def __init__(self, *args: Any, shoal_parent: RedisCluster, **options: Any) -> None:
        super().__init__(*args, **options)
        self._shoal_parent = shoal_parent
        self.parent_execute_command = shoal_parent.execute_command
        kind = _Transaction if options.get("transaction") else _Batch
        self._execution_strategy = kind(self)


class _Batch(theirs.PipelineStrategy):
    """Commands that leave together, each to the node of its keys."""

    _pipe: Any

    def send_cluster_commands(
        self, stack: Any, raise_on_error: bool = True, allow_redirections: bool = True
    ) -> list[Any]:
        """What execute() runs.  The core repeats what was not executed, and follows
        slots that move, so nothing is repeated here."""
        parent = self._pipe._shoal_parent
        lane = parent._shoal_lane()
        forms = [key_form(parent, lane, c.args) for c in stack]
        if (
            None in forms
            or any(blocks(form) for form in forms if form is not None)
            or not allow_redirections
            or not lane.reach()
        ):
            parent._shoal_follow()
            values: list[Any] = super().send_cluster_commands(
                stack, raise_on_error, allow_redirections
            )
            return values
        start = time.monotonic()
        commands = [(c.args, c.options) for c in stack]
        decode = decoder_of(commands, lane)
        try:
            replies = lane.execute_many(
                forms, decode=None if decode is None else False, return_exceptions=True
            )
        except FAILURES as error:
            raise translate_cluster(error, stack[0].args[0]) from error
        for command, reply in zip(stack, replies, strict=True):
            command.result = self._shoal_result(lane, command, reply, decode)
        parent._record_command_metric(
            "PIPELINE", time.monotonic() - start, lane.template
        )
        if raise_on_error:
            self._raise_first_error(stack, start)
        return [command.result for command in stack]

    def _shoal_result(
        self, lane: BlockingClusterLane, command: Any, reply: Any, decode: Any
    ) -> Any:
        args, options = command.args, command.options
        if isinstance(reply, RefusedError):
            try:
                return self._pipe.parent_execute_command(*args, **options)
            except RedisError as error:
                return error
        callbacks = self._pipe.cluster_response_callbacks
        return outcome(lane, args, reply, options, decode, callbacks)


class _Transaction(theirs.TransactionStrategy):
    """MULTI ... EXEC over the shared connection, unless keys are watched."""

    _pipe: Any
    _transaction_connection: Any
    _shoal_refused = False

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """As redis-py's."""
        try:
            return super().execute(raise_on_error)
        except (RefusedError, FullError):
            # Nothing was sent: all of it takes redis-py's way.
            self._transaction_connection = None
            self._shoal_refused = True
            return super().execute(raise_on_error)

    def _get_client_and_connection_for_transaction(self) -> Any:
        """Where redis-py's code gets a connection for all that follows."""
        parent = self._pipe._shoal_parent
        lane = parent._shoal_lane()
        carried = (
            self._transaction_connection is None
            and self._executing
            and not (self._watching or self._shoal_refused)
            and bool(self._pipeline_slots)
            and lane.reach()
            and all(wire_form(c.args) is not None for c in self._command_queue)
        )
        if not carried:
            return super()._get_client_and_connection_for_transaction()
        self._transaction_connection = NodeConnection(
            lane, parent.shoal_repeats_unknown
        )
        return parent._shoal_node_client(), self._transaction_connection

    def _reinitialize_on_error(self, error: Exception, failure_count: int) -> None:
        """What redis-py does before it repeats; raises what forbids that."""
        repeats_unknown = self._pipe._shoal_parent.shoal_repeats_unknown
        if may_have_run(error) and not repeats_unknown:
            raise error
        if isinstance(self._transaction_connection, NodeConnection):
            self._transaction_connection = None
        super()._reinitialize_on_error(error, failure_count)

    def reset(self) -> None:
        """Forget the commands, and the connection."""
        if isinstance(self._transaction_connection, NodeConnection):
            self._transaction_connection = None
        super().reset()


def __getattr__(name: str) -> Any:
    return getattr(theirs, name)
