# SPDX-License-Identifier: MIT
"""Through the fault proxy: what is lost is said, and what is said is true.

The ledger is a list on the server: each command appends a number of its own. A reply
means it is there once, NOT_EXECUTED that it is not, now and later, and any other fate
that it is there at most once.
"""

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal import Fate
from support.faces import Face
from support.proxy import Proxy
from support.scale import scaled
from support.server import Server
from support.wire import PATIENCE_S

#: Reconnect at once, find the dead soon.
BRISK: dict[str, Any] = {
    "backoff": (0.001, 0.01),
    "timeout": 10,
    "stall_timeout": 10,
}


LOSSES = (shoal.ConnectionError, shoal.TimeoutError)


class Ledger:
    """The outcome of each command, to be compared with the server's ledger."""

    def __init__(self) -> None:
        self._next = itertools.count()
        self.fates: dict[int, Fate] = {}
        self.wrong: list[tuple[bytes, object]] = []

    def commands(self, count: int) -> tuple[list[int], list[tuple[Any, ...]]]:
        """Numbers, and for each a write and a question, alternating."""
        numbers = list(itertools.islice(self._next, count))
        rows: list[tuple[Any, ...]] = []
        for number in numbers:
            rows += [("RPUSH", "ledger", number), ("ECHO", b"tag %d" % number)]
        return numbers, rows

    def note(self, numbers: list[int], outcomes: list[Any]) -> None:
        """What came of commands()."""
        for number, pushed, tag in zip(
            numbers, outcomes[::2], outcomes[1::2], strict=True
        ):
            if isinstance(pushed, shoal.RedisError):
                self.fates[number] = pushed.fate
            elif isinstance(pushed, int):
                self.fates[number] = Fate.REPLIED
            else:
                self.wrong.append((b"%d" % number, pushed))
            if tag != b"tag %d" % number and not isinstance(tag, shoal.RedisError):
                self.wrong.append((b"tag %d" % number, tag))

    def compare(self, server: Server) -> dict[Fate, int]:
        """Fails if a fate was not true; how many there were of each."""
        found = [int(item) for item in server.ask("LRANGE", "ledger", 0, -1)]
        executed = set(found)
        assert self.wrong == []
        assert len(executed) == len(found), "executed twice"
        for number, fate in self.fates.items():
            if fate is Fate.REPLIED:
                assert number in executed, f"{number}: acknowledged, and not executed"
            elif fate is Fate.NOT_EXECUTED:
                assert number not in executed, f"{number}: executed all the same"
        assert executed <= self.fates.keys()
        return {fate: list(self.fates.values()).count(fate) for fate in Fate}


def load(face: Face, ledger: Ledger, count: int) -> None:
    """Commands together, as a face can: by execute_many, or each by a task."""
    numbers, rows = ledger.commands(count)
    if not face.is_async:
        ledger.note(numbers, face.execute_many(rows, return_exceptions=True))
        return

    async def main(client: shoal.aio.Client) -> list[Any]:
        return await asyncio.gather(
            *[client.execute(*row) for row in rows], return_exceptions=True
        )

    ledger.note(numbers, face.run(main))


@pytest.fixture(params=["sync", "asyncio-borrowed", "uvloop-thread"])
def mode(request: pytest.FixtureRequest) -> str:
    """Losses are the library's; of its drivers there are these."""
    return str(request.param)


@pytest.fixture
def face(connect: Connect, proxy: Proxy) -> Iterator[Face]:
    """A client behind the proxy, which has its connection."""
    face = connect(url=proxy.url, **BRISK)
    face.wait_ready()
    yield face
    proxy.tell("carry to-server")
    proxy.tell("carry to-client")


@pytest.mark.parametrize("how", ["fin", "reset", "half"])
@pytest.mark.parametrize("way", ["to-server", "to-client"])
def test_cut_at_any_byte(
    face: Face, proxy: Proxy, server: Server, way: str, how: str
) -> None:
    rng = random.Random(f"{way} {how}")
    ledger = Ledger()
    for _ in range(scaled(3)):
        # Of each connection so many bytes are carried: beyond the greeting, mostly.
        number = proxy.counts()["accepted"] + 1
        proxy.tell(f"cut-after {number} {way} {rng.randrange(300, 4000)} {how}")
        proxy.tell(f"cut {way} {how}")
        load(face, ledger, 50)
    load(face, ledger, 10)
    fates = ledger.compare(server)
    assert fates[Fate.REPLIED] >= 10
    assert sum(fates.values()) == len(ledger.fates) > 0


def test_cut_while_replies_are_on_their_way(
    face: Face, proxy: Proxy, server: Server
) -> None:
    ledger = Ledger()
    proxy.tell("carry to-client delay_us=2000")
    for number in range(scaled(4)):
        if face.is_async:
            timer = face.loop.call_later(0.004, proxy.tell, "cut to-client reset")
            load(face, ledger, 100)
            timer.cancel()
        else:
            accepted = proxy.counts()["accepted"] + 1
            proxy.tell(f"cut-after {accepted} to-client {1200 + 400 * number} reset")
            proxy.tell("cut to-client fin")
            load(face, ledger, 100)
    fates = ledger.compare(server)
    assert sum(fates.values()) == 100 * scaled(4)


def time_out_behind_the_write(face: Face, timeout: float) -> None:
    """`INCR n`, which nobody answers. On a busy machine the deadline may pass before
    the write: then there is another one."""
    fate = Fate.NOT_EXECUTED
    while fate is Fate.NOT_EXECUTED:
        begun = time.monotonic()
        with pytest.raises(shoal.TimeoutError) as caught:
            face.execute("INCR", "n", timeout=timeout)
        assert time.monotonic() - begun >= 0.95 * timeout
        fate = caught.value.fate
    assert fate is Fate.UNKNOWN


def test_a_write_that_is_lost_is_not_repeated(
    face: Face, proxy: Proxy, server: Server
) -> None:
    assert face.execute("INCR", "n") == 1
    proxy.tell("carry to-client stopped=1")
    number = proxy.counts()["accepted"]
    time_out_behind_the_write(face, 0.1)
    face.until(lambda: server.ask("GET", "n") == b"2")
    proxy.tell("cut to-client reset")
    proxy.tell("carry to-client")
    assert face.execute("INCR", "n") == 3
    assert proxy.counts()["accepted"] == number + 1


def test_a_lost_read_is_repeated(face: Face, proxy: Proxy, server: Server) -> None:
    server.ask("SET", "k", "v")
    server.ask("CONFIG", "RESETSTAT")
    number = proxy.counts()["accepted"]
    proxy.tell("carry to-client stopped=1")
    cutter = threading.Thread(target=_cut_when_run, args=(proxy, server))
    cutter.start()
    assert face.execute("GET", "k") == b"v"
    cutter.join()
    assert proxy.counts()["accepted"] == number + 1
    assert face.stats().retries >= 1


def _cut_when_run(proxy: Proxy, server: Server) -> None:
    until = time.monotonic() + PATIENCE_S
    while server.calls("get") == 0 and time.monotonic() < until:
        time.sleep(0.001)
    proxy.tell("cut to-client reset")
    proxy.tell("carry to-client")


def test_what_was_not_written_was_not_executed(
    connect: Connect, proxy: Proxy, server: Server
) -> None:
    proxy.tell("turn-away on")
    face = connect(url=proxy.url, **BRISK)
    with pytest.raises(shoal.TimeoutError) as caught:
        face.execute("INCR", "n", timeout=0.1)
    assert caught.value.fate is Fate.NOT_EXECUTED
    proxy.tell("turn-away off")
    assert face.execute("INCR", "n") == 1
    assert server.ask("GET", "n") == b"1"


def test_offline_fail(connect: Connect, proxy: Proxy) -> None:
    face = connect(url=proxy.url, offline="fail", backoff=(0.001, 0.01))
    face.wait_ready()
    proxy.tell("turn-away on")
    proxy.tell("cut to-client reset")
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            face.execute("PING")
        except shoal.ConnectionError as error:
            if error.fate is Fate.NOT_EXECUTED:
                break
    else:
        pytest.fail("the loss was never said")
    proxy.tell("turn-away off")
    while True:
        try:
            assert face.execute("PING") == b"PONG"
            break
        except shoal.ConnectionError:
            assert time.monotonic() < until


def test_a_silent_server_is_found(connect: Connect, proxy: Proxy) -> None:
    face = connect(url=proxy.url, stall_timeout=0.3, backoff=(0.001, 0.01))
    face.wait_ready(10)
    proxy.tell("carry to-client stopped=1")
    time_out_behind_the_write(face, 0.2)
    face.until(lambda: face.stats().losses >= 1)
    proxy.tell("carry to-client")
    assert face.execute("ECHO", "whose?", timeout=10) == b"whose?"


def test_pushes_are_no_replies(face: Face, proxy: Proxy) -> None:
    before = face.stats().pushes
    for number in range(5):
        proxy.tell(r'inject to-client ">2\r\n+message\r\n+text\r\n"')
        tags = [b"%d.%d" % (number, i) for i in range(20)]
        assert face.execute_many([("ECHO", tag) for tag in tags]) == tags
    stats = face.stats()
    assert (stats.pushes - before, stats.losses) == (5, 0)


def test_half_written_is_not_unwritten(
    face: Face, proxy: Proxy, server: Server
) -> None:
    """A partly written command is written to its end, to keep the framing."""
    face.wait_ready()
    proxy.tell("carry to-server stopped=1")
    value = b"v" * (16 << 20)  # more than sockets take
    fate, timeout = Fate.NOT_EXECUTED, 0.2
    while fate is Fate.NOT_EXECUTED:  # a busy machine has not begun to write it
        with pytest.raises(shoal.TimeoutError) as caught:
            face.execute("SET", "big", value, timeout=timeout)
        fate, timeout = caught.value.fate, timeout * 2
    assert fate is Fate.UNKNOWN
    proxy.tell("carry to-server")
    assert face.execute("ECHO", "behind") == b"behind"
    assert server.ask("STRLEN", "big") == len(value)


def test_cut_within_a_large_value(
    connect: Connect, proxy: Proxy, server: Server
) -> None:
    """A part of a command does not run: it is sent again, from its begin."""
    face = connect(url=proxy.url, bulk_lane=False, **BRISK)
    face.wait_ready()
    value = bytes(range(256)) * 8192
    accepted = proxy.counts()["accepted"]
    proxy.tell(f"cut-after {accepted + 1} to-server 100000 reset")
    proxy.tell("cut to-server reset")
    # Nobody knows how much was in the sockets.
    try:
        assert face.execute("SET", "big", value) == b"OK"
    except shoal.ConnectionError as error:
        assert error.fate is Fate.UNKNOWN
        assert server.ask("EXISTS", "big") == 0
    assert face.execute("SET", "big", value) == b"OK"
    assert face.execute("GET", "big") == value
    assert proxy.counts()["accepted"] == accepted + 2


#: A server, or something on the way, that breaks the protocol.
HARM = {
    "extra reply": 'inject to-client "+extra\\r\\n"',
    "garbage": 'inject to-client "@garbage\\r\\n"',
    "huge array": 'inject to-client "*2147483647\\r\\n"',
    "negative length": 'inject to-client "$-5\\r\\n"',
}


@pytest.mark.parametrize("harm", HARM)
def test_desync_is_found(face: Face, proxy: Proxy, harm: str) -> None:
    face.execute("ECHO", "before")
    proxy.tell(HARM[harm])
    for number in range(50):
        tag = b"tag %d" % number
        try:
            assert face.execute("ECHO", tag) == tag
        except shoal.ConnectionError as error:
            assert error.fate is not Fate.REPLIED
    stats = face.stats()
    assert stats.desyncs >= 1 and stats.losses >= 1
    assert any(event.kind == "lost" for event in face.events())


#: Of a million frames or bytes so many.
RATES = {"drop": 20_000, "repeat": 20_000, "lose": 500, "insert": 500}


@pytest.mark.parametrize("harm", RATES)
def test_strict_gives_no_wrong_reply(connect: Connect, proxy: Proxy, harm: str) -> None:
    """Harm to the framing costs errors, never a wrong value."""
    face = connect(
        url=proxy.url, integrity="strict", timeout=0.2, stall_timeout=0.2,
        handshake_timeout=0.2, backoff=(0.001, 0.01),
    )  # fmt: skip
    face.wait_ready(10)
    wrong: list[tuple[bytes, object]] = []
    proxy.tell(f"carry to-client {harm}={RATES[harm]}")
    for number in itertools.count():
        if number >= scaled(3) and proxy.counts()["harmed"] > 0:
            break
        tags = [b"0123456789 %d.%d" % (number, i) for i in range(60)]
        rows = [("ECHO", tag) for tag in tags]
        outcomes = face.execute_many(rows, return_exceptions=True)
        for tag, outcome in zip(tags, outcomes, strict=True):
            if outcome != tag and not isinstance(outcome, LOSSES):
                wrong.append((tag, outcome))
    proxy.tell("carry to-client")
    assert wrong == []
    assert face.execute("ECHO", "well again", timeout=10) == b"well again"


CARRIAGES = {
    "byte by byte": "chunk=1",
    "in pieces": "chunk=7,jitter_us=50",
    "late": "delay_us=2000,jitter_us=1000",
}


@pytest.mark.parametrize("carriage", CARRIAGES)
def test_slow_lines_lose_nothing(face: Face, proxy: Proxy, carriage: str) -> None:
    for way in ("to-client", "to-server"):
        proxy.tell(f"carry {way} {CARRIAGES[carriage]}")
    tags = [b"tag %d" % number for number in range(60)]
    assert face.execute_many([("ECHO", tag) for tag in tags]) == tags
    face.execute("SET", "text", "\u20ac" * 20)
    assert face.execute("GET", "text", decode=True) == "\u20ac" * 20
    with pytest.raises(shoal.WrongTypeError):
        face.execute("LPUSH", "text", 1)


def test_a_server_that_dies(connect: Connect, own_server: Server) -> None:
    face = connect(url=own_server.url, **BRISK)
    ledger = Ledger()
    load(face, ledger, 20)
    own_server.kill()
    assert own_server.start()
    load(face, ledger, 20)
    # The first server's memory is gone: only the second one's part can be compared.
    late = Ledger()
    late.fates = {n: fate for n, fate in ledger.fates.items() if n >= 20}
    late.wrong = ledger.wrong
    late.compare(own_server)
    # One connection was lost; an attempt may fail while no server listens.
    stats = face.stats()
    assert stats.connects == 2 and stats.losses >= 1


def test_events_tell_of_the_faults(face: Face, proxy: Proxy) -> None:
    face.events()
    proxy.tell("cut to-client reset")
    face.pass_time(0.05)
    assert face.execute("PING") == b"PONG"
    kinds = [event.kind for event in face.events()]
    assert kinds[0] == "lost" and kinds[-1] == "ready"
