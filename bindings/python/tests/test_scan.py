# SPDX-License-Identifier: MIT
"""Scans: all keys of a server or a cluster, and all elements of a key."""

import asyncio
import contextlib
import gc
import os
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.children import run_child
from support.cluster import Cluster
from support.faces import Face
from support.server import Server

KEYS = 500


@pytest.fixture
def face(connect: Connect) -> Face:
    return connect()


def found(face: Face, scan: Any) -> list[Any]:
    """All that it finds."""
    if not face.is_async:
        return list(scan)

    async def main(_: Any) -> list[Any]:
        return [item async for item in scan]

    return face.run(main)


def pages(face: Face, scan: Any) -> list[list[Any]]:
    if not face.is_async:
        return list(scan.pages())

    async def main(_: Any) -> list[list[Any]]:
        return [page async for page in scan.pages()]

    return face.run(main)


def fill(face: Face) -> set[bytes]:
    face.execute("FLUSHALL")
    names = [f"key:{number}" for number in range(KEYS)]
    face.execute_many([("SET", name, 1) for name in names])
    return {name.encode() for name in names}


def test_all_keys(face: Face) -> None:
    names = fill(face)
    assert set(found(face, face.client.scan())) == names
    assert set(found(face, face.client.scan(decode=True))) == {
        name.decode() for name in names
    }
    some = found(face, face.client.scan(match="key:1?", count=1000))
    assert sorted(some) == [b"key:1%d" % digit for digit in range(10)]


def test_pages(face: Face) -> None:
    names = fill(face)
    several = pages(face, face.client.scan(count=50))
    assert len(several) > 3
    assert {name for page in several for name in page} == names
    rare = pages(face, face.client.scan(match="key:499", count=10))
    assert [] in rare
    assert sum(rare, []) == [b"key:499"]


def test_keys_of_a_type(face: Face) -> None:
    fill(face)
    face.execute("HSET", "h", "f", "v")
    assert found(face, face.client.scan(type="hash")) == [b"h"]


def test_elements(face: Face) -> None:
    face.execute("DEL", "h", "s", "z")
    assert found(face, face.client.hscan("h")) == []
    fields = {b"f%d" % number: b"v%d" % number for number in range(KEYS)}
    words = [word for pair in fields.items() for word in pair]
    face.execute("HSET", "h", *words)
    face.execute("SADD", "s", *fields)
    face.execute("ZADD", "z", 1.5, "a", "inf", "b")
    assert dict(found(face, face.client.hscan(b"h", count=20))) == fields
    assert set(found(face, face.client.sscan("s"))) == set(fields)
    assert dict(found(face, face.client.zscan("z"))) == {b"a": 1.5, b"b": float("inf")}
    assert found(face, face.client.hscan("h", match="f77", decode=True)) == [
        ("f77", "v77")
    ]


def test_an_error_does_not_end_it(face: Face) -> None:
    face.execute("SET", "text", "x")
    scan = face.client.hscan("text")
    for _ in range(2):
        with pytest.raises(shoal.WrongTypeError):
            found(face, scan)
    face.execute("DEL", "text")
    face.execute("HSET", "text", "f", "v")
    assert found(face, scan) == [(b"f", b"v")]
    assert found(face, scan) == []
    assert repr(scan).endswith("by HSCAN, over>")


def test_what_cannot_be_scanned(face: Face) -> None:
    for count in (0, -1, 1 << 63):
        with pytest.raises(ValueError, match="count"):
            face.client.scan(count=count)
    with pytest.raises(shoal.DataError):
        face.client.hscan({})
    with pytest.raises(shoal.DataError):
        face.client.scan(match=[])


def test_two_readers(face: Face) -> None:
    if not face.is_async:
        return
    fill(face)
    scan = face.client.scan()

    async def main(_: Any) -> None:
        first = asyncio.ensure_future(anext(scan))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="somebody else"):
            await anext(scan)
        assert (await first).startswith(b"key:")

    face.run(main)


def test_a_cancelled_task_loses_nothing(face: Face) -> None:
    if not face.is_async:
        return
    names = fill(face)
    scan = face.client.scan(count=20)
    seen = set()

    async def main(_: Any) -> None:
        for _ in range(5):
            task = asyncio.ensure_future(anext(scan))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                seen.add(await task)
        async for name in scan:
            seen.add(name)

    face.run(main)
    assert seen == names


def test_the_client_is_closed(face: Face) -> None:
    fill(face)
    scan = face.client.scan(count=10)
    before = face.client.scan()
    if face.is_async:

        async def begin(_: Any) -> None:
            await anext(scan)

        face.run(begin)
    else:
        next(scan)
    face._do("close")
    with pytest.raises(shoal.ClosedError):
        found(face, before)
    with pytest.raises(shoal.ClosedError):
        found(face, scan)


def test_it_is_dropped_in_the_middle(face: Face) -> None:
    fill(face)
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        scan = face.client.scan(count=10)
        if face.is_async:

            async def begin(_: Any, scan: Any = scan) -> None:
                task = asyncio.ensure_future(anext(scan))
                await asyncio.sleep(0)
                task.cancel()

            face.run(begin)
        else:
            next(scan)
    del scan
    gc.collect()
    face.execute("PING")
    assert len(os.listdir("/proc/self/fd")) <= fds + 2


def test_in_the_child_of_a_fork(server: Server) -> None:
    child = run_child(
        """
        client = shoal.Client(url)
        names = [b"k%d" % number for number in range(100)]
        client.execute_many([("SET", name, 1) for name in names])
        scan = client.scan(count=10)
        seen = {next(scan)}
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                list(scan)  # the rest of the page, and no more
            except shoal.ForkError:
                code = 42
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
        assert seen.union(scan) >= set(names)
        client.close()
        """,
        server.url,
    )
    assert child.code == 0, child.errors


def test_all_primaries_of_a_cluster(connect: Connect, cluster: Cluster) -> None:
    face = connect(url=cluster.url, timeout=60)
    names = fill(face)
    scan = face.client.scan(count=30)
    seen = set()
    if face.is_async:

        async def begin(_: Any) -> None:
            seen.add(await anext(scan))

        face.run(begin)
    else:
        seen.add(next(scan))
    cluster.move("key:7")
    seen.update(found(face, scan))
    assert seen == names
    face.execute("HSET", "h", "f", "v")
    assert found(face, face.client.hscan("h")) == [(b"f", b"v")]


def test_a_server_that_stands_still(face: Face, server: Server) -> None:
    fill(face)
    scan = face.client.scan(count=KEYS, timeout=0.2)
    with server.paused(), pytest.raises(shoal.TimeoutError):
        found(face, scan)
    assert len(set(found(face, scan))) == KEYS
