# SPDX-License-Identifier: MIT
"""Clients of asyncio that are dropped without a close, while their loop goes on: they
end as soon as nobody waits for them."""

import asyncio
import contextlib
import gc
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import shoal
import shoal.aio
from support.faces import DRIVERS, LOOPS, new_loop
from support.server import Server
from support.wire import PATIENCE_S

_numbers = itertools.count()


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    """It runs on when the clients are gone."""
    loop = new_loop(request.param)
    yield loop
    loop.close()


@pytest.fixture
def name() -> str:
    """Of this test's clients: what other tests dropped may still be about to end."""
    return f"dropped-{next(_numbers)}"


@pytest.fixture(params=DRIVERS)
def make(
    request: pytest.FixtureRequest, server: Server, name: str
) -> Callable[[], Any]:
    """Makes a client that nobody else has."""
    options: dict[str, Any] = {"client_name": name, "timeout": 20}
    ways: dict[str, Callable[[], Any]] = {
        "borrowed": lambda: shoal.aio.Client(server.url, **options),
        "thread": lambda: shoal.aio.Client(server.url, thread=True, **options),
        "shared": lambda: shoal.Client(server.url, **options).aio(),
    }
    return ways[request.param]


@pytest.fixture
def connected(server: Server, name: str) -> Callable[[], bool]:
    """Is any of them connected?"""
    return lambda: f" name={name} ".encode() in server.ask("CLIENT", "LIST")


def descriptors() -> int:
    """Open ones of this process."""
    return len(os.listdir("/proc/self/fd"))


async def until(is_so: Callable[[], bool]) -> None:
    """What is dropped ends soon, not at once."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        gc.collect()
        await asyncio.sleep(0.01)


def test_nothing_of_them_is_left(
    make: Callable[[], Any],
    loop: asyncio.AbstractEventLoop,
    connected: Callable[[], bool],
) -> None:
    async def use() -> None:
        client = make()
        assert await client.execute("ECHO", "mine") == b"mine"

    async def main() -> None:
        await use()
        await until(lambda: not connected())
        before = descriptors()
        for _ in range(12):
            await use()
        await until(lambda: not connected())
        await until(lambda: descriptors() <= before)

    loop.run_until_complete(main())


def test_what_is_outstanding_keeps_them(
    make: Callable[[], Any],
    loop: asyncio.AbstractEventLoop,
    server: Server,
    connected: Callable[[], bool],
) -> None:
    def begin() -> "list[asyncio.Future[Any]]":
        client = make()
        blocked = client.submit("BLPOP", "gate", 10, may_block=True)
        return [blocked, client.submit("ECHO", "mine")]

    async def main() -> None:
        futures = begin()
        await asyncio.sleep(0.02)
        gc.collect()
        server.ask("RPUSH", "gate", "open")
        replies = await asyncio.wait_for(asyncio.gather(*futures), PATIENCE_S)
        assert replies == [[b"gate", b"open"], b"mine"]
        futures.clear()
        await until(lambda: not connected())

    loop.run_until_complete(main())


def test_a_cancelled_command_does_not_keep_them(
    make: Callable[[], Any],
    loop: asyncio.AbstractEventLoop,
    connected: Callable[[], bool],
) -> None:
    """It blocks the connection until its reply is there, and no longer."""

    async def use() -> None:
        client = make()
        blocked = asyncio.ensure_future(
            client.execute("BLPOP", "gate", 0.05, may_block=True)
        )
        await asyncio.sleep(0.01)
        blocked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await blocked

    async def main() -> None:
        await use()
        await until(lambda: not connected())

    loop.run_until_complete(main())
