# SPDX-License-Identifier: MIT
"""Signal handlers and finalizers that submit: Python may run them between any two steps
of a client, and every reply still goes to its own caller."""

import asyncio
import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import shoal.aio
from conftest import Connect
from shoal.aio import Client
from support.children import run_child
from support.faces import LOOPS, Face
from support.interpreter import IS_FREE
from support.server import Server
from support.wire import PATIENCE_S

_SOURCES = str(Path(shoal.aio.__file__).parent)
#: An intruder after so many steps of the client's code: each finds other places.
_STRIDES = (83, 97, 103, 109)
_TASKS = 10
_ROUNDS = 4


@pytest.fixture(params=["asyncio-borrowed", "asyncio-thread", "uvloop-borrowed"])
def mode(request: pytest.FixtureRequest) -> str:
    """One of each loop and driver is enough: it is their Python code that is tried."""
    return str(request.param)


class Intruders:
    """Commands that are submitted in the midst of the client's own code."""

    def __init__(self, submit: Callable[[str], "asyncio.Future[Any]"]) -> None:
        self._submit = submit
        self.futures: dict[str, asyncio.Future[Any]] = {}
        self.errors: list[Exception] = []
        self._steps = 0

    def come(self) -> None:
        """One more."""
        tag = f"intruder {len(self.futures)}"
        try:
            self.futures[tag] = self._submit(tag)
        except Exception as error:  # a trace function that raises is switched off
            self.errors.append(error)

    @contextlib.contextmanager
    def every(self, stride: int) -> Iterator[None]:
        """Come before each `stride`th bytecode of the package shoal.aio."""

        def step(frame: FrameType, event: str, _: object) -> Any:
            self._steps += event == "opcode"
            if event == "opcode" and self._steps % stride == 0:
                self.come()
            return step

        def trace(frame: FrameType, _: str, __: object) -> Any:
            if not frame.f_code.co_filename.startswith(_SOURCES):
                return None
            frame.f_trace_opcodes = True
            return step

        former = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(former)

    async def check(self) -> None:
        """Each got its own reply."""
        assert self.errors == []
        assert len(self.futures) > 10
        await asyncio.wait(self.futures.values(), timeout=PATIENCE_S)
        assert all(future.done() for future in self.futures.values()), "left alone"
        for tag, future in self.futures.items():
            assert future.result() == tag.encode()


async def by_execute(client: Client, tag: str) -> Any:
    return await client.execute("ECHO", tag)


async def with_extras(client: Client, tag: str) -> Any:
    return await client.execute("ECHO", tag, timeout=PATIENCE_S)


async def by_submit(client: Client, tag: str) -> Any:
    return await client.submit("ECHO", tag)


async def by_many(client: Client, tag: str) -> Any:
    first, second = await client.execute_many([("ECHO", tag), ("ECHO", "x" + tag)])
    return first if second == b"x" + first else (first, second)


_WAYS = {
    "execute": by_execute, "extras": with_extras, "submit": by_submit, "many": by_many,
}  # fmt: skip


async def work(client: Client, way: Any, me: int) -> int:
    """How many replies were another's."""
    tags = [f"{me}.{number}" for number in range(_ROUNDS)]
    return [await way(client, tag) for tag in tags] != [tag.encode() for tag in tags]


@pytest.mark.parametrize(
    ("way", "intruders_way"),
    [
        ("execute", "plain"),
        ("extras", "extras"),
        ("submit", "extras"),
        ("many", "plain"),
    ],
)
def test_between_any_two_steps(connect: Connect, way: str, intruders_way: str) -> None:
    async def main(client: Client) -> None:
        await client.execute("PING")

        def submit(tag: str) -> "asyncio.Future[Any]":
            if intruders_way == "plain":
                return client.submit("ECHO", tag)
            return client.submit("ECHO", tag, timeout=PATIENCE_S)

        for stride in _STRIDES:
            intruders = Intruders(submit)
            with intruders.every(stride):
                tasks = [work(client, _WAYS[way], me) for me in range(_TASKS)]
                wrong = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE_S)
            assert sum(wrong) == 0
            await intruders.check()

    connect().run(main)


@contextlib.contextmanager
def eager_collector(threshold: int) -> Iterator[None]:
    """The collector of cycles runs after so few allocations."""
    former = gc.get_threshold()
    gc.set_threshold(threshold)
    try:
        yield
    finally:
        gc.set_threshold(*former)


class Guest:
    """In a cycle with itself: the collector ends it, at any allocation."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._me = self
        self._end = end

    def __del__(self) -> None:
        with contextlib.suppress(RuntimeError):  # outside of the loop
            self._end()


@pytest.mark.skipif(IS_FREE, reason="its collector does not come for a few objects")
def test_finalizers(connect: Connect) -> None:
    async def main(client: Client) -> None:
        intruders = Intruders(lambda tag: client.submit("ECHO", tag))

        async def with_guests(me: int) -> int:
            wrong = 0
            for number in range(60):
                Guest(intruders.come)
                wrong += await work(client, _WAYS["execute"], me * 1000 + number)
            return wrong

        with eager_collector(7):
            tasks = [with_guests(me) for me in range(5)]
            wrong = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE_S)
        assert sum(wrong) == 0
        await intruders.check()

    face: Face = connect()
    face.run(main)
    gc.collect()


@pytest.mark.skipif(IS_FREE, reason="its collector does not come for a few objects")
def test_finalizers_while_replies_are_read(connect: Connect) -> None:
    """Reading a reply allocates; C's memory must not be written over meanwhile."""

    async def main(client: Client) -> None:
        rows = [("XADD", "s", "*", f"f{i}", f"v{i}") for i in range(300)]
        await client.execute_many(rows)
        wanted = await client.execute("XRANGE", "s", "-", "+")
        big = b"Z" * 20_000
        others: list[asyncio.Future[Any]] = []
        with eager_collector(50):
            for _ in range(60):
                Guest(lambda: others.append(client.submit("ECHO", big)))
                reply = client.submit("XRANGE", "s", "-", "+")
                assert await asyncio.wait_for(reply, PATIENCE_S) == wanted
        assert len(others) > 10
        assert set(await asyncio.gather(*others)) == {big}

    connect().run(main)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("extras", ["", ", timeout=20"])
def test_signal_handlers(server: Server, loop: str, extras: str) -> None:
    script = f"""
    async def main():
        client = shoal.aio.Client(url)
        await client.execute("PING")
        futures = []
        def handler(*_):
            if len(futures) < 400:
                tag = f"handler {{len(futures)}}"
                futures.append((tag, client.submit("ECHO", tag{extras})))
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        async def work(me):
            for number in range(150):
                tag = f"{{me}}.{{number}}"
                reply = await client.execute("ECHO", tag{extras})
                assert reply == tag.encode(), (tag, reply)
        await asyncio.wait_for(asyncio.gather(*map(work, range(20))), 10)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(futures) > 5, len(futures)
        for tag, future in futures:
            assert await future == tag.encode()
        await client.close()
    run(main())
    """
    end = run_child(script, server.url, loop=loop)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors
