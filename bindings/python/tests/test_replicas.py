# SPDX-License-Identifier: MIT
"""Reads that replicas execute."""

from typing import Any

import pytest
import shoal
from conftest import Connect
from support.faces import Face
from support.sentinels import Watched


def reading(connect: Connect, watched: Watched, read_from: str, **options: Any) -> Face:
    """A client whose replica is there, and has what the primary has."""
    face = connect(
        url=watched.servers[0].url, read_from=read_from, timeout=60, **options
    )
    face.execute("SET", "k", "v")
    assert face.execute("WAIT", 1, 0, may_block=True) == 1
    face.until(lambda: face.execute("GET", "k", replica=True) and reads(face) > 0)
    return face


def reads(face: Face) -> int:
    return face.stats().replica_reads


@pytest.mark.parametrize("read_from", ["replica", "replica_preferred"])
def test_they_read(connect: Connect, watched: Watched, read_from: str) -> None:
    face = reading(connect, watched, read_from)
    before, at_primary = reads(face), watched.servers[0].calls("get")
    assert face.execute("GET", "k") == b"v"
    assert face.execute_many([("GET", "k")] * 10) == [b"v"] * 10
    assert reads(face) == before + 11
    assert watched.servers[0].calls("get") == at_primary
    assert watched.servers[1].calls("get") >= 12


def test_a_call_chooses(connect: Connect, watched: Watched) -> None:
    face = reading(connect, watched, "replica_preferred")
    before = reads(face)
    assert face.execute("GET", "k", replica=False) == b"v"
    assert face.execute_many([("GET", "k")] * 3, replica=False) == [b"v"] * 3
    assert reads(face) == before
    named = [("127.0.0.1", watched.servers[1].port)]
    face = reading(connect, watched, "primary", replicas=named)
    before = reads(face)
    assert face.execute("GET", "k") == b"v"
    assert reads(face) == before
    assert face.execute_many([("GET", "k")] * 3, replica=True) == [b"v"] * 3
    assert reads(face) == before + 3


def test_many_tasks(connect: Connect, watched: Watched) -> None:
    face = reading(connect, watched, "replica")
    if not face.is_async:
        pytest.skip("there are no tasks")
    before = reads(face)

    async def main(client: Any) -> None:
        futures = [client.submit("ECHO" if i % 3 else "GET", "k") for i in range(300)]
        for i, future in enumerate(futures):
            assert await future == (b"k" if i % 3 else b"v")

    face.run(main)
    assert reads(face) == before + 100


def test_writes_go_to_the_primary(connect: Connect, watched: Watched) -> None:
    face = reading(connect, watched, "replica")
    before = reads(face)
    assert face.execute("INCR", "n", replica=True) == 1
    assert watched.servers[0].calls("incr") == 1
    assert reads(face) == before


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"read_from": "anywhere"}, ValueError, "read_from must be one of primary"),
        ({"read_from": 1}, TypeError, "read_from must be a str"),
        ({"url": "redis://localhost?read_from=x"}, ValueError, "read_from"),
        ({"replicas": [("localhost", 0)]}, ValueError, "replicas="),
        ({"replicas": ["/path"]}, TypeError, "not .host, port"),
    ],
    ids=str,
)
def test_what_makes_no_sense(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        shoal.Client(**options)
