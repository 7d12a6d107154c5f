# SPDX-License-Identifier: MIT
"""Values made by the interpreter's own constructors: as pickle makes them, where memory
lacks, and of streams that are none."""

import asyncio
import gc
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
import shoal
from conftest import Connect
from shoal import _native, _replies
from shoal._replies import _TEST_OF_REPLIES
from shoal.aio import Client, _port
from shoal.exceptions import ClosedError
from support.children import run_child
from support.memory import lacking, need_hooks, try_each
from support.server import Server
from support.wire import PATIENCE_S

value_of = _native.value_of


def nested(heads: bytes, closing: bytes, depth: int) -> bytes:
    return heads * depth + closing * depth


#: Some have more values, or are deeper, than what needs no memory of its own.
STREAMS = {
    "every opcode": _TEST_OF_REPLIES,
    "many values": b"\x80\x05](" + b"C\1a" * 1000 + b"J\0\0\0\1" * 1000 + b"e.",
    "deep lists": b"\x80\x05" + nested(b"](", b"e", 100) + b".",
    "deep keys": b"\x80\x05}(" + nested(b"((C\1a", b"\x91t", 40) + b"Nu.",
    "texts": b"\x80\x05](" + b"\x8c\4\xf0\x9f\x98\x80X\2\0\0\0\xc3\xa9" * 50 + b"e.",
}
named_streams = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


@named_streams
def test_the_same_as_pickle(stream: bytes) -> None:
    assert repr(value_of(stream)) == repr(pickle.loads(stream))


def test_they_are_used() -> None:
    assert _replies.new_reader is _replies._new_constructing_reader


SCRIPT = """
    from shoal import _replies
    assert _replies.new_reader is _replies._new_stream_reader
    client = shoal.Client(url)
    client.execute_many([("RPUSH", "l", i) for i in range(3)])
    print(client.execute("LRANGE", "l", 0, -1))
    async def main():
        async with shoal.aio.Client(url) as client:
            print(await client.execute("LRANGE", "l", 0, -1))
    run(main())
"""


def test_the_environment_may_forbid_them(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_PYTHON_CONSTRUCTORS", "0")
    end = run_child(SCRIPT, server.url)
    assert (end.code, end.errors) == (0, "")
    assert end.output == "[b'0', b'1', b'2']\n" * 2


@pytest.mark.parametrize("how", ["absent", "raises", "other value"])
def test_a_build_without_them(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    assert _replies._has_constructors()
    if how == "absent":
        monkeypatch.delattr(_native, "value_of")
    elif how == "raises":
        monkeypatch.setattr(_native, "value_of", lambda _: 1 / 0)
    else:
        monkeypatch.setattr(_native, "value_of", lambda _: [None, True])
    assert not _replies._has_constructors()


# ---- memory ----


@named_streams
@pytest.mark.parametrize("is_lasting", [False, True])
def test_each_allocation_fails(stream: bytes, is_lasting: bool) -> None:
    def count() -> int:
        gc.collect()
        return sys.getallocatedblocks()

    for _ in range(3):
        before = count()
        failures = try_each(lambda: value_of(stream), is_lasting=is_lasting)
    assert failures > 3
    assert count() - before < 50
    assert repr(value_of(stream)) == repr(pickle.loads(stream))


def test_a_call_without_memory(server: Server) -> None:
    """Wherever it lacks: it raises, and the next call works."""
    row = ("MGET", *["k"] * 100)
    with shoal.Client(server.url) as client:
        client.execute("SET", "k", "v")
        assert try_each(lambda: client.execute(*row), is_lasting=False) > 3
        assert client.execute(*row) == [b"v"] * 100


def test_a_tick_without_memory(
    async_connect: Connect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it lacks: no task waits for ever, and later commands work."""
    need_hooks()
    face = async_connect(timeout=20)
    row = ("MGET", *["k"] * 70)
    lacks: list[int] = []

    def new_reader(holder: Any) -> Callable[[int], Any]:
        read = _replies.new_reader(holder)

        def reader(count: int) -> Any:
            if not lacks:
                return read(count)
            with lacking(lacks[0], lacks.pop() + 1):
                return read(count)

        return reader

    monkeypatch.setattr(_port, "new_reader", new_reader)

    async def ask(client: Client) -> list[Any]:
        calls = [client.execute(*row) for _ in range(2)]
        ends = asyncio.gather(*calls, return_exceptions=True)
        return await asyncio.wait_for(ends, PATIENCE_S)

    async def main(client: Client) -> int:
        await client.execute("SET", "k", "v")
        for first in range(1000):
            lacks.append(first)
            ends = await ask(client)
            assert await ask(client) == [[b"v"] * 70] * 2
            if type(ends[0]) is list:
                return first
            # What was queued and not sent yet finds its port closed.
            assert {type(end) for end in ends} <= {MemoryError, ClosedError, list}
            assert MemoryError in {type(end) for end in ends}
        raise AssertionError

    assert face.run(main) > 3


# ---- what is no stream ----


@named_streams
def test_each_prefix_is_refused(stream: bytes) -> None:
    for end in range(0, len(stream), 1 + len(stream) // 300):
        with pytest.raises(ValueError):
            value_of(stream[:end])


def test_any_other_byte_does_no_harm() -> None:
    stream = bytearray(STREAMS["every opcode"])
    refused = 0
    for at in range(2, len(stream)):
        kept = stream[at]
        for byte in range(256):
            stream[at] = byte
            try:
                repr(value_of(bytes(stream)))
            except (ValueError, TypeError, SystemError):
                refused += 1
        stream[at] = kept
    assert refused > 10_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"N",
        b"NN.",
        b"e.",
        b"(e.",
        b"](.",
        b"](u.",
        b"](t.",
        b"(}u.",
        b"}(Nu.",
        b"N(NNu.",
        b"N(N\x90.",
        b"\x90.",
        b"\x85.",
        b"N\x87.",
        b"\x8a\1\1.",
        b"cos\nsystem\n.",
        b"B\xff\xff\xff\xffa.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffa.",
        b"\x8c\1\xff.",
        b"G\0.",
        b"J\0.",
    ],
)
def test_no_stream(body: bytes) -> None:
    with pytest.raises((ValueError, SystemError)):
        value_of(b"\x80\5" + body)


def test_other_arguments() -> None:
    with pytest.raises(TypeError):
        value_of("")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _native.new_reader("")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _native.new_reader(8)("")
    with pytest.raises(OverflowError):
        _native.new_reader(8)(-1)
