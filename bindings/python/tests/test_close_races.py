# SPDX-License-Identifier: MIT
"""Closes while other threads and loops submit, call and cancel: each of them is told
ClosedError, no reply goes astray, nothing is left."""

import asyncio
import contextlib
import gc
import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import shoal
import shoal.aio
from support.faces import LOOPS, new_loop
from support.scale import scaled
from support.server import Server
from support.threads import run_together
from support.wire import PATIENCE_S
from test_leaks import native_threads

#: 500 times the size of CI makes 10 000 of each kind.
ROUNDS = scaled(20)
WORKERS = 8
TASKS = 8

_numbers = itertools.count()


def descriptors() -> Counter[str]:
    """What this process has open, by kind."""
    gc.collect()  # errors and their tracebacks hold clients
    kinds = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # of the listing itself
            kinds.append(os.readlink(f"/proc/self/fd/{name}"))
    return Counter(kind.partition(":[")[0] for kind in kinds)


def until(is_so: Callable[[], bool], what_is: Callable[[], str] = str) -> None:
    """Threads of the library's that have told of a close are about to end."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, what_is()
        time.sleep(0.001)


class Leftovers:
    """What a client that is closed leaves behind."""

    def __init__(self) -> None:
        self._threads = native_threads()
        self._descriptors: Counter[str] = Counter()

    def note(self) -> None:
        """The first clients are closed: what is open now stays."""
        until(lambda: native_threads() <= self._threads)
        self._descriptors = descriptors()

    def check(self) -> None:
        """Others left nothing. What was there before may have gone meanwhile."""
        until(lambda: descriptors() <= self._descriptors, self._left)

    def _left(self) -> str:
        return f"left: {descriptors() - self._descriptors}"


# ---- threads ----


def call_one(client: shoal.Client, tag: str) -> None:
    assert client.execute("ECHO", tag, decode=True) == tag


def call_many(client: shoal.Client, tag: str) -> None:
    tags = [f"{tag} {number}" for number in range(20)]
    replies = client.execute_many([("ECHO", each) for each in tags], decode=True)
    assert replies == tags


def call_unit(client: shoal.Client, tag: str) -> None:
    unit = client.transaction().add("ECHO", tag).add("ECHO", tag)
    assert unit.run(decode=True) == [tag, tag]


def call_about(client: shoal.Client, tag: str) -> None:
    client.wait_ready()
    assert client.stats().commands >= 0
    client.events()
    assert "shoal" in repr(client)


CALLS = [call_one, call_many, call_unit, call_about]


def until_closed(call: Callable[[], None], begun: threading.Semaphore) -> None:
    """Call until the client is closed; nothing else may happen."""
    try:
        for number in itertools.count():
            if number == 1:
                begun.release()
            call()
    except shoal.ClosedError as error:
        assert "closed" in str(error)
    finally:
        begun.release()


def close_under_threads(url: str, chance: random.Random) -> None:
    client = shoal.Client(url, timeout=60)
    if chance.random() < 0.5:
        client.wait_ready()
    begun = threading.Semaphore(0)

    def worker(call: Callable[[shoal.Client, str], None]) -> Callable[[], None]:
        tag = f"of {next(_numbers)}"
        return lambda: until_closed(lambda: call(client, tag), begun)

    def close() -> None:
        for _ in range(chance.randrange(WORKERS)):
            begun.acquire()
        client.close(drain=chance.choice([0.0, 0.0, 0.001, 10.0]))
        with pytest.raises(shoal.ClosedError):
            client.execute("PING")

    run_together([close, *(worker(CALLS[i % len(CALLS)]) for i in range(WORKERS))])


def test_threads(server: Server) -> None:
    chance = random.Random(12)
    leftovers = Leftovers()
    with shoal.Client(server.url) as client:
        client.execute("PING")  # what the first client makes stays
    close_under_threads(server.url, chance)
    leftovers.note()
    for _ in range(ROUNDS):
        close_under_threads(server.url, chance)
    leftovers.check()


def close_under_a_blocked_one(url: str) -> list[BaseException]:
    """The outcomes of the calls."""
    client = shoal.Client(url, timeout=1000)
    told: list[BaseException] = []

    def tell(after: int, call: Callable[[], object]) -> None:
        """The outcome of the call that is made after so many commands."""
        while client.stats().commands < after:
            time.sleep(0.001)
        try:
            call()
        except shoal.ClosedError as error:
            told.append(error)

    block = partial(client.execute, "BLPOP", "nothing", 0, may_block=True)
    run_together(
        [
            partial(tell, 0, block),
            partial(tell, 1, partial(client.execute, "ECHO", "behind")),
            partial(tell, 1, partial(client.execute_many, [("ECHO", "behind")] * 20)),
            partial(tell, 22, client.close),
        ]
    )
    return told


def test_threads_behind_a_command_that_blocks(server: Server) -> None:
    """They wait for nothing but the close: the server never answers BLPOP."""
    for _ in range(ROUNDS):
        told = close_under_a_blocked_one(server.url)
        assert [type(error) for error in told] == [shoal.ClosedError] * 3


# ---- event loops ----


async def submit_and_cancel(client: shoal.aio.Client, tag: str) -> None:
    """Until the client is closed."""
    while True:
        futures = [client.submit("ECHO", f"{tag} {number}") for number in range(10)]
        futures[3].cancel()
        await asyncio.sleep(0)
        futures[7].cancel()
        task = asyncio.ensure_future(client.execute("ECHO", tag))
        await asyncio.sleep(0)
        task.cancel()
        outcomes = await asyncio.gather(*futures, task, return_exceptions=True)
        for number, outcome in enumerate(outcomes[:10]):
            if isinstance(outcome, shoal.ClosedError):
                raise outcome
            if not isinstance(outcome, asyncio.CancelledError):
                assert outcome == f"{tag} {number}".encode()


async def call_in_tasks(client: shoal.aio.Client, begun: threading.Semaphore) -> None:
    async def task() -> None:
        tag = f"of {next(_numbers)}"
        try:
            assert await client.execute("ECHO", tag, decode=True) == tag
            begun.release()
            await submit_and_cancel(client, tag)
        except shoal.ClosedError:
            pass
        finally:
            begun.release()

    await asyncio.gather(*(task() for _ in range(TASKS)))


def run_on(loop: asyncio.AbstractEventLoop, main: Any) -> None:
    # Futures that nobody asks any more have failed. A log would hold their clients.
    loop.set_exception_handler(lambda loop, context: None)
    try:
        loop.run_until_complete(main)
    finally:
        loop.close()


def close_under_loops(
    client: Any, blocking: Any, name: str, chance: random.Random, closer: str
) -> None:
    begun = threading.Semaphore(0)
    drain = chance.choice([0.0, 0.0, 0.001, 10.0])
    due = chance.randrange(TASKS)

    async def close_here() -> None:
        calling = asyncio.ensure_future(call_in_tasks(client, begun))
        for _ in range(due):
            await asyncio.sleep(0)
        await client.close(drain)
        await calling

    def close_there() -> None:
        for _ in range(due):
            begun.acquire()
        if closer == "other thread":
            blocking.close(drain)
        else:
            run_on(new_loop(name), client.close(drain))

    def work() -> None:
        run_on(new_loop(name), call_in_tasks(client, begun))

    if closer == "same loop":
        run_on(new_loop(name), close_here())
    else:
        run_together([close_there, work, work])


WAYS = [
    ("borrowed", "same loop"),
    ("borrowed", "other loop"),
    ("thread", "same loop"),
    ("thread", "other loop"),
    ("shared", "same loop"),
    ("shared", "other thread"),
]


@pytest.mark.parametrize(("driver", "closer"), WAYS)
@pytest.mark.parametrize("name", LOOPS)
def test_event_loops(server: Server, name: str, driver: str, closer: str) -> None:
    chance = random.Random(34)
    leftovers = Leftovers()
    with shoal.Client(server.url) as first:
        first.execute("PING")  # what the first client makes stays
    for number in range(1 + ROUNDS):
        blocking = shoal.Client(server.url, timeout=60)
        client = (
            blocking.aio()
            if driver == "shared"
            else shoal.aio.Client(server.url, thread=driver == "thread", timeout=60)
        )
        close_under_loops(client, blocking, name, chance, closer)
        blocking.close()
        del client, blocking
        if number == 0:
            leftovers.note()
    leftovers.check()
