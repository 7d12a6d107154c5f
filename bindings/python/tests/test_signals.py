# SPDX-License-Identifier: MIT
"""Signals while a call is under way: what the handler does, the call survives."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.children import ended, run_child, spawn
from support.faces import DRIVERS, LOOPS
from support.server import Server

#: Tells the parent that the signal may come.
BEGIN = "print('ready', flush=True)"


#: A thread that is seen asleep so often in a row has nothing else to do.
_LOOKS = 5


def is_asleep(child: "subprocess.Popen[str]") -> bool:
    """Its main thread sleeps; one that waits for a processor does not."""
    stat = Path(f"/proc/{child.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "S"


def interrupt(
    child: "subprocess.Popen[str]",
    number: signal.Signals,
    server: Server | None = None,
) -> float:
    """Wait until the child sleeps in its call, and send the signal: when that was.
    `server`: the call is a BLPOP, which has arrived there."""
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    while server is not None and child.poll() is None and not server.blocked():
        time.sleep(0.001)
    looks = 0
    while child.poll() is None and looks < _LOOKS:
        time.sleep(0.02)
        looks = looks + 1 if is_asleep(child) else 0
    then = time.monotonic()
    child.send_signal(number)
    return then


#: None of them ends by itself.
CALLS = {
    "execute": "client.execute('BLPOP', 'no list', 0, may_block=True)",
    "execute_many": "client.execute_many([('BLPOP', 'no list', 0)], may_block=True)",
    "wait_ready": "shoal.Client('redis://127.0.0.1:1').wait_ready(1000)",
    "wait for room": "full.execute('PING')",
}


CLIENTS = {
    "borrowed": "shoal.aio.Client(url)",
    "thread": "shoal.aio.Client(url, thread=True)",
    "shared": "shoal.Client(url).aio()",
}


@pytest.mark.parametrize("call", CALLS)
def test_keyboard_interrupt(server: Server, call: str) -> None:
    child = spawn(
        f"""
        client = shoal.Client(url, timeout=1000)
        client.execute("PING")
        full = shoal.Client("redis://127.0.0.1:1", queued_max=1, timeout=1000)
        def fill():
            try:
                full.execute("PING")
            except shoal.ClosedError:
                pass
        threading.Thread(target=fill, daemon=True).start()
        while full.stats().queued_now == 0:
            time.sleep(0.001)
        {BEGIN}
        try:
            {CALLS[call]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            assert client.execute("ECHO", "whose?") == b"whose?"
            assert client.execute_many([("ECHO", 1), ("ECHO", 2)]) == [b"1", b"2"]
            sys.exit(7)
        """,
        server.url,
    )
    interrupt(child, signal.SIGINT)
    assert child.stdout is not None
    assert child.stdout.readline() == "interrupted\n"
    server.ask("RPUSH", "no list", "goes to nobody")  # what stands behind is answered
    end = ended(child)
    assert (end.code, end.errors) == (7, ""), end.errors


def test_keyboard_interrupt_in_asyncio(server: Server) -> None:
    child = spawn(
        f"""
        async def main():
            client = shoal.aio.Client(url, thread=sys.argv[2] == "thread")
            {BEGIN}
            try:
                await client.execute("BLPOP", "no list", 0, may_block=True)
            finally:
                await client.close()
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            sys.exit(7)
        """,
        server.url,
        "borrowed",
    )
    interrupt(child, signal.SIGINT)
    end = ended(child)
    assert (end.code, end.errors) == (7, ""), end.errors


@pytest.mark.parametrize("call", ["execute", "execute_many"])
def test_keyboard_interrupt_in_a_drain(server: Server, call: str) -> None:
    """It ends the drain, too: what is outstanding fails, and the interpreter ends."""
    child = spawn(
        f"""
        client = shoal.Client(url, timeout=2000)
        def work():
            try:
                {CALLS[call]}
            except shoal.ClosedError as error:
                assert error.fate is shoal.Fate.UNKNOWN
                print("ended", flush=True)
        threading.Thread(target=work).start()
        while client.stats().inflight_now == 0:
            time.sleep(0.001)
        {BEGIN}
        try:
            client.close(drain=1000)
        except KeyboardInterrupt:
            sys.exit(7)
        """,
        server.url,
    )
    interrupt(child, signal.SIGINT, server)
    end = ended(child)
    assert (end.code, end.output, end.errors) == (7, "ended\n", ""), end.errors


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("loop", LOOPS)
def test_keyboard_interrupt_in_a_drain_of_asyncio(
    server: Server, loop: str, driver: str
) -> None:
    child = spawn(
        f"""
        async def main():
            client = {CLIENTS[driver]}
            future = client.submit("BLPOP", "no list", 0, may_block=True, timeout=2000)
            future.add_done_callback(lambda future: future.exception())
            while client.stats().inflight_now == 0:
                await asyncio.sleep(0.001)
            {BEGIN}
            await client.close(drain=1000)
        try:
            run(main())
        except KeyboardInterrupt:
            sys.exit(7)
        """,
        server.url,
        loop=loop,
    )
    interrupt(child, signal.SIGINT, server)
    end = ended(child)
    assert (end.code, end.errors) == (7, ""), end.errors


@pytest.mark.parametrize("call", ["execute", "execute_many"])
def test_a_handler_may_call(server: Server, call: str) -> None:
    child = spawn(
        f"""
        client = shoal.Client(url, timeout=20)
        other = shoal.Client(url, timeout=20)
        def handler(*_):
            assert other.execute("ECHO", "inside") == b"inside"
            assert other.execute_many([("ECHO", "in")]) == [b"in"]
            other.execute("RPUSH", "list", "v")
            assert client.execute("ECHO", "behind") == b"behind"
            print("handled", flush=True)
        signal.signal(signal.SIGUSR1, handler)
        {BEGIN}
        if {call!r} == "execute":
            reply = client.execute("BLPOP", "list", 0, may_block=True)
        else:
            reply, = client.execute_many([("BLPOP", "list", 0)], may_block=True)
        assert reply == [b"list", b"v"], reply
        assert client.execute("ECHO", "after") == b"after"
        """,
        server.url,
    )
    interrupt(child, signal.SIGUSR1, server)
    end = ended(child)
    assert (end.code, end.output, end.errors) == (0, "handled\n", ""), end.errors


@pytest.mark.parametrize("call", ["execute", "execute_many"])
def test_a_handler_may_raise(server: Server, call: str) -> None:
    child = spawn(
        f"""
        client = shoal.Client(url, timeout=20)
        class Stop(Exception):
            pass
        def handler(*_):
            raise Stop
        signal.signal(signal.SIGUSR1, handler)
        {BEGIN}
        try:
            {CALLS[call]}
        except Stop:
            print("stopped", flush=True)
            assert client.execute("ECHO", "after") == b"after"
            sys.exit(3)
        """,
        server.url,
    )
    interrupt(child, signal.SIGUSR1)
    assert child.stdout is not None
    assert child.stdout.readline() == "stopped\n"
    server.ask("RPUSH", "no list", "goes to nobody")
    end = ended(child)
    assert (end.code, end.errors) == (3, ""), end.errors


@pytest.mark.parametrize("call", ["execute", "execute_many"])
def test_a_handler_may_close(server: Server, call: str) -> None:
    child = spawn(
        f"""
        client = shoal.Client(url, timeout=20)
        signal.signal(signal.SIGTERM, lambda *_: client.close())
        {BEGIN}
        try:
            {CALLS[call]}
        except shoal.ClosedError as error:
            assert error.fate is shoal.Fate.UNKNOWN
            sys.exit(5)
        """,
        server.url,
    )
    interrupt(child, signal.SIGTERM, server)
    end = ended(child)
    assert (end.code, end.errors) == (5, ""), end.errors


def test_a_storm_of_signals(server: Server) -> None:
    end = run_child(
        """
        client = shoal.Client(url, timeout=20)
        handled = depth = 0
        def arm():
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
        def handler(*_):
            global handled, depth
            handled += 1
            depth += 1
            tag = f"inner {handled}"
            if depth < 5:  # where calls last longer, each handler interrupts another
                arm()
            assert client.execute("ECHO", tag, decode=True) == tag
            depth -= 1
            if depth == 0:
                arm()
        client.wait_ready()
        signal.signal(signal.SIGALRM, handler)
        arm()
        for number in range(5000):
            assert client.execute("ECHO", number) == str(number).encode()
            if number % 100 == 0:
                tags = [str(number + i).encode() for i in range(50)]
                assert client.execute_many([("ECHO", tag) for tag in tags]) == tags
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        assert handled > 10, handled
        client.close()
        """,
        server.url,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_a_handler_during_the_first_call(server: Server) -> None:
    """The call that opens the connection is a call like any other."""
    end = run_child(
        """
        def handler(*_):
            assert client.execute("ECHO", "inside") == b"inside"
        signal.signal(signal.SIGALRM, handler)
        for number in range(300):
            client = shoal.Client(url, timeout=20)
            signal.setitimer(signal.ITIMER_REAL, 0.00002 + number % 60 * 0.000005)
            assert client.execute("ECHO", "outside") == b"outside"
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert client.stats().connects == 1
            client.close()
        """,
        server.url,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_a_storm_of_interrupts(server: Server) -> None:
    end = run_child(
        """
        client = shoal.Client(url, timeout=20)
        class Stop(Exception):
            pass
        def handler(*_):
            raise Stop
        ok = stopped = 0
        signal.signal(signal.SIGALRM, handler)
        for number in range(1500):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + number % 50 * 0.000004)
                tag = str(number).encode()
                if number % 5:
                    client.execute("INCR", "ledger")
                    ok += 1
                else:
                    assert client.execute_many([("ECHO", tag)] * 3) == [tag] * 3
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                stopped += 1
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        assert client.execute("ECHO", "whose?") == b"whose?"
        value = int(client.execute("GET", "ledger") or 0)
        assert ok <= value <= ok + stopped, (ok, value, stopped)
        print(stopped)
        """,
        server.url,
    )
    assert (end.code, end.errors) == (0, ""), end.errors
    assert int(end.output) > 0


@pytest.mark.parametrize("call", ["execute", "execute_many"])
def test_a_handler_may_fork(server: Server, call: str) -> None:
    """The command is the parent's; the child hears that, and has its own connection."""
    child = spawn(
        f"""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # fork() beside threads
        client = shoal.Client(url, timeout=20)
        client.execute("PING")
        pids = []
        signal.signal(signal.SIGALRM, lambda *_: pids.append(os.fork()))
        {BEGIN}
        try:
            if {call!r} == "execute":
                reply = client.execute("BLPOP", "gate", 0, may_block=True)
            else:
                reply, = client.execute_many([("BLPOP", "gate", 0)], may_block=True)
        except shoal.ForkError as error:
            assert pids == [0] and error.fate is shoal.Fate.UNKNOWN
            assert client.execute("RPUSH", "gate", "child") == 1
            assert client.execute_many([("ECHO", "next")]) == [b"next"]
            os._exit(42)
        assert pids[0] > 0 and reply == [b"gate", b"child"], reply
        assert os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]) == 42
        """,
        server.url,
    )
    interrupt(child, signal.SIGALRM, server)
    end = ended(child)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_a_close_does_not_wait_for_a_handler(server: Server) -> None:
    """The handler holds its own thread up, below a call; and may wait for the close."""
    child = spawn(
        f"""
        client = shoal.Client(url, timeout=1000)
        client.execute("PING")
        begun = threading.Event()
        def close():
            begun.wait()
            client.close()
        closer = threading.Thread(target=close)
        closer.start()
        def handler(*_):
            begun.set()
            closer.join()
        signal.signal(signal.SIGALRM, handler)
        {BEGIN}
        try:
            client.execute("BLPOP", "gate", 0, may_block=True)
        except shoal.ClosedError as error:
            assert error.fate is shoal.Fate.UNKNOWN
            sys.exit(5)
        """,
        server.url,
    )
    interrupt(child, signal.SIGALRM, server)
    end = ended(child)
    assert (end.code, end.output, end.errors) == (5, "", ""), end.errors
