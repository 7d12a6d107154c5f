# SPDX-License-Identifier: MIT
"""Large arguments leave from Python's memory, and each is let go of exactly once."""

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal._requests import new_packer
from shoal.aio._loans import Loan
from support.faces import Face
from support.proxy import Proxy
from support.server import Server

SMALL, LARGE, APART = 16_383, 16_384, 65_536
SIZES = (SMALL, LARGE, APART - 1, APART, 3_000_000)


def value_of(size: int) -> bytes:
    """Bytes of which no two parts are the same; a new object each time."""
    return b"".join(b"%08d" % i for i in range(size // 8 + 1))[:size]


class Kept:
    """Who holds the value, beside the test?"""

    def __init__(self, size: int) -> None:
        self.value = value_of(size)
        self._references = sys.getrefcount(self.value)

    def is_free(self) -> bool:
        """As before? The traceback of an exception may be a cycle."""
        gc.collect()
        return sys.getrefcount(self.value) == self._references


def figures(face: Face, call: Callable[[], Any]) -> tuple[int, int]:
    """What a call adds to the counters."""
    before = face.stats()
    call()
    after = face.stats()
    return (
        after.bytes_referred - before.bytes_referred,
        after.bytes_copied - before.bytes_copied,
    )


@pytest.mark.parametrize("size", SIZES)
def test_no_copy(face: Face, size: int) -> None:
    kept = Kept(size)
    referred = size if size >= LARGE else 0
    calls: list[tuple[int, Callable[[], Any]]] = [
        (1, lambda: face.execute("SET", "k", kept.value)),
        (2, lambda: face.execute_many([("SET", k, kept.value) for k in ("a", "b")])),
        (1, lambda: face.execute("SET", "k", memoryview(kept.value))),
        (1, lambda: face.execute("SET", "k", bytearray(kept.value))),
    ]
    with face.lease() as lease:
        lease.execute("PING")
        calls.append((1, lambda: lease.execute("SET", "leased", kept.value)))
        for count, call in calls:
            assert figures(face, call) == (count * referred, 0)
            assert kept.is_free()
    for key in "k", "a", "b", "leased":
        assert face.execute("GET", key) == kept.value


def test_among_many_others(face: Face) -> None:
    """In one stream, before and behind small ones, more than once."""
    values = [value_of(size) for size in (APART, 10, APART + 5, 0, LARGE)]
    # What looks like a part of a stream.
    values += [b"B" + (APART).to_bytes(4, "little"), b"\x95" * APART]
    frame = b"\x95" + APART.to_bytes(8, "little") + bytes(APART)
    values += [frame, b"\x97." * APART, values[0]]
    rows = [("SET", f"k{i}", value) for i, value in enumerate(values)]
    padding = [("SET", f"p{i}", "x" * 20) for i in range(3000)]
    assert set(face.execute_many([*rows, *padding, *rows, *padding])) == {b"OK"}
    assert face.execute_many([("GET", f"k{i}") for i in range(len(rows))]) == values
    assert face.execute("ECHO", values[0], timeout=10) == values[0]
    face.execute("RPUSH", "list", *values)
    assert face.execute("LRANGE", "list", 0, -1) == values


def test_texts_are_copied(face: Face) -> None:
    """Their bytes are made for the stream, which C refers to."""
    text = "\u00e9" * APART
    assert face.execute("ECHO", text, decode=True) == text


@pytest.mark.parametrize("size", [LARGE, 3_000_000])
def test_what_is_refused_is_not_kept(connect: Connect, size: int) -> None:
    face = connect(outstanding_bytes_max=8 * 1024 if size == LARGE else 1_000_000)
    kept = Kept(size)
    with pytest.raises(shoal.DataError):
        face.execute("SET", "k", kept.value)
    with pytest.raises(shoal.DataError):
        face.execute("SET", kept.value, None)
    with pytest.raises(shoal.DataError):
        face.execute("SUBSCRIBE", kept.value)
    face.execute("PING")
    assert kept.is_free()


@pytest.mark.parametrize("size", [LARGE, 3_000_000])
def test_a_timeout_lets_go(connect: Connect, proxy: Proxy, size: int) -> None:
    face = connect(proxy.url)
    face.wait_ready()
    kept = Kept(size)
    proxy.tell("carry to-server stopped=1")
    with pytest.raises(shoal.TimeoutError):
        face.execute("SET", "k", kept.value, timeout=0.05)
    assert kept.is_free()
    proxy.tell("carry to-server")


@pytest.mark.parametrize("size", [LARGE, 3_000_000])
def test_a_loss_lets_go(connect: Connect, proxy: Proxy, size: int) -> None:
    face = connect(proxy.url)
    face.wait_ready()
    kept = Kept(size)
    proxy.tell("carry to-server stopped=1")
    cutting = threading.Timer(0.05, proxy.tell, ("cut to-client reset",))
    cutting.start()
    with pytest.raises(shoal.ConnectionError):
        face.execute("APPEND", "k", kept.value)
    cutting.join()
    assert kept.is_free()
    proxy.tell("carry to-server")


@pytest.mark.parametrize("size", [LARGE, 3_000_000])
def test_a_cancel_lets_go(async_connect: Connect, proxy: Proxy, size: int) -> None:
    """C is still sending it when nobody waits for the reply any more."""
    face = async_connect(proxy.url)
    kept = Kept(size)

    async def main(client: Any) -> None:
        await client.wait_ready()
        proxy.tell("carry to-server stopped=1")
        for written in (False, True):
            task = asyncio.create_task(client.execute("SET", "k", kept.value))
            await asyncio.sleep(0.01 if written else 0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            del task
        proxy.tell("carry to-server")
        assert await client.execute("PING") == b"PONG"

    face.run(main)
    assert face.execute("STRLEN", "k") in (0, size)
    assert kept.is_free()


@pytest.mark.parametrize("size", [LARGE, 3_000_000])
def test_a_close_lets_go(async_connect: Connect, proxy: Proxy, size: int) -> None:
    face = async_connect(proxy.url)
    kept = Kept(size)

    async def main(client: Any) -> None:
        await client.wait_ready()
        proxy.tell("carry to-server stopped=1")
        tasks = [
            asyncio.create_task(client.execute("SET", f"k{i}", kept.value))
            for i in range(5)
        ]
        await asyncio.sleep(0.01)
        await client.close()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(outcome, shoal.ClosedError)

    face.run(main)
    face.close()
    assert kept.is_free()
    proxy.tell("carry to-server")


@pytest.mark.parametrize("thread", [False, True])
def test_a_loop_that_ends_first(proxy: Proxy, thread: bool) -> None:
    """C's thread goes on with what the loop has lent."""
    kept = Kept(3_000_000)
    client = shoal.aio.Client(proxy.url, thread=thread)

    async def main(client: shoal.aio.Client) -> None:
        await client.wait_ready()
        proxy.tell("carry to-server stopped=1")
        client.submit("SET", "k", kept.value)
        await asyncio.sleep(0.01)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main(client))
    with pytest.warns(ResourceWarning, match="commands of a shoal client"):
        loop.close()
        gc.collect()
    assert kept.is_free() is not thread
    proxy.tell("carry to-server")
    asyncio.run(client.close())
    del client
    assert kept.is_free()


def test_loops_that_come_and_go(proxy: Proxy) -> None:
    """The client outlives them all, but does not hold what each has lent."""
    kept = [Kept(1_000_000) for _ in range(5)]
    client = shoal.aio.Client(proxy.url, thread=True, timeout=600, stall_timeout=600)

    async def lend(one: Kept) -> None:
        client.submit("SET", "k", one.value)
        await asyncio.sleep(0)

    async def answer() -> None:
        assert await client.execute("PING") == b"PONG"

    asyncio.run(answer())
    proxy.tell("carry to-server stopped=1")
    for one in kept:
        with pytest.warns(ResourceWarning, match="commands of a shoal client"):
            asyncio.run(lend(one))
            gc.collect()
    assert not any(one.is_free() for one in kept)
    proxy.tell("carry to-server")
    asyncio.run(answer())
    assert all(one.is_free() for one in kept)
    asyncio.run(client.close())


def test_what_waits_for_room(async_connect: Connect) -> None:
    """It is lent when it crosses into C, and not before."""
    face = async_connect(outstanding_bytes_max=1_000_000)
    kept = Kept(600_000)

    async def main(client: Any) -> None:
        replies = await asyncio.gather(
            *(client.execute("SET", f"k{i}", kept.value) for i in range(10))
        )
        assert replies == [b"OK"] * 10

    face.run(main)
    face.execute("PING")
    assert kept.is_free()


def test_an_interrupt_lends_while_others_come_back(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signal handlers and finalizers may submit between any two steps."""
    kept = [Kept(1_000_000) for _ in range(4)]
    client = shoal.aio.Client(proxy.url)
    left = list(kept)
    is_out = Loan.is_out

    def interrupted(loan: Loan) -> bool:
        now, left[:] = left[:], []
        for one in now:
            client._submit_awaited("SET", "k", one.value)
        return is_out(loan)

    async def main() -> None:
        await client.wait_ready()
        proxy.tell("carry to-server stopped=1")
        first = client.submit("SET", "k", value_of(LARGE))
        await asyncio.sleep(0.01)
        monkeypatch.setattr(Loan, "is_out", interrupted)
        last = client.submit("PING")
        while left:  # until the port looks at what it has lent
            await asyncio.sleep(0.001)
        assert not any(one.is_free() for one in kept)
        proxy.tell("carry to-server")
        assert await first == b"OK"
        assert await last == b"PONG"
        await client.close()

    asyncio.run(main())
    assert all(one.is_free() for one in kept)


def test_the_stream_without_them() -> None:
    """What is left out is what pickle leaves out, too."""
    import pickle

    lent: list[bytes] = []
    pack = new_packer(lent.extend)
    values = [value_of(size) for size in (APART, 5, APART + 1)]
    rows = [("SET", "a", values[0]), ("ECHO", values[1]), ("SET", values[2], values[0])]
    stream = pack(rows)
    assert len(stream) < 200
    assert [id(one) for one in lent] == [id(values[i]) for i in (0, 2, 0)]
    assert pickle.loads(stream, buffers=lent) == rows
    lent.clear()
    assert pickle.loads(pack([("ECHO", "x" * APART)])) == [("ECHO", "x" * APART)]
    assert pickle.loads(new_packer()(rows)) == rows
    assert lent == []


def test_it_survives_a_server_that_dies(async_connect: Connect, server: Server) -> None:
    """A write goes out again on the next connection, from the same memory."""
    face = async_connect()
    kept = Kept(2_000_000)

    async def main(client: Any) -> None:
        await client.wait_ready()
        for _ in range(10):
            task = asyncio.create_task(client.execute("GETSET", "k", kept.value))
            await asyncio.sleep(0)
            server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            await asyncio.gather(task, return_exceptions=True)
            del task

    face.run(main)
    face.execute("PING")
    assert kept.is_free()
