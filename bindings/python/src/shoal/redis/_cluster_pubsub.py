# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""redis-py's ClusterPubSub, whose names are subscribed over connections that all share.

redis-py has a connection to some node for channels and patterns, and a PubSub for each
node that has channels of shards.  All of these get a view here (_pubsub.py), of the
subscriptions of the client that carries the commands: those have one connection to each
node in use, and follow slots by themselves.  So a channel of a shard stays with the
PubSub that has it when its slot moves, and that is read for the new node, too.
"""

import contextlib
import math
import select
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, ClassVar

import redis.cluster as theirs
from redis.exceptions import RedisError, SlotNotCoveredError

from shoal._items import Dropped, Gap

from ._cluster_subscriber import ClusterSubscriber
from ._lane import Lane
from ._pubsub import (
    _SLICE_S,
    AsyncView,
    AsyncViews,
    PubSub,
    ReadsView,
    View,
    Views,
    gaps_of,
)
from ._view import BaseView


class _OfCluster:
    """What views of a cluster have in common."""

    __slots__ = ()

    _subscriber_kind: ClassVar[Any] = ClusterSubscriber
    _lane: Any
    _pool: Any
    subscriber: Any

    @property
    def host(self) -> Any:
        """Of the node that redis-py has chosen."""
        return self._pool.connection_kwargs.get("host")

    @property
    def port(self) -> Any:
        """Of that node."""
        return self._pool.connection_kwargs.get("port")

    @property
    def retry(self) -> Any:
        """That of connections to nodes."""
        return self._lane.template.retry

    def _is_to_be_tried(self) -> bool:
        feed: Any = self._held()  # type: ignore[attr-defined]
        if feed.hub.is_connected():
            self.subscriber.is_cut = False
        is_to_be: bool = super()._is_to_be_tried()  # type: ignore[misc]
        if is_to_be:  # a node is away: the answers of others wait no longer
            self.subscriber.say_held()
        return is_to_be


class ClusterView(_OfCluster, View):
    """Of `redis.RedisCluster`.  Threads: any."""

    __slots__ = ()


class AsyncClusterView(_OfCluster, AsyncView):
    """Of `redis.asyncio.RedisCluster`.  Threads: an event loop's."""

    __slots__ = ()


class _ViewsOfCluster:
    """What both faces' pools of views have in common."""

    __slots__ = ()

    _cluster: Any
    _pool: Any

    def __init__(self, pool: Any, cluster: Any):
        super().__init__(pool)  # type: ignore[call-arg]
        self._cluster = cluster

    def find_lane(self) -> Lane:
        """The cluster's present one: a close takes it."""
        lane: Lane = self._cluster._shoal_lane()
        return lane

    def new_connection(self) -> Any:
        """One of redis-py's, to the node that it has chosen; to one that is known, if
        that has left the cluster."""
        lane: Any = self.find_lane()
        manager: Any = self._cluster.nodes_manager
        options = self._pool.connection_kwargs
        name = theirs.get_node_name(options["host"], options["port"])
        if name not in manager.nodes_cache:
            node = manager.default_node
            options = {**options, "host": node.host, "port": node.port}
        return lane.nodes.connection_class(**options)


class ClusterViews(_ViewsOfCluster, Views):
    """The pool of a PubSub, in place of a node's."""

    __slots__ = ("_cluster",)

    def _new_view(self, lane: Lane) -> Any:
        return ClusterView(self, lane)


class AsyncClusterViews(_ViewsOfCluster, AsyncViews):
    """The same for asyncio."""

    __slots__ = ("_cluster",)

    def _new_view(self, lane: Lane) -> Any:
        return AsyncClusterView(self, lane)


class SharesConnections:
    """What both faces' PubSubs of a cluster have in common."""

    cluster: Any
    # The destructor asks for it, even if redis-py's __init__ has raised.
    connection: Any = None
    node_pubsub_mapping: dict[str, Any]

    _shoal_views: ClassVar[Any]
    _shoal_pool: Any = None
    # The nodes of former owners, by the names of those that own their channels now;
    # None: slots have moved.
    _shoal_former: dict[str, set[str]] | None = None
    _shoal_epoch = -1

    def __init__(
        self,
        redis_cluster: Any,
        node: Any = None,
        host: Any = None,
        port: Any = None,
        **options: Any,
    ):
        self._shoal_is_bound = (node, host, port) != (None, None, None)
        super().__init__(redis_cluster, node, host, port, **options)  # type: ignore[call-arg]

    @property
    def connection_pool(self) -> Any:
        """That of the node which redis-py has chosen; its connections are views."""
        return self._shoal_pool

    @connection_pool.setter
    def connection_pool(self, pool: Any) -> None:
        if pool is not None and self.shoal_bypass is None:
            pool = self._shoal_views(pool, self.cluster)
        self._shoal_pool = pool

    @property
    def shoal_bypass(self) -> str | None:
        """Why it has connections of redis-py's; None if it shares the library's."""
        if self._shoal_is_bound:
            return "a node was named"
        lane: Lane = self.cluster._shoal_lane()
        return lane.bypass

    @property
    def shoal_gaps(self) -> tuple[Gap | Dropped, ...]:
        """Where messages may be missing: `shoal.Gap` and `shoal.Dropped`; those of
        channels and patterns, the latest last, before those of shards."""
        found = gaps_of(self.connection)
        for pubsub in tuple(self.node_pubsub_mapping.values()):
            found += gaps_of(pubsub.connection)
        return found

    def _shoal_places(self, target_node: Any) -> list[Any]:
        """The nodes whose PubSubs are to be read for this one: former owners first."""
        if target_node is None or self.shoal_bypass is not None:
            return [target_node]
        # Another thread may say meanwhile that slots have moved.
        former = self._shoal_former
        epoch = self.cluster.nodes_manager._epoch
        if former is None or self._shoal_epoch != epoch:
            self._shoal_epoch = epoch
            self._shoal_former = former = self._shoal_find_former()
        has = self.node_pubsub_mapping
        names = [name for name in former.get(target_node.name, ()) if name in has]
        return [*map(_Named, names), target_node]

    def _shoal_view(self, node: Any) -> Any:
        """What the PubSub of a node reads; None if it has none."""
        return getattr(self.node_pubsub_mapping.get(node.name), "connection", None)

    def _shoal_feeds(self, places: Iterable[Any]) -> list[Any]:
        """What is waited for at several nodes."""
        views = map(self._shoal_view, places)
        feeds = (view._feed for view in views if isinstance(view, BaseView))
        return [feed for feed in feeds if feed is not None]

    def _shoal_has_come(self, node: Any) -> bool:
        """Is there a reply to be read?  It may be one that a reader is not shown."""
        view = self._shoal_view(node)
        with contextlib.suppress(RedisError):  # redis-py is to see the failure
            return isinstance(view, BaseView) and (
                bool(view.subscriber.ready) or view.pump()
            )
        return False

    def _shoal_find_former(self) -> dict[str, set[str]]:
        former: dict[str, set[str]] = {}
        # redis-py before 8.0 does not know where it has subscribed.
        known: dict[Any, str] = getattr(self, "_shard_channel_to_node", {})
        for channel, name in list(known.items()):
            try:
                owner = self.cluster.get_node_from_key(channel)
            except SlotNotCoveredError:
                continue
            if owner.name != name:
                former.setdefault(owner.name, set()).add(name)
        return former

    def _shoal_stays(self, old_name: str | None, new_node: Any) -> tuple[Any, Any]:
        """For what moves a channel: it stays where it is, if a view has it."""
        if self.shoal_bypass is None and old_name in self.node_pubsub_mapping:
            return None, _Named(old_name)
        return old_name, new_node


class _Named(SimpleNamespace):
    """As much of a node as finds its PubSub."""

    def __init__(self, name: str):
        super().__init__(name=name)


class ClusterPubSub(ReadsView, SharesConnections, theirs.ClusterPubSub):
    """redis-py's; all of one client share a connection to each node."""

    _shoal_views = ClusterViews

    def _get_node_pubsub(self, node: Any) -> Any:
        mapping = self.node_pubsub_mapping
        if node.name in mapping or self.shoal_bypass is not None:
            return super()._get_node_pubsub(node)
        of_node = self.cluster.get_redis_connection(node)
        mapping[node.name] = PubSub(
            ClusterViews(of_node.connection_pool, self.cluster),
            encoder=self.encoder,
            push_handler_func=self.push_handler_func,
            event_dispatcher=of_node._event_dispatcher,
        )
        return mapping[node.name]

    def get_sharded_message(
        self,
        ignore_subscribe_messages: bool = False,
        timeout: float = 0.0,
        target_node: Any = None,
    ) -> Any:
        """As redis-py's."""
        read, hides = super().get_sharded_message, ignore_subscribe_messages
        until = math.inf if timeout is None else time.monotonic() + timeout
        while len(places := self._shoal_places(target_node)) > 1:
            for node in places:
                has_come = self._shoal_has_come(node)
                message = read(hides, 0.0, node)
                if has_come or message is not None:
                    return message
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._shoal_wait(places, min(left, _SLICE_S))
        rest: Any = None
        if until != math.inf:
            rest = max(0.0, until - time.monotonic())
        return read(hides, rest, target_node)

    def _shoal_wait(self, places: Iterable[Any], seconds: float) -> None:
        """For what comes to one of several nodes' PubSubs."""
        poller = select.poll()
        for feed in self._shoal_feeds(places):
            if (descriptor := feed.fileno()) >= 0:
                poller.register(descriptor, select.POLLIN)
        poller.poll(math.ceil(seconds * 1e3))

    def _migrate_shard_channel(
        self, channel: Any, handler: Any, old_name: Any, new_node: Any
    ) -> None:
        stays = self._shoal_stays(old_name, new_node)
        super()._migrate_shard_channel(channel, handler, *stays)

    def on_slots_changed(self) -> None:
        """Nothing is to be done: the library follows slots."""
        self._shoal_former = None
        if self.shoal_bypass is not None:
            super().on_slots_changed()
