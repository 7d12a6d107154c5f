# SPDX-License-Identifier: MIT
"""Several connections: keys are shared among them, and their replies do not mix."""

from collections.abc import Callable
from typing import Any

import pytest
from conftest import Connect
from support.pieces import Pieces
from support.server import Server
from test_bulk_lane import pieces, reply_of, send_in_turns

__all__ = ["pieces"]  # a fixture


def test_keys_of_all_connections(connect: Connect, server: Server) -> None:
    face = connect(url=server.url + "?connections=3")
    keys = [f"key:{number}" for number in range(60)]
    face.execute("FLUSHALL")
    assert face.execute("MSET", *(word for key in keys for word in (key, key))) == b"OK"
    rows = face.execute_many([("GET", key) for key in keys])
    assert rows == [key.encode() for key in keys]
    assert face.execute("MGET", *keys) == rows
    unit = [("MULTI",), ("GET", "key:1"), ("GET", "key:2"), ("EXEC",)]
    assert face.execute_many(unit, contiguous=True)[-1] == [b"key:1", b"key:2"]
    assert face.stats().bulk > 0
    assert face.stats().connects == 3


@pytest.mark.parametrize("connections", [0, 9, -1])
def test_out_of_range(connect: Connect, connections: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        connect(connections=connections)


def test_replies_in_pieces(connect: Connect, pieces: Pieces) -> None:  # noqa: F811
    """Of two connections, in turns."""
    face = connect(url=pieces.url, connections=2, integrity="shapes")
    calls: dict[str, Callable[[], Any]] = {}
    one = other = "key 0"
    while pieces.waiting.get(one.encode()) is pieces.waiting.get(other.encode()):
        other = f"key {len(calls)}"
        calls[other] = face.begin("execute_many", [("LRANGE", other, 0, -1)])
        face.until(lambda: other.encode() in pieces.waiting)  # noqa: B023
    send_in_turns(face, pieces, (one, other))
    for key in list(calls)[1:-1]:
        pieces.waiting[key.encode()].sendall(b"*0\r\n")
    assert calls.pop(one)() == [reply_of(one)]
    assert calls.pop(other)() == [reply_of(other)]
    assert all(call() == [[]] for call in calls.values())
