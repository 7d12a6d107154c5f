# SPDX-License-Identifier: MIT
"""Many threads over one client: whose reply it is, who closes, who comes and goes."""

import asyncio
import random
import sys
import threading
import time

import pytest
import shoal
from support.children import run_child
from support.scale import scaled
from support.server import Server
from support.threads import run_all
from support.wire import PATIENCE_S

THREADS = 16


def test_each_gets_its_own_replies(server: Server) -> None:
    with shoal.Client(server.url) as client:

        def work(me: int) -> None:
            rng = random.Random(me)
            for number in range(scaled(300)):
                tag = f"{me}.{number}".encode()
                if rng.random() < 0.2:
                    tags = [tag + b".%d" % i for i in range(rng.randrange(1, 20))]
                    commands = [("ECHO", t) for t in tags]
                    assert client.execute_many(commands) == tags
                elif rng.random() < 0.1:
                    with pytest.raises(shoal.ResponseError):
                        client.execute("NONSENSE", tag)
                else:
                    assert client.execute("ECHO", tag) == tag

        run_all(work, THREADS)
        assert client.stats().connects == 1


def test_they_share_writes(server: Server) -> None:
    with shoal.Client(server.url) as client:
        client.wait_ready()
        before = client.stats()

        def work(_: int) -> None:
            for _ in range(200):
                client.execute("PING")

        run_all(work, THREADS)
        after = client.stats()
        commands = after.commands - before.commands
        assert commands == 200 * THREADS
        assert after.writes - before.writes < commands


def test_deadlines_of_some_do_not_disturb_others(server: Server) -> None:
    with shoal.Client(server.url) as client:

        def work(me: int) -> None:
            for number in range(150):
                tag = f"{me}.{number}".encode()
                timeout = 0.0002 if number % 5 == 0 else 20
                try:
                    assert client.execute("ECHO", tag, timeout=timeout) == tag
                except shoal.TimeoutError:
                    assert number % 5 == 0

        run_all(work, THREADS)


TURNS = """
    import gc, importlib
    from shoal._native import lib
    def turns_of(calls):
        before = lib.shoalpy_callers_turns()
        for _ in range(calls):
            client.execute("PING")
            client.execute_many([("PING",)] * 2)
        return lib.shoalpy_callers_turns() - before
    client = shoal.Client(url, timeout=20)
    assert turns_of(50) >= 2 * 50 - 1
    # This thread has the turn now, and does not come back for it.
    turns = []
    thread = threading.Thread(target=lambda: turns.append(turns_of(50)))
    thread.start()
    thread.join()
    assert turns[0] >= 2 * 50 - 1, turns
    # A thread that ends gives its turn back.
    def call_once():
        client.execute("PING")
        turns.append(lib.shoalpy_callers_turns())
    thread = threading.Thread(target=call_once)
    thread.start()
    thread.join()
    gc.collect()
    assert lib.shoalpy_callers_turns() == turns[1] + 1, turns
    # A second import of the package disturbs no thread.
    before = lib.shoalpy_callers_turns()
    importlib.reload(shoal._calls)
    assert lib.shoalpy_callers_turns() == before
    # The interpreter frees callers in a child before the turnstile is made anew.
    is_left_alone = False
    def drop_caller():
        global is_left_alone
        before = lib.shoalpy_callers_turns()
        shoal._calls._thread.caller = None
        shoal._calls._thread.has_called = False
        is_left_alone = lib.shoalpy_callers_turns() == before
    hooks.append(drop_caller)
    client.execute("PING")
    pid = os.fork()
    if pid == 0:
        is_new = lib.shoalpy_callers_turns() == 0 and turns_of(5) >= 9
        os._exit(42 if is_left_alone and is_new else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
    client.close()
"""


#: They run before those of the package.
HOOKS = """
import os
hooks = []
os.register_at_fork(after_in_child=lambda: [hook() for hook in hooks])
"""

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.mark.skipif(not HAS_GIL, reason="there is no GIL")
def test_they_take_the_gil_in_turn(server: Server) -> None:
    end = run_child(TURNS, server.url, before=HOOKS)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


#: Threads with a value and a buffer each. Deadlines end some calls, exceptions from
#: outside and Ctrl-C end others, and the process forks in the middle.
BUFFERS = """
    import ctypes, faulthandler
    THREADS, LARGE = 16, 70_000
    class Stop(Exception):
        pass
    def stop(thread):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(Stop)
        )
    client = shoal.Client(url, timeout=20, bulk_lane=sys.argv[3] == "bulk lane")
    sizes = [(5, 300, LARGE)[me % 3] + me for me in range(THREADS)]
    values = [bytes([65 + me]) * size for me, size in enumerate(sizes)]
    for me, value in enumerate(values):
        client.execute("SET", me, value)
    wrong, ends, is_over = [], [0] * THREADS, False
    calls = int(sys.argv[2])
    def call(me, number, buffer):
        value = values[me]
        hurry = number % 11 == me % 11
        try:
            if number % 3:
                buffer[:] = bytes(len(buffer))
                size = client.readinto(
                    buffer, "GET", me, timeout=0.0003 if hurry else 20
                )
                if size != len(value) or buffer[:size] != value or any(buffer[size:]):
                    wrong.append((me, number, size, buffer[:9]))
            elif number % 50:
                reply = client.execute("GET", me, timeout=0.0003 if hurry else 20)
                if reply != value:
                    wrong.append((me, number, reply[:9]))
            elif client.execute_many([("GET", me), ("ECHO", me)]) != [
                value, b"%d" % me
            ]:
                wrong.append((me, number))
        except shoal.TimeoutError:
            if not hurry:
                wrong.append((me, number, "late"))
            # Nobody writes to the buffer any more.
            kept = bytes(buffer)
            client.execute("PING")
            if buffer != kept or any(byte not in (0, 65 + me) for byte in kept):
                wrong.append((me, number, "written"))
    def work(me):
        buffer = bytearray(len(values[me]) + 7)
        number = 0
        while number < calls or not is_over:
            try:
                while number < calls or not is_over:
                    number += 1
                    call(me, number, buffer)
            except Stop:
                ends[me] += 1
    def guarded(me):
        try:
            work(me)
        except Stop:
            pass  # it came when the loop was over
        except BaseException as error:
            wrong.append((me, repr(error)))
    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    may_interrupt, interrupts = False, 0
    def on_interrupt(number, frame):
        global may_interrupt
        if may_interrupt:
            may_interrupt = False
            raise KeyboardInterrupt
    signal.signal(signal.SIGINT, on_interrupt)
    def interrupt(thread):
        while not is_over:
            signal.pthread_kill(thread, signal.SIGINT)
            time.sleep(0.003)
    interrupter = threading.Thread(target=interrupt, args=(threading.get_ident(),))
    interrupter.start()
    mine = bytearray(LARGE + 7)
    def read_until_interrupted():
        global may_interrupt, interrupts
        try:
            may_interrupt = True
            while True:
                call(2, 1, mine)
        except KeyboardInterrupt:
            interrupts += 1
            kept = bytes(mine)
            client.execute("PING")
            if mine != kept or any(byte not in (0, 67) for byte in kept):
                wrong.append(("main", "written"))
    forks, stopped = 0, [-1] * THREADS
    while forks < 5 or interrupts < 5 or not any(ends):
        for me in range(0, THREADS, 5):
            if threads[me].is_alive() and stopped[me] < ends[me]:
                stopped[me] = ends[me]  # one at a time
                stop(threads[me])
        if forks < 5:
            forks += 1
            pid = os.fork()
            if pid == 0:
                faulthandler.dump_traceback_later(30, exit=True)
                buffer = bytearray(LARGE + THREADS)
                size = client.readinto(buffer, "GET", 2)
                os._exit(42 if buffer[:size] == values[2] else 1)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code != 42:
                wrong.append(("child", code))
        read_until_interrupted()
    is_over = True
    for thread in [*threads, interrupter]:
        thread.join()
    assert wrong == [], wrong[:5]
    stats = client.stats()
    assert (stats.losses, stats.desyncs) == (0, 0), stats
    client.close()
"""


@pytest.mark.parametrize("lane", ["one connection", "bulk lane"])
def test_none_gets_bytes_of_another(server: Server, lane: str) -> None:
    end = run_child(BUFFERS, server.url, str(scaled(300)), lane)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


CLOSE_RACE = """
    rounds = int(sys.argv[2])
    for number in range(rounds):
        client = shoal.Client(url, timeout=20)
        client.execute("PING")
        def work():
            try:
                while True:
                    client.execute("PING")
                    client.execute_many([("PING",)] * 2)
                    client.stats()
                    client.events()
            except shoal.ClosedError:
                pass
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(number % 5 * 0.001)
        closers = [threading.Thread(target=client.close) for _ in range(2)]
        for closer in closers:
            closer.start()
        for thread in threads + closers:
            thread.join()
"""


def test_close_under_load(server: Server) -> None:
    # Without a GIL all threads of a round are busy while it is closed.
    rounds = scaled(150 if HAS_GIL else 40, 10_000)
    end = run_child(CLOSE_RACE, server.url, str(rounds))
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_close_with_a_drain(server: Server) -> None:
    client = shoal.Client(server.url)
    client.wait_ready()
    replies: list[object] = []
    thread = threading.Thread(
        target=lambda: replies.append(client.execute("BLPOP", "l", 9, may_block=True))
    )
    thread.start()
    while client.stats().inflight_now == 0:
        time.sleep(0.001)
    threading.Timer(0.1, lambda: server.ask("RPUSH", "l", "v")).start()
    client.close(drain=5)
    thread.join()
    assert replies == [[b"l", b"v"]]


def test_close_without_a_drain(server: Server) -> None:
    client = shoal.Client(server.url)
    client.wait_ready()
    fates: list[shoal.Fate] = []

    def work() -> None:
        try:
            client.execute("BLPOP", "l", 9, may_block=True)
        except shoal.ClosedError as error:
            fates.append(error.fate)

    thread = threading.Thread(target=work)
    thread.start()
    while client.stats().inflight_now == 0:
        time.sleep(0.001)
    client.close()
    thread.join()
    assert fates == [shoal.Fate.UNKNOWN]


def test_threads_come_and_go(server: Server) -> None:
    with shoal.Client(server.url) as client:
        for number in range(scaled(200)):
            thread = threading.Thread(
                target=lambda: client.execute_many([("PING",), ("PING",)])
            )
            thread.start()
            thread.join()
            assert client.execute("ECHO", number) == str(number).encode()


def test_threads_and_a_loop_over_one_client(server: Server) -> None:
    with shoal.Client(server.url) as client:
        has_begun, is_over = threading.Event(), threading.Event()

        async def main() -> None:
            face = client.aio()
            number = 0
            while not is_over.is_set():
                tags = [b"aio %d.%d" % (number, i) for i in range(20)]
                assert (
                    await asyncio.gather(*[face.execute("ECHO", tag) for tag in tags])
                    == tags
                )
                number += 1
                has_begun.set()

        def work(me: int) -> None:
            if me == 0:
                asyncio.run(main())
                return
            assert has_begun.wait(PATIENCE_S)
            for number in range(300):
                tag = f"{me}.{number}".encode()
                assert client.execute("ECHO", tag) == tag
            if me == 1:
                is_over.set()

        run_all(work, 5)
        assert client.stats().connects == 1
