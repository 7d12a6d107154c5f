# SPDX-License-Identifier: MIT
"""A connection without room: what waits for it keeps its order and its deadline, can be
cancelled, and has a bound."""

import asyncio
import random
import threading
import time
from typing import Any

import pytest
import shoal
import shoal.aio._port
from conftest import Connect
from shoal import Fate
from shoal.aio import Client
from support.faces import Face
from support.naps import Naps
from support.server import Server
from support.wire import PATIENCE_S

#: Nothing listens there: what is queued stays.
NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture(
    params=["asyncio-borrowed", "asyncio-thread", "uvloop-borrowed", "uvloop-shared"]
)
def mode(request: pytest.FixtureRequest) -> str:
    """Each loop and each driver; all combinations would tell no more."""
    return str(request.param)


async def all_done(futures: list["asyncio.Future[Any]"]) -> None:
    """None of them waits for ever."""
    _, left = await asyncio.wait(futures, timeout=PATIENCE_S)
    assert len(left) == 0, f"{len(left)} of {len(futures)} are left alone"


def test_what_is_cancelled_while_it_waits_is_not_sent(
    connect: Connect, server: Server
) -> None:
    face = connect(queued_max=4, inflight_max=4, timeout=20)

    async def main(client: Client) -> None:
        gate = asyncio.ensure_future(
            client.execute("BLPOP", "gate", 10, may_block=True)
        )
        while client.stats().inflight_now == 0:
            await asyncio.sleep(0.001)
        tasks = [asyncio.ensure_future(client.execute("INCR", "n")) for _ in range(100)]
        await asyncio.sleep(0.01)
        for task in tasks[1::2]:
            task.cancel()
        await asyncio.sleep(0.01)
        server.ask("RPUSH", "gate", "open")
        await all_done([gate, *tasks])
        assert [task.cancelled() for task in tasks] == [False, True] * 50
        await client.execute("PING")  # behind all that was sent

    face.run(main)
    # Some were cancelled when they were written already.
    assert 50 <= int(server.ask("GET", "n")) < 50 + 4


@pytest.mark.parametrize("mode", ["asyncio-borrowed"])
def test_an_interrupt_in_a_read_does_not_forget_those_that_wait(
    connect: Connect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task ends with it after results have made room, and no other read follows."""
    face = connect(queued_max=1, inflight_max=1, timeout=20)

    async def main(client: Client) -> None:
        futures = [client.submit("BLPOP", "gate", 10, may_block=True)]
        futures += [client.submit("PING") for _ in range(9)]
        while client.stats().inflight_now == 0:
            await asyncio.sleep(0.001)
        port = client._find_port()
        assert port._backlog
        looks: list[None] = []

        def complete(*, is_now: bool) -> None:
            port._has_made_room = True
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(port, "_complete", complete)
            patch.setattr(port, "_retry", lambda: looks.append(None))
            with pytest.raises(SystemExit):
                port._pump()
        assert len(looks) == 1
        server.ask("RPUSH", "gate", "open")
        await all_done(futures)

    face.run(main)


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_the_wait_for_room_is_part_of_the_deadline(
    connect: Connect, server: Server
) -> None:
    """There is room shortly before the deadline, but no reply."""
    full_s, deadline_s, late_s = 0.45, 0.5, 0.4
    face = connect(queued_max=1, inflight_max=1, timeout=20)
    gates = ["first", "second"]
    ends: list[Any] = []
    timer = threading.Timer(full_s, server.ask, ("RPUSH", "first", "open"))

    async def blocked(client: Client) -> None:
        futures = []
        for gate in gates:
            futures.append(client.submit("BLPOP", gate, 10, may_block=True))
            await asyncio.sleep(0.02)
        timer.start()
        await late_for(lambda: client.execute("PING", timeout=deadline_s))
        server.ask("RPUSH", "second", "open")
        await asyncio.gather(*futures)

    async def late_for(call: Any) -> None:
        with Naps() as naps:
            begun = time.monotonic()
            with pytest.raises(shoal.TimeoutError):
                await call()
            end = time.monotonic()
        assert end >= begun + deadline_s
        assert naps.is_prompt(begun + deadline_s, end, late_s)

    if face.is_async:
        face.run(blocked)
        timer.join()
        return
    threads = []
    for gate in gates:
        args = ("BLPOP", gate, 10)
        threads.append(
            threading.Thread(
                target=lambda a=args: ends.append(face.execute(*a, may_block=True))
            )
        )
        threads[-1].start()
        face.until(lambda: outstanding(face) == len(threads))
    timer.start()
    with Naps() as naps:
        begun = time.monotonic()
        with pytest.raises(shoal.TimeoutError):
            face.execute("PING", timeout=deadline_s)
        end = time.monotonic()
    assert end >= begun + deadline_s
    assert naps.is_prompt(begun + deadline_s, end, late_s)
    server.ask("RPUSH", "second", "open")
    for thread in [timer, *threads]:
        thread.join()
    assert sorted(ends) == [[gate.encode(), b"open"] for gate in gates]


def test_room_that_others_make(server: Server) -> None:
    """A loop to which nothing is due has no result that tells it of the room."""
    core = shoal.Client(server.url, queued_max=1, inflight_max=1, timeout=1000)
    gates = ["first", "second"]
    threads = [
        threading.Thread(
            target=core.execute, args=("BLPOP", gate, 0), kwargs={"may_block": True}
        )
        for gate in gates
    ]

    async def main() -> None:
        client = core.aio()
        reply = client.submit("PING")
        await asyncio.sleep(0.02)  # there was no room
        assert not reply.done()
        for gate in gates:
            server.ask("RPUSH", gate, "open")
        assert await reply == b"PONG"
        await client.close()

    for number, thread in enumerate(threads):
        thread.start()
        while core.stats().queued_now + core.stats().inflight_now <= number:
            time.sleep(0.001)
    asyncio.run(main())
    for thread in threads:
        thread.join()
    core.close()


def outstanding(face: Face) -> int:
    """Commands that are queued or written."""
    stats = face.stats()
    return stats.queued_now + stats.inflight_now


@pytest.mark.parametrize("room", [8, 64])
def test_many_that_cross_one_by_one(connect: Connect, room: int) -> None:
    """More of them than Python calls may be nested; all have other extras."""
    face = connect(queued_max=room, inflight_max=room)
    count = 3000

    async def main(client: Client) -> list[Any]:
        futures = [
            client.submit("RPUSH", "list", i, timeout=20 + i / 1000)
            for i in range(count)
        ]
        await all_done(futures)
        return [future.result() for future in futures]

    assert face.run(main) == list(range(1, count + 1))
    numbers = [b"%d" % i for i in range(count)]
    assert face.execute("LRANGE", "list", 0, -1) == numbers


def test_order_without_room(connect: Connect) -> None:
    """Single commands and lists of one thread, halved as room is there."""
    face = connect(queued_max=64, inflight_max=64, timeout=20)
    rng = random.Random(5)

    async def one_round(client: Client) -> None:
        await client.execute("DEL", "list")
        futures: list[asyncio.Future[Any]] = []
        total = 0
        for _ in range(100):
            size = rng.choice((1, 1, 1, 50, 300))
            rows = [("RPUSH", "list", total + i) for i in range(size)]
            total += size
            if size == 1:
                futures.append(client.submit(*rows[0], timeout=60))
            else:
                many = client.execute_many(rows, timeout=60)
                futures.append(asyncio.ensure_future(many))
                await asyncio.sleep(0)
        await all_done(futures)
        found = await client.execute("LRANGE", "list", 0, -1)
        assert [int(item) for item in found] == list(range(total))

    for _ in range(6):
        face.run(one_round)


def test_a_bound(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that never awaits gets FullError at once."""
    monkeypatch.setattr(shoal.aio._port, "_BACKLOG_MAX", 1000)
    face = connect(url=NOWHERE, queued_max=100, timeout=20)

    async def main(client: Client) -> None:
        futures: list[asyncio.Future[Any]] = []
        for _ in range(40):
            futures += [client.submit("PING") for _ in range(100)]
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        refused = [future for future in futures if future.done()]
        assert 2500 <= len(refused) <= 3000
        for future in refused:
            error = future.exception()
            assert isinstance(error, shoal.FullError)
            assert error.fate is Fate.NOT_EXECUTED
        for future in futures:
            future.cancel()

    face.run(main)
