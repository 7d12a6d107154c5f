# SPDX-License-Identifier: MIT
"""Replies on their way out of C: what C alone cannot turn into Python values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._native import lib
from ._outcomes import failure
from .exceptions import from_reply

PLAIN: int = lib.SHOALPY_PLAIN
HELP: int = lib.SHOALPY_HELP
ERROR: int = lib.SHOALPY_ERROR


class Decoding:
    """How the strings of replies become str."""

    __slots__ = ("encoding", "errors", "is_utf8")

    def __init__(self, encoding: str, errors: str) -> None:
        "".encode(encoding, errors)  # an unknown encoding shows now
        self.encoding = encoding
        self.errors = errors
        #: C decodes UTF-8; any other encoding is decoded here.
        self.is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")

    def decode(self, data: bytes) -> str:
        """Raises UnicodeDecodeError if `errors` says so."""
        return data.decode(self.encoding, self.errors)


class Conversion:
    """How replies become Python values; one for each choice of `decode`.

    `is_classic`: lists instead of sets and strings instead of big numbers, as clients
    of old protocols expect them. `error`: what an error reply becomes.
    """

    __slots__ = ("decoding", "error", "flags", "is_classic", "mends_all")

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
        """Replace what C could only mark: errors, big numbers, undecoded text."""
        kind = type(value)
        if kind is bytes:
            return self.decoding.decode(value) if self.decoding else value
        if kind is list:
            return [self.mend(item) for item in value]
        if kind is dict:
            return {self.mend(key): self.mend(item) for key, item in value.items()}
        if kind is set or kind is frozenset:
            return kind(self.mend(item) for item in value)
        if kind is tuple:
            if value and type(value[0]) is bytearray:
                text = value[0].decode("utf-8", "replace")
                return self.error(text) if len(value) == 1 else int(text)
            return tuple(self.mend(item) for item in value)
        return value

    def value_of(self, kind: int, what: Any) -> Any:
        """The value of a result of that kind; raises what it means. `what` is the
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
