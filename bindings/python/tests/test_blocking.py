# SPDX-License-Identifier: MIT
"""Commands that block on the server: nobody waits behind them, and nothing that one of
them takes gets lost."""

import asyncio
import signal
import threading
import time
from typing import Any

import pytest
import shoal
from conftest import Connect
from shoal._requests import block_option, blocks
from support.cancels import check_let_go, raised_inside
from support.children import ended, spawn
from support.faces import Face
from support.scale import scaled
from support.server import Server
from support.wire import PATIENCE_S
from test_signals import BEGIN, interrupt


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("XREAD COUNT 1 BLOCK 0 STREAMS s 0", 4),
        ("xreadgroup GROUP g c NOACK block 5 STREAMS s >", 6),
        ("XREADGROUP BLOCK 5 GROUP g c STREAMS s >", 2),
        ("XREADGROUP GROUP block 0 STREAMS s >", None),
        ("XREADGROUP GROUP g block COUNT 1 STREAMS s >", None),
        ("XREADGROUP GROUP g streams BLOCK 7 STREAMS s >", 5),
        ("XREAD STREAMS block 0", None),
        ("XREAD COUNT block STREAMS s 0", None),
        ("XREAD BLOCK", 2),
        ("XREAD", None),
    ],
)
def test_which_reads_of_streams_block(text: str, at: int | None) -> None:
    """A group, a consumer or a stream may be called as the option is."""
    command = text.split()
    assert block_option(command) == at
    assert blocks(command) is (at is not None)
    assert blocks([word.encode() for word in command]) is (at is not None)


def test_others_do_not_wait(face: Face, server: Server) -> None:
    def rescue() -> None:
        server.until_blocked()
        until = time.monotonic() + PATIENCE_S
        while server.ask("EXISTS", "n") == 0 and time.monotonic() < until:
            time.sleep(0.001)
        # What is executed meanwhile shows in the reply.
        server.ask("RPUSH", "gate", server.ask("GET", "n") or b"nothing")

    thread = threading.Thread(target=rescue)
    thread.start()
    if face.is_async:

        async def main(client: Any) -> Any:
            blocked = asyncio.ensure_future(client.execute("BLPOP", "gate", 0))
            await asyncio.sleep(0)
            assert await client.execute("INCR", "n") == 1
            return await blocked

        reply = face.run(main)
    else:
        replies: list[Any] = []
        other = threading.Thread(
            target=lambda: replies.append(face.execute("BLPOP", "gate", 0))
        )
        other.start()
        server.until_blocked()
        assert face.execute("INCR", "n") == 1
        other.join()
        (reply,) = replies
    thread.join()
    assert reply == [b"gate", b"1"]


def test_it_begins_when_earlier_commands_are_answered(face: Face) -> None:
    replies = face.execute_many([("RPUSH", "list", "v"), ("BLPOP", "list", 0)])
    assert replies == [1, [b"list", b"v"]]


@pytest.mark.parametrize(
    "command",
    [("BLPOP", "nothing", 0.3), ("XREAD", "BLOCK", 300, "STREAMS", "nothing", "$")],
    ids=lambda command: command[0],
)
def test_its_own_timeout_is_its_deadline(
    connect: Connect, command: tuple[Any, ...]
) -> None:
    """Not the client's, which is shorter here."""
    face = connect(timeout=0.1)
    face.wait_ready(10)
    assert face.execute(*command) is None
    assert face.execute_many([command]) == [None]


@pytest.mark.parametrize(
    "command",
    [("BLPOP", "nothing", 0), ("XREAD", "BLOCK", 0, "STREAMS", "nothing", "$")],
    ids=lambda command: command[0],
)
def test_a_deadline_of_the_call(face: Face, command: tuple[Any, ...]) -> None:
    face.execute("PING")  # over that connection the server is told to let it go
    until = time.monotonic() + 0.05
    with pytest.raises(shoal.TimeoutError) as caught:
        face.execute(*command, timeout=0.05)
    check_let_go(caught.value.fate, time.monotonic() - until)
    if command[0] == "BLPOP":
        face.execute("RPUSH", "nothing", "kept")
        assert face.execute("LLEN", "nothing") == 1


def test_many_at_a_time(face: Face) -> None:
    rows = [("BLPOP", f"list {i}", 0) for i in range(40)]
    pushes = [("RPUSH", f"list {i}", i) for i in range(40)]
    if face.is_async:

        async def main(client: Any) -> list[Any]:
            blocked = asyncio.ensure_future(client.execute_many(rows))
            await asyncio.sleep(0)
            await client.execute_many(pushes)
            replies: list[Any] = await blocked
            return replies

        replies = face.run(main)
    else:
        pusher = threading.Thread(target=face.execute_many, args=(pushes,))
        pusher.start()
        replies = face.execute_many(rows)
        pusher.join()
    assert [int(value) for _, value in replies] == list(range(40))


# ---- given up ----


def test_ctrl_c(server: Server) -> None:
    child = spawn(
        f"""
        client = shoal.Client(url)
        client.execute("PING")
        {BEGIN}
        try:
            client.execute("BLPOP", "list", 0)
        except KeyboardInterrupt as error:
            print(error.fate.name, time.monotonic())
            assert not hasattr(error, "reply")
            client.execute("RPUSH", "list", "kept")
            assert client.execute("LLEN", "list") == 1
            sys.exit(7)
        """,
        server.url,
    )
    then = interrupt(child, signal.SIGINT, server)
    end = ended(child)
    assert (end.code, end.errors) == (7, ""), end.errors
    fate, told = end.output.split()
    check_let_go(shoal.Fate[fate], float(told) - then)


def test_a_reply_that_came_with_the_interrupt(server: Server) -> None:
    """The element was taken: the exception has it."""
    child = spawn(
        f"""
        client, other = shoal.Client(url), shoal.Client(url)
        def handler(*_):
            other.execute("RPUSH", "list", "v")
            raise InterruptedError
        signal.signal(signal.SIGUSR1, handler)
        {BEGIN}
        try:
            client.execute("BLPOP", "list", 0)
        except InterruptedError as error:
            assert error.fate is shoal.Fate.REPLIED
            assert error.reply == [b"list", b"v"]
            sys.exit(7)
        """,
        server.url,
    )
    interrupt(child, signal.SIGUSR1, server)
    end = ended(child)
    assert (end.code, end.errors) == (7, ""), end.errors


def test_an_interrupted_write_tells_its_fate(server: Server) -> None:
    """The server is busy, so that it cannot answer in time."""
    child = spawn(
        f"""
        client = shoal.Client(url)
        client.execute("PING")
        {BEGIN}
        try:
            client.execute("BLPOP", "list", 0, may_block=True)
        except KeyboardInterrupt as error:
            assert error.fate is shoal.Fate.UNKNOWN
            os._exit(7)
        """,
        server.url,
    )
    interrupt(child, signal.SIGINT, server)
    end = ended(child)
    assert (end.code, end.errors) == (7, ""), end.errors


def test_a_cancelled_task(async_face: Face, server: Server) -> None:
    async def main(client: Any) -> None:
        task = asyncio.ensure_future(client.execute("BLPOP", "list", 0))
        await asyncio.to_thread(server.until_blocked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        late = asyncio.ensure_future(wait(client))
        await asyncio.to_thread(server.until_blocked)
        then = time.monotonic()
        late.cancel()
        check_let_go(await late, time.monotonic() - then)
        await client.execute("RPUSH", "list", "kept")
        assert await client.execute("LLEN", "list") == 1

    async def wait(client: Any) -> Any:
        try:
            await client.execute("BLPOP", "list", 0)
        except asyncio.CancelledError as error:
            return error.fate  # type: ignore[attr-defined]

    async_face.run(main)


def test_cancelled_before_it_was_sent(async_face: Face, server: Server) -> None:
    async def main(client: Any) -> None:
        task = asyncio.ensure_future(client.execute("BLPOP", "list", 0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.execute("RPUSH", "list", "kept")
        assert await client.execute("LLEN", "list") == 1

    async_face.run(main)


def test_nothing_that_was_popped_is_lost(async_face: Face) -> None:
    """Pushes race with cancels: each element was returned, told, or is in the list.
    With a fate that nobody knows, one may be gone."""
    rounds = scaled(150, 10**4)
    then = 0.0
    unknown = 0

    async def pop(client: Any) -> Any:
        nonlocal unknown
        try:
            return await client.execute("BLPOP", "list", 0)
        except asyncio.CancelledError as cancelled:
            error: Any = cancelled
            if error.fate is shoal.Fate.REPLIED:
                return error.reply
            check_let_go(error.fate, time.monotonic() - then)
            unknown += error.fate is shoal.Fate.UNKNOWN
            return None

    async def main(client: Any) -> None:
        nonlocal then
        seen: list[bytes] = []
        await client.execute("PING")
        for number in range(rounds):
            task = asyncio.ensure_future(pop(client))
            for _ in range(number % 5):
                await asyncio.sleep(0.0005)
            push = asyncio.ensure_future(client.execute("RPUSH", "list", number))
            await asyncio.sleep(0)
            if number % 3:
                await asyncio.sleep(0.0002)
            then = time.monotonic()
            task.cancel()
            reply = await asyncio.gather(task, return_exceptions=True)
            await push
            if isinstance(reply[0], list):
                seen.append(reply[0][1])
            elif reply[0] is not None:  # cancelled before it began
                assert isinstance(reply[0], asyncio.CancelledError)
        left = await client.execute("LRANGE", "list", 0, -1)
        found = sorted(map(int, seen + left))
        assert len(found) == len(set(found)) >= rounds - unknown
        assert set(found) <= set(range(rounds))

    async_face.run(main)


def test_wait_for_tells_too(async_face: Face) -> None:
    async def main(client: Any) -> None:
        await client.execute("PING")
        until = time.monotonic() + 0.1
        with pytest.raises(asyncio.TimeoutError) as caught:
            await asyncio.wait_for(client.execute("BLPOP", "list", 0), 0.1)
        fate = raised_inside(caught.value.__cause__).fate
        check_let_go(fate, time.monotonic() - until)

    async_face.run(main)


# ---- too many ----


def test_more_than_can_wait(async_face: Face, server: Server) -> None:
    """The bound is theirs alone: others do not wait behind them."""
    most = 64 + 1024

    async def main(client: Any) -> None:
        tasks = [
            asyncio.ensure_future(client.execute("BLPOP", "gate", 0))
            for _ in range(most + 10)
        ]
        await asyncio.sleep(0)
        assert await client.execute("PING") == b"PONG"
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 10:
            await asyncio.sleep(0.001)
            done = {task for task in tasks if task.done()}
        for task in done:
            assert isinstance(task.exception(), shoal.FullError)
        await client.execute_many([("RPUSH", "gate", i) for i in range(most)])
        ends = await asyncio.gather(*(set(tasks) - done))
        assert sorted(int(end[1]) for end in ends) == list(range(most))

    async_face.run(main)
