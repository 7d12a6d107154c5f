# SPDX-License-Identifier: MIT
"""One command at a time: arguments, replies, options of the call, the client's life."""

import enum
import inspect
import math
import re
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal import Fate
from support.faces import Face
from support.server import Server


class Text(str):
    """A subclass with its own idea of how it looks."""

    def __str__(self) -> str:
        return "not this"


class Number(enum.IntEnum):
    """A subclass of int whose str() is a name in some versions of Python."""

    SEVEN = 7


class Ratio(float):
    """A subclass of float."""

    def __repr__(self) -> str:
        return "not this"


def name_of(value: object) -> str:
    """As repr(), but the same in each process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


ARGUMENTS = [
    (b"bytes\x00\xff", b"bytes\x00\xff"),
    (bytearray(b"array"), b"array"),
    (memoryview(b"--view--")[2:-2], b"view"),
    (memoryview(b"abcdef")[::2], b"ace"),
    ("text \u20ac", "text \u20ac".encode()),
    ("", b""),
    (0, b"0"),
    (-1, b"-1"),
    (1 << 63, b"9223372036854775808"),
    (-(1 << 63), b"-9223372036854775808"),
    (10**40, b"1" + b"0" * 40),
    (1.5, b"1.5"),
    (-0.0, b"-0.0"),
    (1e300, b"1e+300"),
    (math.inf, b"inf"),
    (-math.inf, b"-inf"),
    (math.nan, b"nan"),
    (Text("sub"), b"sub"),
    (Number.SEVEN, b"7"),
    (Ratio(2.5), b"2.5"),
]


@pytest.mark.parametrize(("argument", "sent"), ARGUMENTS, ids=name_of)
def test_arguments_arrive(connect: Connect, argument: Any, sent: bytes) -> None:
    assert connect().execute("ECHO", argument) == sent


@pytest.mark.parametrize(
    "argument",
    [
        True,
        False,
        None,
        ["a"],
        ("a",),
        {"a"},
        {"a": 1},
        1j,
        object(),
        "\ud800",
        "a\udfff",
    ],
    ids=name_of,
)
def test_what_cannot_be_sent_is_not(
    face: Face, server: Server, argument: object
) -> None:
    before = server.calls("strlen")
    with pytest.raises(shoal.DataError) as caught:
        face.execute("STRLEN", argument)
    assert caught.value.fate is Fate.NOT_EXECUTED
    with pytest.raises(shoal.DataError):
        face.execute_many([("STRLEN", "k"), ("STRLEN", argument)], contiguous=True)
    assert face.execute("ECHO", "next") == b"next"
    assert server.calls("strlen") == before


def test_a_command_needs_a_name(face: Face) -> None:
    with pytest.raises(shoal.DataError):
        face.execute()
    assert face.execute("PING") == b"PONG"


@pytest.mark.parametrize(
    "command",
    [
        "SUBSCRIBE c", "PSUBSCRIBE c", "UNSUBSCRIBE", "MONITOR", "RESET", "QUIT",
        "HELLO 2", "AUTH x", "SELECT 1", "WATCH k", "MULTI", "EXEC", "DISCARD",
        "CLIENT REPLY OFF", "SCRIPT DEBUG YES", "WAIT 1 0",
        "WAITAOF 1 0 0",
    ],
)  # fmt: skip
def test_commands_that_would_break_it_for_others(
    connect: Connect, command: str
) -> None:
    face = connect()
    with pytest.raises(shoal.RefusedError) as caught:
        face.execute(*command.split())
    assert caught.value.fate is Fate.NOT_EXECUTED
    assert face.execute("PING") == b"PONG"


def test_decode_is_the_clients_or_the_calls(connect: Connect, protocol: int) -> None:
    raw = connect(protocol=protocol)
    text = connect(protocol=protocol, decode_responses=True)
    raw.execute("RPUSH", "list", "\u20ac", "b")
    assert raw.execute("PING") == b"PONG"
    assert raw.execute("PING", decode=True) == "PONG"
    assert raw.execute("LRANGE", "list", 0, -1) == ["\u20ac".encode(), b"b"]
    assert text.execute("LRANGE", "list", 0, -1) == ["\u20ac", "b"]
    assert text.execute("LRANGE", "list", 0, -1, decode=False)[1] == b"b"
    assert text.execute("PING") == "PONG"


def test_may_block(face: Face) -> None:
    face.execute("RPUSH", "list", "v")
    assert face.execute("BLPOP", "list", 1, may_block=True) == [b"list", b"v"]


def test_a_timeout_is_the_calls(face: Face, server: Server) -> None:
    before = server.calls("debug|sleep") + server.calls("debug")
    face.wait_ready()
    with server.paused(), pytest.raises(shoal.TimeoutError) as caught:
        face.execute("DEBUG", "SLEEP", 0, timeout=0.01)
    assert isinstance(caught.value, TimeoutError)
    assert face.execute("ECHO", "whose?") == b"whose?"
    # On a busy machine it may not have been written in time.
    was_run = server.calls("debug|sleep") + server.calls("debug") - before
    assert caught.value.fate is (Fate.UNKNOWN if was_run else Fate.NOT_EXECUTED)


def test_a_timeout_is_the_clients(connect: Connect, server: Server) -> None:
    face = connect(timeout=0.01)
    face.wait_ready(5)
    with server.paused(), pytest.raises(shoal.TimeoutError):
        face.execute("PING")
    assert face.execute("ECHO", "long", timeout=5) == b"long"


@pytest.mark.parametrize("timeout", [math.inf, 3600, 30])
def test_long_timeouts(connect: Connect, timeout: float) -> None:
    assert connect().execute("PING", timeout=timeout) == b"PONG"


@pytest.mark.parametrize("timeout", [0, -1, math.nan])
def test_a_timeout_is_positive(connect: Connect, timeout: float) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        connect().execute("PING", timeout=timeout)


def test_no_connection_before_the_first_command(own_server: Server, mode: str) -> None:
    face = Face(mode, own_server.url)
    assert own_server.connections() == 0
    face.execute("PING")
    assert own_server.connections() == 1
    face.end()


def test_wait_ready(connect: Connect, server: Server) -> None:
    face = connect()
    face.wait_ready()
    face.wait_ready(1.0)
    with pytest.raises(shoal.TimeoutError):
        connect(url="redis://127.0.0.1:1").wait_ready(0.05)


def test_closed_is_closed(connect: Connect) -> None:
    face = connect()
    face.execute("PING")
    face.close()
    face.close()
    for _ in range(2):
        with pytest.raises(shoal.ClosedError) as caught:
            face.execute("PING")
        assert caught.value.fate is Fate.NOT_EXECUTED
        with pytest.raises(shoal.ClosedError):
            face.execute_many([("PING",)])


def test_closed_before_it_was_used(connect: Connect) -> None:
    face = connect()
    face.close()
    with pytest.raises(shoal.ClosedError):
        face.execute("PING")


def test_context_manager(server: Server) -> None:
    with shoal.Client(server.url) as client:
        assert client.execute("PING") == b"PONG"
    with pytest.raises(shoal.ClosedError):
        client.execute("PING")


def test_async_context_manager(async_face: Face) -> None:
    async def main(client: shoal.aio.Client) -> None:
        async with client as same:
            assert same is client
            assert await client.execute("PING") == b"PONG"
        with pytest.raises(shoal.ClosedError):
            await client.execute("PING")
        await client.aclose()

    async_face.run(main)


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
def test_from_url_and_repr_without_password(kind: Any) -> None:
    client = kind.from_url("redis://user:secret@127.0.0.1:1/2", client_name="n")
    assert isinstance(client, kind)
    assert "secret" not in repr(client)
    assert "127.0.0.1:1" in repr(client)


def test_aio_face_is_one(server: Server) -> None:
    with shoal.Client(server.url) as client:
        assert client.aio() is client.aio()
        assert isinstance(client.aio(), shoal.aio.Client)


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
def test_its_signature_is_shown(kind: Any) -> None:
    """The function itself takes any keywords; one that is not known is refused."""
    names = ("execute", "submit") if kind is shoal.aio.Client else ("execute",)
    for name in names:
        function = getattr(kind, name)
        signature = inspect.signature(function)
        assert list(signature.parameters)[:4] == ["self", "args", "timeout", "decode"]
        assert function.__name__ == name and "Send one command" in function.__doc__
        assert function.__qualname__ == f"Client.{name}"
    assert inspect.iscoroutinefunction(kind.execute) is (kind is shoal.aio.Client)


def test_an_unknown_keyword(face: Face) -> None:
    with pytest.raises(
        TypeError, match=r"^Client\.execute\(\) got an unexpected .* 'no'"
    ):
        face.execute("PING", no=1)
