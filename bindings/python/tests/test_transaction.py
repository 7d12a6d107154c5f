# SPDX-License-Identifier: MIT
"""MULTI ... EXEC by `transaction()`: all or nothing, and what went wrong."""

import pytest
import shoal
from conftest import Connect
from support.faces import Face
from support.server import Server


def test_it_gives_execs_list(face: Face) -> None:
    unit = face.client.transaction()
    unit.add("SET", "k", "\u20ac").add("GET", "k").add("INCR", "n")
    assert face.run_pipeline(unit, decode=True) == ["OK", "\u20ac", 1]
    assert len(unit) == 0


def test_an_empty_one_sends_nothing(connect: Connect) -> None:
    face = connect()
    face.wait_ready()
    before = face.stats().commands
    assert face.run_pipeline(face.client.transaction()) == []
    assert face.stats().commands == before


def test_an_error_within_does_not_undo_the_rest(face: Face) -> None:
    face.execute("SET", "text", "x")
    unit = face.client.transaction()
    unit.add("INCR", "a").add("LPUSH", "text", 1).add("INCR", "b")
    with pytest.raises(shoal.WrongTypeError):
        face.run_pipeline(unit)
    assert face.execute("MGET", "a", "b") == [b"1", b"1"]
    unit.add("INCR", "a").add("LPUSH", "text", 1).add("INCR", "b")
    replies = face.run_pipeline(unit, return_exceptions=True)
    assert replies[::2] == [2, 2]
    assert type(replies[1]) is shoal.WrongTypeError


def test_a_rejected_command_undoes_all(face: Face) -> None:
    unit = face.client.transaction()
    unit.add("INCR", "a").add("INCR").add("INCR", "b")
    with pytest.raises(shoal.ExecAbortError) as caught:
        face.run_pipeline(unit)
    assert isinstance(caught.value.__cause__, shoal.ResponseError)
    assert "wrong number of arguments" in str(caught.value.__cause__)
    assert face.execute("EXISTS", "a", "b") == 0
    unit.add("INCR", "a")
    assert face.run_pipeline(unit) == [1]


@pytest.mark.parametrize("bad", [("EXEC",), ("SELECT", 1), ("SUBSCRIBE", "c")])
def test_what_may_not_be_inside(face: Face, bad: tuple[str, ...]) -> None:
    unit = face.client.transaction()
    unit.add("INCR", "a").add(*bad)
    with pytest.raises(shoal.RefusedError):
        face.run_pipeline(unit)
    assert face.execute("EXISTS", "a") == 0
    assert face.execute("ECHO", "fine") == b"fine"


def test_an_argument_that_cannot_be_sent(face: Face) -> None:
    unit = face.client.transaction()
    unit.add("INCR", "a").add("SET", "b", None)
    with pytest.raises(shoal.DataError):
        face.run_pipeline(unit)
    assert face.execute("EXISTS", "a", "b") == 0


def test_a_deadline_is_of_the_whole(face: Face, server: Server) -> None:
    face.wait_ready()
    unit = face.client.transaction()
    unit.add("INCR", "a").add("INCR", "a")
    with server.paused(), pytest.raises(shoal.TimeoutError):
        face.run_pipeline(unit, timeout=0.01)
    assert face.execute("ECHO", "whose?") == b"whose?"
    unit.add("INCR", "b")
    assert face.run_pipeline(unit) == [1]


def test_large(connect: Connect) -> None:
    face = connect()
    unit = face.client.transaction()
    for _ in range(9000):  # more than cross into C together otherwise
        unit.add("INCR", "n")
    assert face.run_pipeline(unit) == list(range(1, 9001))
