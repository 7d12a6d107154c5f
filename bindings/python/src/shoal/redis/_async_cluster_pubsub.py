# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""redis-py's asyncio ClusterPubSub over connections that all share
(_cluster_pubsub.py).  redis-py before 8.0 has none."""

import asyncio
import math
import time
from collections.abc import Iterable
from typing import Any

import redis.asyncio.cluster as theirs

from ._cluster_pubsub import AsyncClusterViews, SharesConnections
from ._pubsub import AsyncPubSub, AsyncReadsView
from ._view import PROBE_S


class AsyncClusterPubSub(AsyncReadsView, SharesConnections, theirs.ClusterPubSub):
    """redis-py's; all of one client and event loop share a connection to each node."""

    _shoal_views = AsyncClusterViews

    def _get_node_pubsub(self, node: Any) -> Any:
        mapping = self.node_pubsub_mapping
        if node.name in mapping or self.shoal_bypass is not None:
            return super()._get_node_pubsub(node)
        pool = theirs._ClusterNodePoolAdapter(node)
        mapping[node.name] = AsyncPubSub(
            AsyncClusterViews(pool, self.cluster),
            encoder=self.encoder,
            push_handler_func=self.push_handler_func,
            event_dispatcher=self._event_dispatcher,
        )
        return mapping[node.name]

    async def get_sharded_message(
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
                message = await read(hides, 0.0, node)
                if has_come or message is not None:
                    return message
            left = until - time.monotonic()
            if left <= 0:
                return None
            await self._shoal_wait(places, min(left, PROBE_S))
        rest: Any = None
        if until != math.inf:
            rest = max(0.0, until - time.monotonic())
        return await read(hides, rest, target_node)

    async def _shoal_wait(self, places: Iterable[Any], seconds: float) -> None:
        """For what comes to one of several nodes' PubSubs."""
        waits = [asyncio.ensure_future(asyncio.sleep(seconds))]
        waits += [
            asyncio.ensure_future(feed.hub.wait(feed, math.inf))
            for feed in self._shoal_feeds(places)
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            # A failure is told by the read that follows.
            await asyncio.gather(*waits, return_exceptions=True)

    async def _migrate_shard_channel(
        self, channel: Any, handler: Any, old_name: Any, new_node: Any
    ) -> None:
        stays = self._shoal_stays(old_name, new_node)
        await super()._migrate_shard_channel(channel, handler, *stays)

    async def on_slots_changed(self) -> None:
        """Nothing is to be done: the library follows slots."""
        self._shoal_former = None
        if self.shoal_bypass is not None:
            await super().on_slots_changed()
