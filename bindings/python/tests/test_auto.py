# SPDX-License-Identifier: MIT
"""A client that finds out whether it has one server or a cluster."""

from typing import Any

import pytest
import shoal
from conftest import Connect
from support.cluster import Cluster
from support.sentinels import Watched


def test_one_server(connect: Connect) -> None:
    face = connect(topology="auto")
    assert face.execute("MSET", "a", "1", "b", "2") == b"OK"  # of two slots
    assert face._do("execute_many", [("INCR", "n")] * 5) == [1, 2, 3, 4, 5]
    assert face._do("topology").kind == "standalone"


def test_a_cluster(connect: Connect, cluster: Cluster) -> None:
    url = cluster.seed_url + "?topology=auto"
    face = connect(url=url, timeout=60)
    with pytest.raises(shoal.ClusterCrossSlotError, match="cluster") as caught:
        face.execute("MSET", "a", "1", "b", "2")  # the first command
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    for number in range(50):
        assert face.execute("SET", f"key{number}", number) == b"OK"
    topology: Any = face._do("topology")
    assert topology.kind == "cluster"
    assert len(topology.primaries) == 3


def test_a_sentinel(connect: Connect, watched: Watched) -> None:
    assert watched.sentinel
    face = connect(url=watched.sentinel.url, topology="auto", timeout=0.5)
    with pytest.raises(shoal.TimeoutError, match=r"redis\+sentinel://") as caught:
        face.execute("PING")
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    assert face._do("topology").kind == "auto"


def test_info_says_it_too(connect: Connect, cluster: Cluster) -> None:
    """Without HELLO."""
    one = connect(topology="auto", protocol=2)
    several = connect(url=cluster.seed_url, topology="auto", protocol=2, timeout=60)
    assert one.execute("PING") == several.execute("PING") == b"PONG"
    assert one._do("topology").kind == "standalone"
    assert several._do("topology").kind == "cluster"


def test_the_words() -> None:
    for options in ({"topology": "cluster"}, {}):
        query = "" if options else "?topology=cluster"
        with shoal.Client(f"redis://h{query}", **options) as client:  # type: ignore[call-overload]
            assert "redis+cluster://h" in repr(client)
    with pytest.raises(ValueError, match="topology must be one of"):
        shoal.Client("redis://h", topology="sentinel")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="topology must be a str"):
        shoal.Client("redis://h", topology=True)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="topology"):
        shoal.Client("redis+cluster://h?topology=auto")
