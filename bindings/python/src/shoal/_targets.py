# SPDX-License-Identifier: MIT
"""Where the commands of a call go, if not where each of them says."""

from __future__ import annotations

import functools
from typing import Any

from ._native import ffi, lib
from ._topology import Node

#: "any", "primaries", "nodes"; the number of a slot; or a node, its name or its id.
RouteLike = str | int | Node

_SLOTS = 16384
_WORDS: dict[object, int] = {
    "any": lib.SHOAL_ROUTE_ANY,
    "primaries": lib.SHOAL_ROUTE_PRIMARIES,
    "nodes": lib.SHOAL_ROUTE_NODES,
}
NO_TARGET = ffi.NULL


class Route:
    """Nodes of a cluster, as C has them. It lasts, and any number of calls use it."""

    __slots__ = ("_node", "target")

    core = None  #: that of the client which uses it

    def __init__(self, route: str | int) -> None:
        self.target: Any = ffi.new("shoalpy_target_t *")
        self._node: Any = None
        if isinstance(route, int):
            self.target.route = lib.SHOAL_ROUTE_SLOT
            self.target.route_slot = route
        elif route in _WORDS:
            self.target.route = _WORDS[route]
        else:
            self._node = ffi.new("char[]", route.encode())
            self.target.route = lib.SHOAL_ROUTE_NODE
            self.target.route_node = self._node


_made = functools.lru_cache(maxsize=4096)(Route)


def route_of(route: RouteLike | None) -> Route | None:
    """The nodes that a call's `route` stands for; None: there is none. ValueError and
    TypeError: it stands for nothing."""
    if route is None:
        return None
    if isinstance(route, Node):
        route = route.name
    if type(route) is int:
        if not 0 <= route < _SLOTS:
            raise ValueError(f"a slot is a number from 0 to {_SLOTS - 1}, not {route}")
    elif not isinstance(route, str):
        kind = type(route).__name__
        raise TypeError(f"a route is a word, a slot or a node, not a {kind}")
    elif not route or "\0" in route:
        raise ValueError("a route names a node")
    return _made(route)
