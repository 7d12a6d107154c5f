# SPDX-License-Identifier: MIT
"""The thread that asks a provider: where coroutines run, what it leaves, its end."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import shoal
import shoal.aio
from shoal import _calls, _credentials
from shoal._native import lib
from support.faces import LOOPS, Face
from support.server import Server
from support.wire import PATIENCE_S

#: No failure of these tests is that it took too long.
NEVER = float("inf")


def desks() -> set[threading.Thread]:
    """The threads that ask."""
    return {t for t in threading.enumerate() if t.name == "shoal credentials"}


@pytest.fixture
def ended() -> Iterator[None]:
    """The threads of the test end with it."""
    before = desks()
    yield
    for thread in desks() - before:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_a_blocking_client_in_a_coroutine(server: Server, ended: None) -> None:
    """It holds up the running loop, which therefore cannot run the provider."""

    async def ask() -> tuple[None, str]:
        await asyncio.sleep(0)
        return None, "any"

    async def main() -> Any:
        with shoal.Client(server.url, credentials=ask) as client:
            return client.execute("PING")

    assert asyncio.run(main()) == b"PONG"


def test_a_second_close_spares_the_next_client(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C's part of a closed desk soon serves another one."""
    asked = threading.Semaphore(0)

    def ask() -> tuple[None, str, float]:
        asked.release()
        return None, "any", 0.001  # then it is asked again

    def desk_of(client: Any) -> Any:
        return client._core._desk

    with shoal.Client(server.url, credentials=ask) as client:
        assert client.execute("PING") == b"PONG"
        desk = desk_of(client)
    deadline = time.monotonic() + PATIENCE_S
    while desk.native not in _credentials._free:  # its thread has not ended
        assert time.monotonic() < deadline
        time.sleep(0.001)
    _credentials._free.remove(desk.native)
    # Threads of earlier tests may give theirs back meanwhile, to the former list.
    given_back, spare = _credentials._free, [desk.native]
    pool = SimpleNamespace(pop=spare.pop, append=given_back.append)
    monkeypatch.setattr(_credentials, "_free", pool)
    with shoal.Client(server.url, credentials=ask) as client:
        assert client.execute("PING") == b"PONG"
        assert desk_of(client).native == desk.native
        desk.close()
        while asked.acquire(blocking=False):
            pass
        for _ in range(2):  # the first may have been asked before
            assert asked.acquire(timeout=PATIENCE_S)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_stands_still(server: Server, ended: None, loop: str) -> None:
    """Its coroutine is given up, and the next question asked."""
    asked = threading.Semaphore(0)

    async def hang() -> Any:
        await asyncio.Event().wait()

    def ask() -> Any:
        asked.release()
        return hang()

    face = Face(
        f"{loop}-thread", server.url, credentials=ask, credentials_timeout=NEVER
    )
    face.begin("execute", "PING")
    try:
        for _ in range(2):
            assert asked.acquire(timeout=PATIENCE_S)
    finally:
        face.end()


def test_a_late_coroutine_is_given_up(server: Server, ended: None) -> None:
    """The next question is not kept waiting by it."""
    cancelled = 0

    async def ask() -> Any:
        nonlocal cancelled
        if cancelled == 0:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled += 1
        return None, "any"

    face = Face("asyncio-borrowed", server.url, credentials=ask, credentials_timeout=2)
    try:
        face.until(lambda: face.stats().connects == 1)
        assert cancelled == 1
    finally:
        face.end()


def test_a_question_given_up_is_not_asked(server: Server, ended: None) -> None:
    """Two become late while the provider hangs: it hears of the last one next."""
    gate, again = threading.Event(), threading.Event()
    is_last: list[bool] = []
    said: list[str] = []

    def ask() -> tuple[None, str]:
        if gate.is_set():
            is_last.append(lib.shoalpy_desk_is_awaited(desk()))
            again.set()
        gate.wait()
        return None, "any"

    def desk() -> Any:
        assert client._core and client._core._desk
        return client._core._desk.native

    def has_failed_thrice() -> bool:
        said.extend(e.detail for e in client.events() if e.kind == "credentials")
        return len(said) >= 3

    client = shoal.Client(server.url, credentials=ask, credentials_timeout=0.05)
    try:
        client.stats()  # connects
        wait_for(has_failed_thrice)
        gate.set()
        assert again.wait(PATIENCE_S)
        assert is_last[0] and all("in time" in detail for detail in said)
    finally:
        gate.set()
        client.close()


def wait_for(is_so: Callable[[], bool]) -> None:
    """Let the library's threads work."""
    nap = threading.Event()
    for _ in range(round(PATIENCE_S / 0.01)):
        if is_so():
            return
        nap.wait(0.01)
    raise AssertionError("it never came true")


def test_it_ends_with_a_close_that_nobody_awaits(
    server: Server, ended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = shoal.Client(server.url, credentials=lambda: (None, "any"))
    client.execute("PING")
    core = client._core
    with monkeypatch.context() as patch:  # as in a signal handler's close
        patch.setattr(_calls, "is_in_call", lambda: True)
        client.close()
    assert core
    wait_for(partial(core.has_gone, 0))
    del core
    gc.collect()


def until_collected(held: Callable[[], object]) -> None:
    """A thread that has answered is about to let go."""

    def has_gone() -> bool:
        gc.collect()
        return held() is None

    with pytest.warns(ResourceWarning):
        wait_for(has_gone)


def test_it_keeps_no_loop_alive(server: Server, ended: None) -> None:
    async def ask() -> tuple[None, str]:
        return None, "any"

    client = shoal.aio.Client(server.url, credentials=ask)
    running = asyncio.new_event_loop()
    running.run_until_complete(client.execute("PING"))
    held = weakref.ref(running)
    del client, running
    until_collected(held)


def test_it_keeps_no_client_alive(server: Server, ended: None) -> None:
    class Owner:
        def __init__(self) -> None:
            self.client = shoal.Client(server.url, credentials=self.ask)

        def ask(self) -> tuple[None, str]:
            return None, "any"

    owner = Owner()
    owner.client.execute("PING")
    held = weakref.ref(owner)
    del owner
    until_collected(held)


def test_no_thread_is_to_be_had(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The desk is not left open: questions fail at once."""
    natives: list[Any] = []

    class Kept(_credentials.Desk):
        def close(self) -> None:
            super().close()
            natives.append(self.native)

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("shoal._core.Desk", Kept)
    monkeypatch.setattr(threading.Thread, "start", start)
    client = shoal.Client(server.url, credentials=lambda: (None, "any"))
    with pytest.raises(RuntimeError, match="new thread"):
        client.execute("PING")
    assert len(natives) == 1 and not lib.shoalpy_desk_is_awaited(natives[0])
    client.close()
