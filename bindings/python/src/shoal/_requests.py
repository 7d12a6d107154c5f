# SPDX-License-Identifier: MIT
"""Commands on their way into C: a pickle stream, which C reads without Python.

Pickling keeps the types apart that a command may have (bytes, bytearray, str, int,
float) and those it may not, at C speed. What C does not accept is looked at here, one
argument at a time.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .exceptions import DataError

Argument = bytes | bytearray | memoryview | str | int | float
Command = tuple[Argument, ...]

PROTOCOL = 5
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


class Packer(Protocol):
    """Turns commands into a stream for C."""

    def __call__(self, commands: Sequence[Any] | Command) -> bytes:
        """Raises what pickling raises for arguments of other types."""
        ...


def _new_fast_packer() -> Packer:
    """A packer of the interpreter's own pickler, without its memo."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, PROTOCOL)
    pickler.fast = True
    dump, seek, truncate, getvalue = (
        pickler.dump,
        file.seek,
        file.truncate,
        file.getvalue,
    )

    def pack(commands: Sequence[Any] | Command) -> bytes:
        seek(0)
        truncate()
        dump(commands)
        return getvalue()

    return pack


def _pack_argument(argument: Any) -> bytes:
    kind = type(argument)
    if kind is str:
        data: bytes = argument.encode("utf-8", "surrogatepass")
        return b"X" + len(data).to_bytes(4, "little") + data
    if kind is bytes or kind is bytearray:
        data = bytes(argument)
        return b"B" + len(data).to_bytes(4, "little") + data
    if kind is int:
        data = argument.to_bytes(9, "little", signed=True)
        if data[8] == (data[7] >> 7) * 0xFF:
            data = data[:8]
        return b"\x8a" + bytes([len(data)]) + data
    raise TypeError(f"cannot pack {kind.__name__}")


def _pack_slowly(commands: Sequence[Any] | Command) -> bytes:
    """The same stream in plain Python, for interpreters whose pickler differs."""
    rows = commands if type(commands) is list else [commands]
    parts = [b"\x80\x05]("]
    for row in rows:
        parts.append(b"(")
        parts.extend(map(_pack_argument, row))
        parts.append(b"t")
    parts.append(b"e.")
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


def new_packer() -> Packer:
    """A packer for one thread."""
    return _new_fast_packer() if IS_FAST else _pack_slowly


def _encode(argument: object, encode: Callable[[str], bytes]) -> bytes:
    if isinstance(argument, (bytes, bytearray, memoryview)):
        return bytes(argument)
    if isinstance(argument, bool):
        pass
    elif isinstance(argument, int):
        return int.__repr__(argument).encode()
    elif isinstance(argument, float):
        return float.__repr__(argument).encode()
    elif isinstance(argument, str):
        return encode(argument)
    raise DataError(
        f"Invalid input of type: '{type(argument).__name__}'. "
        "Convert to a bytes, string, int or float first."
    )


def encoded(
    command: Sequence[object], encoding: str = "utf-8", errors: str = "strict"
) -> tuple[bytes, ...]:
    """The command with every argument as bytes; DataError for one that cannot be."""

    def encode(text: str) -> bytes:
        try:
            return str.encode(text, encoding, errors)
        except UnicodeEncodeError as error:
            raise DataError(f"Invalid input: {error}") from error

    if not command:
        raise DataError("Invalid input: a command without a name")
    return tuple(_encode(argument, encode) for argument in command)
