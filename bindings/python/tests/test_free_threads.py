# SPDX-License-Identifier: MIT
"""What threads do to the same object at the same time. With a GIL little of it can go
wrong; an interpreter without one (docs/PYTHON.md) runs these, too."""

import asyncio
import contextlib
import random
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import shoal
import shoal.aio
from shoal._replies import HAS_CONSTRUCTORS
from shoal.aio._waiters import waiter_maker
from shoal.aio.subscription import LoopHub
from support.children import run_child
from support.interpreter import IS_FREE
from support.scale import scaled
from support.server import Server
from support.threads import run_all
from support.wire import PATIENCE_S

THREADS = 8


@pytest.mark.skipif(not IS_FREE, reason="this interpreter has a GIL")
def test_the_package_does_not_turn_the_gil_on() -> None:
    script = "print(sys._is_gil_enabled())"
    end = run_child(script)
    assert (end.code, end.output, end.errors) == (0, "False\n", ""), end.errors


def test_values_of_many_threads(server: Server) -> None:
    with shoal.Client(server.url, timeout=PATIENCE_S) as client:

        def work(me: int) -> None:
            rng = random.Random(me)
            for number in range(scaled(200)):
                value = rng.randbytes(rng.choice((3, 300, 30_000)))
                client.execute("SET", f"threads:{me}", value)
                assert client.execute("GET", f"threads:{me}") == value
                client.execute_many([("SET", f"threads:{me}", number), ("PING",)])
                assert client.execute("GET", f"threads:{me}") == b"%d" % number

        run_all(work, 2 * THREADS)


@pytest.mark.parametrize("is_threaded", [False, True])
def test_loops_of_many_threads_over_one_client(
    server: Server, is_threaded: bool
) -> None:
    """Each finds another loop's connection where its own was, and large arguments of
    all are lent at the same time."""
    client = shoal.aio.Client(server.url, thread=is_threaded, timeout=PATIENCE_S)
    together = threading.Barrier(THREADS)

    async def call(me: int) -> None:
        value = b"%d" % me * 20_000
        key = f"loops:{me}"
        for number in range(scaled(60)):
            assert await client.execute("ECHO", f"{me}.{number}") == (
                b"%d.%d" % (me, number)
            )
            assert await client.submit("SET", key, value) == b"OK"
            assert await client.execute("GET", key) == value
            tags = [b"%d.%d" % (me, i) for i in range(5)]
            assert await client.execute_many([("ECHO", tag) for tag in tags]) == tags

    async def main(me: int) -> None:
        together.wait()
        await asyncio.gather(*(call(me) for _ in range(4)))

    run_all(lambda me: asyncio.run(main(me)), THREADS)
    asyncio.run(client.close())


def test_clients_that_are_closed_by_all(server: Server) -> None:
    for _ in range(scaled(20)):
        client = shoal.Client(server.url, timeout=PATIENCE_S)
        together = threading.Barrier(THREADS)

        def work(
            me: int,
            client: shoal.Client[bytes] = client,
            together: threading.Barrier = together,
        ) -> None:
            subscription = client.subscribe(f"closed:{me}")
            together.wait()
            try:
                for _ in range(me):
                    client.execute("PING")
                    subscription.take(timeout=0.0001)
            except shoal.ClosedError:
                pass
            client.close()
            subscription.close()

        run_all(work, THREADS)
        assert repr(client).endswith("closed>")


def test_readers_that_another_thread_takes_away() -> None:
    """The end of a hub wakes all readers, also if a feed is closed meanwhile."""
    feeds: dict[int, list[str]] = {1: ["a", "b"], 2: ["c"]}
    woken: list[str] = []

    def call_soon(wake: str) -> None:
        woken.append(wake)
        feeds.pop(2, None)  # what the other thread does
        feeds[1].clear()

    loop = SimpleNamespace(is_closed=lambda: False, call_soon_threadsafe=call_soon)
    hub: Any = SimpleNamespace(loop=loop, _awaiting=feeds)
    LoopHub._wake_all(hub)
    assert woken == ["a", "b", "c"]


def test_subscriptions_that_others_close(server: Server) -> None:
    """A reader gets what was published, in order, until the end."""
    with shoal.Client(server.url, timeout=PATIENCE_S) as client:
        for number in range(scaled(20)):
            channel = f"ends:{number}"
            with client.subscribe(channel, marks=False) as subscription:
                together = threading.Barrier(3)

                def publish(
                    channel: str = channel, together: threading.Barrier = together
                ) -> None:
                    together.wait()
                    for i in range(300):
                        client.execute("PUBLISH", channel, i)

                def read(
                    subscription: Any = subscription,
                    together: threading.Barrier = together,
                ) -> None:
                    together.wait()
                    seen = 0
                    try:
                        while True:
                            for item in subscription.take(7, timeout=1):
                                assert item.data == b"%d" % seen
                                seen += 1
                            if seen == 300:
                                break
                    except shoal.ClosedError:
                        pass

                def close(
                    number: int = number,
                    subscription: Any = subscription,
                    together: threading.Barrier = together,
                ) -> None:
                    together.wait()
                    for _ in range(number % 10):
                        client.execute("PING")
                    subscription.close()

                works = (publish, read, close)
                run_all(lambda me, works=works: works[me](), 3)  # type: ignore[misc]


def test_a_task_hears_of_a_close_in_another_thread(server: Server) -> None:
    for _ in range(scaled(20)):
        client = shoal.aio.Client(server.url, timeout=PATIENCE_S)
        is_open = threading.Event()
        found: list[Any] = []

        async def read(
            client: Any = client,
            found: list[Any] = found,
            is_open: threading.Event = is_open,
        ) -> None:
            async with client:
                subscription = client.subscribe("closed elsewhere")
                found.append(subscription)
                is_open.set()
                async with subscription:
                    async for _ in subscription:
                        pass

        def close(found: list[Any] = found, is_open: threading.Event = is_open) -> None:
            is_open.wait()
            asyncio.run(found[0].close())

        def run(read: Any = read) -> None:
            with contextlib.suppress(shoal.ClosedError):
                asyncio.run(asyncio.wait_for(read(), PATIENCE_S))

        works = (run, close)
        run_all(lambda me, works=works: works[me](), 2)  # type: ignore[misc]


@pytest.mark.skipif(not HAS_CONSTRUCTORS, reason="this build has none")
def test_waiters_end_once() -> None:
    """As asyncio's futures, whichever thread it is."""
    loop = asyncio.new_event_loop()
    make: Any = waiter_maker(loop)
    for _ in range(scaled(30)):
        waiter = make()
        called: list[Any] = []
        ends: list[int] = []
        together = threading.Barrier(THREADS)

        def end(
            me: int,
            waiter: Any = waiter,
            called: list[Any] = called,
            ends: list[int] = ends,
            together: threading.Barrier = together,
        ) -> None:
            together.wait()
            if me == 0:
                waiter.add_done_callback(called.append)
            elif me == 1:
                waiter.remove_done_callback(print)
                repr(waiter)
            elif me == 2 and waiter.cancel("reason"):
                ends.append(me)
            else:
                try:
                    waiter.set_result(me)
                    ends.append(me)
                except asyncio.InvalidStateError:
                    pass

        run_all(end, THREADS)
        assert len(ends) == 1
        assert waiter.done()
        if not waiter.cancelled():
            assert [waiter.result()] == ends
        loop.run_until_complete(asyncio.sleep(0))
        assert called == [waiter]
        assert sys.getrefcount(waiter) < 10
    loop.close()
