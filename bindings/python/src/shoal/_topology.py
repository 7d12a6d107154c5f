# SPDX-License-Identifier: MIT
"""A snapshot of the servers that a client knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._native import ffi, lib
from ._outcomes import error_of

if TYPE_CHECKING:
    from ._core import Core

_KINDS = {
    lib.SHOAL_TOPOLOGY_STANDALONE: "standalone",
    lib.SHOAL_TOPOLOGY_CLUSTER: "cluster",
    lib.SHOAL_TOPOLOGY_SENTINEL: "sentinel",
    lib.SHOAL_TOPOLOGY_AUTO: "auto",
}
_ROLES = {
    lib.SHOAL_NODE_UNKNOWN: "unknown",
    lib.SHOAL_NODE_PRIMARY: "primary",
    lib.SHOAL_NODE_REPLICA: "replica",
}


@dataclass(frozen=True)
class Node:
    """A server at one moment."""

    name: str  #: "host:port", "[::1]:port", or the path of a Unix socket
    host: str  #: the host of the name, or the path
    port: int  #: 0 for a Unix socket
    id: str  #: the node's id in its cluster; "": not known, or no cluster
    role: str  #: primary, replica or unknown
    primary: str | None  #: of a replica: the name of its primary
    #: of the client's connection to it, as `ConnectionInfo.state`. Idle or closed is
    #: normal: the client connects to nodes that it needs
    state: str
    connection: int  #: number of that connection
    is_listed: bool  #: the view of the cluster that is believed has it
    is_down: bool  #: it cannot be reached, or leaves commands unanswered
    slots: tuple[range, ...]  #: that it owns, in ascending order


@dataclass(frozen=True)
class Topology:
    """The servers that a client knows, at one moment; `client.topology()`."""

    kind: str  #: standalone, cluster or sentinel; auto: it is not known yet
    nodes: tuple[Node, ...]  #: of one server: the primary first, then its replicas

    def owner(self, slot: int) -> Node | None:
        """The node that owns a slot of the cluster, 0 .. 16383; None: nobody, as far as
        the client knows."""
        for node in self.nodes:
            if any(slot in slots for slots in node.slots):
                return node
        return None

    @property
    def primaries(self) -> tuple[Node, ...]:
        """The nodes whose role is primary."""
        return tuple(node for node in self.nodes if node.role == "primary")

    @property
    def replicas(self) -> tuple[Node, ...]:
        """The nodes whose role is replica."""
        return tuple(node for node in self.nodes if node.role == "replica")


def _text(bytes_: Any) -> str:
    return str(ffi.string(bytes_).decode("utf-8", "replace"))


def _node(info: Any) -> Node:
    ranges = (info.ranges[i] for i in range(info.ranges_count))
    return Node(
        name=_text(info.name),
        host=_text(info.host),
        port=info.port,
        id=_text(info.id),
        role=_ROLES.get(info.role, "unknown"),
        primary=_text(info.primary.name) if info.primary else None,
        state=_text(lib.shoal_connection_state_name(info.state)),
        connection=info.connection,
        is_listed=info.is_listed,
        is_down=info.is_down,
        slots=tuple(range(of.first, of.last + 1) for of in ranges),
    )


def take(core: Core) -> Topology:
    """What the client knows, now."""
    holder = ffi.new("shoal_topology_snapshot_t **")
    status = lib.shoalpy_core_topology(core.handle, holder)
    if status < 0:
        raise error_of(status)
    native = holder[0]
    try:
        count = lib.shoal_topology_nodes_count(native)
        return Topology(
            _KINDS.get(lib.shoal_topology_kind(native), "unknown"),
            tuple(_node(lib.shoal_topology_node(native, i)) for i in range(count)),
        )
    finally:
        lib.shoal_topology_release(native)
