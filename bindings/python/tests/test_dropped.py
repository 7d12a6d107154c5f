# SPDX-License-Identifier: MIT
"""Clients of asyncio that are dropped without a close, while their loop goes on: they
end as soon as nobody waits for them."""

import asyncio
import contextlib
import gc
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


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    """It runs on when the clients are gone."""
    loop = new_loop(request.param)
    yield loop
    loop.close()


@pytest.fixture(params=DRIVERS)
def make(request: pytest.FixtureRequest, server: Server) -> Callable[[], Any]:
    """Makes a client that nobody else has."""
    ways: dict[str, Callable[[], Any]] = {
        "borrowed": lambda: shoal.aio.Client(server.url, timeout=20),
        "thread": lambda: shoal.aio.Client(server.url, thread=True, timeout=20),
        "shared": lambda: shoal.Client(server.url, timeout=20).aio(),
    }
    return ways[request.param]


def descriptors() -> int:
    """Open ones of this process."""
    return len(os.listdir("/proc/self/fd"))


async def until(is_so: Callable[[], bool]) -> None:
    """What is dropped ends soon, not at once."""
    end = time.monotonic() + PATIENCE_S / 6
    while not is_so():
        assert time.monotonic() < end
        gc.collect()
        await asyncio.sleep(0.01)


def test_nothing_of_them_is_left(
    make: Callable[[], Any], loop: asyncio.AbstractEventLoop, server: Server
) -> None:
    async def use() -> None:
        client = make()
        assert await client.execute("ECHO", "mine") == b"mine"

    async def main() -> None:
        await use()
        await until(lambda: server.connections() == 0)
        before = descriptors()
        for _ in range(12):
            await use()
        await until(lambda: server.connections() == 0)
        await until(lambda: descriptors() <= before)

    loop.run_until_complete(main())


def test_what_is_outstanding_keeps_them(
    make: Callable[[], Any], loop: asyncio.AbstractEventLoop, server: Server
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
        replies = await asyncio.wait_for(asyncio.gather(*futures), PATIENCE_S / 6)
        assert replies == [[b"gate", b"open"], b"mine"]
        futures.clear()
        await until(lambda: server.connections() == 0)

    loop.run_until_complete(main())


def test_a_cancelled_command_does_not_keep_them(
    make: Callable[[], Any], loop: asyncio.AbstractEventLoop, server: Server
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
        await until(lambda: server.connections() == 0)

    loop.run_until_complete(main())
