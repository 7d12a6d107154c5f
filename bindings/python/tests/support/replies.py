# SPDX-License-Identifier: MIT
"""Replies of any shape, a server that sends them, and what each has to become."""

import math
import socketserver
import struct
from dataclasses import dataclass
from typing import Any

import shoal
from hypothesis import strategies as st
from shoal._replies import Decoding

# ---- a server that answers what it is told ----


class Handler(socketserver.StreamRequestHandler):
    """`WIRE x` is answered with x as it is, anything else as a server would."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        while line := self.rfile.readline():
            row = [self._argument() for _ in range(int(line[1:]))]
            self.wfile.write(self._answer(row))

    def _argument(self) -> bytes:
        size = int(self.rfile.readline()[1:])
        return self.rfile.read(size + 2)[:-2]

    def _answer(self, row: list[bytes]) -> bytes:
        name = row[0].upper()
        if name == b"WIRE":
            return row[1]
        if name == b"HELLO":
            return b"%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n"
        if name == b"ECHO":
            return b"$%d\r\n%b\r\n" % (len(row[1]), row[1])
        return b"+OK\r\n"


class Scripted(socketserver.ThreadingTCPServer):
    """For a `with`; `serve_forever` in a thread."""

    allow_reuse_address = True
    daemon_threads = True


# ---- what they become ----


@dataclass(frozen=True)
class Error:
    """An exception, to be compared."""

    text: str


@dataclass(frozen=True)
class Way:
    """How replies are wanted."""

    decoding: Decoding | None
    is_classic: bool = False

    def string(self, data: bytes) -> Any:
        return data.decode(*self._names()) if self.decoding else data

    def _names(self) -> tuple[str, str]:
        assert self.decoding is not None
        return self.decoding.encoding, self.decoding.errors


RAW = Way(None)
CLASSIC = Way(None, is_classic=True)
LENIENT = Way(Decoding("utf-8", "surrogateescape"))
LATIN = Way(Decoding("latin-1", "strict"))
WAYS = [RAW, CLASSIC, LENIENT, LATIN]

Node = tuple[str, Any]  # the type's first byte, and the value or the children


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


LEAVES: list[st.SearchStrategy[Node]] = [
    st.just(("_", None)),
    st.tuples(st.just("$"), st.binary(max_size=300)),
    st.tuples(st.just("$"), st.text(max_size=20).map(_utf8)),
    st.tuples(st.just("+"), st.from_regex(rb"[ -~]{0,20}", fullmatch=True)),
    st.tuples(st.just("-"), st.from_regex(rb"[A-Z]{1,5} [ -~]{0,20}", fullmatch=True)),
    st.tuples(st.just("="), st.binary(max_size=20)),
    st.tuples(st.just(":"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("("), st.integers(-(10**40), 10**40)),
    st.tuples(st.just(","), st.floats()),
    st.tuples(st.just("#"), st.booleans()),
]  # fmt: skip


def _branches(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(children, max_size=5)
    return st.one_of(
        st.tuples(st.just("*"), some),
        st.tuples(st.just("~"), some),
        st.tuples(st.just("%"), st.lists(st.tuples(children, children), max_size=4)),
    )


replies: st.SearchStrategy[Node] = st.recursive(
    st.one_of(LEAVES), _branches, max_leaves=25
)


def wire(node: Node) -> bytes:
    """The reply as the server sends it."""
    sign, value = node
    head = sign.encode()
    if sign in "*~":
        return head + b"%d\r\n" % len(value) + b"".join(map(wire, value))
    if sign == "%":
        pairs = b"".join(wire(part) for pair in value for part in pair)
        return b"%%%d\r\n" % len(value) + pairs
    if sign == "$":
        return b"$%d\r\n%b\r\n" % (len(value), value)
    if sign == "=":
        return b"=%d\r\ntxt:%b\r\n" % (len(value) + 4, value)
    if sign == "_":
        return b"_\r\n"
    if sign == "#":
        return b"#t\r\n" if value else b"#f\r\n"
    return head + (value if type(value) is bytes else repr(value).encode()) + b"\r\n"


def wanted(node: Node, way: Way, hashable: bool = False) -> Any:
    """What the documentation says of it."""
    sign, value = node
    kind: type
    if sign in "$+=":
        return way.string(value)
    if sign == "-":
        return way.string(value) if hashable else Error(value.decode())
    if sign == "(":
        text = str(value).encode()
        return way.string(text) if hashable or way.is_classic else value
    if sign == "%":
        if hashable:
            return tuple(wanted(part, way, True) for pair in value for part in pair)
        return {wanted(k, way, True): wanted(v, way) for k, v in value}
    if sign == "~" and not way.is_classic:
        kind = frozenset if hashable else set
        return kind(wanted(member, way, True) for member in value)
    if sign in "*~":
        kind = tuple if hashable else list
        return kind(wanted(item, way, hashable) for item in value)
    return value


def canon(value: Any) -> Any:
    """Comparable: with the types, errors by their text, doubles by their bits."""
    kind = type(value).__name__
    if isinstance(value, (shoal.ResponseError, Error)):
        return ("error", value.text)
    if isinstance(value, float):
        return (kind, "nan" if math.isnan(value) else struct.pack(">d", value))
    if isinstance(value, dict):
        return (kind, [(canon(k), canon(v)) for k, v in value.items()])
    if isinstance(value, (set, frozenset)):
        return (kind, sorted((canon(member) for member in value), key=repr))
    if isinstance(value, (list, tuple)):
        return (kind, [canon(item) for item in value])
    return (kind, value)
