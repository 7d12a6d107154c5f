# SPDX-License-Identifier: MIT
"""C gives back each reference that it takes, and no other: a debug build of the
interpreter counts the references of all objects.

CONTRIBUTING.md says how to make one that can run this; in another interpreter the tests
are skipped. cffi's own module has to be built with its headers, too."""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import shoal
import shoal.aio
from shoal import _native
from shoal._replies import _TEST_OF_REPLIES, HAS_CONSTRUCTORS
from support.scale import scaled
from support.server import Server

count_all: Callable[[], int] = getattr(sys, "gettotalrefcount", lambda: 0)
pytestmark = pytest.mark.skipif(
    not hasattr(sys, "gettotalrefcount"), reason="no debug build of the interpreter"
)

ROUNDS = scaled(300)
#: What caches of the interpreter may gain: far less than one in each round.
SLACK = 10


def gained(act: Callable[[], object], rounds: int = ROUNDS) -> int:
    """How many references are more after so many rounds, once all is warm."""
    for _ in range(20):
        act()
    gc.collect()
    before = count_all()
    for _ in range(rounds):
        act()
    gc.collect()
    return count_all() - before


def raises(call: Callable[[], object], *errors: type[BaseException]) -> None:
    """Without the machinery of pytest, which keeps things."""
    try:
        call()
    except errors:
        return
    raise AssertionError


def test_the_count_counts() -> None:
    kept: list[object] = []
    assert gained(lambda: kept.append(object())) >= ROUNDS


STREAMS = {
    "every opcode": _TEST_OF_REPLIES,
    "many values": b"\x80\x05](" + b"C\1a" * 1000 + b"J\0\0\0\1" * 1000 + b"e.",
    "deep lists": b"\x80\x05" + b"](" * 100 + b"e" * 100 + b".",
    "texts": b"\x80\x05](" + b"\x8c\4\xf0\x9f\x98\x80X\2\0\0\0\xc3\xa9" * 50 + b"e.",
}
named_streams = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


@named_streams
def test_values(stream: bytes) -> None:
    assert abs(gained(lambda: _native.value_of(stream))) < SLACK


@named_streams
def test_what_is_no_stream(stream: bytes) -> None:
    """It ends anywhere: what was made until then goes."""
    step = 1 + len(stream) // 100
    prefixes = [stream[:end] for end in range(0, len(stream), step)]

    def act() -> None:
        for prefix in prefixes:
            raises(partial(_native.value_of, prefix), ValueError)

    assert abs(gained(act, 20)) < SLACK


@named_streams
@pytest.mark.parametrize("is_lasting", [False, True])
def test_each_allocation_fails(stream: bytes, is_lasting: bool) -> None:
    testcapi = pytest.importorskip("_testcapi")

    def failures() -> Iterator[int]:
        for first in range(10_000):
            try:
                testcapi.set_nomemory(first, 0 if is_lasting else first + 1)
                try:
                    _native.value_of(stream)
                finally:
                    testcapi.remove_mem_hooks()
            except MemoryError:
                yield first
            else:
                return

    lacks = len(list(failures()))
    assert lacks > 3
    assert abs(gained(lambda: list(failures()), 5)) < SLACK


@pytest.mark.parametrize(
    "commands",
    [
        [("SET", b"k", 1, 2.5, "\u00e9")] * 10,
        [("SET", b"k", 1 << 80)],  # C leaves it
        [("SET", None)],
        [("SET",), ["GET"]],
        [],
    ],
)
def test_commands(server: Server, commands: list[Any]) -> None:
    async def main() -> int:
        async with shoal.aio.Client(server.url) as client:
            await client.execute("PING")
            take = client._find_port()._take
            return gained(lambda: take(commands))

    assert HAS_CONSTRUCTORS
    assert abs(asyncio.run(main())) < SLACK


def rows() -> list[tuple[Any, ...]]:
    """Replies of every kind, and errors."""
    return [
        ("SET", "k", b"v" * 100),
        ("GET", "k"),
        ("GET", "nothing"),
        ("LRANGE", "l", 0, -1),
        ("HGETALL", "h"),
        ("NONSENSE",),
        ("EVAL", "return {1, {err = 'E'}, {'x', false}}", 0),
    ]


def fill(server: Server) -> None:
    server.ask("RPUSH", "l", *range(200))
    server.ask("HSET", "h", "f", "1", "g", "2")


def test_blocking_calls(server: Server) -> None:
    fill(server)
    no_command: Any = ("ECHO", None)
    with shoal.Client(server.url) as client:

        def act() -> None:
            for row in rows():
                if row[0] == "NONSENSE":
                    raises(partial(client.execute, *row), shoal.RedisError)
                else:
                    client.execute(*row)
            client.execute_many(rows(), return_exceptions=True)
            raises(partial(client.execute, *no_command), shoal.DataError)

        assert abs(gained(act)) < SLACK


@pytest.mark.parametrize("thread", [False, True])
def test_awaited_calls(server: Server, thread: bool) -> None:
    fill(server)

    async def act(client: shoal.aio.Client) -> None:
        calls = [client.execute(*row) for row in rows() * 5]
        await asyncio.gather(*calls, return_exceptions=True)
        cancelled = [client.submit("GET", "k") for _ in range(5)]
        for future in cancelled:
            future.cancel()
        await asyncio.gather(*cancelled, return_exceptions=True)

    loop = asyncio.new_event_loop()
    client = shoal.aio.Client(server.url, thread=thread)
    try:
        assert abs(gained(lambda: loop.run_until_complete(act(client)))) < SLACK
        loop.run_until_complete(client.close())
    finally:
        loop.close()
