# SPDX-License-Identifier: MIT
"""`readinto()`: a reply in a buffer of the caller's, and no write to it afterwards."""

import array
import asyncio
import gc
import pickle
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.cancels import raised_inside
from support.faces import Face
from support.proxy import Proxy
from support.server import Server

LARGE = 65_536  # C hands out what is longer in chunks
SIZES = (0, 1, LARGE, LARGE + 1, 3_000_000)


def value_of(size: int) -> bytes:
    """Bytes of which no two parts are the same."""
    return b"".join(b"%08d" % i for i in range(size // 8 + 1))[:size]


@pytest.mark.parametrize("size", SIZES)
def test_the_buffer_gets_the_value(face: Face, size: int) -> None:
    value = value_of(size)
    face.execute("SET", "k", value)
    buffer = bytearray(b"." * (size + 10))
    assert face.readinto(buffer, "GET", "k") == size
    assert buffer == value + b"." * 10
    exact = array.array("B", bytes(size))
    assert face.readinto(memoryview(exact), b"GET", "k") == size
    assert exact.tobytes() == value
    buffer.clear()  # nobody holds it any more


@pytest.mark.parametrize("size", SIZES)
def test_over_a_lease(face: Face, size: int) -> None:
    value = value_of(size)
    buffer = bytearray(b"." * (size + 10))
    with face.lease() as lease:
        lease.execute("SELECT", 3)
        lease.execute("SET", "k", value)
        assert lease.readinto(buffer, "GET", "k") == size
        assert buffer == value + b"." * 10
        assert lease.readinto(buffer, "GET", memoryview(b"none")) is None
        with pytest.raises(shoal.BufferTooSmallError):
            lease.readinto(bytearray(0), "ECHO", "x")
        lease.execute("FLUSHDB")
    assert face.readinto(buffer, "GET", "k") is None
    with pytest.raises(shoal.ClosedError):
        lease.readinto(buffer, "GET", "k")
    buffer.clear()  # nobody holds it any more


def test_nil(face: Face) -> None:
    buffer = bytearray(b"12345")
    assert face.readinto(buffer, "GET", "none") is None
    assert buffer == b"12345"


@pytest.mark.parametrize("size", [100, LARGE + 1, 3_000_000])
def test_too_small(face: Face, size: int) -> None:
    """The connection goes on; the command was executed."""
    value = value_of(size)
    face.execute("SET", "k", value)
    for capacity in (0, 99):
        buffer = bytearray(b"." * capacity)
        with pytest.raises(shoal.BufferTooSmallError) as caught:
            face.readinto(buffer, "GETDEL" if capacity else "GET", "k")
        assert caught.value.needed == size
        assert caught.value.fate is shoal.Fate.REPLIED
        assert str(caught.value) == f"the reply has {size} bytes, the buffer {capacity}"
        assert buffer == b"." * capacity
        assert pickle.loads(pickle.dumps(caught.value)).needed == size
    assert face.execute("EXISTS", "k") == 0
    assert face.stats().losses == 0


def test_what_is_no_string(face: Face) -> None:
    buffer = bytearray(b"." * 10)
    face.execute("RPUSH", "list", "a")
    for command in (("INCR", "n"), ("LRANGE", "list", 0, -1)):
        with pytest.raises(TypeError, match="the reply is no string, but of type"):
            face.readinto(buffer, *command)
    with pytest.raises(shoal.WrongTypeError):
        face.readinto(buffer, "GET", "list")
    with pytest.raises(shoal.DataError):
        face.readinto(buffer, "GET", None)
    with pytest.raises(shoal.RefusedError):
        face.readinto(buffer, "SUBSCRIBE", "news")
    assert buffer == b"." * 10
    buffer.clear()


@pytest.mark.parametrize(
    "buffer", [b"read-only", memoryview(bytearray(10))[::2], "text", None]
)
def test_what_is_no_buffer(face: Face, buffer: Any) -> None:
    with pytest.raises(TypeError):
        face.readinto(buffer, "INCR", "n")
    assert face.execute("EXISTS", "n") == 0


def test_other_arguments_and_decoding(connect: Connect) -> None:
    """What takes the slow way, and options that are for other calls."""
    face = connect(decode_responses=True, encoding="latin-1")
    buffer = bytearray(100)
    face.execute("SET", "k", "caf\u00e9")
    assert face.readinto(buffer, "GET", memoryview(b"k"), timeout=5) == 4
    assert buffer[:4] == b"caf\xe9"
    assert face.execute("GET", "k") == "caf\u00e9"


def test_beside_others(async_face: Face) -> None:
    async def main(client: Any) -> None:
        values = [value_of(size) for size in (10, 200_000, 0, 70_000)]
        buffers = [bytearray(300_000) for _ in values]
        for i, value in enumerate(values):
            await client.execute("SET", f"k{i}", value)
        await client.execute("RPUSH", "list", *range(2000))
        for _ in range(20):
            asked = [
                client.readinto(buffer, "GET", f"k{i}")
                for i, buffer in enumerate(buffers)
            ]
            others = [client.execute("LRANGE", "list", 0, -1) for _ in values]
            pairs = zip(asked, others, strict=True)
            got = await asyncio.gather(*(one for pair in pairs for one in pair))
            assert got[::2] == [len(value) for value in values]
            assert all(len(rows) == 2000 for rows in got[1::2])
            for value, buffer in zip(values, buffers, strict=True):
                assert buffer[: len(value)] == value

    async_face.run(main)


def test_nothing_is_written_after_a_timeout(
    connect: Connect, proxy: Proxy, server: Server
) -> None:
    face = connect(proxy.url)
    server.ask("SET", "k", value_of(3_000_000).decode())
    face.wait_ready()
    buffer = bytearray(b"." * 4_000_000)
    proxy.tell("carry to-client bytes_per_s=3000000")
    with pytest.raises(shoal.TimeoutError):
        face.readinto(buffer, "GET", "k", timeout=0.1)
    seen = bytes(buffer)
    proxy.tell("carry to-client")
    assert face.execute("PING") == b"PONG"  # all that was before it has come
    assert buffer == seen
    assert face.stats().losses == 0
    buffer.clear()


def test_nothing_is_written_after_a_cancel(
    async_connect: Connect, proxy: Proxy, server: Server
) -> None:
    face = async_connect(proxy.url)
    server.ask("SET", "k", value_of(3_000_000).decode())
    buffer = bytearray(b"." * 4_000_000)

    async def main(client: Any) -> None:
        await client.wait_ready()
        proxy.tell("carry to-client bytes_per_s=3000000")
        task = asyncio.create_task(client.readinto(buffer, "GET", "k"))
        while buffer[0] == ord("."):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seen = bytes(buffer)
        buffer.append(0)  # nobody holds it any more
        buffer.pop()
        proxy.tell("carry to-client")
        assert await client.execute("PING") == b"PONG"
        assert buffer == seen

    face.run(main)


def test_a_closed_coroutine_leaves_nothing_behind(async_face: Face) -> None:
    """Nobody reads its future: asyncio must not be told of an exception in it."""
    buffer = bytearray(b"." * 200_000)
    told: list[Any] = []

    async def main(client: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))
        await client.execute("SET", "k", value_of(150_000))
        async with client.lease() as lease:
            for who in (client, lease):
                for command in (("GET", "k"), ("SADD", "s", "m")):
                    first = who.submit("PING")  # all of a tick leave together
                    coroutine = who.readinto(buffer, *command)
                    coroutine.send(None)
                    coroutine.close()
                    await first
        blocked = client.readinto(buffer, "BLMOVE", "a", "b", "LEFT", "LEFT", 0)
        blocked.send(None)
        await client.execute("PING")
        blocked.close()
        while client.stats().leases_now:
            await asyncio.sleep(0.001)
        gc.collect()

    async_face.run(main)
    assert told == []
    assert buffer == b"." * 200_000
    buffer.clear()  # nobody holds it any more


def test_a_lost_connection_begins_anew(
    connect: Connect, proxy: Proxy, server: Server
) -> None:
    """A read is sent again; the first part is void."""
    value = value_of(3_000_000)
    face = connect(proxy.url)
    server.ask("SET", "k", value.decode())
    face.wait_ready()
    number = proxy.counts()["accepted"]
    proxy.tell(f"cut-after {number} to-client 1000000 reset")
    buffer = bytearray(len(value))
    assert face.readinto(buffer, "GET", "k") == len(value)
    assert buffer == value
    assert face.stats().losses == 1


def test_a_popped_string_is_not_lost(async_face: Face, server: Server) -> None:
    """It came when the task was cancelled: the exception has it."""
    buffer = bytearray(10)

    async def main(client: Any) -> None:
        await client.execute("PING")
        task = asyncio.create_task(
            client.readinto(buffer, "BLMOVE", "a", "b", "LEFT", "LEFT", 0)
        )
        while b"blocked_clients:1" not in server.ask("INFO", "clients"):
            await asyncio.sleep(0.001)
        server.ask("RPUSH", "a", "job")
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        error = raised_inside(caught.value)
        assert error.fate is shoal.Fate.REPLIED
        assert error.reply == b"job"

    async_face.run(main)
    assert server.ask("LRANGE", "b", "0", "-1") == [b"job"]
