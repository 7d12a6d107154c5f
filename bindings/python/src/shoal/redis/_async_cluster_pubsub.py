# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""redis-py's asyncio ClusterPubSub over connections that all share
(_cluster_pubsub.py).  redis-py before 8.0 has none."""

from typing import Any

import redis.asyncio.cluster as theirs

from ._cluster_pubsub import AsyncClusterViews, SharesConnections
from ._pubsub import AsyncPubSub, AsyncReadsView


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
        for node in self._shoal_places(target_node):
            message = await super().get_sharded_message(
                ignore_subscribe_messages, timeout, node
            )
            if message is not None:
                return message
        return None

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
