# SPDX-License-Identifier: MIT
"""The packers, which write commands as a stream for C: the quick one, the fall-back;
and the taker, which needs none."""

import asyncio
import pickle
import pickletools
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
import shoal
from hypothesis import given, settings
from hypothesis import strategies as st
from shoal import _requests
from shoal._core import Core
from shoal._options import Options
from shoal._replies import HAS_CONSTRUCTORS
from shoal.aio._port import Port
from support.server import Server

SETTINGS = settings(deadline=None, database=None, derandomize=True, max_examples=200)

packable: st.SearchStrategy[Any] = (
    st.binary(max_size=300)
    | st.text(max_size=50)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=50).map(bytearray)
)
rows = st.lists(packable, min_size=1, max_size=6).map(tuple)


def shown(stream: bytes) -> str:
    """What it means to C: a bytearray is bytes; nan is nan, and -0.0 is not 0.0."""
    value = pickle.loads(stream)
    commands = value if type(value) is list else [value]
    return repr(
        [[bytes(a) if type(a) is bytearray else a for a in row] for row in commands]
    )


@SETTINGS
@given(commands=st.lists(rows, max_size=5) | rows)
def test_both_packers_say_the_same(commands: Any) -> None:
    fast, slow = _requests._new_fast_packer(), _requests._pack_slowly
    assert shown(fast(commands)) == shown(slow(commands))
    is_list = type(commands) is list
    assert (type(pickle.loads(slow(commands))) is list) == is_list


def test_the_fast_packer_writes_nothing_twice() -> None:
    """No memo: C does not look back."""
    word = "word" * 100
    stream = _requests._new_fast_packer()([(word, word), (word,)])
    names = {opcode.name for opcode, _, _ in pickletools.genops(stream)}
    assert stream.count(word.encode()) == 3
    assert names.isdisjoint({"MEMOIZE", "BINGET", "LONG_BINGET", "PUT", "GET"})


def test_a_pickler_that_differs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _requests._is_fast_packer_sound()

    for wrong in (b"\x80\x05N.", b"\x80\x04" + _requests._SELF_TEST_BODY, b""):
        monkeypatch.setattr(
            _requests, "_new_fast_packer", lambda wrong=wrong: lambda _: wrong
        )
        assert not _requests._is_fast_packer_sound()

    def raises() -> NoReturn:
        raise AttributeError("fast")

    monkeypatch.setattr(_requests, "_new_fast_packer", raises)
    assert not _requests._is_fast_packer_sound()
    monkeypatch.setattr(_requests, "IS_FAST", False)
    assert _requests.new_packer() is _requests._pack_slowly


def test_a_large_argument_is_not_kept() -> None:
    pack = _requests.new_packer()
    value = bytes(5_000_000)
    before = sys.getrefcount(value)
    stream = pack(("SET", "key", value))
    assert value in stream
    assert sys.getrefcount(value) == before
    assert sys.getrefcount(stream) == before


def test_threads_do_not_share_a_packer(server: Server) -> None:
    wrong: list[Any] = []

    def run(client: shoal.Client, name: int) -> None:
        for i in range(300):
            word = f"{name}:{i}" * (i % 7 + 1)
            if client.execute("ECHO", word) != word.encode():
                wrong.append(word)

    with shoal.Client(server.url) as client:
        threads = [threading.Thread(target=run, args=(client, n)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def interrupted(pack: Any, command: tuple[Any, ...], step: int) -> bool:
    """Interrupt packing at its nth line, as Ctrl-C may. False: it has fewer."""
    left = step

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code is pack.__code__ and event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        pack(command)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("size", [1, 100_000])
def test_an_interrupt_leaves_nothing_for_the_next_command(size: int) -> None:
    pack = _requests._new_fast_packer()
    step = 1
    while interrupted(pack, ("SET", "old", b"x" * size), step):
        assert pack(("GET", "new")) == _requests._new_fast_packer()(("GET", "new"))
        step += 1
    assert step > 3


# ---- the taker, which needs no stream ----


class Ending:
    """Whom a port tells of its end; it is gone before."""

    def end(self, port: Port) -> None: ...


class Row(tuple):  # type: ignore[type-arg]
    """Of commands C takes tuples themselves."""


class Word(str):
    """A subclass of a type that C takes."""


LARGE = 16_384

TAKEN: list[list[Any]] = [
    [],
    [("PING",)],
    [("SET", b"k", 1, -1.5), ("\u00e9", 2**63 - 1, -(2**63)), ("", b"")],
    [("ECHO", b"x" * (LARGE - 1))],
]
NOT_TAKEN: list[Any] = [
    True, None, bytearray(b"x"), memoryview(b"x"), Word("x"), "\ud800", 2**63,
    -(2**63) - 1, b"x" * LARGE, ("x",), object(),
]  # fmt: skip


@pytest.fixture(scope="module")
def take() -> Iterator[_requests.Taker]:
    """It puts commands into the memory of a port that was never connected."""
    if not HAS_CONSTRUCTORS:
        pytest.skip("this build has none")
    loop = asyncio.new_event_loop()
    options = Options("redis://127.0.0.1:1", {})
    core = Core(options, borrowed=False)
    port = Port(loop, core, options, weakref.WeakMethod(Ending().end))
    yield port._take
    port.detach()
    core.close(10)
    loop.close()


@pytest.mark.parametrize("commands", TAKEN)
def test_what_is_taken(take: _requests.Taker, commands: list[Any]) -> None:
    assert take(commands) is True


@pytest.mark.parametrize("argument", NOT_TAKEN)
def test_what_needs_a_stream(take: _requests.Taker, argument: Any) -> None:
    assert take([("GET", "k"), ("SET", "k", argument)]) is False
    assert take([("GET", "k")]) is True


def test_what_is_no_command(take: _requests.Taker) -> None:
    for row in ((), ["GET", "k"], "GET", None):
        assert take([("PING",), row]) is False
    assert take((("PING",),)) is False
    assert take(()) is False
    for row in ("GET", None, Row(("PING",))):
        with pytest.raises(TypeError, match="list"):
            take(row)  # type: ignore[arg-type]


def test_one_command_is_taken(take: _requests.Taker) -> None:
    assert take(("SET", b"k", 1, -1.5)) is True
    for argument in NOT_TAKEN:
        assert take(("SET", "k", argument)) is False


def test_taking_keeps_nothing(take: _requests.Taker) -> None:
    arguments: list[Any] = ["key" * 9, b"value" * 9, 1 << 40, 1.25, Word("x"), "\ud800"]
    commands: list[Any] = [(argument, "x") for argument in arguments]
    before = [*map(sys.getrefcount, arguments), sys.getrefcount(commands)]
    for _ in range(1000):
        assert take(commands[:4]) and not take(commands)
        assert take(commands[0]) and not take(commands[4])
    assert [*map(sys.getrefcount, arguments), sys.getrefcount(commands)] == before
