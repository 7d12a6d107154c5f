# SPDX-License-Identifier: MIT
"""How an awaited command enters the queue of its tick, and what becomes of it and of
its waiter where memory lacks."""

import asyncio
import contextlib
import contextvars
import gc
import sys
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from shoal._replies import HAS_CONSTRUCTORS
from shoal.aio._ask import Asker, SlowAsker
from shoal.aio._waiters import resolve, waiter_maker
from support.memory import lacking, need_hooks, try_each

#: The one of this build, and the one in Python.
KINDS = {kind.__name__: kind for kind in (Asker, SlowAsker)}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
native = pytest.mark.skipif(not HAS_CONSTRUCTORS, reason="this build has none")
lasting = pytest.mark.parametrize("is_lasting", [False, True])
COMMAND = ("GET", "k")


def made(kind: Any) -> Any:
    """One of the running loop, which records what it calls."""

    class Recorded(kind):  # type: ignore[misc]
        def begin(self) -> None:
            self.calls.append("begin")

        def flush_early(self) -> None:
            self.calls.append("flush_early")

    asker = Recorded()
    asker.calls = []
    asker.loop = asyncio.get_running_loop()
    asker.create_waiter = waiter_maker(asker.loop)
    asker.queued = []
    return asker


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


@kinds
def test_a_command_and_its_future_enter_the_queue(kind: Any) -> None:
    async def test() -> None:
        asker = made(kind)
        assert (asker.is_scheduled, asker.early) == (False, 0)
        future = asker.ask(COMMAND)
        assert asker.queued == [COMMAND, future] and asker.queued[0] is COMMAND
        assert asyncio.isfuture(future) and asker.calls == ["begin"]
        asker.is_scheduled, asker.early = True, 6
        for _ in range(3):
            asker.ask(COMMAND)
        assert asker.calls == ["begin", "flush_early"] and len(asker.queued) == 8

    run(test)


@kinds
def test_a_maker_of_other_futures(kind: Any) -> None:
    async def test() -> None:
        asker = made(kind)
        asker.create_waiter = asker.loop.create_future
        assert type(asker.ask(COMMAND)) is asyncio.Future

    run(test)


@kinds
def test_of_another_loop(kind: Any) -> None:
    async def test() -> Any:
        return made(kind)

    async def ask(asker: Any) -> Any:
        return asker.ask(COMMAND)

    asker = asyncio.run(test())
    assert asker.ask(COMMAND) is None
    assert asyncio.run(ask(asker)) is None
    assert not asker.queued and not asker.calls


@kinds
def test_what_it_calls_may_raise(kind: Any) -> None:
    """The command is in the queue, as if its task had been interrupted."""

    async def test() -> None:
        asker = made(kind)
        asker.calls = None
        with pytest.raises(AttributeError):
            asker.ask(COMMAND)
        assert asker.queued[0] is COMMAND and len(asker.queued) == 2
        asker.create_waiter = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            asker.ask(COMMAND)
        assert len(asker.queued) == 2

    run(test)


@native
@pytest.mark.parametrize("lacks", ["loop", "queued", "create_waiter"])
def test_one_that_was_not_set_up(lacks: str) -> None:
    async def test() -> None:
        asker = made(Asker)
        delattr(asker, lacks)
        with pytest.raises(TypeError):
            asker.ask(COMMAND)
        asker = made(Asker)
        asker.queued = ()
        with pytest.raises(TypeError):
            asker.ask(COMMAND)

    run(test)


@kinds
def test_nothing_keeps_it(kind: Any) -> None:
    async def test() -> None:
        gc.disable()
        try:
            asker = made(kind)
            futures = [asker.ask(COMMAND)]
            kept = (asker.loop, COMMAND, asker.queued, futures[0])
            before = [*map(sys.getrefcount, kept)]
            seen = weakref.ref(asker)
            for _ in range(20):
                asker.ask(COMMAND)
            del asker.queued[2:]
            assert [*map(sys.getrefcount, kept)] == before
            del asker
            assert seen() is None
        finally:
            gc.enable()

    run(test)


# ---- memory ----


@native
@lasting
def test_each_allocation_of_a_question_fails(is_lasting: bool) -> None:
    """Both enter the queue or none, at whichever length it has to grow."""

    async def test() -> None:
        asker = made(Asker)
        asker.is_scheduled = True
        queued = asker.queued
        lacks: set[int] = set()
        for length in range(40):
            queued[:] = [None] * length

            def call(length: int = length) -> None:
                assert len(queued) == length
                asker.ask(COMMAND)

            lacks.add(try_each(call, is_lasting=is_lasting))
            assert queued[length] is COMMAND and len(queued) == length + 2
        assert len(lacks) > 1  # the list grows now and then

    run(test)


def blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


@native
@lasting
@pytest.mark.parametrize("is_now", [False, True])
@pytest.mark.parametrize("end", ["value", "error", "cancel"])
def test_each_allocation_of_a_waiter_fails(
    is_lasting: bool, is_now: bool, end: str
) -> None:
    """It raises MemoryError, and nothing is kept of what did not work."""
    values: dict[str, Any] = {"value": 1, "error": ValueError()}

    async def test() -> None:
        loop = asyncio.get_running_loop()
        make = waiter_maker(loop)
        context = contextvars.copy_context()
        setter: Any = asyncio.Future.set_result

        def call() -> None:
            waiter: Any = make()
            waiter.add_done_callback(callback, context=context)
            if end == "cancel":
                waiter.cancel(msg="why")
            else:
                is_error = end == "error"
                resolve([waiter], [values[end]], setter, is_error, is_now, [])
            with contextlib.suppress(asyncio.CancelledError, ValueError):
                waiter.result()
            waiter.add_done_callback(callback)

        def fail_each() -> None:
            assert try_each(call, is_lasting=is_lasting) > 1
            values["error"].with_traceback(None)  # else it gathers entries

        fail_each()
        await asyncio.sleep(0)
        before = blocks()
        for _ in range(100):
            fail_each()
            await asyncio.sleep(0)
        assert blocks() - before < 50

    run(test)


def callback(_: object) -> None:
    pass


@native
def test_a_task_goes_on_or_its_failure_is_raised() -> None:
    """The end of a task allocates, too, within the call."""
    need_hooks()

    async def ask(waiter: Any) -> Any:
        return await waiter

    async def test() -> None:
        loop = asyncio.get_running_loop()
        make = waiter_maker(loop)
        setter: Any = asyncio.Future.set_result
        waiters = [make() for _ in range(30)]
        tasks = [loop.create_task(ask(waiter)) for waiter in waiters]
        for task in tasks:
            task.add_done_callback(callback)
        await asyncio.sleep(0)
        # All is made before memory lacks, but what the call itself makes.
        arguments: list[Any] = [
            ([waiter], [1], setter, False, True, []) for waiter in waiters
        ]
        are_done: list[bool] = []
        failed: list[int] = []

        def try_all() -> None:
            for at, call in enumerate(arguments):
                try:
                    with lacking(at, at + 1):
                        resolve(*call)
                except MemoryError:
                    failed.append(at)
                are_done.append(tasks[at].done())

        loop.call_soon(try_all)
        while len(are_done) < len(tasks):
            await asyncio.sleep(0)
        assert all(done or at in failed for at, done in enumerate(are_done))
        assert any(waiters[at].done() for at in failed)  # it came so far
        assert (
            are_done[-1] and len(tasks) - 1 not in failed
        )  # the last one lacks nothing

    run(test)
