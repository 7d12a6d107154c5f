# SPDX-License-Identifier: MIT
"""RedisCluster of the drop-in for asyncio: tasks, cancels, and its end.

What both faces do is tested in test_dropin_cluster.py.
"""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from support.cluster import Cluster  # noqa: E402
from support.wire import PATIENCE_S  # noqa: E402

Play = Callable[[Callable[[Any], Awaitable[None]]], None]
KEYS = ("a", "b", "c")  # at three nodes


@pytest.fixture
def play(cluster: Cluster) -> Play:
    """Runs a function with a client of ours, on an event loop of its own."""

    def run(act: Callable[[Any], Awaitable[None]]) -> None:
        async def scene() -> None:
            kind = shoal.redis.asyncio.RedisCluster
            async with kind.from_url(cluster.seed_url) as r:
                await act(r)

        asyncio.run(scene())

    return run


def test_tasks_get_their_own_replies(play: Play) -> None:
    async def act(r: Any) -> None:
        names = [f"key{i}" for i in range(300)]
        await r.mset_nonatomic({name: name for name in names})
        for _ in range(3):
            values = await asyncio.gather(*map(r.get, names))
            assert values == [name.encode() for name in names]
        assert r.shoal_client.stats().commands >= 4 * len(names) - 300

    play(act)


def test_cancelling_shifts_no_reply(play: Play) -> None:
    async def act(r: Any) -> None:
        await r.mset_nonatomic({key: key for key in KEYS})
        for delay in (0, 0.0002):
            tasks = [asyncio.create_task(r.get(KEYS[i % 3])) for i in range(90)]
            await asyncio.sleep(delay)
            for task in tasks[::2]:
                task.cancel()
            rest = await asyncio.gather(*tasks, return_exceptions=True)
            for number, value in enumerate(rest):
                if not isinstance(value, asyncio.CancelledError):
                    assert value == KEYS[number % 3].encode()

    play(act)


def test_redis_py_looks_for_the_nodes_again(play: Play) -> None:
    """It closes its client for that; what is carried does not notice."""

    async def act(r: Any) -> None:
        await r.set("a", 1)
        core = r.shoal_client
        r.reinitialize_steps = 1
        stranger = r.get_node_from_key("b")
        reply = await r.execute_command("GET", "a", target_nodes=stranger)
        assert reply == b"1"  # by MOVED
        assert r.shoal_client is core
        assert await r.get("a") == b"1"

    play(act)


def test_scripts_locks_scans_watch_and_pubsub(play: Play) -> None:
    async def act(r: Any) -> None:
        script = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        await r.delete("n")
        assert await script(keys=["n"], args=[5]) == 5
        async with r.lock("lock", timeout=PATIENCE_S) as lock:
            assert await lock.owned()
        await r.mset_nonatomic({f"key:{i}": i for i in range(50)})
        assert len({key async for key in r.scan_iter("key:*")}) == 50
        assert await r.blpop("none", timeout=0.05) is None

        async with r.pipeline(transaction=True) as pipe:
            await pipe.watch("n")
            n = int(await pipe.get("n"))
            pipe.multi()
            pipe.set("n", n * 2)
            assert await pipe.execute() == [True]
        assert await r.get("n") == b"10"

        pubsub = r.pubsub()
        await pubsub.subscribe("news")
        assert (await pubsub.get_message(timeout=PATIENCE_S))["type"] == "subscribe"
        await r.publish("news", "hello")
        assert (await pubsub.get_message(timeout=PATIENCE_S))["data"] == b"hello"
        await pubsub.aclose()

    play(act)


def test_a_client_that_nobody_closed(cluster: Cluster) -> None:
    """redis-py warns; the core is closed by the loop."""

    async def act() -> None:
        r = shoal.redis.asyncio.RedisCluster.from_url(cluster.seed_url)
        await r.set("a", 1)
        core = r.shoal_client
        assert core is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            await r.nodes_manager.aclose()
            del r
            gc.collect()
        with pytest.raises(shoal.ClosedError):
            while True:
                await core.execute("GET", "a")

    asyncio.run(act())
