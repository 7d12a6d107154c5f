# SPDX-License-Identifier: MIT
"""A cluster of three primaries."""

from typing import Any

import pytest
import shoal
from conftest import Connect
from support.cluster import Cluster
from support.faces import Face


@pytest.fixture
def face(connect: Connect, cluster: Cluster) -> Face:
    return connect(url=cluster.url, timeout=60)


def test_commands_find_their_nodes(face: Face, cluster: Cluster) -> None:
    for number in range(200):
        assert face.execute("SET", f"key{number}", number) == b"OK"
    values = face._do(
        "execute_many", [("GET", f"key{number}") for number in range(200)]
    )
    assert values == [b"%d" % number for number in range(200)]
    assert all(node.ask("DBSIZE") > 30 for node in cluster.nodes)


def test_replies_of_every_type_come_from_any_node(face: Face) -> None:
    for number in range(20):
        key = f"h{number}"
        face.execute("HSET", key, "a", "1", "b", "2")
        assert face.execute("HGETALL", key) == {b"a": b"1", b"b": b"2"}
        assert face.execute("HGET", key, "none") is None


def unit(*commands: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [("MULTI",), *commands, ("EXEC",)]


def test_a_unit_has_one_slot(face: Face) -> None:
    commands = unit(("SET", "{t}1", "1"), ("INCR", "{t}1"))
    replies = face._do("execute_many", commands, contiguous=True)
    assert replies[-1] == [b"OK", 2]
    commands = unit(("SET", "a", "1"), ("SET", "b", "1"))
    with pytest.raises(shoal.ClusterCrossSlotError, match="stay together"):
        face._do("execute_many", commands, contiguous=True)


def test_keys_of_several_slots(face: Face) -> None:
    with pytest.raises(shoal.ClusterCrossSlotError, match="MSET.*tag") as caught:
        face.execute("MSET", "a", "1", "b", "2")
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    assert face.execute("MSET", "{a}1", "1", "{a}2", "2") == b"OK"


def test_many_keys_are_split(face: Face) -> None:
    keys = [f"key{number}" for number in range(30)]
    pairs = [word for key in keys for word in (key, key.upper())]
    assert face.execute("MSET", *pairs, split=True) == b"OK"
    values = [key.upper().encode() for key in keys]
    assert face.execute("MGET", *reversed(keys), split=True) == values[::-1]
    replies = face.execute_many(
        [("EXISTS", *keys, "no"), ("MGET", "no", "key3"), ("GET", "key4")], split=True
    )
    assert replies == [30, [None, b"KEY3"], b"KEY4"]
    assert face.execute("DEL", *keys, split=True) == 30
    with pytest.raises(shoal.ClusterCrossSlotError, match="let the command be split"):
        face.execute("MGET", *keys)
    with pytest.raises(shoal.ClusterCrossSlotError, match="MSETNX"):
        face.execute("MSETNX", *pairs, split=True)
    if face.is_async:
        assert face._do("submit", "TOUCH", *keys, split=True) == 0


def test_what_a_cluster_does_not_take_is_refused(face: Face) -> None:
    with pytest.raises(shoal.RefusedError, match="each node"):
        face.execute("SCAN", 0)


def test_commands_without_keys_go_to_all(face: Face) -> None:
    assert face.execute("FLUSHALL") == b"OK"
    for i in range(20):
        face.execute("SET", f"key{i}", i)
    assert face.execute("DBSIZE") == 20
    assert len(face.execute("KEYS", "key1*")) == 11


def test_a_route_names_the_nodes(face: Face, cluster: Cluster) -> None:
    names = {f"127.0.0.1:{node.port}".encode() for node in cluster.nodes}
    sizes = face.execute("DBSIZE", route="primaries")
    assert sizes.keys() == names
    assert face.execute("PING", route="nodes") == dict.fromkeys(names, b"PONG")
    assert face.execute("PING", route="any") == b"PONG"
    ids = {node.ask("CLUSTER", "MYID") for node in cluster.nodes}
    topology = face._do("topology")
    owner = topology.owner(5)
    assert face.execute("CLUSTER", "MYID", route=5).decode() == owner.id
    for node in topology.nodes:
        for route in (node, node.name, node.id):
            assert face.execute("CLUSTER", "MYID", route=route).decode() == node.id
    assert {node.id.encode() for node in topology.nodes} == ids
    many = face.execute_many([("CLUSTER", "MYID"), ("PING", "x")], route=owner)
    assert many == [owner.id.encode(), b"x"]
    if face.is_async:
        future = face._do("submit", "CLUSTER", "MYID", route=owner)
        assert future == owner.id.encode()


def test_a_node_of_a_route_decides_alone(face: Face, cluster: Cluster) -> None:
    face.execute("SET", "here", "1")
    topology = face._do("topology")
    slot = cluster.nodes[0].ask("CLUSTER", "KEYSLOT", "here")
    other = next(n for n in topology.nodes if n != topology.owner(slot))
    with pytest.raises(shoal.ResponseError, match="MOVED"):
        face.execute("GET", "here", route=other)
    with pytest.raises(
        shoal.NoNodeError, match="127.0.0.1:1: the cluster has no"
    ) as caught:
        face.execute("PING", route="127.0.0.1:1")
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED


@pytest.mark.parametrize("route", [-1, 16384, "", "a\0b"])
def test_a_route_that_there_is_not(face: Face, route: Any) -> None:
    with pytest.raises(ValueError, match="slot|node"):
        face.execute("PING", route=route)


@pytest.mark.parametrize("route", [True, 1.5, b"primaries", object()])
def test_a_route_of_another_type(face: Face, route: Any) -> None:
    with pytest.raises(TypeError, match="a route is"):
        face.execute("PING", route=route)


def test_commands_that_block_follow_their_slot(face: Face, cluster: Cluster) -> None:
    assert face.execute("RPUSH", "list", "v") == 1
    assert face.execute("BLPOP", "list", 1) == [b"list", b"v"]
    assert face.execute("BLPOP", "list", 0.1) is None
    assert face.execute("RPUSH", "list", "w") == 1
    cluster.move("list")
    assert face.execute("BLPOP", "list", 1) == [b"list", b"w"]


def test_slots_move(face: Face, cluster: Cluster) -> None:
    face.execute("SET", "moving", "1")
    for _ in range(3):
        cluster.move("moving")
        assert face.execute("INCR", "moving") >= 2
    assert face.execute("GET", "moving") == b"4"


def test_subscriptions_follow_their_slots(face: Face, cluster: Cluster) -> None:
    with face.subscribe("news", shards=["moved", "stays"]) as subscription:
        face.execute("PUBLISH", "news", "1")
        assert subscription.get() == shoal.Message(b"news", b"1")
        for channel in ("moved", "stays"):
            assert face.execute("SPUBLISH", channel, "2") == 1
            assert subscription.get() == shoal.Message(channel.encode(), b"2")
        cluster.move("moved")
        gap = subscription.get()
        assert isinstance(gap, shoal.Gap)
        assert (gap.reason, gap.name, gap.kind) == ("moved", b"moved", "shard")
        for channel in ("moved", "stays"):
            assert face.execute("SPUBLISH", channel, "3") == 1
            assert subscription.get() == shoal.Message(channel.encode(), b"3")


def test_a_transaction_with_watch(face: Face, cluster: Cluster) -> None:
    calls = []
    face.execute("SET", "n", 1)
    slot = cluster.nodes[0].ask("CLUSTER", "KEYSLOT", "n")
    counts = [node.ask("CLUSTER", "COUNTKEYSINSLOT", slot) for node in cluster.nodes]
    owner = cluster.nodes[counts.index(1)]

    def increment(attempt: Any) -> Any:
        calls.append(1)
        number = int((yield "GET", "n") or 0)
        if len(calls) == 1:
            owner.ask("SET", "n", 10)  # WATCH sees that
        attempt.add("SET", "n", number + 1).add("GET", "n")

    assert face.transaction(increment, "n") == [b"OK", b"11"]
    assert len(calls) == 2
    cluster.move("n")
    assert face.execute("GET", "n") == b"11"  # the map follows
    assert face.transaction(increment, "n") == [b"OK", b"12"]
    face.until(lambda: face.stats().leases_now == 0)


def test_a_monitor_hears_one_node(face: Face, cluster: Cluster) -> None:
    with face.monitor(decode=True) as monitor:
        for number, node in enumerate(cluster.nodes):
            node.ask("ECHO", f"seen{number}")
        while '"seen' not in monitor.next_line():
            pass


def test_how_it_is_shown(face: Face, cluster: Cluster) -> None:
    assert cluster.url in repr(face.client)


def test_the_topology(face: Face, cluster: Cluster) -> None:
    face.wait_ready()
    face.execute("DBSIZE")  # each primary has answered
    topology: shoal.Topology = face._do("topology")
    assert topology.kind == "cluster"
    assert len(topology.nodes) == len(topology.primaries) == 3
    assert topology.replicas == ()
    ids = {node.ask("CLUSTER", "MYID").decode() for node in cluster.nodes}
    assert {node.id for node in topology.nodes} == ids
    assert {node.port for node in topology.nodes} == {n.port for n in cluster.nodes}
    assert sum(len(slots) for node in topology.nodes for slots in node.slots) == 16384
    for node in topology.nodes:
        assert (node.host, node.role, node.state) == ("127.0.0.1", "primary", "ready")
        assert node.is_listed and not node.is_down and node.primary is None
        assert face._do("connection", node.connection).server == node.name
    slot = cluster.nodes[0].ask("CLUSTER", "KEYSLOT", "key")
    owner = topology.owner(slot)
    assert owner and cluster.url and owner in topology.primaries
    assert topology.owner(16384) is None


def test_events_of_nodes(face: Face) -> None:
    """On a busy machine a node may be silent for a while, but it was up before; or it
    may be dialed in vain at first."""
    kinds: list[str] = []

    def is_up() -> bool:
        kinds.extend(event.kind for event in face.events())
        return "node_up" in kinds

    face.execute("PING")
    face.until(is_up)
    face.until(lambda: face.stats().views_asked > 0)
    if face.stats().attempts_failed == 0:
        assert "node_down" not in kinds[: kinds.index("node_up")]


def test_connections_have_a_bound(connect: Connect, cluster: Cluster) -> None:
    """One is left beside the three primaries."""
    face = connect(url=f"{cluster.url}?connections_max=4", timeout=60)
    face.execute("DEL", "{a}list", "{a}other")
    waiting = [
        face.begin("execute", "BLPOP", key, 0) for key in ("{a}list", "{a}other")
    ]
    face.until(lambda: face.stats().leases_waiting_now == 1)
    face.execute("RPUSH", "{a}list", 1)
    face.execute("RPUSH", "{a}other", 2)
    assert [call() for call in waiting] == [[b"{a}list", b"1"], [b"{a}other", b"2"]]


@pytest.mark.parametrize("bound", [0, 4097, -1])
def test_bounds_that_are_none(bound: int) -> None:
    with pytest.raises(ValueError, match=r"connections_max|range"):
        shoal.Client("redis+cluster://127.0.0.1", connections_max=bound)


def test_addresses_are_mapped(connect: Connect, cluster: Cluster) -> None:
    nodes: list[shoal.Topology] = []
    for mapped in (
        {"127.0.0.1": "localhost"},
        {("127.0.0.1", node.port): ("localhost", node.port) for node in cluster.nodes},
    ):
        face = connect(url=cluster.url, timeout=60, address_map=mapped)
        face.execute("SET", "key", 1)
        nodes.append(face._do("topology"))
    for topology in nodes:
        assert {node.host for node in topology.primaries} == {"localhost"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([("a", "b")], TypeError),
        ({1: "b"}, TypeError),
        ({"a": ("b", "c")}, TypeError),
        ({("a", 1): ("b", 65536)}, ValueError),
        ({"": "b"}, ValueError),
    ],
)
def test_maps_that_are_none(given: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="address_map"):
        shoal.Client("redis+cluster://127.0.0.1", address_map=given)  # type: ignore[call-overload]
