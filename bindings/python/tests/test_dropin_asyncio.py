# SPDX-License-Identifier: MIT
"""The redis-py drop-in for asyncio."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
from shoal.redis.asyncio import Redis  # noqa: E402
from support.server import Server  # noqa: E402
from support.wire import PATIENCE_S  # noqa: E402

Scene = Callable[[Callable[[Any], Awaitable[None]]], None]


@pytest.fixture
def play(server: Server) -> Scene:
    """Runs a scene with a client, in an event loop of its own."""

    def run(scene: Callable[[Any], Awaitable[None]]) -> None:
        async def main() -> None:
            async with Redis.from_url(server.url) as r:
                await scene(r)

        asyncio.run(main())

    return run


def carried(r: Any) -> int:
    """How many commands the core has carried."""
    return int(r.shoal_client.stats().commands)


def test_commands_are_carried(play: Scene) -> None:
    async def scene(r: Any) -> None:
        assert r.shoal_bypass is None
        before = carried(r)
        assert await r.set("a", 1) is True
        assert await r.get("a") == b"1"
        assert await r.config_get("maxmemory") == {"maxmemory": "0"}
        assert await r.mget([]) == []
        assert carried(r) >= before + 4
        assert await r.blpop("empty", timeout=0.05) is None
        assert not r.connection_pool._available_connections

    play(scene)


def test_tasks_get_their_own_replies(play: Scene) -> None:
    async def scene(r: Any) -> None:
        texts = [str(i).encode() for i in range(2000)]
        assert await asyncio.gather(*map(r.echo, texts)) == texts
        stats = r.shoal_client.stats()
        assert stats.writes < 200
        assert not r.connection_pool._available_connections

    play(scene)


def test_cancelling_shifts_no_reply(play: Scene) -> None:
    async def scene(r: Any) -> None:
        for round_ in range(20):
            tasks = [asyncio.create_task(r.echo(f"{i}")) for i in range(100)]
            for _ in range(round_ % 4):
                await asyncio.sleep(0)
            for task in tasks[::3]:
                task.cancel()
            replies = await asyncio.gather(*tasks, return_exceptions=True)
            for i, reply in enumerate(replies):
                if i % 3:
                    assert reply == str(i).encode()
                else:
                    cancelled = isinstance(reply, asyncio.CancelledError)
                    assert cancelled or reply == str(i).encode()
        assert await r.ping()

    play(scene)


def test_a_cancelled_pipeline(play: Scene) -> None:
    async def scene(r: Any) -> None:
        pipe = r.pipeline()
        for _ in range(1000):
            pipe.incr("n")
        task = asyncio.create_task(pipe.execute())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert pipe.command_stack == [] and pipe.connection is None
        assert await r.pipeline().echo("x").execute() == [b"x"]
        assert int(await r.get("n") or 0) in (0, 1000)  # all of it or nothing

    play(scene)


def test_pipelines(play: Scene) -> None:
    async def scene(r: Any) -> None:
        before = carried(r)
        assert await r.pipeline().set("a", 1).incr("a").execute() == [True, 2]
        async with r.pipeline(transaction=False) as pipe:
            assert await pipe.get("a").hgetall("none").execute() == [b"2", {}]
        assert carried(r) == before + 4 + 2
        pipe = r.pipeline(transaction=False).lpush("a", 1).get("a")
        replies = await pipe.execute(raise_on_error=False)
        assert isinstance(replies[0], redis.ResponseError) and replies[1] == b"2"
        assert replies[0].fate is shoal.Fate.REPLIED
        with pytest.raises(redis.ResponseError, match="Command # 1 .LPUSH a 1."):
            await r.pipeline().lpush("a", 1).execute()
        with pytest.raises(redis.ResponseError, match="Command # 1 .LPUSH a 1."):
            await r.pipeline(transaction=False).lpush("a", 1).execute()
        pipe = r.pipeline().set("a", 5).blpop("empty", timeout=1)
        assert await pipe.get("a").execute() == [True, None, b"5"]

    play(scene)


def test_watch(play: Scene) -> None:
    async def scene(r: Any) -> None:
        await r.set("n", 1)
        async with r.pipeline() as pipe:
            await pipe.watch("n")
            n = int(await pipe.get("n"))
            await r.set("n", 10)
            pipe.multi()
            pipe.set("n", n + 1)
            with pytest.raises(redis.WatchError):
                await pipe.execute()

        async def double(pipe: Any) -> None:
            n = int(await pipe.get("n"))
            pipe.multi()
            pipe.set("n", n * 2)

        assert await r.transaction(double, "n") == [True]
        assert await r.get("n") == b"20"

    play(scene)


def test_pubsub_scripts_locks_and_scans(play: Scene) -> None:
    async def scene(r: Any) -> None:
        async with r.pubsub() as pubsub:
            await pubsub.subscribe("news")
            assert (await pubsub.get_message(timeout=PATIENCE_S))["type"] == "subscribe"
            assert await r.publish("news", "hello") == 1
            assert (await pubsub.get_message(timeout=PATIENCE_S))["data"] == b"hello"
        script = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        assert await script(keys=["n"], args=[5]) == 5
        async with r.lock("lock", timeout=PATIENCE_S) as lock:
            assert await lock.owned()
        await r.mset({f"key:{i}": i for i in range(100)})
        keys = [key async for key in r.scan_iter("key:*", count=7)]
        assert len(set(keys)) == 100

    play(scene)


def test_callbacks_may_be_awaitable(play: Scene) -> None:
    async def scene(r: Any) -> None:
        async def callback(reply: Any, **options: Any) -> Any:
            await asyncio.sleep(0)
            return "mine", reply

        r.set_response_callback("GET", callback)
        await r.set("a", 1)
        assert await r.get("a") == ("mine", b"1")
        for transaction in (True, False):
            pipe = r.pipeline(transaction=transaction).get("a")
            assert await pipe.execute() == [("mine", b"1")]

    play(scene)


def test_errors(play: Scene) -> None:
    async def scene(r: Any) -> None:
        await r.set("a", "text")
        with pytest.raises(redis.ResponseError) as caught:
            await r.lpush("a", 1)
        assert caught.value.fate is shoal.Fate.REPLIED
        with pytest.raises(redis.DataError):
            await r.set("a", None)
        assert await r.get("a") == b"text"

    play(scene)


def test_an_idle_connection_that_ended_is_replaced(play: Scene, server: Server) -> None:
    async def end_connections() -> None:
        server.ask("CLIENT", "KILL", "TYPE", "normal")
        await asyncio.sleep(0.05)  # the loop hears of it

    async def scene(r: Any) -> None:
        await r.set("a", 1)
        await end_connections()
        assert await r.get("a") == b"1"
        await end_connections()
        assert await r.pipeline().get("a").execute() == [b"1"]

    play(scene)


def test_close_and_go_on(server: Server) -> None:
    async def main() -> None:
        r = Redis.from_url(server.url)
        first = r.shoal_client
        await r.set("a", 1)
        await r.aclose()
        with pytest.raises(shoal.ClosedError):
            await first.execute("PING")
        assert await r.get("a") == b"1"
        await r.aclose()
        gc.collect()

    asyncio.run(main())


async def none_left(server: Server) -> bool:
    """Whether the server has no connections, soon."""
    for _ in range(500):
        if server.connections() == 0:
            return True
        await asyncio.sleep(0.01)
    return False


def test_a_forgotten_client_ends(server: Server) -> None:
    async def main() -> None:
        assert await none_left(server)
        r = Redis.from_url(server.url)
        assert await r.ping() and server.connections() == 1
        del r
        gc.collect()
        assert await none_left(server)

    asyncio.run(main())


def test_a_connection_ends_with_its_loop(server: Server) -> None:
    """Before the client is forgotten, and closed or not."""
    r = Redis.from_url(server.url)
    assert asyncio.run(r.ping())
    assert asyncio.run(none_left(server))
    assert asyncio.run(r.ping())
    del r
    gc.collect()
    assert asyncio.run(none_left(server))


def test_a_client_in_one_loop_after_another(server: Server) -> None:
    r = Redis.from_url(server.url)
    for number in range(3):
        assert asyncio.run(r.incr("n")) == number + 1
    asyncio.run(r.aclose())


def test_a_connection_of_its_own(server: Server) -> None:
    async def main() -> None:
        options = {"client_name": "single", "single_connection_client": True}
        single = Redis.from_url(server.url, **options)
        assert await single.set("a", 1)
        assert await single.get("a") == b"1"
        assert single.shoal_bypass is None and single.shoal_client is not None
        assert await single.client_getname() == "single"
        assert await single.client_id() == await single.client_id()
        await single.aclose()

    asyncio.run(main())
