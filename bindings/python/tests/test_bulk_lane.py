# SPDX-License-Identifier: MIT
"""The bulk lane: what takes it, and that replies of two connections do not mix."""

import asyncio
import threading
from typing import Any

import shoal.aio
from conftest import Connect
from support.faces import Face
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


def test_is_off_by_default(connect: Connect, server: Server) -> None:
    for url in (server.url, server.url + "?bulk_lane=no"):
        face = connect(url=url)
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


def test_bulk_is_a_word_of_every_call(connect: Connect) -> None:
    face = connect()
    assert face.execute("SET", "key", "value", bulk=True) == b"OK"
    assert face.execute_many([("GET", "key")], bulk=True) == [b"value"]
