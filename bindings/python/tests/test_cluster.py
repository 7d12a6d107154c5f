# SPDX-License-Identifier: MIT
"""A cluster of three primaries."""

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


def test_what_a_cluster_does_not_take_is_refused(face: Face) -> None:
    with pytest.raises(shoal.RefusedError, match="every node"):
        face.execute("DBSIZE")
    with pytest.raises(shoal.RefusedError, match="blocking"):
        face.execute("BLPOP", "list", 1)


def test_slots_move(face: Face, cluster: Cluster) -> None:
    face.execute("SET", "moving", "1")
    for _ in range(3):
        cluster.move("moving")
        assert face.execute("INCR", "moving") >= 2
    assert face.execute("GET", "moving") == b"4"


def test_how_it_is_shown(face: Face, cluster: Cluster) -> None:
    assert cluster.url in repr(face.client)
