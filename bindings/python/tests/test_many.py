# SPDX-License-Identifier: MIT
"""Many commands at once: order, errors among them, contiguity, pipelines."""

import threading
import time
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.faces import Face
from support.server import Server
from support.wire import PATIENCE_S


@pytest.mark.parametrize("count", [0, 1, 2, 511, 512, 513, 8192, 8193, 20000])
def test_replies_are_in_order(connect: Connect, count: int) -> None:
    face = connect()
    commands = (["ECHO", number] for number in range(count))
    wanted = [str(number).encode() for number in range(count)]
    assert face.execute_many(commands) == wanted


def test_the_first_error_is_raised_when_all_are_done(face: Face) -> None:
    face.execute("SET", "text", "x")
    commands = [("INCR", "a"), ("INCR", "text"), ("LPUSH", "text", 1), ("INCR", "b")]
    with pytest.raises(shoal.ResponseError, match="not an integer") as caught:
        face.execute_many(commands)
    assert not isinstance(caught.value, shoal.WrongTypeError)
    assert face.execute_many([("GET", "a"), ("GET", "b")]) == [b"1", b"1"]


def test_exceptions_stand_in_the_list(face: Face) -> None:
    face.execute("SET", "text", "x")
    replies = face.execute_many(
        [("PING",), ("LPUSH", "text", 1), ("ECHO", "last")], return_exceptions=True
    )
    assert type(replies[1]) is shoal.WrongTypeError
    assert replies[::2] == [b"PONG", b"last"]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 64])
def test_errors_at_every_place(connect: Connect, every: int) -> None:
    face = connect()
    face.execute("SET", "text", "x")
    commands: list[tuple[Any, ...]] = [
        ("LPUSH", "text", 1) if number % every == 0 else ("ECHO", number)
        for number in range(200)
    ]
    replies = face.execute_many(commands, return_exceptions=True)
    for number, reply in enumerate(replies):
        if number % every == 0:
            assert type(reply) is shoal.WrongTypeError
        else:
            assert reply == str(number).encode()


def test_one_that_cannot_be_sent(face: Face) -> None:
    for commands in ([("PING",), ("ECHO", None)], [("PING",), ()]):
        with pytest.raises(shoal.DataError):
            face.execute_many(commands)
    assert face.execute("ECHO", "next") == b"next"


@pytest.mark.parametrize("text", ["PING", b"PING", bytearray(b"PING")], ids=repr)
def test_a_text_is_no_command(connect: Connect, text: Any) -> None:
    """A text is refused, although it is a sequence of possible arguments."""
    face = connect()
    before = face.stats().commands
    with pytest.raises(shoal.DataError, match="sequence of its arguments"):
        face.execute_many([("PING",), text])
    assert face.stats().commands == before


@pytest.mark.parametrize("wrong", [("SET", "x", None), ()])
def test_one_that_cannot_be_sent_behind_very_many(
    connect: Connect, wrong: tuple[Any, ...]
) -> None:
    """They cross into C in pieces; none of these may be sent."""
    face = connect()
    with pytest.raises(shoal.DataError) as caught:
        face.execute_many([("INCR", "n")] * 9000 + [wrong])
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    assert face.execute("EXISTS", "n") == 0


def test_closed_in_the_midst_of_very_many(server: Server) -> None:
    """The outcomes of the first pieces come back all the same."""
    client = shoal.Client(server.url, timeout=20)
    rows: list[tuple[Any, ...]] = [("INCR", "n")] * 10_000
    rows += [("BLPOP", "gate", 10), *[("INCR", "n")] * 10_000]
    outcomes: list[Any] = []

    def work() -> None:
        outcomes.extend(
            client.execute_many(rows, return_exceptions=True, may_block=True)
        )

    thread = threading.Thread(target=work)
    thread.start()
    until = time.monotonic() + PATIENCE_S
    while server.ask("GET", "n") != b"10000" and time.monotonic() < until:
        time.sleep(0.005)
    client.close()
    thread.join()
    assert len(outcomes) == len(rows)
    assert outcomes[:8192] == list(range(1, 8193))
    for outcome in outcomes[10_000:]:
        assert type(outcome) is shoal.ClosedError
    assert outcomes[-1].fate is shoal.Fate.NOT_EXECUTED
    assert outcomes[10_000].fate is shoal.Fate.UNKNOWN


def test_slow_arguments_beside_quick_ones(face: Face) -> None:
    values = [b"b", "s", bytearray(b"y"), memoryview(b"m"), 1, 2.5, 1 << 70]
    assert face.execute_many([("ECHO", value) for value in values]) == [
        b"b", b"s", b"y", b"m", b"1", b"2.5", str(1 << 70).encode(),
    ]  # fmt: skip


def test_decode_and_timeout_are_the_calls(face: Face, server: Server) -> None:
    assert face.execute_many([("PING",)] * 2, decode=True) == ["PONG", "PONG"]
    with server.paused():
        replies = face.execute_many(
            [("PING",)] * 2, timeout=0.01, return_exceptions=True
        )
    assert all(type(reply) is shoal.TimeoutError for reply in replies)
    assert face.execute_many([("ECHO", 1), ("ECHO", 2)]) == [b"1", b"2"]


UNIT = [("MULTI",), ("INCR", "n"), ("INCR", "n"), ("EXEC",)]


def test_a_unit_gives_raw_replies(face: Face) -> None:
    assert face.execute_many(UNIT, contiguous=True) == [
        b"OK", b"QUEUED", b"QUEUED", [1, 2],
    ]  # fmt: skip
    undone = [("MULTI",), ("INCR", "n"), ("DISCARD",)]
    assert face.execute_many(undone, contiguous=True)[-1] == b"OK"
    assert face.execute("GET", "n") == b"2"


@pytest.mark.parametrize(
    "commands", [UNIT, UNIT[:3], UNIT[1:], [("PING",), *UNIT]], ids=str
)
def test_multi_needs_a_whole_unit(face: Face, commands: list[tuple[str, ...]]) -> None:
    contiguous = commands is not UNIT
    with pytest.raises(shoal.RefusedError):
        face.execute_many(commands, contiguous=contiguous)
    assert face.execute("ECHO", "fine") == b"fine"


def test_units_of_threads_do_not_mix(server: Server) -> None:
    with shoal.Client(server.url) as client:
        wrong: list[object] = []

        def work(me: int) -> None:
            for _ in range(100):
                unit = [("MULTI",), *[("INCR", f"own{me}")] * 3, ("EXEC",)]
                *before, last = client.execute_many(unit, contiguous=True)
                if before != [b"OK"] + [b"QUEUED"] * 3 or last[2] != last[0] + 2:
                    wrong.append((before, last))
                if client.execute("ECHO", me) != str(me).encode():
                    wrong.append(me)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert client.execute("GET", "own7") == b"300"


def test_a_pipeline(face: Face) -> None:
    pipeline = face.client.pipeline()
    assert pipeline.add("SET", "k", 1).add("INCR", "k") is pipeline
    assert len(pipeline) == 2
    assert face.run_pipeline(pipeline) == [b"OK", 2]
    assert len(pipeline) == 0
    assert face.run_pipeline(pipeline) == []
    pipeline.add("LPUSH", "k", 1).add("PING")
    replies = face.run_pipeline(pipeline, return_exceptions=True, decode=True)
    assert type(replies[0]) is shoal.WrongTypeError
    assert replies[1] == "PONG"
    with pytest.raises(shoal.DataError):
        pipeline.add()
    pipeline.add("PING").clear()
    assert face.run_pipeline(pipeline) == []


def test_a_pipeline_is_a_context_manager(server: Server) -> None:
    with shoal.Client(server.url) as client:
        with client.pipeline() as pipeline:
            pipeline.add("INCR", "n")
            assert pipeline.run() == [1]
            pipeline.add("INCR", "n")
        assert len(pipeline) == 0
        assert client.execute("GET", "n") == b"1"


def test_a_pipeline_of_asyncio_is_a_context_manager(async_face: Face) -> None:
    async def main(client: Any) -> None:
        async with client.transaction() as unit:
            assert await unit.add("INCR", "n").run() == [1]
            unit.add("INCR", "n")
        assert len(unit) == 0

    async_face.run(main)
