# SPDX-License-Identifier: MIT
"""Replies on their way out of C: what C alone cannot turn into Python values."""

from __future__ import annotations

import codecs
import os
import pickle
from collections.abc import Callable, Iterator
from itertools import chain
from struct import Struct
from typing import Any

from . import _native
from ._native import ffi, lib
from ._outcomes import failure
from .exceptions import from_reply

PLAIN: int = lib.SHOALPY_PLAIN
HELP: int = lib.SHOALPY_HELP
ERROR: int = lib.SHOALPY_ERROR


#: What C writes: every opcode of native/opcodes.h that replies need, and its value.
_TEST_OF_REPLIES = (
    b"\x80\x05](NK\x01J\xff\xff\xff\xff\x8a\x08\0\0\0\0\1\0\0\0G?\xf8\0\0\0\0\0\0"
    b"C\1\xffB\1\0\0\0b\x8e\1\0\0\0\0\0\0\0b\x8c\2\xc3\xa9X\2\0\0\0\xc3\xa9"
    b"\x8d\2\0\0\0\0\0\0\0\xc3\xa9\x96\1\0\0\0\0\0\0\0e\x85"
    b"\x96\1\0\0\0\0\0\0\x007N\x86]}\x8f}((C\1kK\2t\x88(K\3\x91\x89u\x8f(K\4\x90e."
)
_VALUE_OF_REPLIES: list[Any] = [
    *(None, 1, -1, 1 << 32, 1.5, b"\xff", b"b", b"b", "\u00e9", "\u00e9", "\u00e9"),
    *((bytearray(b"e"),), (bytearray(b"7"), None)),
    *([], {}, set(), {(b"k", 2): True, frozenset((3,)): False}, {4}),
]
#: And what messages need, too.
_SELF_TEST = _TEST_OF_REPLIES[:-2] + b"C\1m\x94K\5h\0\x87e."
_SELF_TEST_VALUE = [*_VALUE_OF_REPLIES, (b"m", 5, b"m")]

_CONSTANTS = {0x4E: None, 0x88: True, 0x89: False}
_OPENERS: dict[int, type] = {0x5D: list, 0x7D: dict, 0x8F: set}
_NUMBERS = {0x4B: Struct("<B"), 0x4A: Struct("<i"), 0x47: Struct(">d")}
#: The bytes of the length, and what becomes of the data.
_STRINGS: dict[int, tuple[int, Callable[[bytes], Any]]] = {
    0x43: (1, bytes),
    0x42: (4, bytes),
    0x8E: (8, bytes),
    0x8C: (1, bytes.decode),
    0x58: (4, bytes.decode),
    0x8D: (8, bytes.decode),
    0x96: (8, bytearray),
    0x8A: (1, lambda data: int.from_bytes(data, "little", signed=True)),
}
_SMALL_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
_HASHABLES: dict[int, type] = {0x74: tuple, 0x91: frozenset}
_FILLERS: dict[int, Callable[[Any, list[Any]], None]] = {
    0x65: list.extend,
    0x75: lambda opened, items: opened.update(
        zip(items[::2], items[1::2], strict=True)
    ),
    0x90: set.update,
}


def _load_slowly(stream: Any) -> Any:
    """The value of a stream of C's, in plain Python: nothing but plain data."""
    data = bytes(stream)
    stack: list[Any] = []
    marks: list[int] = []
    memo: list[Any] = []
    at = 2  # behind the protocol
    while (opcode := data[at]) != 0x2E:
        at += 1
        if opcode in _CONSTANTS:
            stack.append(_CONSTANTS[opcode])
        elif opcode in _OPENERS:
            stack.append(_OPENERS[opcode]())
        elif opcode in _NUMBERS:
            number = _NUMBERS[opcode]
            stack += number.unpack_from(data, at)
            at += number.size
        elif opcode in _STRINGS:
            width, convert = _STRINGS[opcode]
            begin = at + width
            at = begin + int.from_bytes(data[at:begin], "little")
            stack.append(convert(data[begin:at]))
        elif opcode in _SMALL_TUPLES:
            count = _SMALL_TUPLES[opcode]
            stack[-count:] = [tuple(stack[-count:])]
        elif opcode == 0x28:
            marks.append(len(stack))
        elif opcode == 0x94:
            memo.append(stack[-1])
        elif opcode == 0x68:
            stack.append(memo[data[at]])
            at += 1
        else:
            begin = marks.pop()
            items = stack[begin:]
            del stack[begin:]
            if opcode in _HASHABLES:
                stack.append(_HASHABLES[opcode](items))
            else:
                _FILLERS[opcode](stack[-1], items)
    return stack.pop()


def _is_fast_loader_sound() -> bool:
    """Does this interpreter's unpickler read what C writes?"""
    try:
        # By their texts: a bytearray equals bytes, and 1 is True.
        return repr(pickle.loads(_SELF_TEST)) == repr(_SELF_TEST_VALUE)
    except Exception:
        return False


#: The value of a stream of C's.
loads: Callable[[Any], Any] = pickle.loads if _is_fast_loader_sound() else _load_slowly

#: Makes the value of the stream that stands in C's memory; its argument is the bytes.
Reader = Callable[[int], Any]


def _new_stream_reader(holder: Any) -> Reader:
    return lambda count: loads(ffi.buffer(holder.data, count))


def _new_constructing_reader(holder: Any) -> Reader:
    address = ffi.cast("uintptr_t", ffi.addressof(holder, "data"))
    reader: Reader = _native.new_reader(int(address))
    return reader


def _has_constructors() -> bool:
    """May and can C make values by the interpreter's constructors? A build may leave
    them out, and the environment may forbid them."""
    if os.environ.get("SHOAL_PYTHON_CONSTRUCTORS") == "0":
        return False
    try:
        value = _native.value_of(_TEST_OF_REPLIES)
    except Exception:
        return False
    return repr(value) == repr(_VALUE_OF_REPLIES)


#: Does C work with the interpreter's own objects?
HAS_CONSTRUCTORS: bool = _has_constructors()
#: A reader of streams at `holder.data`, which must outlive it. Not for messages.
new_reader: Callable[[Any], Reader] = (
    _new_constructing_reader if HAS_CONSTRUCTORS else _new_stream_reader
)


class Decoding:
    """How the strings of replies become str."""

    __slots__ = ("encoding", "errors", "is_utf8")

    def __init__(self, encoding: str, errors: str) -> None:
        "".encode(encoding)  # unknown names raise now
        codecs.lookup_error(errors)
        self.encoding = encoding
        self.errors = errors
        #: C decodes UTF-8; any other encoding is decoded here.
        self.is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")

    def decode(self, data: bytes) -> str:
        """Raises UnicodeDecodeError if `errors` says so."""
        return data.decode(self.encoding, self.errors)


_AGGREGATES = frozenset((list, dict, set, frozenset, tuple))
_DIGITS = 512  # that int() reads whatever sys.set_int_max_str_digits() was told


class _Whole:
    """The kind of a value that is no part of another one."""


def _children(value: Any) -> Iterator[Any]:
    if type(value) is dict:
        return chain.from_iterable(value.items())
    return iter(value)


def _aggregate(kind: type, items: list[Any]) -> Any:
    if kind is list:
        return items
    if kind is dict:
        return dict(zip(items[::2], items[1::2], strict=True))
    return kind(items)


def _integer(text: str) -> int:
    """An integer of any number of digits: the decoder bounds them, as it does lines."""
    digits = text.lstrip("-")
    number = 0
    for at in range(0, len(digits), _DIGITS):
        piece = digits[at : at + _DIGITS]
        number = number * 10 ** len(piece) + int(piece)
    return -number if len(digits) < len(text) else number


class Conversion:
    """How replies become Python values; one for each choice of `decode`.

    `is_classic`: lists instead of sets and strings instead of big numbers, as clients
    of old protocols expect them. `error`: what an error reply becomes.
    """

    __slots__ = ("decoding", "error", "flags", "is_classic", "mends_all")

    #: For C: where a large string goes.
    into: Any = ffi.NULL

    def __init__(
        self,
        decoding: Decoding | None,
        *,
        is_classic: bool = False,
        error: Callable[[str], BaseException] = from_reply,
    ) -> None:
        self.decoding = decoding
        self.error = error
        self.is_classic = is_classic
        #: For C.
        self.flags: int = lib.SHOALPY_CLASSIC if is_classic else 0
        #: C cannot decode: every reply passes through `mend`.
        self.mends_all = False
        if decoding is not None:
            if decoding.is_utf8:
                self.flags |= lib.SHOALPY_AS_TEXT
            else:
                self.mends_all = True

    def mend(self, value: Any) -> Any:
        """Replace what C could only mark: errors, big numbers, undecoded text.

        Replies are nested as deep as the server likes: nothing here is recursive.
        """
        levels: list[tuple[type, Iterator[Any], list[Any]]] = []
        kind: type = _Whole
        items: Iterator[Any] = iter((value,))
        done: list[Any] = []
        while True:
            for item in items:
                inner = type(item)
                if inner is bytes:
                    done.append(self.decoding.decode(item) if self.decoding else item)
                elif inner not in _AGGREGATES:
                    done.append(item)
                elif inner is tuple and item and type(item[0]) is bytearray:
                    done.append(self._help(item))
                else:
                    levels.append((kind, items, done))
                    kind, items, done = inner, _children(item), []
                    break
            else:
                if kind is _Whole:
                    return done[0]
                closed = _aggregate(kind, done)
                kind, items, done = levels.pop()
                done.append(closed)

    def _help(self, marked: tuple[Any, ...]) -> Any:
        text = marked[0].decode("utf-8", "replace")
        return self.error(text) if len(marked) == 1 else _integer(text)

    def value_of(self, kind: int, what: Any) -> Any:
        """The value of a result of that kind; raises an error or failure. `what` is the
        reply, or for an error or a failure the tuple that C made."""
        if kind in (PLAIN, HELP):
            return self.mend(what) if kind == HELP or self.mends_all else what
        if kind == ERROR:
            raise self.error(what[1].decode("utf-8", "replace"))
        raise failure(*what[1:])

    def outcome(self, kind: int, what: Any) -> Any:
        """As value_of(), but an exception is the outcome instead of being raised."""
        try:
            return self.value_of(kind, what)
        except Exception as error:
            return error

    def arrange(self, first: int, items: list[Any], count: int) -> list[Any]:
        """The outcomes of `count` commands in their order. `items` is C's list
        [number, what, ...], whose numbers begin with `first`."""
        if len(items) == 2 and type(items[1]) is list and not self.mends_all:
            return items[1]
        outcomes: list[Any] = [None] * count
        pairs = iter(items)
        for number, what in zip(pairs, pairs, strict=True):
            at = number - first
            if type(what) is tuple:
                value = what[1] if what[0] == HELP else what
                outcomes[at] = self.outcome(what[0], value)
            elif self.mends_all:
                outcomes[at : at + len(what)] = [self.outcome(PLAIN, w) for w in what]
            else:
                outcomes[at : at + len(what)] = what
        return outcomes
