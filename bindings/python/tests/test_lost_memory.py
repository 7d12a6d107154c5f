# SPDX-License-Identifier: MIT
"""A reply for which there is no memory is lost, and says so; the client goes on."""

import asyncio
from typing import Any

import pytest
import shoal
import shoal.aio._port
from conftest import Connect
from shoal import _calls, _replies
from shoal.aio import Client
from shoal.aio._loans import Loan
from support.children import run_child
from support.server import Server
from support.wire import PATIENCE_S

_MIB = 1 << 20
_REPLY_MIB = 32

CLIENTS = {
    "sync": "",
    "borrowed": "shoal.aio.Client(url, timeout=20)",
    "thread": "shoal.aio.Client(url, thread=True, timeout=20)",
}

SYNC = """
    def main():
        client = shoal.Client(url, timeout=20)
        client.execute("PING")
        with little_memory():
            try:
                print(len(client.execute("GET", "big")))
            except LOSSES as error:
                print(type(error).__name__)
            assert client.execute("ECHO", "next") == b"next"
        assert len(client.execute("GET", "big")) == size
        client.close()
    main()
"""

ASYNCIO = """
    async def main(client):
        await client.execute("PING")
        with little_memory():
            calls = [client.execute("GET", "big"), client.execute("INCR", "n")]
            ends = await asyncio.wait_for(
                asyncio.gather(*calls, return_exceptions=True), 10)
            print(type(ends[0]).__name__)
            # Its reply was behind, and may have gone with the connection.
            assert ends[1] == 1 or isinstance(ends[1], LOSSES), ends[1]
            assert await client.execute("ECHO", "next") == b"next"
        assert len(await client.execute("GET", "big")) == size
        await client.close()
    run(main(MADE))
"""

#: The address space may grow by so many bytes and no more, for a while.
LIMIT = """
    import contextlib, resource
    LOSSES = (MemoryError, shoal.ConnectionError)
    size, growth = int(sys.argv[2]), int(sys.argv[3])
    @contextlib.contextmanager
    def little_memory():
        with open("/proc/self/statm") as statm:
            now = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
        infinity = resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_AS, (now + growth, infinity))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (infinity, infinity))
"""


#: It is lost where it is received, where it is written down for Python, or by Python.
@pytest.mark.parametrize(
    ("kind", "growth_mib"),
    [
        ("borrowed", 16),
        ("borrowed", 40),
        ("borrowed", 80),
        ("thread", 40),
        ("sync", 40),
    ],
)
def test_a_reply_that_does_not_fit(server: Server, kind: str, growth_mib: int) -> None:
    size = _REPLY_MIB * _MIB
    server.ask("SETRANGE", "big", size - 1, "x")
    script = ASYNCIO.replace("MADE", CLIENTS[kind]) if CLIENTS[kind] else SYNC
    end = run_child(LIMIT + script, server.url, str(size), str(growth_mib * _MIB))
    assert (end.code, end.errors) == (0, ""), end.errors
    assert end.output in ("MemoryError\n", "ConnectionError\n"), end.output
    assert server.ask("GET", "n") == (None if kind == "sync" else b"1")


def test_no_memory_for_what_was_read(
    async_connect: Connect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No task waits for ever, and each that waited has an exception of its own."""
    face = async_connect(timeout=20)
    lacks: list[bool] = []

    def new_reader(holder: Any) -> _replies.Reader:
        read = _replies.new_reader(holder)

        def reader(count: int) -> Any:
            if lacks:
                raise MemoryError
            return read(count)

        return reader

    monkeypatch.setattr(shoal.aio._port, "new_reader", new_reader)

    async def main(client: Client) -> None:
        await client.execute("PING")
        lacks.append(True)
        lost = [client.submit("INCR", "n") for _ in range(10)]
        await asyncio.wait(lost, timeout=PATIENCE_S)
        lacks.clear()
        assert [future.done() for future in lost] == [True] * 10
        errors = [future.exception() for future in lost]
        assert {type(error) for error in errors} == {MemoryError}
        assert len({id(error) for error in errors}) == 10
        tags = [b"%d" % i for i in range(10)]
        later = asyncio.gather(*[client.execute("ECHO", tag) for tag in tags])
        assert await asyncio.wait_for(later, PATIENCE_S) == tags

    face.run(main)
    assert server.ask("GET", "n") == b"10"


@pytest.mark.parametrize("lacks", ["stream", "loan"])
def test_no_memory_for_what_is_sent(
    async_connect: Connect, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    """No task waits for ever for a command that was never sent."""
    face = async_connect(timeout=20)

    def lack(*_: object) -> None:
        raise MemoryError

    async def main(client: Client) -> None:
        await client.execute("PING")
        with monkeypatch.context() as patch:
            if lacks == "stream":
                patch.setattr(client._find_port(), "_pack", lack)
            else:
                patch.setattr(Loan, "lend", lack)
            lost = [client.submit("SET", "k", b"v" * 100_000) for _ in range(2)]
            await asyncio.wait(lost, timeout=PATIENCE_S)
        assert [type(future.exception()) for future in lost] == [MemoryError] * 2
        assert await client.execute("GET", "k") is None

    face.run(main)


@pytest.mark.parametrize("name", ["execute", "execute_many"])
def test_no_memory_for_what_a_thread_sends(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def lack(*_: object) -> None:
        raise MemoryError

    with shoal.Client(server.url) as client:
        client.execute("PING")
        with monkeypatch.context() as patch:
            patch.setattr(_calls._thread.caller, "take", lambda commands: False)
            patch.setattr(_calls._thread.caller, "pack", lack)
            with pytest.raises(MemoryError):
                if name == "execute":
                    client.execute("PING")
                else:
                    client.execute_many([("PING",)])
        assert client.execute("ECHO", "next") == b"next"
