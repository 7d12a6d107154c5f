# SPDX-License-Identifier: MIT
"""On an event loop: what leaves together, what wakes whom, what is allowed."""

import asyncio
import threading
from typing import Any

import pytest
import shoal
from conftest import Connect
from shoal.aio import Client
from support.faces import Face
from support.scale import scaled
from support.server import Server

#: Of ten ticks with 100 commands each. A thread may write what it finds while the rest
#: is on its way, each time that a busy machine lets it run between.
WRITES_MAX = 200


def test_a_tick_leaves_in_one_write(async_face: Face) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        await asyncio.gather(*[client.execute("PING") for _ in range(100)])
        before = client.stats()
        for _ in range(10):
            await asyncio.gather(*[client.execute("PING") for _ in range(100)])
        after = client.stats()
        assert after.commands - before.commands == 1000
        assert after.writes - before.writes <= WRITES_MAX

    async_face.run(main)


@pytest.mark.parametrize(
    "extras", [{"timeout": 20}, {"decode": True, "may_block": True}], ids=str
)
def test_a_tick_with_extras_leaves_in_one_write(
    async_face: Face, extras: dict[str, Any]
) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        await asyncio.gather(*[client.execute("PING") for _ in range(100)])
        before = client.stats()
        for _ in range(10):
            calls = [client.execute("PING", **extras) for _ in range(100)]
            assert set(await asyncio.gather(*calls)) <= {b"PONG", "PONG"}
        after = client.stats()
        assert after.commands - before.commands == 1000
        assert after.writes - before.writes <= WRITES_MAX

    async_face.run(main)


def test_a_lone_task_that_submits_many(async_face: Face) -> None:
    async def main(client: Client) -> None:
        await client.execute("PING")
        before = client.stats()
        for _ in range(10):
            await asyncio.gather(*[client.submit("PING") for _ in range(100)])
        after = client.stats()
        assert after.commands - before.commands == 1000
        assert after.writes - before.writes <= WRITES_MAX

    async_face.run(main)


def test_order_within_a_tick(async_face: Face) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        order: list[Any] = []
        first = client.submit("RPUSH", "list", 1)
        many = asyncio.ensure_future(
            client.execute_many([("RPUSH", "list", 2), ("RPUSH", "list", 3)])
        )
        await asyncio.sleep(0)
        last = client.submit("RPUSH", "list", 4, timeout=5)
        order = [await first, *await many, await last]
        assert order == [1, 2, 3, 4]
        assert await client.execute("LRANGE", "list", 0, -1) == [b"1", b"2", b"3", b"4"]

    async_face.run(main)


def test_gather(async_face: Face) -> None:
    count = scaled(10_000, 10**5)

    async def main(client: Client) -> None:
        replies = await asyncio.gather(
            *[client.execute("ECHO", i) for i in range(count)]
        )
        assert replies == [str(i).encode() for i in range(count)]

    async_face.run(main)


def test_submit_gives_a_future(async_face: Face) -> None:
    async def main(client: Client) -> None:
        futures = [client.submit("ECHO", i) for i in range(1000)]
        assert all(asyncio.isfuture(future) for future in futures)
        await asyncio.wait(futures)
        assert [f.result() for f in futures] == [b"%d" % i for i in range(1000)]
        with pytest.raises(shoal.DataError):
            await client.submit("ECHO", None)  # type: ignore[arg-type]
        with pytest.raises(shoal.ResponseError):
            await client.submit("NONSENSE")
        assert await client.submit("ECHO", 1, decode=True, timeout=5) == "1"

    async_face.run(main)


def test_one_that_cannot_be_sent_among_others(async_face: Face) -> None:
    async def main(client: Client) -> None:
        arguments: list[Any] = ["a", None, memoryview(b"m"), 1 << 70, "\ud800", b"b"]
        ends = await asyncio.gather(
            *[client.execute("ECHO", a) for a in arguments], return_exceptions=True
        )
        assert [ends[0], ends[2], ends[3], ends[5]] == [
            b"a", b"m", str(1 << 70).encode(), b"b",
        ]  # fmt: skip
        assert type(ends[1]) is type(ends[4]) is shoal.DataError

    async_face.run(main)


def test_refused_and_wrong_ones_among_others(async_face: Face) -> None:
    async def main(client: Client) -> None:
        commands = [
            ("ECHO", "a"),
            ("MONITOR",),
            ("NONSENSE",),
            ("ECHO", "b"),
            ("MULTI",),
        ]
        ends = await asyncio.gather(
            *[client.execute(*c) for c in commands * 20], return_exceptions=True
        )
        assert ends[0::5] == [b"a"] * 20
        assert ends[3::5] == [b"b"] * 20
        assert {type(end) for end in ends[1::5] + ends[4::5]} == {shoal.RefusedError}
        assert {type(end) for end in ends[2::5]} == {shoal.ResponseError}

    async_face.run(main)


def test_a_task_alone(async_face: Face) -> None:
    async def main(client: Client) -> None:
        for number in range(500):
            assert await client.execute("ECHO", number) == b"%d" % number

    async_face.run(main)


def test_outside_of_a_loop(async_connect: Connect) -> None:
    face = async_connect()
    with pytest.raises(RuntimeError):
        face.client.submit("PING")
    with pytest.raises(RuntimeError):
        face.client.stats()


def test_callbacks_may_call(async_face: Face) -> None:
    async def main(client: Client) -> None:
        done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        steps = 0

        def again(future: "asyncio.Future[bytes]") -> None:
            nonlocal steps
            steps += 1
            if steps == 100:
                done.set_result(future.result())
            else:
                client.submit("ECHO", steps).add_done_callback(again)

        client.submit("ECHO", 0).add_done_callback(again)
        assert await done == b"99"

    async_face.run(main)


def test_the_loop_may_be_held_up(async_face: Face) -> None:
    """Results wait; nothing is lost."""

    async def main(client: Client) -> None:
        futures = [client.submit("ECHO", i) for i in range(2000)]
        await asyncio.sleep(0)
        threading.Event().wait(0.05)
        assert await asyncio.gather(*futures) == [b"%d" % i for i in range(2000)]

    async_face.run(main)


def test_deadlines(async_face: Face) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        slow = asyncio.ensure_future(client.execute("DEBUG", "SLEEP", 0.05))
        late = [client.execute("ECHO", i, timeout=0.01) for i in range(50)]
        ends = await asyncio.gather(*late, return_exceptions=True)
        assert {type(end) for end in ends} <= {shoal.TimeoutError, bytes}
        assert await slow == b"OK"
        assert await client.execute("ECHO", "whose?") == b"whose?"

    async_face.run(main)


def test_close_fails_what_is_outstanding(async_face: Face) -> None:
    async def main(client: Client) -> None:
        await client.wait_ready()
        blocked = client.submit("BLPOP", "nothing", 9, may_block=True)
        behind = [client.submit("INCR", "n") for _ in range(100)]
        await asyncio.sleep(0.01)
        await client.close()
        ends = await asyncio.gather(blocked, *behind, return_exceptions=True)
        assert {type(end) for end in ends} == {shoal.ClosedError}
        with pytest.raises(shoal.ClosedError):
            await client.execute("PING")

    async_face.run(main)


def test_a_close_disproves_nothing(async_face: Face, server: Server) -> None:
    """A written command has been executed, although its client was closed."""

    async def main(client: Client) -> None:
        await client.wait_ready()
        futures = [client.submit("INCR", "n") for _ in range(100)]
        await asyncio.sleep(0)
        await client.close()
        ends = await asyncio.gather(*futures, return_exceptions=True)
        executed = int(server.ask("GET", "n") or 0)
        fates = [getattr(end, "fate", shoal.Fate.REPLIED) for end in ends]
        assert fates.count(shoal.Fate.REPLIED) <= executed
        assert executed <= 100 - fates.count(shoal.Fate.NOT_EXECUTED)
        errors = [end for end in ends if isinstance(end, BaseException)]
        assert {type(error) for error in errors} <= {shoal.ClosedError}
        assert len({id(error) for error in errors}) == len(errors)

    async_face.run(main)


def test_a_face_after_the_other(server: Server) -> None:
    """Its end is not the end of the client."""
    with shoal.Client(server.url) as client:

        async def main() -> None:
            for _ in range(2):
                async with client.aio() as face:
                    assert await face.execute("PING") == b"PONG"

        asyncio.run(main())
        assert client.execute("PING") == b"PONG"


@pytest.mark.parametrize("drain", [60.0, 2.0])
def test_close_drains(async_connect: Connect, drain: float) -> None:
    face = async_connect()

    async def main(client: Client) -> None:
        await client.wait_ready()
        futures = [client.submit("ECHO", i) for i in range(500)]
        if drain < 60:  # which is long enough for the others, on a busy machine too
            futures.append(client.submit("BLPOP", "nothing", 0, may_block=True))
        await client.close(drain)
        ends = await asyncio.gather(*futures, return_exceptions=True)
        assert ends[:500] == [b"%d" % i for i in range(500)]
        assert all(type(end) is shoal.ClosedError for end in ends[500:])

    if face.mode.endswith("shared"):
        pytest.skip("the blocking client closes it")
    face.run(main)
