# SPDX-License-Identifier: MIT
"""Replies on their way out of C, against a reference: any shape, depth and size."""

import pickle
import pickletools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import shoal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shoal import _calls, _native, _replies, _requests
from shoal._native import ffi
from shoal._replies import Conversion, Decoding, Reader
from shoal.aio import _port
from support.faces import Face
from support.replies import (
    LENIENT,
    WAYS,
    Error,
    Handler,
    Node,
    Scripted,
    Way,
    canon,
    replies,
    wanted,
    wire,
)
from support.server import Server

MODES = ("sync", "asyncio-borrowed", "asyncio-thread")
SETTINGS = settings(
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def scripted() -> Iterator[str]:
    """The URL of such a server."""
    with Scripted(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"redis://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


# ---- through the client ----


@pytest.fixture(params=WAYS, ids=["raw", "classic", "lenient", "latin"])
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


def wanting(face: Face, way: Way) -> Face:
    """Before the first command: this is how replies are wanted."""
    conversion = Conversion(way.decoding, is_classic=way.is_classic)
    face.client._options.set_conversions(conversion, conversion)
    return face


@pytest.fixture(params=MODES)
def face(request: pytest.FixtureRequest, scripted: str, way: Way) -> Iterator[Face]:
    face = Face(request.param, scripted)
    yield wanting(face, way)
    face.end()


@pytest.fixture
def faces(scripted: str) -> Iterator[list[tuple[Face, Way]]]:
    """Of each mode and way: to make up replies takes longer than to ask for them."""
    faces = [
        (wanting(Face(mode, scripted), way), way) for mode in MODES for way in WAYS
    ]
    yield faces
    for face, _ in faces:
        face.end()


def ask(face: Face, *nodes: Node) -> list[Any]:
    """Together, and the first one also by itself."""
    rows = [("WIRE", wire(node)) for node in nodes]
    together = face.execute_many(rows, return_exceptions=True)
    try:
        alone = face.execute(*rows[0])
    except shoal.ResponseError as error:
        alone = error
    assert canon(alone) == canon(together[0])
    return together


def check(face: Face, way: Way, *nodes: Node) -> None:
    expected = [canon(wanted(node, way)) for node in nodes]
    assert [canon(value) for value in ask(face, *nodes)] == expected


@SETTINGS
@given(nodes=st.lists(replies, min_size=1, max_size=8))
def test_replies(faces: list[tuple[Face, Way]], nodes: list[Node]) -> None:
    for face, way in faces:
        check(face, way, *nodes)


def deep(heads: list[bytes], leaf: Node, depth: int = 1000) -> bytes:
    """Each of the heads in turn, and the leaf in the innermost."""
    return b"".join(heads[i % len(heads)] for i in range(depth)) + wire(leaf)


def unwrapped(value: Any) -> tuple[list[type], Any]:
    """The types on the way down, and what is at the end; comparing would recurse."""
    kinds: list[type] = []
    while isinstance(value, (list, tuple, set, frozenset, dict)):
        kinds.append(type(value))
        (value,) = value.values() if isinstance(value, dict) else value
    return kinds, value


@pytest.mark.parametrize(
    "leaf", [("$", b"\xff"), ("-", b"ERR x"), ("(", 10**30), ("#", True)]
)
def test_deep(face: Face, way: Way, leaf: Node) -> None:
    data = deep([b"*1\r\n", b"%1\r\n:7\r\n"], leaf)
    (value,) = face.execute_many([("WIRE", data)])
    kinds, end = unwrapped(value)
    assert kinds == [list, dict] * 500
    assert canon(end) == canon(wanted(leaf, way))
    value = face.execute("WIRE", deep([b"~1\r\n", b"*1\r\n"], leaf))
    kinds, end = unwrapped(value)
    if way.is_classic:
        assert kinds == [list] * 1000
    else:
        assert kinds == [set, tuple, *[frozenset, tuple] * 499]
    assert canon(end) == canon(wanted(leaf, way, hashable=not way.is_classic))


@pytest.mark.parametrize("key", ["*", "~", "%"])
@pytest.mark.parametrize("value", ["*", "~", "%"])
@pytest.mark.parametrize("count", [0, 1])
def test_a_key_behind_an_empty_value(
    face: Face, way: Way, key: str, value: str, count: int
) -> None:
    one: Any = ((":", 1), (":", 1)) if key == "%" else (":", 1)
    pairs = [(("$", b"a"), (value, [])), ((key, [one] * count), (":", 2))]
    check(face, way, ("%", pairs), ("+", b"b"))


@pytest.mark.parametrize("digits", [17, 18, 19, 640, 4301, 60_000])
@pytest.mark.parametrize("sign", [1, -1])
def test_big_numbers_of_any_size(face: Face, way: Way, digits: int, sign: int) -> None:
    number = sign * (10**digits // 7)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        data = wire(("*", [("(", number)]))
        text = way.string(str(number).encode())
    finally:
        sys.set_int_max_str_digits(limit)
    got = face.execute("WIRE", data)
    assert got == [text if way.is_classic else number]


LUA = """
local function build(node)
    if type(node) ~= 'table' then return node end
    if node.n then
        local list = {}
        for i = 1, node.n do list[i] = build(node[i]) end
        return list
    end
    return node
end
return build(cjson.decode(ARGV[1]))
"""


@SETTINGS
@given(
    tree=st.recursive(
        st.integers(-(2**53), 2**53) | st.from_regex(r"[ -~]{0,30}", fullmatch=True),
        lambda children: st.lists(children, max_size=6),
        max_leaves=30,
    )
)
@pytest.mark.parametrize("version", [2, 3])
def test_what_scripts_return(server: Server, version: int, tree: Any) -> None:
    import json

    def shape(node: Any) -> Any:
        if type(node) is not list:
            return node
        return {"n": len(node), **{str(i + 1): shape(x) for i, x in enumerate(node)}}

    script = LUA.replace("node[i]", "node[tostring(i)]")
    with shoal.Client(server.url, protocol=version, decode_responses=True) as client:
        got = client.execute("EVAL", script, 0, json.dumps(shape(tree)))
    assert got == tree


# ---- the streams themselves ----


def read_by(
    monkeypatch: pytest.MonkeyPatch, new_reader: Callable[[Any], Reader]
) -> None:
    """Callers and ports that are made from now on read so."""
    monkeypatch.setattr(_calls, "new_reader", new_reader)
    monkeypatch.setattr(_port, "new_reader", new_reader)
    monkeypatch.setattr(_calls, "_thread", _calls._Thread())


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All that Python is given to load."""
    seen: list[bytes] = []

    def new_reader(holder: Any) -> Reader:
        read = _replies.new_reader(holder)

        def reader(count: int) -> Any:
            seen.append(bytes(ffi.buffer(holder.data, count)))
            return read(count)

        return reader

    read_by(monkeypatch, new_reader)
    return seen


EVERYTHING: Node = (
    "*",
    [
        *(("_", None), ("#", True), ("#", False), (":", 1), (":", -1), (":", 300)),
        *((":", 2**40), (",", 0.5), ("$", b"a"), ("$", b"a" * 300), ("$", b"\xff")),
        *(("-", b"ERR x"), ("(", 10**30), ("*", []), ("%", []), ("~", [])),
        ("%", [(("*", [(":", 1)]), ("*", [("~", [("~", [(":", 1)])])]))]),
    ],
)


def opcodes(stream: bytes) -> set[str]:
    return {opcode.name for opcode, _, _ in pickletools.genops(stream)}


def test_the_self_test_has_every_opcode(scripted: str, streams: list[bytes]) -> None:
    for way in WAYS:
        for mode in ("sync", "asyncio-borrowed"):
            face = wanting(Face(mode, scripted), way)
            ask(face, EVERYTHING, ("+", b"a"))
            face.execute("ECHO", "\u00e9" * 200)
            face.end()
    used = set().union(*map(opcodes, streams))
    # As the key of its failure, a command's number may be small or large.
    known = opcodes(_replies._SELF_TEST)
    assert used <= known
    # Strings of 4 GiB are not tried; test_subscribe.py tries what messages need.
    assert known - used == {"BINBYTES8", "BINUNICODE8", "MEMOIZE", "BINGET", "TUPLE3"}


@pytest.mark.parametrize("first", [b"+a\r\n", b"*1\r\n+a\r\n", b"$-1\r\n"])
def test_replies_of_one_batch_are_one_run(
    scripted_face: Face, streams: list[bytes], first: bytes
) -> None:
    """Whatever was called before: that the list is used as it is."""
    for calls in range(3):
        for _ in range(calls):
            scripted_face.execute("ECHO", "a")
        scripted_face.execute_many([("WIRE", first), ("ECHO", "b")])
        number, run = _replies.loads(streams[-1])
        assert (type(number), type(run), len(run)) == (int, list, 2)


@SETTINGS
@given(nodes=st.lists(replies, min_size=1, max_size=5))
def test_all_loaders_say_the_same(
    scripted_face: Face, streams: list[bytes], nodes: list[Node]
) -> None:
    streams.clear()
    ask(scripted_face, *nodes)
    assert streams
    for stream in streams:
        expected = canon(pickle.loads(stream))
        assert canon(_replies._load_slowly(memoryview(stream))) == expected
        assert canon(_native.value_of(stream)) == expected


@pytest.fixture
def by_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an interpreter makes them for which C has no constructors."""
    read_by(monkeypatch, _replies._new_stream_reader)


@pytest.mark.usefixtures("by_pickle")
@settings(SETTINGS, max_examples=10)
@given(nodes=st.lists(replies, min_size=1, max_size=8))
def test_replies_by_pickle(faces: list[tuple[Face, Way]], nodes: list[Node]) -> None:
    for face, way in faces:
        check(face, way, *nodes)


@pytest.fixture
def scripted_face(scripted: str) -> Iterator[Face]:
    face = wanting(Face("sync", scripted), LENIENT)
    yield face
    face.end()


def test_an_unpickler_that_differs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _replies._is_fast_loader_sound()
    right = _replies._load_slowly(_replies._SELF_TEST)
    assert canon(right) == canon(_replies._SELF_TEST_VALUE)

    def raises(_: Any) -> Any:
        raise ValueError("a sandbox")

    def returns(value: Any) -> Callable[[Any], Any]:
        return lambda _: value

    wrong = [
        right[:-1],
        None,
        [*right[:1], True, *right[2:]],
        [*right[:-1], [4]],
        [*right[:11], (b"e",), *right[12:]],
    ]
    for loads in (raises, *map(returns, wrong)):
        monkeypatch.setattr(pickle, "loads", loads)
        assert not _replies._is_fast_loader_sound()


@pytest.mark.parametrize(
    "stream", [b"cos\nsystem\n", b"\x8c\2os\x8c\6system\x93", b"NR", b"N\x81", b"Nb"]
)
def test_the_slow_loader_calls_nothing(stream: bytes) -> None:
    with pytest.raises((KeyError, IndexError)):
        _replies._load_slowly(b"\x80\x05](" + stream + b"e.")


# ---- an interpreter whose pickle differs ----


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_requests, "IS_FAST", False)
    monkeypatch.setattr(_replies, "loads", _replies._load_slowly)
    read_by(monkeypatch, _replies._new_stream_reader)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("mode", MODES)
def test_without_pickle(server: Server, mode: str) -> None:
    face = Face(mode, server.url, decode_responses=True)
    row = (
        "w",
        b"b",
        bytearray(b"c"),
        memoryview(b"d"),
        1,
        -(2**63),
        2**70,
        0.1,
        "\u00e9",
    )
    wanted = ["w", "b", "c", "d", "1", str(-(2**63)), str(2**70), "0.1", "\u00e9"]
    assert face.execute("EVAL", "return ARGV", 0, *row) == wanted
    many = face.execute_many([("ECHO", argument) for argument in row] * 300)
    assert many == wanted * 300
    face.execute("HSET", "hash", "field", 1.5)
    assert face.execute("HGETALL", "hash") == {"field": "1.5"}
    assert face.execute("DEBUG", "PROTOCOL", "set") == {0, 1, 2}
    for refused in (None, True, "\ud800", (1,), object()):
        with pytest.raises(shoal.DataError):
            face.execute("ECHO", refused)
    with pytest.raises(shoal.ResponseError):
        face.execute("NOSUCH")
    (reply,) = face.execute_many([("EVAL", "return {1, {err='ERR x'}}", 0)])
    assert canon(reply) == canon([1, Error("ERR x")])
    face.end()


@pytest.mark.usefixtures("slow")
@SETTINGS
@given(nodes=st.lists(replies, min_size=1, max_size=5))
def test_replies_without_pickle(scripted_face: Face, nodes: list[Node]) -> None:
    check(scripted_face, LENIENT, *nodes)


# ---- decoding ----


def test_what_is_unknown_shows_at_once() -> None:
    with pytest.raises(LookupError):
        Decoding("no-such-encoding", "strict")
    with pytest.raises(LookupError):
        Decoding("utf-8", "no-such-way")
    with pytest.raises(LookupError):
        shoal.Client(encoding_errors="no-such-way")


def test_c_and_python_agree_on_utf8(server: Server) -> None:
    """All that begin a character, with what may follow; in C's eyes and in Python's."""
    tails = [
        b"",
        b"\x7f",
        b"\x80",
        b"\x8f",
        b"\x90",
        b"\x9f",
        b"\xa0",
        b"\xbf",
        b"\xc0",
    ]
    rows = {
        bytes([lead]) + one + two + three
        for lead in range(0x80, 0x100)
        for one in tails
        for two in (b"", b"\x41", b"\x80", b"\xbf")
        for three in (b"", b"\x80", b"\xff")
    }
    asked = sorted(rows)
    commands = [("ECHO", b"ascii " + row + b" text") for row in asked]
    with shoal.Client(server.url, decode_responses=True) as client:
        outcomes = client.execute_many(commands, return_exceptions=True)
    for row, outcome in zip(asked, outcomes, strict=True):
        try:
            decoded = (b"ascii " + row + b" text").decode()
        except UnicodeDecodeError:
            assert isinstance(outcome, UnicodeDecodeError), row
        else:
            assert outcome == decoded
