# SPDX-License-Identifier: MIT
"""Event loops that stop and go on, also in another thread; closes that are cancelled.
Each caller gets its own reply, and nobody waits for ever."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal import Fate
from shoal.aio import Client
from support.faces import DRIVERS, LOOPS, new_loop
from support.server import Server
from support.wire import PATIENCE_S

_T = TypeVar("_T")

#: Longer than this is for ever.
_FOREVER_S = 5.0


@pytest.fixture(params=["asyncio-borrowed", "uvloop-borrowed", "asyncio-thread"])
def moving(
    request: pytest.FixtureRequest, server: Server
) -> Iterator[tuple[Client, asyncio.AbstractEventLoop]]:
    """A client, and a loop that does not run yet."""
    name, driver = request.param.split("-")
    loop = new_loop(name)
    client = shoal.aio.Client(server.url, thread=driver == "thread", timeout=20)
    yield client, loop
    loop.run_until_complete(client.close())
    loop.close()


def in_thread(loop: asyncio.AbstractEventLoop, main: Callable[[], Awaitable[_T]]) -> _T:
    """Run a coroutine on the loop, in a new thread."""
    outcomes: list[_T] = []
    errors: list[BaseException] = []

    async def whole() -> _T:
        return await main()

    def work() -> None:
        try:
            outcomes.append(loop.run_until_complete(whole()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return outcomes[0]


async def begin(client: Client) -> list["asyncio.Future[Any]"]:
    """Commands that are outstanding when this is over: the first one blocks."""
    futures = [client.submit("BLPOP", "gate", 10, may_block=True)]
    futures += [client.submit("ECHO", f"old {i}") for i in range(4)]
    while client.stats().inflight_now < len(futures):
        await asyncio.sleep(0.001)
    return futures


def test_replies_find_their_callers_in_another_thread(
    moving: tuple[Client, asyncio.AbstractEventLoop], server: Server
) -> None:
    client, loop = moving
    old = loop.run_until_complete(begin(client))

    async def go_on() -> None:
        new = [client.submit("ECHO", f"new {i}") for i in range(5)]
        await asyncio.sleep(0.01)
        server.ask("RPUSH", "gate", "open")
        await asyncio.wait([*old, *new], timeout=_FOREVER_S)
        assert all(future.done() for future in [*old, *new])
        assert old[0].result() == [b"gate", b"open"]
        tags = [future.result() for future in [*old[1:], *new]]
        assert tags == [b"old %d" % i for i in range(4)] + [
            b"new %d" % i for i in range(5)
        ]

    in_thread(loop, go_on)
    assert loop.run_until_complete(client.execute("ECHO", "back")) == b"back"


def test_cancels_find_their_commands_in_another_thread(
    moving: tuple[Client, asyncio.AbstractEventLoop], server: Server
) -> None:
    client, loop = moving
    loop.run_until_complete(client.execute("PING"))

    async def work() -> int:
        before = client.stats().cancels
        blocked = asyncio.ensure_future(
            client.execute("BLPOP", "gate", 10, may_block=True)
        )
        while b"blocked_clients:0" in server.ask("INFO", "clients"):
            await asyncio.sleep(0.001)
        blocked.cancel()
        await asyncio.wait([blocked])
        await asyncio.sleep(0.01)
        server.ask("RPUSH", "gate", "open")
        assert await client.execute("ECHO", "whose?") == b"whose?"
        return client.stats().cancels - before

    assert in_thread(loop, work) == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_closed_elsewhere_while_the_loop_stands(server: Server, loop: str) -> None:
    """When it goes on, its tasks hear of the end."""
    client = shoal.aio.Client(server.url, timeout=_FOREVER_S)
    standing = new_loop(loop)
    futures = standing.run_until_complete(begin(client))
    asyncio.run(client.close())
    standing.run_until_complete(asyncio.wait(futures, timeout=_FOREVER_S / 2))
    assert [future.done() for future in futures] == [True] * 5
    for future in futures:
        error = future.exception()
        assert isinstance(error, shoal.ClosedError)
        assert error.fate is Fate.UNKNOWN
    standing.close()


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_is_closed_before_the_client(
    server: Server, name: str, driver: str
) -> None:
    """Its futures end with it: those that C owes, that wait for room, and that were
    about to leave. Another loop goes on with the client."""
    options: dict[str, Any] = {"timeout": 60, "inflight_max": 4, "queued_max": 4}
    blocking = shoal.Client(server.url, **options)
    client = (
        blocking.aio()
        if driver == "shared"
        else shoal.aio.Client(server.url, thread=driver == "thread", **options)
    )
    loop = new_loop(name)

    async def begin_all() -> list["asyncio.Future[Any]"]:
        futures = [client.submit("BLPOP", "gate", 30, may_block=True)]
        futures += [client.submit("ECHO", number) for number in range(20)]
        while client.stats().inflight_now == 0:
            await asyncio.sleep(0.001)
        return [*futures, client.submit("ECHO", "not even queued")]

    futures = loop.run_until_complete(begin_all())
    futures[0].add_done_callback(lambda future: None)  # whom nobody can call any more
    futures[1].cancel()
    with pytest.warns(ResourceWarning, match="21 commands .* outstanding when"):
        loop.close()
    del futures[1]
    for future in futures:
        error = future.exception()
        assert type(error) is shoal.ClosedError
        assert "loop" in str(error) or error.fate is Fate.NOT_EXECUTED
    server.ask("RPUSH", "gate", "open")
    other = new_loop(name)
    assert other.run_until_complete(client.execute("ECHO", "on")) == b"on"
    other.run_until_complete(client.close())
    other.close()
    blocking.close()


@pytest.mark.parametrize("name", LOOPS)
def test_a_dropped_client_ends_with_its_loop(server: Server, name: str) -> None:
    """Although it is owed results."""

    async def begin_one() -> None:
        client = shoal.aio.Client(server.url, client_name="lost-with-its-loop")
        client.submit("BLPOP", "nothing", 0, may_block=True, timeout=60).cancel()
        client.submit("BLPOP", "nothing", 0, may_block=True, timeout=60)
        while client.stats().inflight_now == 0:
            await asyncio.sleep(0.001)

    loop = new_loop(name)
    loop.run_until_complete(begin_one())
    assert b"lost-with-its-loop" in server.ask("CLIENT", "LIST")
    with pytest.warns(ResourceWarning, match="1 commands .* outstanding when"):
        loop.close()
    end = time.monotonic() + PATIENCE_S
    while b"lost-with-its-loop" in server.ask("CLIENT", "LIST"):
        assert time.monotonic() < end
        time.sleep(0.01)


#: Ticks of the loop, and seconds, between the begin of a close and its cancellation.
_CANCELS = [(ticks, 0.0) for ticks in range(1, 8)] + [(1, 0.004), (1, 0.015)]


async def close_cancelled(
    client: Client, drain: float, ticks: int, seconds: float
) -> None:
    """A close with a command outstanding, which ends all the same."""
    blocked = client.submit("BLPOP", "nothing", 0, may_block=True, timeout=20)
    while client.stats().inflight_now == 0:
        await asyncio.sleep(0.001)
    closing = asyncio.ensure_future(client.close(drain))
    for _ in range(ticks):
        await asyncio.sleep(0)
    await asyncio.sleep(seconds)
    closing.cancel()
    await asyncio.wait([closing])
    await asyncio.wait([blocked], timeout=_FOREVER_S)
    assert blocked.done(), f"cancelled after {ticks} ticks, {seconds} s"
    assert type(blocked.exception()) is shoal.ClosedError
    await client.close()


@pytest.mark.parametrize("drain", [0.0, 0.01])
def test_a_close_that_is_cancelled(
    async_connect: Connect, server: Server, drain: float
) -> None:
    """At whatever point: all that is outstanding ends, and so does the connection."""
    for ticks, seconds in _CANCELS:

        async def main(client: Client, t: int = ticks, s: float = seconds) -> None:
            await close_cancelled(client, drain, t, s)

        face = async_connect()
        face.run(main)
        face.close()
        face.until(lambda: server.connections() == 0)
