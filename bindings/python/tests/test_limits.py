# SPDX-License-Identifier: MIT
"""Bounds of outstanding commands; large arguments and replies."""

import asyncio
import threading
import time

import pytest
import shoal
from conftest import Connect
from shoal import Fate
from shoal.aio import Client
from support.faces import Face
from support.naps import Naps
from support.scale import scaled
from support.server import Server
from support.threads import run_all
from support.wire import PATIENCE_S

#: Nothing listens there: what is queued stays.
NOWHERE = "redis://127.0.0.1:1"


def test_wait_for_room_or_not(connect: Connect) -> None:
    face = connect(queued_max=16, inflight_max=8)
    for wait in (True, False):
        assert face.execute_many([("PING",)] * 8, wait_for_room=wait) == [b"PONG"] * 8


def test_full(connect: Connect) -> None:
    """Refused as a whole: nothing of it was queued."""
    face = connect(url=NOWHERE, queued_max=4, timeout=PATIENCE_S)
    if face.is_async:

        async def fill(client: Client) -> None:
            kept = [client.submit("PING") for _ in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(shoal.FullError) as caught:
                await client.execute_many(
                    [("PING",)] * 2, contiguous=True, wait_for_room=False
                )
            assert caught.value.fate is Fate.NOT_EXECUTED
            assert client.stats().commands == 3
            for future in kept:
                future.cancel()

        face.run(fill)
        return
    thread = threading.Thread(
        target=lambda: face.execute_many([("PING",)] * 3, return_exceptions=True)
    )
    thread.start()
    face.until(lambda: face.stats().queued_now == 3)
    with pytest.raises(shoal.FullError) as caught:
        face.execute_many([("PING",)] * 2, wait_for_room=False)
    assert caught.value.fate is Fate.NOT_EXECUTED
    assert face.stats().commands == 3
    face.close()
    thread.join()


def late(error: object) -> bool:
    """There was no room in time."""
    is_late = isinstance(error, (shoal.TimeoutError, shoal.FullError))
    return is_late and getattr(error, "fate", None) is Fate.NOT_EXECUTED


def test_waiting_for_room_ends_at_the_deadline(connect: Connect) -> None:
    """Not when those in front end."""
    face = connect(url=NOWHERE, queued_max=2, timeout=PATIENCE_S)
    ends: list[object] = []
    waits: list[tuple[float, float]] = []  #: from when to when

    async def main(client: Client) -> None:
        in_front = [client.submit("PING") for _ in range(2)]
        await asyncio.sleep(0)
        begun = time.monotonic()
        behind = [client.execute("PING", timeout=0.1) for _ in range(5)]
        ends.extend(await asyncio.gather(*behind, return_exceptions=True))
        waits.append((begun, time.monotonic()))
        for future in in_front:
            future.cancel()

    def work(me: int) -> None:
        if me < 2:
            with pytest.raises((shoal.TimeoutError, shoal.ClosedError)):
                face.execute("PING")
            return
        face.until(lambda: face.stats().queued_now == 2)
        begun = time.monotonic()
        try:
            face.execute("PING", timeout=0.1)
        except shoal.RedisError as error:
            ends.append(error)
        waits.append((begun, time.monotonic()))
        if len(waits) == 5:
            face.close()

    with Naps() as naps:
        if face.is_async:
            face.run(main)
        else:
            run_all(work, 7)
    assert len(ends) == 5 and all(map(late, ends))
    assert all(naps.is_prompt(begun + 0.1, end, 0.9) for begun, end in waits)


def test_a_small_queue_passes_everything(connect: Connect) -> None:
    face = connect(queued_max=8, inflight_max=4, timeout=30)
    count = 2000
    if face.is_async:

        async def main(client: Client) -> list[bytes]:
            tasks = [client.execute("ECHO", i) for i in range(count)]
            return list(await asyncio.gather(*tasks))

        assert face.run(main) == [b"%d" % i for i in range(count)]
        return

    def work(me: int) -> None:
        for i in range(count // 20):
            tag = b"%d.%d" % (me, i)
            assert face.execute("ECHO", tag) == tag

    run_all(work, 20)


def test_more_than_the_queue_holds(connect: Connect) -> None:
    face = connect(queued_max=16, timeout=30)
    tags = [b"%d" % i for i in range(500)]
    assert face.execute_many([("ECHO", tag) for tag in tags]) == tags


def test_a_unit_that_can_never_fit(connect: Connect) -> None:
    face = connect(queued_max=4)
    with pytest.raises(shoal.DataError, match=r"at most 4 may be queued \(queued_max"):
        face.execute_many([("PING",)] * 5, contiguous=True)
    assert face.execute("PING") == b"PONG"


def test_bytes_have_a_bound(connect: Connect) -> None:
    face = connect(outstanding_bytes_max=100_000)
    with pytest.raises(shoal.DataError, match="at most 100000 may") as caught:
        face.execute("ECHO", "x" * 200_000)
    assert caught.value.fate is Fate.NOT_EXECUTED
    replies = face.execute_many([("STRLEN", "x" * 30_000)] * 3)
    assert replies == [0] * 3
    assert face.execute("ECHO", "y" * 90_000) == b"y" * 90_000


@pytest.mark.parametrize("size", [1 << 20, 8 << 20])
def test_big_values(connect: Connect, size: int) -> None:
    face = connect(timeout=30)
    value = bytes(range(256)) * (size // 256)
    assert face.execute("SET", "big", value) == b"OK"
    assert face.execute("GET", "big") == value
    assert face.execute_many([("GET", "big"), ("PING",)]) == [value, b"PONG"]


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_64_mebibytes(connect: Connect, server: Server) -> None:
    face = connect(timeout=60, outstanding_bytes_max=1 << 30)
    value = b"v" * (64 << 20)
    assert face.execute("SET", "big", value) == b"OK"
    reply = face.execute("GET", "big")
    assert len(reply) == len(value) and reply == value
    server.ask("FLUSHALL")


def test_many_arguments(face: Face) -> None:
    values = [b"%d" % i for i in range(20_000)]
    assert face.execute("RPUSH", "list", *values) == len(values)
    assert face.execute("LRANGE", "list", 0, -1) == values
    assert face.execute("LRANGE", "list", 0, -1, decode=True)[-1] == "19999"


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_too_many_arguments(connect: Connect) -> None:
    face = connect()
    with pytest.raises(shoal.DataError):
        face.execute("DEL", *["k"] * 1_100_000)
    assert face.execute("PING") == b"PONG"


def test_a_large_gather(async_connect: Connect) -> None:
    """More than is ever in flight."""
    count = scaled(20_000, 300_000)
    face = async_connect(timeout=60)

    async def main(client: Client) -> int:
        replies = await asyncio.gather(
            *[client.submit("ECHO", i) for i in range(count)]
        )
        return sum(reply == b"%d" % i for i, reply in enumerate(replies))

    assert face.run(main) == count
