# SPDX-License-Identifier: MIT
"""Reads at the replicas of a cluster."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.cluster import Cluster
from support.faces import Face

KEYS = [f"key{number}" for number in range(30)]


@pytest.fixture(scope="module")
def replicated() -> Iterator[Cluster]:
    cluster = Cluster(replicas=True)
    try:
        with shoal.Client(cluster.url, timeout=60) as client:
            for key in KEYS:
                client.execute("SET", key, key)
            for node in client.topology().primaries:
                wait = ("WAIT", 1, 0)
                client.execute(*wait, may_block=True, route=node.name)
        yield cluster
    finally:
        cluster.stop()


def reads(node: Any) -> int:
    return int(node.calls("get"))


def read_all(face: Face, cluster: Cluster, **options: Any) -> int:
    """Read all keys; how many of them at replicas?"""
    before = sum(map(reads, cluster.nodes[3:]))
    for key in KEYS:
        assert face.execute("GET", key, **options) == key.encode()
    return sum(map(reads, cluster.nodes[3:])) - before


def test_they_read(connect: Connect, replicated: Cluster) -> None:
    url = f"{replicated.url}/?read_from=replica_preferred"
    face = connect(url=url, timeout=60)
    face.until(lambda: read_all(face, replicated) == len(KEYS))
    before = face.stats().replica_reads
    assert before >= len(KEYS)
    assert read_all(face, replicated, replica=False) == 0
    assert face.execute("MGET", *KEYS, split=True) == [key.encode() for key in KEYS]
    many = face.execute_many([("GET", key) for key in KEYS])
    assert many == [key.encode() for key in KEYS]
    assert face.stats().replica_reads >= before + 2 * len(KEYS)


def test_a_call_chooses(connect: Connect, replicated: Cluster) -> None:
    face = connect(url=replicated.url, timeout=60)
    assert read_all(face, replicated) == 0
    face.until(lambda: read_all(face, replicated, replica=True) == len(KEYS))
    assert read_all(face, replicated) == 0


def test_servers_that_tell_no_zone(connect: Connect, replicated: Cluster) -> None:
    face = connect(url=replicated.url, timeout=60, read_from="zone", zone="here")
    face.until(lambda: read_all(face, replicated) == len(KEYS))
    events = [event for event in face.events() if event.kind == "zone_unknown"]
    assert len(events) == 1
    assert "does not say in which zone it is" in events[0].detail
    with pytest.raises(shoal.DataError, match="shoal_options_set_zone"):
        connect(url=replicated.url, read_from="zone").execute("GET", "k")


def test_the_primary_is_always_a_choice(replicated: Cluster) -> None:
    with (
        shoal.Client(replicated.url, read_from="replica") as client,
        pytest.raises(shoal.DataError, match="REPLICA_PREFERRED"),
    ):
        client.execute("GET", KEYS[0])


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"])
@pytest.mark.parametrize("way", ["read_from_replicas", "load_balancing_strategy"])
def test_the_dropin_reads(replicated: Cluster, is_async: bool, way: str) -> None:
    pytest.importorskip("redis")
    from redis.cluster import LoadBalancingStrategy
    from support.dropin import ClusterScene, until

    value: Any = True
    if way == "load_balancing_strategy":
        value = LoadBalancingStrategy.RANDOM_REPLICA
    scene = ClusterScene(replicated, is_async)
    try:
        r = scene.client(**{way: value})
        assert r.shoal_bypass is None

        def count() -> int:
            return int(scene.do(lambda: r.shoal_client.stats().replica_reads))

        def read_some() -> bool:
            before = count()
            for key in KEYS:
                assert scene.do(functools.partial(r.get, key)) == key.encode()
            return count() == before + len(KEYS)

        until(read_some)
        pipe = r.pipeline()
        for key in KEYS:
            pipe.get(key)
        before = count()
        assert scene.do(pipe.execute) == [key.encode() for key in KEYS]
        assert count() == before + len(KEYS)
        assert scene.do(lambda: r.set("key0", "key0")) is True
    finally:
        scene.end()
