# SPDX-License-Identifier: MIT
"""Cancelled tasks: no reply is lost or given to another, no command is sent in vain."""

import asyncio
import contextlib
import gc
import random
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
import shoal
from conftest import Connect
from shoal.aio import Client
from support.faces import Face
from support.scale import scaled
from support.server import Server

TASKS = 200


async def at_random(
    tasks: list["asyncio.Task[str]"], rate: float, rng: random.Random
) -> Counter[str]:
    """Cancel some of the tasks, in all their states; how many ended how."""
    victims = [task for task in tasks if rng.random() < rate]
    rng.shuffle(victims)
    for begin in range(0, len(victims), 8):
        for victim in victims[begin : begin + 8]:
            victim.cancel()
        for _ in range(rng.randrange(3)):
            await asyncio.sleep(0)
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    return Counter(
        "cancelled" if isinstance(end, asyncio.CancelledError) else str(end)
        for end in ends
    )


async def rounds(
    client: Client, count: int, ask: Any, rate: float = 0.1
) -> Counter[str]:
    """`count` commands by TASKS tasks at a time. In every second round the server is
    slow, so that some are cancelled between their write and their reply."""
    rng = random.Random(7)
    total: Counter[str] = Counter()
    for begin in range(0, count, TASKS):
        if begin // TASKS % 2:
            client.submit("DEBUG", "SLEEP", "0.003")
        numbers = range(begin, begin + TASKS)
        tasks = [asyncio.ensure_future(ask(client, number)) for number in numbers]
        total += await at_random(tasks, rate, rng)
    return total


async def echo(client: Client, number: int) -> str:
    """Is the reply ours?"""
    tag = b"tag %d" % number
    return "right" if await client.execute("ECHO", tag) == tag else "wrong"


def test_replies_stay_with_their_commands(async_face: Face) -> None:
    count = scaled(4000, 10**6)
    ends = async_face.run(lambda client: rounds(client, count, echo))
    assert ends["wrong"] == 0
    assert set(ends) <= {"right", "cancelled"}
    assert sum(ends.values()) == count
    assert 0 < ends["cancelled"] <= count * 0.15
    stats = async_face.stats
    async_face.until(lambda: stats().inflight_now == stats().queued_now == 0)


async def increment(client: Client, _: int) -> str:
    """Its reply came, so it was executed."""
    await client.execute("INCR", "ledger")
    return "ok"


def test_the_ledger_agrees(async_face: Face, server: Server) -> None:
    count = scaled(4000, 10**6)
    ends = async_face.run(lambda client: rounds(client, count, increment, 0.3))
    async_face.execute("PING")  # behind all that was sent
    value = int(server.ask("GET", "ledger"))
    assert set(ends) == {"ok", "cancelled"}
    assert ends["ok"] <= value <= ends["ok"] + ends["cancelled"]


async def by_wait_for(client: Client, number: int) -> str:
    """Cancelled by a timeout of asyncio's own."""
    try:
        tag = b"%d" % number
        reply = await asyncio.wait_for(client.execute("ECHO", tag), 0.0005)
    except asyncio.TimeoutError:
        return "late"
    return "right" if reply == tag else "wrong"


def test_wait_for(async_face: Face) -> None:
    ends = async_face.run(lambda client: rounds(client, 1000, by_wait_for, 0))
    assert set(ends) <= {"right", "late"}
    assert async_face.execute("ECHO", "whose?") == b"whose?"


def test_all_at_once(async_face: Face) -> None:
    count = scaled(5000, 10**5)

    async def main(client: Client) -> None:
        await client.wait_ready()
        client.submit("DEBUG", "SLEEP", "0.02")
        tasks = [asyncio.ensure_future(echo(client, n)) for n in range(count)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert {end if end == "right" else type(end) for end in ends} <= {
            "right", asyncio.CancelledError,
        }  # fmt: skip
        assert await client.execute("ECHO", "whose?") == b"whose?"
        stats = client.stats()
        assert stats.queued_now == 0

    async_face.run(main)


def test_before_the_flush_nothing_is_sent(async_face: Face, server: Server) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        tasks = [
            asyncio.ensure_future(client.execute("INCR", "never")) for _ in range(100)
        ]
        kept = asyncio.ensure_future(client.execute("INCR", "sent"))
        # They run and submit; what they submit leaves when this tick is over.
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        assert await kept == 1
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        # With uvloop a tick's first command may be alone, and leaves at once.
        assert [type(end) for end in ends].count(asyncio.CancelledError) >= 99

    before = server.calls("incr")
    async_face.run(main)
    async_face.execute("PING")
    assert server.calls("incr") - before <= 2


def test_a_future_that_is_cancelled_before_the_flush(
    async_face: Face, server: Server
) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        asyncio.get_running_loop().call_soon(lambda: None)
        futures = [client.submit("INCR", "n") for _ in range(100)]
        for future in futures[1:]:
            future.cancel()
        assert await futures[0] == 1

    async_face.run(main)
    async_face.execute("PING")
    assert server.ask("GET", "n") == b"1"


def test_without_a_connection_nothing_is_sent(
    async_connect: Connect, own_server: Server
) -> None:
    own_server.kill()
    face = async_connect(url=own_server.url, backoff=(0.001, 0.01))

    async def main(client: Client) -> None:
        tasks = [asyncio.ensure_future(client.execute("INCR", "n")) for _ in range(50)]
        kept = tasks.pop()
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert own_server.start()
        assert await kept == 1
        assert client.stats().cancels == 49

    face.run(main)
    assert own_server.ask("GET", "n") == b"1"


def test_many_commands_and_units(async_face: Face) -> None:
    async def one(client: Client, number: int) -> str:
        tags = [b"%d.%d" % (number, i) for i in range(5)]
        commands: list[Any] = [("ECHO", tag) for tag in tags]
        if number % 2:
            unit = client.transaction()
            for command in commands:
                unit.add(*command)
            return "right" if await unit.run() == tags else "wrong"
        return "right" if await client.execute_many(commands) == tags else "wrong"

    ends = async_face.run(lambda client: rounds(client, 1000, one, 0.3))
    assert set(ends) == {"right", "cancelled"}
    assert async_face.execute("ECHO", "whose?") == b"whose?"


def test_a_cancelled_unit_is_whole_or_not_at_all(
    async_face: Face, server: Server
) -> None:
    async def one(client: Client, _: int) -> str:
        unit = client.transaction().add("INCR", "a").add("INCR", "b")
        await unit.run()
        return "ok"

    ends = async_face.run(lambda client: rounds(client, 1000, one, 0.5))
    async_face.execute("PING")
    a, b = server.ask("MGET", "a", "b")
    assert a == b
    assert ends["ok"] <= int(a) <= ends["ok"] + ends["cancelled"]


def test_a_blocked_command_that_is_given_up(async_face: Face, server: Server) -> None:
    async def main(client: Client) -> None:
        blocked = asyncio.ensure_future(
            client.execute("BLPOP", "list", 0, may_block=True)
        )
        await asyncio.to_thread(server.until_blocked)
        blocked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await blocked
        server.ask("RPUSH", "list", "goes to nobody")
        assert await client.execute("ECHO", "whose?") == b"whose?"

    async_face.run(main)


def test_twice_and_after_the_end(async_face: Face) -> None:
    async def main(client: Client) -> None:
        done = client.submit("PING")
        await done
        assert not done.cancel()
        again = client.submit("BLPOP", "nothing", 0.01, may_block=True)
        assert again.cancel() and not again.cancel()
        shielded: Coroutine[Any, Any, Any] = client.execute("ECHO", "kept")
        inner = asyncio.ensure_future(shielded)
        outer = asyncio.shield(inner)
        await asyncio.sleep(0)
        outer.cancel()
        assert await inner == b"kept"

    async_face.run(main)


def test_a_closed_coroutine_leaves_nothing_behind(async_face: Face) -> None:
    """Nobody reads its future: asyncio must not be told of an exception in it. A
    command that blocks is given up."""
    told: list[Any] = []

    async def main(client: Client) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))
        await client.execute("SET", "k", "v")
        async with client.lease() as lease:
            for who in (client, lease):
                for late in (False, True):
                    first = who.submit("PING")  # all of a tick leave together
                    wrong = ("LPUSH", "k", "v")
                    coroutines = who.execute(*wrong), who.execute_many([wrong] * 3)
                    for coroutine in coroutines:
                        with contextlib.suppress(shoal.WrongTypeError):  # at once
                            coroutine.send(None)
                    if late:
                        await who.execute("PING")
                    for coroutine in coroutines:
                        coroutine.close()
                    await first
        blocked = client.execute("BLPOP", "nothing", 0)
        blocked.send(None)
        await client.execute("PING")
        blocked.close()
        while client.stats().leases_now:
            await asyncio.sleep(0.001)
        await client.execute("PING")
        gc.collect()

    async_face.run(main)
    assert told == []


def test_a_coroutine_that_another_thread_closes(async_face: Face) -> None:
    """As a garbage collection there does. Its command takes no element any more."""

    async def main(client: Client) -> None:
        asyncio.get_running_loop().set_debug(True)  # tells of calls in other threads
        blocked = client.execute("BLPOP", "list", 0)
        blocked.send(None)
        await client.execute("PING")
        await asyncio.to_thread(blocked.close)
        while client.stats().leases_now:
            await asyncio.sleep(0.001)
        assert await client.execute("RPUSH", "list", "v") == 1
        assert await client.execute("LLEN", "list") == 1

    async_face.run(main)


def test_what_a_finalizer_gives_up_meanwhile(async_face: Face) -> None:
    """A garbage collection may close a coroutine while commands are given up."""
    late: list[Any] = []

    class Interrupted(list[Any]):
        """A list whose reader is interrupted at its end."""

        def __iter__(self) -> Any:
            yield from super().__iter__()
            while late:
                late.pop().close()

    async def main(client: Client) -> None:
        for _ in range(2):
            late.append(client.execute("BLPOP", "list", 0))
            late[-1].send(None)
        await client.execute("PING")
        port = client._find_port()
        port._cancelled = Interrupted()
        late.pop().close()
        while client.stats().leases_now:
            await asyncio.sleep(0.001)

    async_face.run(main)
