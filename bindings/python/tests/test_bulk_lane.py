# SPDX-License-Identifier: MIT
"""The bulk lane: what takes it, and that replies of two connections do not mix."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import shoal.aio
from conftest import Connect
from support.faces import Face
from support.pieces import AT_ONCE, Pieces
from support.server import Server

LARGE = b"x" * 400_000
LONG = [str(number).encode() for number in range(60_000)]


def opened(connect: Connect, **options: Any) -> Face:
    """A client that sends large values, until its lane is there. A lone thread
    stays on the ordinary connection: so another one sends commands, too."""
    face = connect(bulk_lane=True, **options)

    def took() -> bool:
        face.execute_many([("SET", "large", LARGE), ("STRLEN", "large")])
        return face.stats().bulk > 0

    if face.mode == "sync":
        stop = threading.Event()
        other = threading.Thread(
            target=lambda: [face.execute("PING") for _ in iter(stop.is_set, True)]
        )
        other.start()
        try:
            face.until(took)
        finally:
            stop.set()
            other.join()
    else:
        face.until(took)
    return face


def test_large_values_take_the_lane(connect: Connect) -> None:
    face = opened(connect)
    assert face.execute("GET", "large") == LARGE
    assert face.execute("STRLEN", "large") == len(LARGE)


def test_is_off_if_the_user_says_so(connect: Connect, server: Server) -> None:
    for face in (connect(url=server.url + "?bulk_lane=no"), connect(bulk_lane=False)):
        for _ in range(10):
            face.execute_many([("SET", "large", LARGE), ("GET", "large")], bulk=True)
        assert face.stats().bulk == 0


def test_replies_do_not_mix(server: Server) -> None:
    """In pieces, a long list comes by one connection, while short ones come by the
    other."""

    async def short(client: shoal.aio.Client, over: asyncio.Event) -> int:
        count = 0
        while not over.is_set():
            assert await client.execute("LRANGE", "short", 0, -1) == [b"1", b"2", b"3"]
            count += 1
        return count

    async def main() -> None:
        async with shoal.aio.Client(server.url, bulk_lane=True) as client:
            await client.execute("DEL", "long", "short")
            for first in range(0, len(LONG), 10_000):
                await client.execute("RPUSH", "long", *LONG[first : first + 10_000])
            await client.execute("RPUSH", "short", 1, 2, 3)
            over = asyncio.Event()
            others = [asyncio.ensure_future(short(client, over)) for _ in range(4)]
            rounds = 0
            while client.stats().bulk < 20:
                rows = await client.execute("LRANGE", "long", 0, -1, bulk=True)
                assert rows == LONG
                rounds += 1
                assert rounds < 1000
            over.set()
            assert all(await asyncio.gather(*others))

    asyncio.run(main())


@pytest.fixture
def pieces() -> Iterator[Pieces]:
    """The test sends the replies."""
    with Pieces() as server:
        yield server


def send_in_turns(face: Face, pieces: Pieces, keys: tuple[str, str]) -> None:
    """A part of the one reply, a part of the other, and so on, until they are whole.
    The client has read each part when the next one is sent."""
    face.until(lambda: all(key.encode() in pieces.waiting for key in keys))
    read = face.stats().bytes_in
    for part in (b"*3\r\n$1\r\n", b"a\r\n*1\r\n", b":%d\r\n$1\r\n", b"b\r\n"):
        for key in keys:
            piece = part % len(key) if b"%" in part else part
            pieces.waiting[key.encode()].sendall(piece)
            read += len(piece)
            face.until(lambda: face.stats().bytes_in >= read)  # noqa: B023


def reply_of(key: str) -> list[Any]:
    """What `send_in_turns` sent."""
    return [b"a", [len(key)], b"b"]


@pytest.mark.parametrize("keys", [("short", "large one"), ("large one", "short")])
def test_replies_in_pieces(
    connect: Connect, pieces: Pieces, keys: tuple[str, str]
) -> None:
    """Of the lane and of the ordinary connection, in turns."""
    face = connect(url=pieces.url, bulk_lane=True, integrity="shapes")

    def took() -> bool:
        face.execute_many([("SET", AT_ONCE, 1)], bulk=True)
        return face.stats().bulk > 0

    face.until(took)
    large = face.begin("execute_many", [("LRANGE", "large one", 0, -1)], bulk=True)
    face.until(lambda: b"large one" in pieces.waiting)
    short = face.begin("execute_many", [("LRANGE", "short", 0, -1)])
    send_in_turns(face, pieces, keys)
    assert large() == [reply_of("large one")]
    assert short() == [reply_of("short")]
    assert pieces.waiting[b"large one"] is not pieces.waiting[b"short"]


@pytest.mark.parametrize("keys", [("short", "queue"), ("queue", "short")])
def test_a_blocking_reply_in_pieces(
    connect: Connect, pieces: Pieces, keys: tuple[str, str]
) -> None:
    """Of a leased connection and of the ordinary one, in turns."""
    face = connect(url=pieces.url, integrity="shapes")
    queue = face.begin("execute_many", [("BLPOP", "queue", 9)])
    face.until(lambda: b"queue" in pieces.waiting)
    short = face.begin("execute_many", [("LRANGE", "short", 0, -1)])
    send_in_turns(face, pieces, keys)
    assert queue() == [reply_of("queue")]
    assert short() == [reply_of("short")]
    assert pieces.waiting[b"queue"] is not pieces.waiting[b"short"]


def test_bulk_is_a_word_of_every_call(connect: Connect) -> None:
    face = connect()
    assert face.execute("SET", "key", "value", bulk=True) == b"OK"
    assert face.execute_many([("GET", "key")], bulk=True) == [b"value"]
