# SPDX-License-Identifier: MIT
"""From each type of the protocol to a type of Python, at any depth."""

import math
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.faces import Face

BIG = 1234567999999999999999999999999999999
VERBATIM = b"This is a verbatim\nstring"

#: What DEBUG PROTOCOL says: in RESP3, and in RESP2.
PROTOCOL_TYPES: list[tuple[str, Any, Any]] = [
    ("string", b"Hello World", b"Hello World"),
    ("integer", 12345, 12345),
    ("double", 3.141, b"3.141"),
    ("null", None, None),
    ("array", [0, 1, 2], [0, 1, 2]),
    ("set", {0, 1, 2}, [0, 1, 2]),
    ("map", {0: False, 1: True, 2: False}, [0, 0, 1, 1, 2, 0]),
    ("verbatim", VERBATIM, VERBATIM),
    ("true", True, 1),
    ("false", False, 0),
    ("bignum", BIG, str(BIG).encode()),
]


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same type: 1 is not True."""
    return left == right and repr(left) == repr(right)


@pytest.mark.parametrize(("name", "resp3", "resp2"), PROTOCOL_TYPES)
def test_types(face: Face, protocol: int, name: str, resp3: Any, resp2: Any) -> None:
    wanted = resp3 if protocol == 3 else resp2
    assert same(face.execute("DEBUG", "PROTOCOL", name), wanted)
    many = face.execute_many([("DEBUG", "PROTOCOL", name), ("PING",)])
    assert same(many, [wanted, b"PONG"])


def test_attributes_are_no_replies(connect: Connect) -> None:
    face = connect(protocol=3)
    replies = face.execute_many([("DEBUG", "PROTOCOL", "attrib"), ("ECHO", "next")])
    assert replies[1] == b"next"


@pytest.mark.parametrize(
    ("score", "value"), [("inf", math.inf), ("-inf", -math.inf), ("0.1", 0.1)]
)
def test_doubles(connect: Connect, score: str, value: float) -> None:
    face = connect(protocol=3)
    face.execute("ZADD", "zset", score, "m")
    assert same(face.execute("ZSCORE", "zset", "m"), value)


NESTED = """
return {1, 'two', {3, {'four', false, {err='SOME error'}}}, {}, {ok='fine'}}
"""
DEEP = """
local deep = {err='SOME error'}
if ARGV[1] == 'plain' then deep = 'bottom' end
for i = 1, 1000 do deep = {deep} end
return deep
"""


def test_nested(face: Face) -> None:
    for reply in (
        face.execute("EVAL", NESTED, 0),
        face.execute_many([("EVAL", NESTED, 0)])[0],
    ):
        one, two, three, empty, fine = reply
        assert (one, two, empty, fine) == (1, b"two", [], b"fine")
        number, (four, nothing, error) = three
        assert (number, four, nothing) == (3, b"four", None)
        assert type(error) is shoal.ResponseError
        assert (error.text, error.code) == ("SOME error", "SOME")
        assert error.fate is shoal.Fate.REPLIED


def bottom(reply: Any) -> Any:
    """What is at the end of lists of one element; a comparison would recurse."""
    while isinstance(reply, list):
        (reply,) = reply
    return reply


def test_deep(face: Face) -> None:
    assert bottom(face.execute("EVAL", DEEP, 0, "plain")) == b"bottom"
    assert bottom(face.execute("EVAL", DEEP, 0, "plain", decode=True)) == "bottom"


def test_deep_with_an_error(face: Face) -> None:
    assert bottom(face.execute("EVAL", DEEP, 0, "")).code == "SOME"


def test_keys_become_hashable(connect: Connect) -> None:
    face = connect(protocol=3)
    script = (
        "redis.setresp(3); return {map={[{map={a={1}}}]={2}, [{3,{4}}]={set={x=true}}}}"
    )
    reply = face.execute("EVAL", script, 0)
    assert same(reply[(3, (4,))], {b"x"})
    (other,) = (key for key in reply if key != (3, (4,)))
    assert isinstance(hash(other), int)
    assert reply[other] == [2]
    script = "redis.setresp(3); return {set={[{1,{2}}]=true, [{set={y=true}}]=true}}"
    assert face.execute("EVAL", script, 0) == {(1, (2,)), frozenset({b"y"})}


def test_maps_and_sets_of_commands(connect: Connect) -> None:
    face = connect(protocol=3, decode_responses=True)
    face.execute("HSET", "hash", "a", 1, "b", "\u20ac")
    face.execute("SADD", "set", "x", "y")
    assert face.execute("HGETALL", "hash") == {"a": "1", "b": "\u20ac"}
    assert face.execute("SMEMBERS", "set") == {"x", "y"}
    assert face.execute("GET", "nothing") is None


@pytest.mark.parametrize(
    "number", [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**63 - 1]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_integers(connect: Connect, number: int, sign: int) -> None:
    face = connect()
    face.execute("SET", "n", number * sign)
    assert same(face.execute("INCRBY", "n", 0), number * sign)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65535, 65536, 1 << 20])
def test_strings_of_all_sizes(face: Face, size: int) -> None:
    value = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
    assert face.execute("ECHO", value) == value
    text = "\u00e9" * size
    assert face.execute("ECHO", text, decode=True) == text


@pytest.mark.parametrize(
    "data", [b"\xff", b"ok \xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80"]
)
def test_what_is_no_utf8(connect: Connect, data: bytes) -> None:
    face = connect(decode_responses=True)
    for execute in (
        lambda: face.execute("ECHO", data),
        lambda: face.execute_many([("ECHO", data)]),
    ):
        with pytest.raises(UnicodeDecodeError):
            execute()
    lenient = connect(decode_responses=True, encoding_errors="replace")
    assert lenient.execute("ECHO", data) == data.decode("utf-8", "replace")
    assert face.execute("ECHO", data, decode=False) == data
    replies = face.execute_many([("ECHO", data), ("PING",)], return_exceptions=True)
    assert isinstance(replies[0], UnicodeDecodeError)
    assert replies[1] == "PONG"


def test_other_encodings(connect: Connect) -> None:
    face = connect(encoding="latin-1", decode_responses=True)
    raw = connect()
    face.execute("HSET", "hash", "\u00e9", "\u00ff")
    assert raw.execute("HGET", "hash", b"\xe9") == b"\xff"
    assert face.execute("HGETALL", "hash") == {"\u00e9": "\u00ff"}
    assert face.execute_many([("ECHO", "\u00e9"), ("ECHO", 1)]) == ["\u00e9", "1"]
    with pytest.raises(shoal.DataError):
        face.execute("ECHO", "\u20ac")
    assert face.execute("PING") == "PONG"
