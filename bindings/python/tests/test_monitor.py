# SPDX-License-Identifier: MIT
"""`monitor()`: every command that the server executes, line by line."""

import asyncio
import contextlib
import copy
import gc
import threading
import time
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal import _monitor
from shoal._lease import Handle
from support.children import run_child
from support.faces import Face, FaceMonitor
from support.proxy import Proxy
from support.server import Server
from support.wire import PATIENCE_S
from test_leaks import descriptors


def line_with(monitor: FaceMonitor, word: str) -> Any:
    """The next line that has this word in it."""
    while True:
        line = monitor.next_line()
        if word in (line if isinstance(line, str) else line.decode()):
            return line


def test_it_hears_of_every_client(face: Face, server: Server) -> None:
    with face.monitor() as monitor:
        face.execute("SET", "own", "1")
        assert line_with(monitor, "own").endswith(b'"SET" "own" "1"')
        server.ask("SET", "foreign", "a\r\n\xff")
        assert b'"foreign" "a\\r\\n' in line_with(monitor, "foreign")
        assert face.execute("GET", "own") == b"1"
    face.until(lambda: face.stats().leases_now == 0)


def test_lines_come_in_order_and_none_is_lost(face: Face) -> None:
    with face.monitor(decode=True) as monitor:
        for start in range(0, 3000, 1000):
            face.execute_many([("TYPE", f"n{i}") for i in range(start, start + 1000)])
        for i in range(3000):
            assert line_with(monitor, "TYPE").endswith(f'"n{i}"')


def test_a_wait_for_a_line_ends(face: Face, server: Server) -> None:
    with face.monitor() as monitor:
        while monitor.next_line(timeout=0.01) is not None:
            pass  # of the client's greeting
        server.ask("SET", "k", "v")
        assert line_with(monitor, "k")
        for wrong in (0, -1, "1", True):
            with pytest.raises((TypeError, ValueError)):
                monitor.next_line(timeout=wrong)


def test_as_an_iterator(connect: Connect, server: Server) -> None:
    """It begins at the first line, ends with the close, and stays closed."""
    face = connect(decode_responses=True)
    monitor = face.monitor()
    for _ in range(3):
        ticking = threading.Timer(0.01, server.ask, ("TYPE", "tick"))
        ticking.start()
        assert isinstance(next(monitor), str)
        ticking.join()
    monitor.close()
    assert list(monitor) == []
    with pytest.raises(shoal.ClosedError, match="monitor was closed"):
        monitor.next_line()
    monitor.close()
    unused = face.monitor()
    unused.close()
    with pytest.raises(shoal.ClosedError), unused:
        pass


def test_the_server_may_refuse(connect: Connect, server: Server) -> None:
    server.ask("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all", "-monitor")
    face = connect(username="few", password="secret")
    try:
        with pytest.raises(shoal.NoPermissionError), face.monitor():
            pass
        face.until(lambda: face.stats().leases_now == 0)
    finally:
        server.ask("ACL", "DELUSER", "few")


def test_a_lost_connection_ends_it(face: Face, server: Server) -> None:
    monitor = face.monitor()
    with monitor:
        clients = server.ask("CLIENT", "LIST").decode().splitlines()
        (line,) = [line for line in clients if "cmd=monitor" in line]
        number = line.split("id=")[1].split()[0]
        server.ask("CLIENT", "KILL", "ID", number)
        for _ in range(2):
            with pytest.raises(shoal.ConnectionError):
                line_with(monitor, "nothing has this")
    assert face.execute("PING") == b"PONG"


def test_an_answer_that_does_not_come(connect: Connect, proxy: Proxy) -> None:
    face = connect(proxy.url)
    with face.lease() as lease:
        lease.execute("PING")
    face.until(lambda: face.stats().leases_idle_now == 1)
    proxy.tell("carry to-client stopped=1")
    with pytest.raises(shoal.TimeoutError), face.monitor(timeout=0.05):
        pass
    proxy.tell("carry to-client")
    with face.monitor() as monitor:
        face.execute("TYPE", "k")
        assert line_with(monitor, "TYPE")


def test_the_end_of_the_client_ends_it(connect: Connect) -> None:
    face = connect()
    monitor = face.monitor()
    with monitor:
        face.close()
        with pytest.raises(shoal.ClosedError):
            line_with(monitor, "nothing has this")
    with pytest.raises(shoal.ClosedError), face.monitor():
        pass


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_one_that_reads_too_slowly(connect: Connect, server: Server) -> None:
    """16 MiB of lines are kept; the reader hears that there were more."""
    face = connect(timeout=PATIENCE_S, stall_timeout=PATIENCE_S)
    value = "x" * 1_000_000  # which a server is slow to write
    with face.monitor() as monitor:
        for i in range(18):
            face.execute("TYPE", f"n{i}" + value)
        face.until(lambda: face.stats().bytes_in > 18_000_000)
        for i in range(14):
            assert f'"n{i}x' in line_with(monitor, "TYPE").decode()
        for _ in range(2):
            with pytest.raises(shoal.FullError, match="faster"):
                line_with(monitor, "nothing has this")
        # Nobody waits for a line, which cannot come; nor for the end of the connection.
        server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        for _ in range(3):
            with pytest.raises(shoal.FullError, match="faster"):
                monitor.next_line(timeout=0.1)
    assert face.execute("PING") == b"PONG"


def test_one_reader_at_a_time(async_face: Face) -> None:
    async def main(client: Any) -> None:
        await client.execute("PING")  # behind its greeting
        async with client.monitor() as monitor:
            while await monitor.next_line(timeout=0.01) is not None:
                pass
            waiting = asyncio.create_task(monitor.next_line())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="somebody else"):
                await monitor.next_line()
            await client.execute("TYPE", "a")
            line = await waiting
            while b'"a"' not in line:
                line = await monitor.next_line()

    async_face.run(main)


def test_a_cancelled_wait_loses_no_line(async_face: Face) -> None:
    async def main(client: Any) -> None:
        async with client.monitor(decode=True) as monitor:
            seen: list[str] = []

            async def read() -> None:
                while True:
                    seen.append(await monitor.next_line())

            for i in range(50):
                task = asyncio.create_task(read())
                await client.execute("TYPE", f"n{i}")
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            while not seen or not seen[-1].endswith('"n49"'):
                seen.append(await monitor.next_line())
            echoes = [line.split('"')[-2] for line in seen if '"TYPE"' in line]
            assert echoes == [f"n{i}" for i in range(50)]

    async_face.run(main)


def test_another_task_closes_it(async_face: Face, server: Server) -> None:
    async def main(client: Any) -> None:
        monitor = client.monitor()

        async def read() -> int:
            return len([line async for line in monitor])

        await client.execute("PING")
        before = descriptors()
        task = asyncio.create_task(read())
        while b"cmd=monitor" not in server.ask("CLIENT", "LIST"):
            await asyncio.sleep(0.001)
        await monitor.aclose()
        assert await task >= 0
        while descriptors() > before:
            await asyncio.sleep(0.001)

    async_face.run(main)


def test_another_thread_closes_it(server: Server) -> None:
    with shoal.Client(server.url) as client:
        client.execute("PING")
        before = descriptors()
        monitor = client.monitor()
        with monitor:
            reader = threading.Thread(target=lambda: list(monitor))
            reader.start()
            client.execute("PING")
            monitor.close()
            reader.join(60)
            assert not reader.is_alive()
        until = time.monotonic() + PATIENCE_S
        while descriptors() > before and time.monotonic() < until:
            time.sleep(0.001)
        assert descriptors() <= before


def test_another_thread_closes_it_while_it_begins(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Handle):
        def __init__(self, core: Any) -> None:
            super().__init__(core)
            closing = threading.Thread(target=monitor.close)
            closing.start()
            closing.join()

    monkeypatch.setattr(_monitor, "Handle", Slow)
    with shoal.Client(server.url) as client:
        monitor = client.monitor()
        reader = threading.Thread(target=lambda: list(monitor), daemon=True)
        reader.start()
        reader.join(5)
        assert not reader.is_alive()
        until = time.monotonic() + PATIENCE_S
        while client.stats().leases_now and time.monotonic() < until:
            time.sleep(0.001)
        assert client.stats().leases_now == 0


@pytest.mark.parametrize("thread", [False, True])
def test_another_loop_closes_it(server: Server, thread: bool) -> None:
    """A loop's debug mode refuses what only its own thread may do."""

    async def main() -> None:
        async with shoal.aio.Client(server.url, thread=thread) as client:
            await client.execute("PING")  # behind its greeting
            monitor = client.monitor()
            async with monitor:
                reader = asyncio.create_task(monitor.next_line(timeout=PATIENCE_S))
                await asyncio.sleep(0.01)
                while reader.done():
                    reader = asyncio.create_task(monitor.next_line(timeout=PATIENCE_S))
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(lambda: asyncio.run(monitor.close()))
                await asyncio.wait([reader], timeout=PATIENCE_S)
                with pytest.raises(shoal.ClosedError):
                    reader.result()

    asyncio.run(main(), debug=True)


def test_another_loop(server: Server) -> None:
    client = shoal.aio.Client(server.url)
    monitor = client.monitor()
    loops = [asyncio.new_event_loop(), asyncio.new_event_loop()]
    loops[0].run_until_complete(monitor.__aenter__())
    with pytest.raises(RuntimeError, match="belongs to the event loop"):
        loops[1].run_until_complete(monitor.next_line())
    loops[0].run_until_complete(monitor.close())
    loops[0].run_until_complete(client.close())
    for loop in loops:
        loop.close()


def test_an_interrupt_leaves_it_usable(server: Server) -> None:
    ended = run_child(
        """
        client = shoal.Client(url)
        with client.monitor(decode=True) as monitor:
            main = threading.get_ident()
            try:
                kill = signal.pthread_kill
                threading.Timer(0.2, kill, (main, signal.SIGINT)).start()
                while True:
                    monitor.next_line()
            except KeyboardInterrupt:
                client.execute("TYPE", "later")
            while "later" not in monitor.next_line():
                pass
        client.close()
        print("well")
        """,
        server.url,
    )
    assert (ended.code, ended.output) == (0, "well\n"), ended


def test_a_forgotten_one(face: Face) -> None:
    monitor = face.monitor()
    monitor.__enter__()
    with pytest.warns(ResourceWarning, match="unclosed monitor of a shoal client to"):
        del monitor
        gc.collect()
    face.until(lambda: face.stats().leases_now == 0)


def test_in_the_child_of_a_fork(server: Server) -> None:
    ended = run_child(
        """
        client = shoal.Client(url)
        with client.monitor() as monitor:
            child = os.fork()
            if child == 0:
                try:
                    monitor.next_line()
                except shoal.ForkError:
                    monitor.close()
                    del monitor
                    os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            client.execute("TYPE", "here")
            while b"here" not in monitor.next_line():
                pass
        client.close()
        print("well")
        """,
        server.url,
    )
    assert (ended.code, ended.output) == (0, "well\n"), ended


def test_it_is_unique(face: Face) -> None:
    with face.monitor() as monitor:
        name = "shoal.aio.Monitor" if face.is_async else "shoal.Monitor"
        assert repr(monitor.monitor).startswith(f"<{name} redis://")
        with pytest.raises(TypeError, match=f"a {name} cannot be copied"):
            copy.copy(monitor.monitor)
