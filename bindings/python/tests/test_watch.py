# SPDX-License-Identifier: MIT
"""`transaction(func, *keys)`: optimistic locking, whose outcome is always known."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from support.faces import Face
from support.proxy import Proxy
from support.scale import scaled
from support.server import Server
from support.threads import run_all

Steps = Iterator[Any]


def increment(attempt: Any) -> Any:
    """What WATCH is for."""
    number = int((yield "GET", "n") or 0)
    attempt.add("SET", "n", number + 1).add("GET", "n")
    return number


def test_it_gives_execs_list(face: Face) -> None:
    assert face.transaction(increment, "n") == [b"OK", b"1"]
    assert face.transaction(increment, "n", decode=True) == ["OK", "2"]
    assert face.transaction(increment, "n", value_from_callable=True) == 2
    face.until(lambda: face.stats().leases_now == 0)


def test_a_key_that_changed(face: Face, server: Server) -> None:
    calls = []

    def disturbed(attempt: Any) -> Steps:
        calls.append(1)
        number = int((yield "GET", "n") or 0)
        if len(calls) < 3:
            server.ask("SET", "n", 10 * len(calls))
        attempt.add("SET", "n", number + 1)

    assert face.transaction(disturbed, "n") == [b"OK"]
    assert (len(calls), face.execute("GET", "n")) == (3, b"21")


def test_a_key_that_changes_each_time(face: Face, server: Server) -> None:
    calls = []

    def disturbed(attempt: Any) -> Steps:
        calls.append(1)
        yield "WATCH", "m"  # more keys
        server.ask("INCR", "m")
        attempt.add("SET", "n", 1)

    with pytest.raises(shoal.WatchError, match="each of 3 attempts") as caught:
        face.transaction(disturbed, attempts=3)
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    assert (len(calls), face.execute("EXISTS", "n")) == (3, 0)


def test_nothing_to_do(face: Face) -> None:
    def look(attempt: Any) -> Any:
        return (yield "GET", "n")

    face.execute("SET", "n", 5)
    assert face.transaction(look, "n") == []
    assert face.transaction(look, "n", value_from_callable=True) == b"5"


def test_what_func_raises_goes_through(face: Face) -> None:
    def broken(attempt: Any) -> Steps:
        attempt.add("SET", "n", 1)
        yield "GET", "n"
        raise KeyError("mine")

    with pytest.raises(KeyError):
        face.transaction(broken, "n")
    face.until(lambda: face.stats().leases_now == 0)
    assert face.execute("EXISTS", "n") == 0


def test_errors_of_the_unit(face: Face) -> None:
    face.execute("SET", "text", "x")

    def wrong(*command: Any) -> Any:
        def func(attempt: Any) -> Steps:
            yield ("PING",)
            attempt.add("SET", "n", 1).add(*command)

        return func

    with pytest.raises(shoal.ResponseError):
        face.transaction(wrong("LPUSH", "text", 1), "n")
    assert face.execute("EXISTS", "n") == 1
    with pytest.raises(shoal.ExecAbortError):
        face.transaction(wrong("INCR"), "m")
    with pytest.raises(shoal.RefusedError):
        face.transaction(wrong("SUBSCRIBE", "c"), "m")
    with pytest.raises(shoal.DataError):
        face.transaction(wrong("SET", "k", None), "m")


def test_wrong_arguments(server: Server) -> None:
    with shoal.Client(server.url) as client:
        with pytest.raises(TypeError, match="func must be callable, not str"):
            client.transaction("key")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="attempts must be an int"):
            client.transaction(lambda attempt: None, "k", attempts=1.5)  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="attempts must be at least 1"):
            client.transaction(lambda attempt: None, "k", attempts=0)
        assert client.stats().leases_now == 0


def test_a_plain_function_with_asyncio(async_face: Face) -> None:
    def func(attempt: shoal.aio.Attempt) -> str:
        attempt.add("SET", "n", 1)
        return "mine"

    async def main(client: shoal.aio.Client) -> None:
        assert await client.transaction(func) == [b"OK"]

    async_face.run(main)


# ---- losses ----


def test_a_loss_before_the_unit_is_repeated(face: Face, server: Server) -> None:
    calls = []

    def killed(attempt: Any) -> Steps:
        calls.append(1)
        number = yield "CLIENT", "ID"
        if len(calls) < 3:
            server.ask("CLIENT", "KILL", "ID", str(number))
            yield "GET", "n"  # whose fate is not known
        attempt.add("INCR", "n")

    assert face.transaction(killed, "n") == [1]
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(shoal.ConnectionError):
        face.transaction(killed, "n", attempts=2)
    assert len(calls) == 2
    assert face.execute("GET", "n") == b"1"


def test_an_unknown_outcome_is_raised(
    connect: Connect, proxy: Proxy, server: Server
) -> None:
    """EXEC ran, its reply was lost: another attempt would count twice."""
    calls: list[threading.Thread] = []

    def lose() -> None:
        while server.ask("GET", "n") != b"1":
            time.sleep(0.001)
        proxy.tell("cut to-client reset")
        proxy.tell("carry to-client")

    def func(attempt: Any) -> Steps:
        calls.append(threading.Thread(target=lose))
        number = int((yield "GET", "n") or 0)
        proxy.tell("carry to-client stopped=1")
        calls[-1].start()
        attempt.add("SET", "n", number + 1)

    face = connect(url=proxy.url, backoff=(0.001, 0.01))
    with pytest.raises(shoal.ConnectionError) as caught:
        face.transaction(func, "n")
    for call in calls:
        call.join()  # before the end of the proxy
    assert caught.value.fate is shoal.Fate.UNKNOWN
    assert (len(calls), server.ask("GET", "n")) == (1, b"1")


# ---- many at a time, over kills ----


class Kills:
    """Somebody ends connections all the time. `progress` tells how much was done: while
    nothing is, the pauses grow, for on a slow machine nothing would ever be."""

    def __init__(self, server: Server, progress: Callable[[], int]) -> None:
        self._server = server
        self._progress = progress
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        pause, before = 0.02, 0
        while not self._is_over.wait(pause):
            self._server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            now = self._progress()
            pause, before = 0.02 if now > before else 2 * pause, now

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


WORKERS = 8


def test_the_sum_is_conserved(server: Server) -> None:
    """Each increment writes its name, too: none ran twice, and none that was told."""
    rounds = scaled(25, 2000)
    done: list[str] = []
    unknown: list[str] = []

    def work(me: int) -> None:
        for number in range(rounds):
            name = f"{me}.{number}"

            def add_one(attempt: shoal.Attempt, name: str = name) -> None:
                before = int(attempt.execute("GET", "n") or 0)
                attempt.add("SET", "n", before + 1).add("SADD", "names", name)

            try:
                client.transaction(add_one, "n", attempts=10_000)
                done.append(name)
            except shoal.ConnectionError as error:
                assert error.fate is not shoal.Fate.NOT_EXECUTED, error
                unknown.append(name)

    client = shoal.Client(server.url, backoff=(0.001, 0.01), timeout=60)
    with client, Kills(server, lambda: len(done)):
        run_all(work, WORKERS)
    check_ledger(server, done, unknown, WORKERS * rounds)


def check_ledger(
    server: Server, done: list[str], unknown: list[str], count: int
) -> None:
    """Every one is told, and what is told is true."""
    names = {name.decode() for name in server.ask("SMEMBERS", "names")}
    assert len(done) + len(unknown) == count
    assert int(server.ask("GET", "n")) == len(names)
    assert set(done) <= names <= {*done, *unknown}


def test_the_sum_is_conserved_in_asyncio(
    async_connect: Connect, server: Server
) -> None:
    rounds = scaled(25, 2000)
    done: list[str] = []
    unknown: list[str] = []

    async def work(client: shoal.aio.Client, me: int) -> None:
        for number in range(rounds):
            name = f"{me}.{number}"

            async def add_one(attempt: shoal.aio.Attempt, name: str = name) -> None:
                before = int(await attempt.execute("GET", "n") or 0)
                attempt.add("SET", "n", before + 1).add("SADD", "names", name)

            try:
                await client.transaction(add_one, "n", attempts=10_000)
                done.append(name)
            except shoal.ConnectionError as error:
                assert error.fate is not shoal.Fate.NOT_EXECUTED, error
                unknown.append(name)

    async def main(client: shoal.aio.Client) -> None:
        await asyncio.gather(*(work(client, me) for me in range(WORKERS)))

    face = async_connect(backoff=(0.001, 0.01), timeout=60)
    with Kills(server, lambda: len(done)):
        face.run(main)
    check_ledger(server, done, unknown, WORKERS * rounds)


def test_delays_grow_to_32_ms() -> None:
    from shoal._transaction import Rounds

    rounds = Rounds(print, 1000)
    for number in itertools.islice(itertools.count(1), 50):
        assert 0.001 <= rounds.next_delay(None) <= min(0.032, 0.001 * 2**number)
