# SPDX-License-Identifier: MIT
"""Commands on their way into C: a pickle stream, which C reads without Python.

Pickling keeps the types apart that a command may have (bytes, bytearray, str, int,
float) and those it may not, at C speed. What C does not accept is looked at here, one
argument at a time.
"""

from __future__ import annotations

import contextlib
import operator
import pickle
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Protocol, SupportsIndex

from . import _native
from ._native import ffi, lib
from ._replies import HAS_CONSTRUCTORS
from .exceptions import DataError

Argument = bytes | bytearray | memoryview | str | int | float | SupportsIndex
Command = tuple[Argument, ...]

PROTOCOL: int = lib.SHOALPY_PROTOCOL
_SELF_TEST: list[tuple[Any, ...]] = [
    ("GET", b"\xff", 1, -70000, 1 << 40),
    ("\u00e9", 1.5, bytearray(b"x")),
    ("PING",),
]
_SELF_TEST_BODY = (
    b"](("
    b"\x8c\x03GETC\x01\xffK\x01J\x90\xee\xfe\xff\x8a\x06\x00\x00\x00\x00\x00\x01t"
    b"\x8c\x02\xc3\xa9G?\xf8\x00\x00\x00\x00\x00\x00"
    b"\x96\x01\x00\x00\x00\x00\x00\x00\x00x\x87"
    b"\x8c\x04PING\x85e."
)


#: The pickler writes bytes objects of that size in calls of their own.
_APART = 65_536
_NEXT_BUFFER = bytes([lib.OP_NEXT_BUFFER])
#: Lends arguments that are not in the stream that is made just now.
Lend = Callable[[Sequence[bytes]], None]


class Packer(Protocol):
    """Turns commands into a stream for C."""

    def __call__(self, commands: Sequence[Any] | Command) -> bytes:
        """Raises what pickling raises for arguments of other types."""
        ...


class _NoReducers(dict[type, Any]):
    """How to pickle objects of other types: not at all. None of their code runs."""

    def __missing__(self, kind: type) -> NoReturn:
        raise TypeError(f"cannot pack {kind.__name__}")


class _Parts:
    """A file for the pickler, which writes large objects in calls of their own."""

    __slots__ = ("write",)

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write = write


def _is_frame(part: bytes) -> bool:
    size = int.from_bytes(part[1:9], "little")
    return part[:1] == b"\x95" and size == len(part) - 9


def _leave_out_large(parts: list[bytes], commands: Sequence[Any], lend: Lend) -> bytes:
    """The stream of several parts. Those that are arguments themselves are lent, and
    need no copy: the stream asks for each by an opcode of pickle's."""
    if all(len(part) < _APART or _is_frame(part) for part in parts[1:]):
        return b"".join(parts)
    rows = commands if type(commands) is list else (commands,)
    arguments = (a for row in rows for a in row)
    large = {id(a) for a in arguments if type(a) is bytes and len(a) >= _APART}
    stream, lent = bytearray(), []
    for part in parts:
        header = b"B" + len(part).to_bytes(4, "little") if id(part) in large else b""
        if header and stream.endswith(header):
            del stream[-len(header) :]
            stream += _NEXT_BUFFER
            lent.append(part)
        else:
            stream += part
    if lent:
        lend(lent)
    return bytes(stream)


def native_buffers(lent: Sequence[bytes]) -> Any:
    """For C: an array of where they are. It does not keep them."""
    buffers = ffi.new("shoalpy_buffer_t[]", len(lent))
    for buffer, part in zip(buffers, lent, strict=True):
        buffer.data = ffi.from_buffer(part)
        buffer.bytes = len(part)
    return buffers


def _new_fast_packer(lend: Lend | None = None) -> Packer:
    """A packer of the interpreter's own pickler, without its memo."""
    parts: list[bytes] = []
    pickler = pickle.Pickler(_Parts(parts.append), PROTOCOL)
    pickler.fast = True
    pickler.dispatch_table = _NoReducers()
    dump, pop, clear, join = pickler.dump, parts.pop, parts.clear, b"".join
    leave_out = _leave_out_large

    def pack(commands: Sequence[Any] | Command) -> bytes:
        clear()  # an interrupt may have left what was never sent
        dump(commands)
        if len(parts) == 1:
            return pop()
        stream = join(parts) if lend is None else leave_out(parts, commands, lend)
        clear()
        return stream

    return pack


def _pack_argument(argument: object) -> bytes:
    kind = type(argument)
    data: bytes
    if kind is str:
        data = argument.encode("utf-8", "surrogatepass")  # type: ignore[attr-defined]
        return b"\x8d" + len(data).to_bytes(8, "little") + data
    if kind is bytes or kind is bytearray:
        data = bytes(argument)  # type: ignore[call-overload]
        return b"\x8e" + len(data).to_bytes(8, "little") + data
    if kind is int:
        data = argument.to_bytes(8, "little", signed=True)  # type: ignore[attr-defined]
        return b"\x8a\x08" + data
    if kind is float:
        return struct.pack(">cd", b"G", argument)
    raise TypeError(f"cannot pack {kind.__name__}")


def _pack_slowly(commands: Sequence[Any] | Command) -> bytes:
    """An equivalent stream in plain Python, for interpreters whose pickler differs."""
    is_list = type(commands) is list
    rows: Sequence[Any] = commands if is_list else [commands]
    parts = [b"\x80\x05"]
    if is_list:
        parts.append(b"](")
    for row in rows:
        parts.append(b"(")
        parts.extend(map(_pack_argument, row))
        parts.append(b"t")
    parts.append(b"e." if is_list else b".")
    return b"".join(parts)


def _is_fast_packer_sound() -> bool:
    """Does this interpreter's pickler write what C reads?"""
    try:
        stream = _new_fast_packer()(_SELF_TEST)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False
    # Protocol, perhaps a frame of 9 bytes, then the body.
    return stream[:2] == b"\x80\x05" and stream[2:].endswith(_SELF_TEST_BODY)


IS_FAST = _is_fast_packer_sound()


def new_packer(lend: Lend | None = None) -> Packer:
    """A packer for one thread. `lend`: gets large arguments that are left out of the
    stream; None: none are."""
    return _new_fast_packer(lend) if IS_FAST else _pack_slowly


#: Puts a list of commands, or one, into C's memory, without a stream. False: some
#: argument is not for this way.
Taker = Callable[[Sequence[Any]], bool]


def new_taker(requests: Any) -> Taker:
    """For a `shoalpy_requests_t`, which must outlive it. C refers to the arguments:
    they must stay until the commands were submitted."""
    if not HAS_CONSTRUCTORS:
        return lambda commands: False
    taker: Taker = _native.new_packer(int(ffi.cast("uintptr_t", requests)))
    return taker


def as_tuples(commands: Iterable[Sequence[Any]]) -> list[Any]:
    """The commands as C reads them. A text is no sequence of arguments."""
    return [c if type(c) is tuple else _as_tuple(c) for c in commands]


#: What could be iterated, but is no sequence of arguments.
_NO_COMMANDS = (str, bytes, bytearray, memoryview, dict, set, frozenset)


def _as_tuple(command: Any) -> tuple[Any, ...]:
    if type(command) is list:
        return tuple(command)
    if isinstance(command, _NO_COMMANDS) or not isinstance(command, Iterable):
        kind = type(command).__name__
        raise DataError(f"a command is a sequence of its arguments, not a {kind}")
    return tuple(command)


_BLOCKING = frozenset(
    "BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN".split()
)
READS_OF_STREAMS = ("XREAD", "XREADGROUP")


def _word(argument: object) -> str:
    if isinstance(argument, (bytes, bytearray)):
        return argument.decode("latin-1").upper()
    return argument.upper() if isinstance(argument, str) else ""


#: Options of XREAD and XREADGROUP, and how many arguments each has.
_STREAM_OPTIONS = {"CLAIM": 1, "COUNT": 1, "GROUP": 2}


def block_option(command: Sequence[Any]) -> int | None:
    """Where the timeout of an XREAD or XREADGROUP stands; None: it has none."""
    at = 1
    while at < len(command):
        word = _word(command[at])
        if word == "BLOCK":
            return at + 1
        if word == "STREAMS":
            return None
        at += 1 + _STREAM_OPTIONS.get(word, 0)
    return None


def blocks(command: Sequence[Any]) -> bool:
    """Does it wait on the server, over a connection of its own? Its own timeout counts
    then, and an element that it takes must not get lost."""
    name = _word(command[0]) if command else ""
    if name in READS_OF_STREAMS:
        return block_option(command) is not None
    return name in _BLOCKING


_PLAIN = frozenset((bytes, int, float, bytearray, memoryview))


def are_plain(commands: Sequence[Sequence[Any]]) -> bool:
    """Can all of these be sent for sure? For commands that cross into C in pieces: if
    one command cannot be sent, none may be."""
    return all(commands) and all(
        type(argument) in _PLAIN or (type(argument) is str and argument.isascii())
        for command in commands
        for argument in command
    )


_ALL = slice(None)


def is_integer(kind: type) -> bool:
    """Do objects of this type stand for an int? A bool does not: neither Python's nor
    numpy's, which is no subclass of it."""
    return kind.__name__ not in ("bool", "bool_") and hasattr(kind, "__index__")


def _encode(argument: Any, encoding: str, errors: str) -> bytes:
    """An object of a subclass is sent as its base's data, whatever its methods say."""
    kind = type(argument)
    if issubclass(kind, bytes):
        return bytes.__getitem__(argument, _ALL)
    if issubclass(kind, bytearray):
        return bytes(bytearray.__getitem__(argument, _ALL))
    if issubclass(kind, str):
        return str.encode(argument, encoding, errors)
    if issubclass(kind, float):
        return float.__repr__(argument).encode()
    if issubclass(kind, int) and kind is not bool:
        return int.__repr__(argument).encode()
    if kind is memoryview:
        return bytes(argument)
    if is_integer(kind):
        with contextlib.suppress(TypeError):  # of an array, for example
            return int.__repr__(operator.index(argument)).encode()
    raise DataError(
        f"Invalid input of type: '{kind.__name__}'. "
        "Convert to a bytes, string, int or float first."
    )


def encoded(
    command: Sequence[object], encoding: str = "utf-8", errors: str = "strict"
) -> tuple[bytes, ...]:
    """The command with every argument as bytes; DataError for one that cannot be."""
    if not command:
        raise DataError("Invalid input: a command without a name")
    try:
        return tuple(_encode(argument, encoding, errors) for argument in command)
    except ValueError as error:
        # No character of the encoding, an int of too many digits, a released view.
        raise DataError(f"Invalid input: {error}") from error
