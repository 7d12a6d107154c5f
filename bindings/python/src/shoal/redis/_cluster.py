# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""What the two faces of RedisCluster have in common: the client that carries their
commands, and which commands those are.

redis-py asks its table of commands, and sometimes the server, for the keys of a
command, and refuses what has none and is not for certain nodes.  The core finds keys by
itself; what is asked here, once for each name, is whether redis-py would look for any.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import redis.exceptions as theirs
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.crc import key_slot

from shoal import exceptions as ours
from shoal._requests import blocks
from shoal._topology import Node

from ._connection import AsyncCoreConnection, CoreConnection
from ._errors import translate
from ._fences import ClusterFences
from ._lane import (
    AsyncLane,
    BlockingLane,
    Lane,
    abandon,
    adopt,
    close_core,
    taken_from,
)
from ._routes import Command, blocks_for_ever, plain_names, spelled, wire_form
from ._settings import Family, Nodes, check_nodes, cluster_options

# For the first connection; and if there was none in that time.
_PATIENCE_S: Final = 0.1
_LEAST_S: Final = 0.001

# They share a connection, although the nodes' table has no keys for them: a channel is
# one, or any node will do.
_MESSAGES: Final = frozenset({"PUBLISH", "SPUBLISH"})
# Any node would do, but the owner of the name's slot counts subscribers that are there.
_TO_CHANNEL: Final = frozenset({"PUBLISH", b"PUBLISH"})

# With these options a call is no plain one.
SPECIAL: Final = frozenset({"target_nodes", NEVER_DECODE, EMPTY_RESPONSE})
# For redis-py itself, not for callbacks.
_TAKEN_OUT: Final = SPECIAL | {"keys"}


class ClusterLane(Lane):
    """A lane whose core is a client of a cluster.

    keyed      names of commands that go to the nodes of their keys, and need nothing
               else; in upper case
    callbacks  what redis-py's client of a node makes of replies
    nodes      how redis-py reaches them
    reached    the core has been connected; before that redis-py says what is wrong
    """

    _fences_kind = ClusterFences

    def __init__(self, nodes: Nodes):
        super().__init__(nodes)  # type: ignore[call-arg]
        self.keyed: set[str] = set()
        self.callbacks = nodes.callbacks
        self.nodes = nodes
        self.reached = False
        self._patience_s = _PATIENCE_S
        self._shape: list[Any] | None = None

    def _waits_s(self) -> float:
        """How long to wait for the first connection: a moment, and only once."""
        waits_s, self._patience_s = self._patience_s, _LEAST_S
        return waits_s

    @contextlib.contextmanager
    def options_of(self, form: Command) -> Iterator[dict[str, Any]]:
        """Of the core's execute(): a command that blocks gets a connection of its own,
        and one that blocks for ever as much time as redis-py's socket gives it; PUBLISH
        goes where redis-py sends it."""
        if form[0].upper() in _TO_CHANNEL:
            yield {"route": key_slot(self.template.encoder.encode(form[1]))}
            return
        if not blocks(form):
            yield {}
            return
        with self.take_place():
            for_ever = blocks_for_ever(form)
            yield {"timeout": self.template.socket_timeout} if for_ever else {}

    def news(self, manager: Any) -> list[Node]:
        """The nodes as the core knows them, primaries first, if that is not what it was
        before, or what redis-py's NodesManager has."""
        if not self.reached or self.core is None:
            return []
        topology = self.core.topology()
        primaries = [node for node in topology.primaries if node.slots]
        names = {node.name for node in primaries}
        replicas = [node for node in topology.replicas if node.primary in names]
        nodes = [*primaries, *replicas]
        shape = [(node.name, node.role, node.primary, node.slots) for node in nodes]
        before, self._shape = self._shape, shape
        if before == shape or (before is None and _agrees(manager, nodes)):
            return []
        return nodes

    def _core_options(self, pool: Any, family: Family) -> dict[str, Any]:
        check_nodes(pool, family)
        self.template = self._make_template(pool)
        return cluster_options(pool, self.template, family)


class BlockingClusterLane(ClusterLane, BlockingLane):
    """That of a `redis.cluster.NodesManager`.  Threads: any."""

    def reach(self) -> bool:
        """Is the core connected?  The first time a moment is waited for that."""
        if not self.reached and self.core is not None:
            with contextlib.suppress(ours.RedisError):
                self.core.wait_ready(self._waits_s())
                self.reached = True
        return self.reached


class AsyncClusterLane(ClusterLane, AsyncLane):
    """That of a `redis.asyncio.RedisCluster`.  Threads: an event loop's."""

    async def reach(self) -> bool:
        """The same for asyncio."""
        if not self.reached and self.core is not None:
            with contextlib.suppress(ours.RedisError):
                await self.core.wait_ready(self._waits_s())
                self.reached = True
        return self.reached


class NodeConnection(CoreConnection):
    """Where redis-py's code for transactions expects a connection to a node."""

    def __init__(self, lane: BlockingClusterLane, repeats_unknown: bool):
        super().__init__(lane.nodes, lane, repeats_unknown)
        self._of_cluster = lane

    def _lane(self) -> BlockingLane:
        return self._of_cluster


class AsyncNodeConnection(AsyncCoreConnection):
    """The same for asyncio."""

    def __init__(self, lane: AsyncClusterLane, repeats_unknown: bool):
        super().__init__(lane.nodes, lane, repeats_unknown)
        self._of_cluster = lane

    def _lane(self) -> AsyncLane:
        return self._of_cluster


def blocking_cluster_lane(manager: Any, nodes: Nodes) -> BlockingClusterLane:
    """The lane that was made, or that of another thread that was quicker."""
    made = BlockingClusterLane(nodes)
    lane: BlockingClusterLane = adopt(manager, made, close_core, close=_close)
    return lane


def async_cluster_lane(client: Any, nodes: Nodes) -> AsyncClusterLane:
    """The lane that was made; it belongs to the client itself."""
    lane: AsyncClusterLane = adopt(client, AsyncClusterLane(nodes), abandon)
    return lane


def read_from(client: Any) -> str:
    """The core's option: whatever redis-py's strategy, the core balances by load."""
    reads = client.read_from_replicas or client.load_balancing_strategy
    return "replica_preferred" if reads else "primary"


def node_lists(nodes: list[Node], made: Mapping[str, Any]) -> dict[int, list[Any]]:
    """For each slot its nodes, the primary first, as redis-py keeps them.

    `made` has redis-py's nodes by the core's names.
    """
    slots: dict[int, list[Any]] = {}
    for primary in nodes:
        if primary.role != "primary":
            continue
        replicas = [made[node.name] for node in nodes if node.primary == primary.name]
        shared = [made[primary.name], *replicas]
        for of_range in primary.slots:
            slots.update(dict.fromkeys(of_range, shared))
    return slots


def _agrees(manager: Any, nodes: list[Node]) -> bool:
    """Does redis-py's view say the same of each node, and of the ends of its slots?"""
    known = {(node.name, node.server_type) for node in manager.nodes_cache.values()}
    if known != {(f"{node.host}:{node.port}", node.role) for node in nodes}:
        return False
    return all(
        manager.slots_cache.get(slot, [None])[0]
        == manager.nodes_cache[f"{node.host}:{node.port}"]
        for node in nodes
        for of_range in node.slots
        for slot in (of_range[0], of_range[-1])
    )


def following(their: Callable[..., Any]) -> Callable[..., Any]:
    """redis-py's method, which first takes over what the core knows of the nodes."""

    @functools.wraps(their)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        self._shoal_follow()
        return their(self, *args, **options)

    # redis-py has none for some.
    method.__doc__ = their.__doc__ or "As redis-py's, of the nodes that the core knows."
    return method


def _close(manager: Any) -> None:
    """The close() of a NodesManager with a lane."""
    core = taken_from(manager)
    if core is not None:
        core.close()
    type(manager).close(manager)


def read(args: Command, reply: Any, options: Mapping[str, Any], *tables: Any) -> Any:
    """What redis-py's callbacks of these tables make of a reply, one after another."""
    wanted = {k: v for k, v in options.items() if k not in _TAKEN_OUT}
    for callbacks in tables:
        callback = callbacks.get(args[0])
        if callback is not None:
            reply = callback(reply, **wanted)
    return reply


def key_form(client: Any, lane: ClusterLane, args: Command) -> Command | None:
    """A command as it goes on the wire, if it goes to the node of its keys and may
    share a connection, or blocks; else None.  Learns the names that need no further
    look.

    `client` is redis-py's, whose users may have added to its tables.
    """
    name = args[0]
    if not isinstance(name, str) or lane.core is None:
        return None
    form = wire_form(args) or _blocking_form(args)
    if form is None or len(form) < 2:
        return None
    if name not in lane.keyed:
        of_container = _is_keyed(client, name, form)
        if of_container is None:
            return None
        if not of_container and name in plain_names and lane.reached:
            lane.keyed.add(name)
    return form


def _blocking_form(args: Command) -> Command | None:
    form = spelled(args)
    return form if form is not None and blocks(form) else None


def _is_keyed(client: Any, name: str, form: Command) -> bool | None:
    """None: the command has no keys, or redis-py has a rule for it.  True: its
    subcommand says that it has keys; False: its name does."""
    if name.upper() in _MESSAGES:
        return name.upper() in _TO_CHANNEL
    flagged = {name.upper(), " ".join(str(word) for word in form[:2]).upper()}
    if flagged & client.command_flags.keys():
        return None
    parser = client.commands_parser
    about = parser.commands.get(form[0].lower())
    if not about:
        return None
    wanted = f"{form[0]}|{form[1]}".lower()
    for subcommand in about.get("subcommands") or ():
        below = parser.parse_subcommand(subcommand)
        if below["name"] == wanted:
            return True if _has_keys(below) else None
    return False if _has_keys(about) else None


def _has_keys(about: dict[str, Any]) -> bool:
    flags = about["flags"]
    return "pubsub" not in flags and (
        about["first_key_pos"] > 0 or "movablekeys" in flags
    )


def outcome(
    lane: ClusterLane,
    args: Command,
    reply: Any,
    options: Mapping[str, Any],
    decode: Callable[[Any], Any] | None,
    *tables: Any,
) -> Any:
    """A command's value in a batch; failures are values, too."""
    if isinstance(reply, Exception):
        failure = translate_cluster(reply, args[0])
        is_empty = isinstance(failure, theirs.ResponseError)
        return options.get(EMPTY_RESPONSE, failure) if is_empty else failure
    if decode is not None and NEVER_DECODE not in options:
        reply = decode(reply)
    return read(args, reply, options, lane.callbacks, *tables)


def translate_cluster(error: Exception, name: object) -> Exception:
    """redis-py's exception for a failure of a command in a cluster."""
    if not isinstance(error, ours.ClusterCrossSlotError):
        return translate(error)
    refused = theirs.RedisClusterException(
        f"{name} - all keys must map to the same key slot"
    )
    refused.fate = error.fate  # type: ignore[attr-defined]
    refused.__cause__ = error
    return refused
