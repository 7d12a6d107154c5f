# SPDX-License-Identifier: MIT
"""Commands on their way into C: what is sent, what is refused, and nothing between."""

import asyncio
import enum
import math
import pickle
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
import shoal
from conftest import Connect
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shoal._requests import encoded
from support.faces import Face
from support.server import Server

FACES = ("sync", "asyncio-borrowed", "asyncio-thread")
SETTINGS = settings(
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(params=FACES)
def mode(request: pytest.FixtureRequest) -> str:
    """Fewer ways than other tests have: what differs is how commands are packed."""
    return str(request.param)


@pytest.fixture
def face(connect: Connect) -> Face:
    return connect()


def as_bytes(argument: Any) -> bytes:
    """What the server is to get, by other means than the client's."""
    if isinstance(argument, str):
        return argument.encode()
    if isinstance(argument, (int, float)):
        return f"{argument!r}".encode()
    return bytes(argument)


# ---- numbers ----


def doubles(count: int) -> Iterator[float]:
    """Any bits; round numbers; powers of two; numbers below the normal ones."""
    dice = random.Random(20240229)
    for _ in range(count):
        yield struct.unpack("<d", dice.randbytes(8))[0]
        yield round(dice.uniform(-1e6, 1e6), dice.randrange(9))
        yield math.ldexp(float(dice.getrandbits(dice.randrange(1, 53))), -1074)
    for exponent in range(-1074, 1024):
        power = math.ldexp(1.0, exponent)
        yield from (power, math.nextafter(power, 0.0), -power)
    for exponent in range(-323, 308):
        yield from (float(f"1e{exponent}"), float(f"-1.5e{exponent}"))


def test_floats_are_as_repr_writes_them(connect: Connect) -> None:
    face = connect()
    numbers = list(doubles(30_000))
    replies = face.execute_many([("ECHO", number) for number in numbers])
    wrong = [
        (number, reply)
        for number, reply in zip(numbers, replies, strict=True)
        if reply != repr(number).encode()
    ]
    assert wrong == []


def test_integers_of_any_size(face: Face) -> None:
    numbers = [0]
    for bits in (*range(1, 70), 127, 128, 1000):
        for number in (2**bits - 1, 2**bits, 2**bits + 1):
            numbers += [number, -number]
    replies = face.execute_many([("ECHO", number) for number in numbers])
    assert replies == [str(number).encode() for number in numbers]
    assert [face.execute("ECHO", 2**63), face.execute("ECHO", -(2**63))] == [
        b"9223372036854775808",
        b"-9223372036854775808",
    ]


def test_an_integer_of_too_many_digits(face: Face) -> None:
    with pytest.raises(shoal.DataError, match="digits"):
        face.execute("ECHO", 10**5000)


# ---- arguments of all kinds ----

scalars: st.SearchStrategy[Any] = (
    st.binary(max_size=300)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=100)
    | st.integers()
    | st.floats()
    | st.binary(max_size=50).map(bytearray)
    | st.binary(max_size=50).map(lambda data: memoryview(data))
)


@pytest.fixture
def faces(server: Server) -> Iterator[list[Face]]:
    """One of each, because to make up arguments takes longer than to send them."""
    faces = [Face(mode, server.url) for mode in FACES]
    yield faces
    for face in faces:
        face.end()


@SETTINGS
@given(arguments=st.lists(st.lists(scalars, max_size=6), min_size=1, max_size=12))
def test_what_is_sent_arrives(faces: list[Face], arguments: list[list[Any]]) -> None:
    # Lua's table is the only reply that shows all arguments of one command.
    commands = [("EVAL", "return ARGV", 0, *row) for row in arguments]
    wanted = [[as_bytes(argument) for argument in row] for row in arguments]
    for face in faces:
        assert face.execute_many(commands) == wanted
        assert face.execute(*commands[0]) == wanted[0]


class Word(str):
    """A str that says something else about itself."""

    def __str__(self) -> str:
        return "another"

    def encode(self, *_: Any) -> bytes:
        return b"another"


class Number(int):
    def __repr__(self) -> str:
        return "another"


class Real(float):
    def __repr__(self) -> str:
        return "another"


class Data(bytes):
    pass


class Room(bytearray):
    pass


class Colour(str, enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


SUBCLASSES = [
    (Word("word"), b"word"),
    (Number(7), b"7"),
    (Real(1.5), b"1.5"),
    (Data(b"\xff"), b"\xff"),
    (Room(b"\xfe"), b"\xfe"),
    (Colour.RED, b"red"),
    (Level.HIGH, b"3"),
    (memoryview(b"abcdef")[::2], b"ace"),
    (memoryview(bytearray(b"ab")), b"ab"),
    (pickle.PickleBuffer(b"ab"), b"ab"),
]


@pytest.mark.parametrize(("argument", "wanted"), SUBCLASSES)
def test_subclasses(face: Face, argument: Any, wanted: bytes) -> None:
    assert face.execute("ECHO", argument) == wanted
    many = face.execute_many([("ECHO", "a"), ("ECHO", argument), ("ECHO", 1)])
    assert many == [b"a", wanted, b"1"]


class Loud:
    """Methods of arguments that would run if the object itself were asked."""

    def _shout(self, *_: Any) -> Any:
        raise AssertionError("code of an argument ran")

    __bytes__ = __buffer__ = __str__ = __repr__ = __index__ = __int__ = _shout
    __float__ = __len__ = __iter__ = __getitem__ = __format__ = encode = _shout
    __reduce_ex__ = __reduce__ = __getstate__ = _shout


class LoudBytes(Loud, bytes):
    pass


class LoudRoom(Loud, bytearray):
    pass


class LoudText(Loud, str):
    pass


class LoudNumber(Loud, int):
    pass


class LoudReal(Loud, float):
    pass


#: Made in the test, for pytest shows its parameters if it fails.
LOUD: list[tuple[Any, Any, bytes]] = [
    (LoudBytes, b"x", b"x"),
    (LoudRoom, b"x", b"x"),
    (LoudText, "x", b"x"),
    (LoudNumber, 5, b"5"),
    (LoudReal, 0.5, b"0.5"),
]


@pytest.mark.parametrize(("kind", "value", "wanted"), LOUD)
def test_code_of_arguments_does_not_run(
    face: Face, kind: Any, value: Any, wanted: bytes
) -> None:
    assert face.execute("ECHO", kind(value)) == wanted
    assert face.execute_many([("ECHO", kind(value)), ("ECHO", 1)]) == [wanted, b"1"]


class Index:
    """An integer of another library."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def __index__(self) -> Any:
        return self.number


@pytest.mark.parametrize("number", [0, -7, 2**63, -(2**200)])
def test_integers_of_others(face: Face, number: int) -> None:
    assert face.execute("ECHO", Index(number)) == b"%d" % number
    assert face.execute_many([("ECHO", Index(number))]) == [b"%d" % number]


def test_what_only_looks_like_an_integer(face: Face) -> None:
    for no_number in (Index("1"), Index(1.5), Index(None), Index):
        with pytest.raises(shoal.DataError, match="Invalid input of type"):
            face.execute("ECHO", no_number)


def test_scalars_of_numpy(face: Face) -> None:
    numpy = pytest.importorskip("numpy")
    row = (
        numpy.float64(0.1), numpy.str_("\u00e9"), numpy.bytes_(b"\xff"),
        numpy.int64(-5), numpy.uint8(255),
    )  # fmt: skip
    wanted = [b"0.1", "\u00e9".encode(), b"\xff", b"-5", b"255"]
    assert face.execute("EVAL", "return ARGV", 0, *row) == wanted
    # A shorter float has two decimal texts, its own and that of its value.
    for refused in (numpy.bool_(True), numpy.float32(1.5)):
        with pytest.raises(shoal.DataError):
            face.execute("ECHO", refused)
    # An array has a buffer, but is no bytes.
    with pytest.raises(shoal.DataError):
        face.execute("ECHO", numpy.zeros(3))


# ---- what is refused ----


def cyclic() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def released() -> memoryview:
    view = memoryview(b"x")
    view.release()
    return view


REFUSED: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: ...,
    lambda: 1j,
    list,
    tuple,
    dict,
    set,
    frozenset,
    lambda: ("a",),
    lambda: ["a"],
    lambda: object,
    lambda: print,
    lambda: test_subclasses,
    object,
    cyclic,
    released,
    lambda: "\ud800",
    lambda: "x" * 1000 + "\udfff",
    lambda: range(3),
    lambda: iter([]),
]


@pytest.mark.parametrize("make", REFUSED)
def test_refused(face: Face, server: Server, make: Callable[[], Any]) -> None:
    face.execute("PING")  # a new connection says ECHO of its own
    before = server.calls("ECHO")
    with pytest.raises(shoal.DataError) as caught:
        face.execute("ECHO", make())
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    with pytest.raises(shoal.DataError):
        face.execute(make(), "ECHO")
    check_nothing_is_sent(face, [("ECHO", "a"), ("ECHO", make()), ("ECHO", "b")])
    assert server.calls("ECHO") == before
    assert face.execute("ECHO", "after") == b"after"


def check_nothing_is_sent(face: Face, commands: list[tuple[Any, ...]]) -> None:
    """Commands that were given together are sent together, or not at all."""
    try:
        replies = face.execute_many(commands, return_exceptions=True)
    except shoal.DataError:
        return
    assert [type(reply) for reply in replies] == [shoal.DataError] * len(commands)


@pytest.mark.parametrize(
    "command",
    [
        (),
        (("ECHO", "a"),),
        (("ECHO", "a"), "b"),
        ("ECHO", ("a",)),
        (("PING",), ("PING",)),
        (("PING",), ("PING",), ("PING",)),
        (("PING",), ("PING",), ("PING",), "PING"),
        (("PING",), ("PING",), ("PING",), ("PING",)),
        ("a", "b", "c", ("PING",)),
        (("PING",), "b", "c", "d"),
        ((("PING",),),),
        (["PING"],),
        ([("PING",)],),
        ([], "PING"),
    ],
)
def test_a_command_in_a_command_is_none(face: Face, command: tuple[Any, ...]) -> None:
    with pytest.raises(shoal.DataError):
        face.execute(*command)
    check_nothing_is_sent(face, [("ECHO", "x"), command, ("ECHO", "y")])
    assert face.execute_many([("ECHO", "a"), ("ECHO", "b")]) == [b"a", b"b"]


def test_others_of_the_same_tick_are_sent(connect: Connect) -> None:
    face = connect()
    nested = (("PING",), ("PING",), ("PING",), "PING")
    if not face.is_async:
        pytest.skip("ticks are an event loop's")

    async def main(client: Any) -> list[Any]:
        commands = [("ECHO", "a"), ("ECHO", None), nested, ("ECHO", Word("b"))]
        futures = [client.submit(*command) for command in commands]
        return await asyncio.gather(*futures, return_exceptions=True)

    first, none, inner, last = face.run(main)
    assert (first, last) == (b"a", b"b")
    assert type(none) is type(inner) is shoal.DataError


ran: list[str] = []


class Evil:
    """Whatever is asked of it, it notes."""

    def __reduce_ex__(self, _: Any) -> NoReturn:
        ran.append("reduce")
        raise AssertionError

    def __getstate__(self) -> NoReturn:
        ran.append("state")
        raise AssertionError


class EvilWord(str):
    def __reduce_ex__(self, _: Any) -> Any:
        ran.append("reduce")
        return (str, ("another",))


def test_no_code_of_an_argument_runs(face: Face) -> None:
    ran.clear()
    with pytest.raises(shoal.DataError):
        face.execute("ECHO", Evil())
    with pytest.raises(shoal.DataError):
        face.execute("ECHO", [Evil()])
    assert face.execute("ECHO", EvilWord("word")) == b"word"
    assert ran == []


def test_what_is_refused_leaves_nothing_behind(face: Face) -> None:
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    for _ in range(50):
        for refused in (cyclic(), nested, "\ud800", None, b"x" * 200_000):
            row = ("ECHO", b"y" * 100_000, refused)
            with pytest.raises((shoal.DataError, shoal.ResponseError)):
                face.execute(*row)
        assert face.execute("ECHO", "fine") == b"fine"


# ---- many, large, shared ----


@pytest.mark.parametrize("count", [1, 2, 3, 999, 1000, 1001, 2000, 2001, 8192, 8193])
def test_many_commands(face: Face, count: int) -> None:
    """The pickler writes a list in parts of 1000."""
    replies = face.execute_many([("ECHO", i) for i in range(count)])
    assert replies == [str(i).encode() for i in range(count)]


def test_large_arguments(face: Face) -> None:
    """The pickler writes these by themselves, and in frames."""
    rows = [bytes([65 + i]) * size for i, size in enumerate((1, 65535, 65536, 3 << 20))]
    commands = [("ECHO", row) for row in rows] * 2
    assert face.execute_many(commands) == rows * 2
    assert face.execute("ECHO", rows[3].decode()) == rows[3]
    assert face.execute("EVAL", "return ARGV", 0, *rows) == rows


def test_what_changes_after_the_call_does_not_matter(connect: Connect) -> None:
    face = connect()
    room = bytearray(b"before")
    if face.is_async:

        async def main(client: Any) -> Any:
            reply = await client.execute("ECHO", room)
            room[:] = b"after!"
            return reply

        assert face.run(main) == b"before"
    else:
        assert face.execute("ECHO", room) == b"before"


# ---- one by one ----


def test_encoded() -> None:
    row = ("a", b"b", bytearray(b"c"), memoryview(b"d"), 5, 2**70, -1.5, math.inf)
    wanted = (b"a", b"b", b"c", b"d", b"5", b"1180591620717411303424", b"-1.5", b"inf")
    assert encoded(row) == wanted
    assert encoded(["\u00e9"], "latin-1") == (b"\xe9",)
    assert encoded(["\u20ac"], "latin-1", "replace") == (b"?",)
    for refused in ([], [None], [True], ["\u20ac"], [released()]):
        with pytest.raises(shoal.DataError):
            encoded(refused, "latin-1")
