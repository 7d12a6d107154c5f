# SPDX-License-Identifier: MIT
"""What a pool of redis-py's has of ours: it comes, goes, and comes again."""

import asyncio
import sys
import threading
import weakref
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from support.dropin import Scene  # noqa: E402
from support.server import Server  # noqa: E402


def finalizers() -> int:
    """What waits for the end of some object, in all of the process."""
    return len(weakref.finalize._registry)  # type: ignore[attr-defined]


def test_what_a_disconnect_closed_is_forgotten(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    pool = r.connection_pool
    scene.do(r.ping)
    before = finalizers()
    gone = [weakref.ref(r.shoal_client)]
    for _ in range(5):
        scene.do(pool.disconnect)
        scene.do(r.ping)
        gone.append(weakref.ref(r.shoal_client))
    assert finalizers() == before
    assert [ref() is None for ref in gone] == [True] * 5 + [False]


def test_it_may_not_be_carried_any_more(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    scene.do(r.ping)
    scene.do(r.connection_pool.disconnect)
    r.connection_pool.connection_kwargs["redis_connect_func"] = None
    assert scene.do(r.ping)
    assert r.shoal_bypass is None
    scene.do(r.connection_pool.disconnect)
    r.connection_pool.connection_kwargs["socket_timeout"] = 100_000.0  # a day has less
    assert scene.do(r.ping)
    assert r.shoal_bypass == "socket_timeout=100000.0"
    scene.do(r.connection_pool.disconnect)
    assert scene.do(r.ping)


def test_event_loops_begin_at_once(server: Server) -> None:
    """Each has a connection of its own; the pool has one client for them all."""
    loops = 6
    pool = shoal.redis.asyncio.ConnectionPool.from_url(server.url)
    barrier = threading.Barrier(loops)
    before = finalizers()
    clients: set[Any] = set()

    async def main(number: int) -> None:
        r = shoal.redis.asyncio.Redis(connection_pool=pool)
        barrier.wait()
        await r.client_setname(f"loop{number}")
        assert await r.set(f"k{number}", number)
        assert await r.client_getname() == f"loop{number}"
        assert await r.blpop("nothing", 0.01) is None
        async with r.pipeline() as pipe:
            await pipe.watch(f"k{number}")
            pipe.multi()
            pipe.get(f"k{number}")
            assert await pipe.execute() == [b"%d" % number]
        clients.add(r.shoal_client)
        await asyncio.to_thread(barrier.wait)
        assert len(r.shoal_client._ports) == loops
        await asyncio.to_thread(barrier.wait)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=asyncio.run, args=(main(number),))
            for number in range(loops)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(clients) == 1
    assert finalizers() == before + 1
    asyncio.run(pool.disconnect())
    assert finalizers() == before
