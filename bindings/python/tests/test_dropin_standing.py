# SPDX-License-Identifier: MIT
"""The lease that single commands share which change their connection: none of them
waits for another one, and a forked child has its own."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from shoal._lease import CONNECTIONS_MAX  # noqa: E402
from shoal.redis import _leased  # noqa: E402
from support.server import Server  # noqa: E402


@contextmanager
def held(r: Any) -> Iterator[None]:
    """A command of another thread uses the lease meanwhile."""
    begun, may_end = Event(), Event()

    def wait(reply: Any) -> Any:
        begun.set()
        may_end.wait()
        return reply

    r.set_response_callback("CLIENT GETNAME", wait)
    with ThreadPoolExecutor(1) as others:
        reply = others.submit(r.client_getname)
        begun.wait()
        try:
            yield
        finally:
            may_end.set()
        assert reply.result() == b"mine"


def name_of(r: Any) -> str:
    """As the server knows it."""
    name: str = r.client_info()["name"]
    return name


def test_another_thread_uses_it(server: Server) -> None:
    with shoal.redis.Redis.from_url(server.url) as r:
        r.client_setname("mine")
        with held(r):
            assert name_of(r) == ""
        assert name_of(r) == "mine"
        assert not r.connection_pool._available_connections


def test_two_threads_begin_at_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes later does not replace what the other one has made."""
    making, may_go_on = Event(), Event()

    class Slow(_leased.Standing):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            if not making.is_set():
                making.set()
                may_go_on.wait()

    monkeypatch.setattr(_leased, "Standing", Slow)
    with (
        shoal.redis.Redis.from_url(server.url) as r,
        ThreadPoolExecutor(1) as others,
    ):
        slow = others.submit(r.client_id)
        making.wait()
        r.client_setname("mine")
        may_go_on.set()
        assert slow.result()
        assert name_of(r) == "mine"


def test_two_loops_begin_at_once(server: Server) -> None:
    """Each has a lease of its own, which the other one does not replace."""
    r = shoal.redis.asyncio.Redis.from_url(server.url)
    both = Barrier(2)

    async def name_it(name: str) -> bool:
        both.wait()
        await r.client_setname(name)
        both.wait()
        return bool((await r.client_info())["name"] == name)

    with ThreadPoolExecutor(2) as loops:
        runs = [
            loops.submit(asyncio.run, name_it(name)) for name in ("first", "second")
        ]
        assert all(run.result() for run in runs)
    asyncio.run(r.aclose())


def test_another_task_uses_it(server: Server) -> None:
    async def play() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def wait(reply: Any) -> Any:
            begun.set()
            await may_end.wait()
            return reply

        async with shoal.redis.asyncio.Redis.from_url(server.url) as r:
            await r.client_setname("mine")
            r.set_response_callback("CLIENT GETNAME", wait)
            reply = asyncio.create_task(r.client_getname())
            await begun.wait()
            assert (await r.client_info())["name"] == ""
            may_end.set()
            assert await reply == b"mine"
            assert (await r.client_info())["name"] == "mine"
            assert not r.connection_pool._available_connections

    asyncio.run(play())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_a_thread_uses_it(server: Server) -> None:
    """The thread is not in the child: nothing there waits for it, or is kept by it."""
    with shoal.redis.Redis.from_url(server.url) as r:
        r.client_setname("mine")
        with held(r):
            child = os.fork()
            if child == 0:
                before = name_of(r)
                r.client_setname("child's")
                free = len(vars(r.connection_pool)["__shoal_lane__"]._places)
                is_right = (before, name_of(r)) == ("", "child's")
                os._exit(0 if is_right and free == CONNECTIONS_MAX - 1 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert name_of(r) == "mine"
