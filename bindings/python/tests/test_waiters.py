# SPDX-License-Identifier: MIT
"""What a task awaits instead of a future: it goes on within the read that brings its
reply, and nobody else sees a difference."""

import asyncio
import contextlib
import contextvars
import gc
import pickle
import sys
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from conftest import Connect
from shoal import _native
from shoal._native import lib
from shoal._replies import HAS_CONSTRUCTORS, HELP, Conversion
from shoal.aio import Client
from shoal.aio._owed import Owed, Taken
from shoal.aio._waiters import _any_done_slowly, any_done, resolve, waiter_maker
from shoal.exceptions import ClosedError, ResponseError
from support.wire import PATIENCE_S

pytestmark = pytest.mark.skipif(not HAS_CONSTRUCTORS, reason="this build has none")

set_result = asyncio.Future.set_result
name = contextvars.ContextVar("name", default="none")


async def ask(waiter: Any) -> Any:
    return await waiter


class Desk:
    """Tasks of this loop, each of which awaits a waiter."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.make: Callable[[], Any] = waiter_maker(self.loop)
        self.missed: list[int] = []

    async def tasks(self, waiters: list[Any]) -> list[asyncio.Task[Any]]:
        tasks = [asyncio.create_task(ask(waiter)) for waiter in waiters]
        await asyncio.sleep(0)
        return tasks

    async def in_callback(self, call: Callable[[], Any]) -> Any:
        """No task runs meanwhile."""
        done = self.loop.create_future()
        self.loop.call_soon(lambda: done.set_result(call()))
        return await done

    def resolve(self, waiters: list[Any], values: list[Any], is_now: bool) -> None:
        resolve(waiters, values, set_result, False, is_now, self.missed)


def run(test: Callable[[Desk], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await test(Desk())

    asyncio.run(main())


def test_tasks_go_on_at_once() -> None:
    async def test(desk: Desk) -> None:
        waiters = [desk.make() for _ in range(3)]
        tasks = await desk.tasks(waiters)
        seen: list[bool] = []

        def call() -> None:
            desk.resolve(waiters, [1, (2,), None], True)
            seen.extend(task.done() for task in tasks)

        await desk.in_callback(call)
        assert seen == [True] * 3
        assert [task.result() for task in tasks] == [1, (2,), None]
        assert not desk.missed

    run(test)


def test_tasks_go_on_later() -> None:
    async def test(desk: Desk) -> None:
        future = desk.loop.create_future()
        waiters = [desk.make(), future, desk.make()]
        tasks = await desk.tasks(waiters)
        desk.resolve(waiters, [1, 2, 3], False)
        assert not any(task.done() for task in tasks)
        assert await asyncio.gather(*tasks) == [1, 2, 3]

    run(test)


def test_replies_that_are_converted_are_in_the_same_turn() -> None:
    """And in the order of all, an error included."""

    async def test(desk: Desk) -> None:
        plain, other = Conversion(None), Conversion(None, is_classic=True)
        owed = Owed(desk.loop, plain)
        waiters = [desk.make() for _ in range(4)]
        ends: list[Any] = []

        async def note(waiter: Any) -> None:
            try:
                ends.append(await waiter)
            except Exception as error:
                ends.append(type(error))

        tasks = [asyncio.create_task(note(waiter)) for waiter in waiters]
        await asyncio.sleep(0)
        assert owed.register(0, waiters[:3], plain)
        assert owed.register(3, waiters[3:], other)

        def call() -> list[Any]:
            taken: list[Taken] = []
            error = (lib.SHOALPY_ERROR, b"ERR no")
            big = (HELP, (bytearray(b"7"), None))
            owed.take([0, [b"a"], 1, error, 2, big, 3, [b"d"]], taken)
            owed.resolve(taken, is_now=True)
            return ends[:]

        assert await desk.in_callback(call) == [b"a", ResponseError, 7, b"d"]
        await asyncio.wait(tasks)

    run(test)


def test_one_that_is_converted_is_missed() -> None:
    """A task that went on before has cancelled it."""

    async def test(desk: Desk) -> None:
        owed = Owed(desk.loop, Conversion(None))
        waiters = [desk.make() for _ in range(2)]
        assert owed.register(0, waiters, Conversion(None, is_classic=True))

        async def first() -> None:
            await waiters[0]
            waiters[1].cancel()

        task = asyncio.create_task(first())
        await asyncio.sleep(0)

        def call() -> None:
            taken: list[Taken] = []
            owed.take([0, [b"a", b"b"]], taken)
            owed.resolve(taken, is_now=True)

        await desk.in_callback(call)
        await task
        late = desk.loop.create_future()
        assert owed.pass_on(waiters[1], late) == [] and late.result() == b"b"

    run(test)


class Recording(Coroutine[Any, Any, Any]):
    """A coroutine that notes how it is driven."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self.steps: list[str] = []

    def send(self, value: Any) -> Any:
        self.steps.append("send")
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        self.steps.append("throw")
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Any:
        return self._coroutine.__await__()


@pytest.mark.skipif(
    not hasattr(asyncio.tasks, "_CTask"), reason="asyncio without its C code"
)
def test_tasks_learn_from_the_waiter_how_it_ended() -> None:
    """asyncio's wake-up is not to ask it, which is slow."""

    async def test(desk: Desk) -> None:
        waiters = [desk.make() for _ in range(2)]
        recorded = [Recording(ask(waiter)) for waiter in waiters]
        tasks = [asyncio.create_task(one) for one in recorded]
        await asyncio.sleep(0)

        def call() -> None:
            desk.resolve(waiters[:1], [1], True)
            setter: Any = asyncio.Future.set_exception
            resolve(waiters[1:], [ValueError("x")], setter, True, True, [])

        await desk.in_callback(call)
        assert tasks[0].result() == 1
        with pytest.raises(ValueError, match="x"):
            tasks[1].result()
        assert [one.steps for one in recorded] == [["send"] * 2] * 2

    run(test)


def test_a_callback_that_is_no_task_gets_the_waiter() -> None:
    async def test(desk: Desk) -> None:
        waiters = [desk.make() for _ in range(2)]
        seen: list[Any] = []
        waiters[0].add_done_callback(seen.append)
        waiters[1].add_done_callback(lambda waiter: seen.append(waiter))
        await desk.in_callback(lambda: desk.resolve(waiters, [1, 2], True))
        assert seen == waiters

    run(test)


def test_each_task_has_its_context() -> None:
    async def named(waiter: Any, called: str) -> str:
        name.set(called)
        await waiter
        return name.get()

    async def test(desk: Desk) -> None:
        waiters = [desk.make() for _ in range(2)]
        pairs = zip(waiters, "ab", strict=True)
        tasks = [asyncio.create_task(named(*pair)) for pair in pairs]
        await asyncio.sleep(0)
        await desk.in_callback(lambda: desk.resolve(waiters, [1, 2], True))
        assert [task.result() for task in tasks] == ["a", "b"]

    run(test)


def test_those_that_are_done_are_missed() -> None:
    async def test(desk: Desk) -> None:
        waiters = [desk.make(), desk.make(), desk.loop.create_future(), desk.make()]
        tasks = await desk.tasks(waiters)
        assert not any_done(waiters, asyncio.Future.done)
        for task in tasks[1:3]:
            task.cancel("why")
        assert any_done(waiters[:2], asyncio.Future.done)
        assert any_done(waiters[2:], asyncio.Future.done)
        await desk.in_callback(lambda: desk.resolve(waiters, [0, 1, 2, 3], True))
        assert desk.missed == [1, 2]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(end) for end in ends] == [
            *(int, asyncio.CancelledError, asyncio.CancelledError, int)
        ]
        assert waiters[1].cancelled() and not waiters[1].cancel()
        with pytest.raises(asyncio.CancelledError, match="why"):
            waiters[1].result()

    run(test)


def test_an_interrupt_comes_out_and_the_others_go_on() -> None:
    async def interrupted(waiter: Any) -> None:
        await waiter
        raise KeyboardInterrupt

    loop = asyncio.new_event_loop()
    make = waiter_maker(loop)
    waiters = [make() for _ in range(4)]
    missed: list[int] = []

    async def begin() -> list[asyncio.Task[Any]]:
        tasks = [
            asyncio.create_task((interrupted if at == 1 else ask)(waiter))
            for at, waiter in enumerate(waiters)
        ]
        await asyncio.sleep(0)
        return tasks

    tasks = loop.run_until_complete(begin())
    asyncio.events._set_running_loop(loop)  # CPython 3.14 asks for it at each step
    try:
        with pytest.raises(KeyboardInterrupt):
            resolve(waiters, [0, 1, 2, 3], set_result, False, True, missed)
    finally:
        asyncio.events._set_running_loop(None)
    assert [task.done() for task in tasks] == [True, True, False, False]
    loop.run_until_complete(asyncio.wait(tasks))
    assert [task.result() for task in tasks[2:]] == [2, 3]
    assert isinstance(tasks[1].exception(), KeyboardInterrupt)
    loop.close()


def test_the_protocol_of_a_future() -> None:
    async def test(desk: Desk) -> None:
        waiter, failed, given_up = desk.make(), desk.make(), desk.make()
        assert asyncio.isfuture(waiter) and waiter.get_loop() is desk.loop
        for call in (waiter.result, waiter.exception):
            with pytest.raises(asyncio.InvalidStateError):
                call()
        (task,) = await desk.tasks([failed])
        failed.set_exception(ValueError("x"))
        with pytest.raises(ValueError, match="x"):
            await task
        assert isinstance(failed.exception(), ValueError) and failed.done()
        waiter.set_result(StopIteration(5))
        assert type(await waiter) is StopIteration and waiter.exception() is None
        with pytest.raises(asyncio.InvalidStateError):
            waiter.set_result(2)
        with pytest.raises(asyncio.InvalidStateError):
            failed.set_exception(ValueError())
        assert given_up.cancel() is True
        step: Callable[[Any], Any] = next
        for wait in (given_up.exception, lambda: step(given_up)):
            with pytest.raises(asyncio.CancelledError):
                wait()
        with pytest.raises(StopIteration) as stopped:
            step(waiter)
        assert type(stopped.value.value) is StopIteration

    run(test)


def test_a_coroutine_that_is_driven_by_hand() -> None:
    async def test(desk: Desk) -> None:
        coroutine = ask(desk.make())
        assert asyncio.isfuture(coroutine.send(None))
        with pytest.raises(RuntimeError, match="await wasn't used with future"):
            coroutine.send(None)

    run(test)


def test_how_it_looks() -> None:
    async def test(desk: Desk) -> None:
        waiters = [desk.make() for _ in range(4)]
        (task,) = await desk.tasks(waiters[:1])
        assert "wait_for=<Waiter pending>" in repr(task)
        waiters[1].set_exception(ValueError())
        waiters[2].cancel(msg="why")
        desk.resolve(waiters[:1] + waiters[3:], [1, 2], False)
        assert [*map(repr, waiters)] == [
            *("<Waiter finished>", "<Waiter finished>"),
            *("<Waiter cancelled>", "<Waiter finished>"),
        ]
        assert await task == 1
        # anyio and others ask so; it is none for asyncio's own C code.
        assert isinstance(waiters[0], asyncio.Future)
        assert type(waiters[0]) is not asyncio.Future
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="pickle"):
                pickle.dumps(waiters[0], protocol)

    run(test)


def test_anyio_leaves_a_task_alone_whose_reply_has_come() -> None:
    """Although it goes on in a turn of its own, which a cancellation comes before."""
    anyio = pytest.importorskip("anyio")

    async def test(desk: Desk) -> None:
        waiter = desk.make()
        seen: list[Any] = []

        async def work() -> None:
            seen.append(await waiter)

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            desk.resolve([waiter], [1], False)
            group.cancel_scope.cancel()
        assert seen == [1]

    run(test)


def test_one_callback() -> None:
    async def test(desk: Desk) -> None:
        waiter = desk.make()
        seen: list[Any] = []
        waiter.add_done_callback(seen.append)
        with pytest.raises(RuntimeError, match="another task"):
            waiter.add_done_callback(seen.append)
        assert waiter.remove_done_callback(print) == 0
        assert waiter.remove_done_callback(seen.append) == 1
        assert waiter.remove_done_callback(seen.append) == 0
        waiter.set_result(1)
        waiter.add_done_callback(seen.append, context=contextvars.copy_context())
        assert not seen
        await asyncio.sleep(0)
        assert seen == [waiter]

    run(test)


def test_what_is_refused() -> None:
    async def test(desk: Desk) -> None:
        waiter: Any = desk.make()
        native: Any = _native
        calls: tuple[Callable[[], Any], ...] = (
            lambda: waiter.set_exception(1),
            lambda: type(waiter)(),
            lambda: waiter.cancel(1, 2),
            lambda: waiter.cancel(1, msg=2),
            lambda: waiter.cancel(wrong="x"),
            lambda: waiter.cancel(msg=1, wrong="x"),
            lambda: waiter.add_done_callback(),
            lambda: waiter.add_done_callback(print, wrong=None),
            lambda: native.resolve([], [], None, False, True),
            lambda: native.resolve((), [], None, False, True, []),
            lambda: native.any_done((), None),
            lambda: native.init_waiters(),
        )
        for call in calls:
            with pytest.raises(TypeError):
                call()
        with pytest.raises(ZeroDivisionError):
            native.any_done([1], lambda _: 1 / 0)
        for answer in (any_done, _any_done_slowly):
            assert not answer([desk.loop.create_future()], asyncio.Future.done)

    run(test)


def test_nothing_is_kept() -> None:
    async def test(desk: Desk) -> None:
        value, context = object(), contextvars.copy_context()
        counted = (value, context, desk.loop, desk.make)

        async def turn() -> None:
            waiters = [desk.make() for _ in range(9)]
            tasks = await desk.tasks(waiters[:3])
            tasks[1].cancel()
            waiters[3].add_done_callback(print, context=context)
            waiters[4].set_exception(ValueError())
            await desk.in_callback(lambda: desk.resolve(waiters[:3], [value] * 3, True))
            await asyncio.wait(tasks)
            desk.missed.clear()

        await turn()
        gc.collect()
        before = [*map(sys.getrefcount, counted)]
        for _ in range(20):
            await turn()
        gc.collect()
        assert [*map(sys.getrefcount, counted)] == before

    run(test)


def test_a_cycle_is_collected() -> None:
    async def test(desk: Desk) -> None:
        class Value:
            pass

        waiter, value = desk.make(), Value()
        value.waiter = waiter  # type: ignore[attr-defined]
        waiter.set_result(value)
        seen = [weakref.ref(waiter), weakref.ref(value)]
        del waiter, value
        gc.collect()
        assert [ref() for ref in seen] == [None, None]

    run(test)


def test_debug_mode_has_futures() -> None:
    async def main() -> None:
        assert type(waiter_maker(asyncio.get_running_loop())()) is asyncio.Future

    asyncio.run(main(), debug=True)


# ---- of a client ----


def test_a_read_is_one_turn_of_the_loop(async_connect: Connect) -> None:
    """The loop is not asked to call each task."""
    face = async_connect()

    async def work(client: Client, key: str) -> None:
        for value in range(20):
            await client.execute("SET", key, value)
            assert await client.execute("GET", key) == b"%d" % value

    async def main(client: Client) -> int:
        loop = asyncio.get_running_loop()
        await client.execute("PING")
        call_soon, calls = loop.call_soon, 0

        def count(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            return call_soon(*args, **options)

        if not hasattr(loop, "_ready"):
            pytest.skip("uvloop's tasks cannot be counted so")
        loop.call_soon = count  # type: ignore[method-assign, assignment]
        await asyncio.gather(*(work(client, f"k{n}") for n in range(50)))
        return calls

    # 50 tasks of 40 commands, which begin and end by calls.
    assert face.run(main) < 50 * 40 / 2


def test_a_task_cancels_its_neighbour(async_connect: Connect) -> None:
    """Both replies came in one read: the neighbour's is dropped, and it is told."""
    face = async_connect()

    async def main(client: Client) -> None:
        tasks: list[asyncio.Task[Any]] = []

        async def first() -> bool:
            await client.execute("INCR", "n")
            return tasks[1].cancel()

        for _ in range(50):
            calls: list[Coroutine[Any, Any, Any]] = [first()]
            calls.append(client.execute("INCR", "n"))
            calls.append(client.execute("ECHO", "x"))
            tasks[:] = map(asyncio.create_task, calls)
            await asyncio.wait(tasks, timeout=PATIENCE_S)
            assert tasks[0].result() is True
            assert tasks[1].cancelled()
            assert tasks[2].result() == b"x"
        assert await client.execute("GET", "n") == b"100"

    face.run(main)


@pytest.mark.parametrize("mode", ["asyncio-borrowed", "asyncio-thread"])
def test_interrupts_let_those_leave_that_wait_for_room(connect: Connect) -> None:
    """Each read ends with one, and makes room for more commands."""
    face = connect(queued_max=1, inflight_max=1, timeout=20)
    count = 10

    async def work() -> None:
        await face.client.execute("INCR", "n")
        raise SystemExit

    async def begin(_: Client) -> "list[asyncio.Task[None]]":
        await face.client.execute("PING")
        return [asyncio.create_task(work()) for _ in range(count)]

    tasks = face.run(begin)
    ends = face.loop.create_task(asyncio.wait(tasks, timeout=PATIENCE_S))
    while not ends.done():
        with contextlib.suppress(SystemExit):
            face.loop.run_until_complete(ends)
    assert {type(task.exception()) for task in tasks} == {SystemExit}
    assert face.execute("GET", "n") == b"%d" % count


def test_a_task_closes_the_client(async_connect: Connect) -> None:
    face = async_connect()

    async def main(client: Client) -> None:
        async def last() -> None:
            await client.execute("PING")
            await client.close()

        tasks = [asyncio.create_task(last())]
        tasks += [asyncio.create_task(client.execute("PING")) for _ in range(9)]
        done, pending = await asyncio.wait(tasks, timeout=PATIENCE_S)
        assert not pending
        ends = {type(task.exception()) for task in done}
        assert ends <= {type(None), ClosedError}

    face.run(main)
