# SPDX-License-Identifier: MIT
"""Nothing leaks: objects, memory, descriptors, threads."""

import asyncio
import contextlib
import gc
import os
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal.aio import Client
from support.children import run_child
from support.faces import Face
from support.interpreter import IS_FREE
from support.scale import scaled
from support.server import Server
from support.wire import PATIENCE_S

#: What the interpreter's own caches may keep.
SLACK_OBJECTS = 50
#: What an allocator that is warm may still take.
MEMORY_SLACK = (12 if IS_FREE else 3) << 20
RESIDENT = """
    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
"""


def descriptors() -> int:
    """Open ones of this process."""
    return len(os.listdir("/proc/self/fd"))


def native_threads() -> int:
    """Of this process, those Python does not know too."""
    return len(os.listdir("/proc/self/task"))


def objects_gained(act: Callable[[], object], rounds: int = 20) -> int:
    """How many objects are more after so many rounds, once all is warm."""
    for _ in range(3):
        act()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(rounds):
        act()
    gc.collect()
    return len(gc.get_objects()) - before


def sync_round(face: Face) -> None:
    """A bit of everything, errors too."""
    face.execute("SET", "k", b"v" * 100)
    face.execute_many([("GET", "k"), ("LPUSH", "k", 1)] * 10, return_exceptions=True)
    for bad in (("NONSENSE",), ("ECHO", None), ("MONITOR",)):
        with pytest.raises(shoal.RedisError):
            face.execute(*bad)
    with contextlib.suppress(shoal.TimeoutError):  # unless this thread comes late
        face.execute("DEBUG", "SLEEP", 0.002, timeout=0.0001)
    pipeline = face.client.transaction().add("INCR", "n").add("LPUSH", "k", 1)
    face.run_pipeline(pipeline, return_exceptions=True)
    face.stats()
    face.events()


async def async_round(client: Client) -> None:
    """The same with tasks, some of which are cancelled."""
    futures: list[Any] = [client.submit("GET", "k") for _ in range(20)]
    futures += [client.submit("NONSENSE"), client.submit("MONITOR")]
    tasks = [asyncio.ensure_future(client.execute("ECHO", i)) for i in range(20)]
    await asyncio.sleep(0)
    for victim in [*futures[:5], *tasks[:5]]:
        victim.cancel()
    await asyncio.gather(*futures, *tasks, return_exceptions=True)


def test_objects(connect: Connect) -> None:
    face = connect()

    def act() -> None:
        sync_round(face)
        if face.is_async:
            face.run(async_round)

    face.execute("SET", "k", "v")
    assert objects_gained(act) < SLACK_OBJECTS


def test_references_of_arguments_and_replies(connect: Connect) -> None:
    face = connect()
    argument, view = b"argument" * 50, memoryview(b"view" * 50)
    held = [sys.getrefcount(argument), sys.getrefcount(view)]
    for _ in range(200):
        reply = face.execute("ECHO", argument)
        face.execute("ECHO", view)
        face.execute("GET", "nothing")
        face.execute_many([("ECHO", argument), ("GET", "nothing")] * 2)
    assert sys.getrefcount(reply) == 2
    now = [sys.getrefcount(argument), sys.getrefcount(view)]
    assert now == held


def test_clients_come_and_go(mode: str, server: Server) -> None:
    def act() -> None:
        face = Face(mode, server.url)
        face.execute("PING")
        face.end()

    for _ in range(3):
        act()
    gc.collect()

    def left() -> tuple[int, int, int]:
        return descriptors(), native_threads(), threading.active_count()

    before = left()
    for _ in range(scaled(30)):  # in each of 7 modes
        act()
    gc.collect()
    # A thread that has said goodbye needs time to go.
    until = time.monotonic() + PATIENCE_S
    # What others left behind may have gone meanwhile.
    while any(now > then for now, then in zip(left(), before, strict=True)):
        assert time.monotonic() < until, (left(), before)
        time.sleep(0.001)
    assert objects_gained(act, 10) < SLACK_OBJECTS


def test_closed_monitors_keep_no_descriptors(connect: Connect) -> None:
    face = connect()

    def closed() -> Any:
        monitor = face.monitor()
        with monitor:
            pass
        return monitor

    kept = [closed()]
    before = descriptors()
    kept += [closed() for _ in range(5)]
    face.until(lambda: descriptors() <= before)


@pytest.mark.parametrize("kind", ["sync", "borrowed", "thread"])
def test_clients_give_back_their_memory(server: Server, kind: str) -> None:
    """10 KiB lost with each would show."""
    script = f"""
        def act():
            if {kind!r} == "sync":
                with shoal.Client(url) as client:
                    client.execute("PING")
                return
            async def main():
                async with shoal.aio.Client(url, thread={kind!r} == "thread") as client:
                    await client.execute("PING")
            loop.run_until_complete(main())
        loop = asyncio.new_event_loop()
        for _ in range(100):
            act()
        before = resident()
        for _ in range(300):
            act()
        print(resident() - before)
    """
    end = run_child(textwrap.dedent(RESIDENT) + textwrap.dedent(script), server.url)
    assert (end.code, end.errors) == (0, ""), end.errors
    assert int(end.output) < MEMORY_SLACK


def test_clients_that_are_not_closed_hold_nothing_up(server: Server) -> None:
    """They are a mistake; the end of the interpreter forgives it."""
    end = run_child(
        """
        for _ in range(50):
            shoal.Client(url).execute("PING")
        async def main():
            for _ in range(20):
                await shoal.aio.Client(url).execute("PING")
                await shoal.aio.Client(url, thread=True).execute("PING")
        run(main())
        """,
        server.url,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_threads_give_back_what_they_had(server: Server) -> None:
    with shoal.Client(server.url) as client:

        def act() -> None:
            threads = [
                threading.Thread(target=client.execute, args=("PING",))
                for _ in range(5)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        assert objects_gained(act) < SLACK_OBJECTS


MEMORY = """
    commands = int(sys.argv[2])
    def sync_rounds(count):
        client = shoal.Client(url, timeout=20)
        for number in range(count // 100):
            rows = [("ECHO", "x" * 200), ("NONSENSE", number), ("GET", "k")] * 10
            client.execute_many(rows, return_exceptions=True)
            for _ in range(20):
                client.execute("ECHO", b"y" * 500)
            try:
                client.execute_many([("ECHO", number)] * 50, timeout=0.0001)
            except shoal.TimeoutError:
                pass
        client.close()
    async def async_rounds(client, count):
        for number in range(count // 100):
            tasks = [asyncio.ensure_future(client.execute("ECHO", "x" * 300))
                     for _ in range(90)]
            tasks += [client.submit("NONSENSE") for _ in range(10)]
            await asyncio.sleep(0)
            for task in tasks[number % 10 :: 10]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()
    def act(count):
        if sys.argv[3] == "sync":
            sync_rounds(count)
        else:
            thread = sys.argv[3] == "thread"
            run(async_rounds(shoal.aio.Client(url, thread=thread), count))
    act(commands)
    before = resident()
    act(commands)
    gained = resident() - before
    print(gained)
"""


@pytest.mark.parametrize(
    ("kind", "loop"),
    [
        ("sync", "asyncio"), ("borrowed", "asyncio"), ("thread", "asyncio"),
        ("borrowed", "uvloop"), ("thread", "uvloop"),
    ],
)  # fmt: skip
def test_memory(server: Server, kind: str, loop: str) -> None:
    """100 bytes lost per command show; at scale 330, with 10^7 commands, 1 byte."""
    commands = scaled(30_000, 10**7)
    end = run_child(RESIDENT + MEMORY, server.url, str(commands), kind, loop=loop)
    assert (end.code, end.errors) == (0, ""), end.errors
    assert int(end.output) < MEMORY_SLACK
