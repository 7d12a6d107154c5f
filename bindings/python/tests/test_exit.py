# SPDX-License-Identifier: MIT
"""The interpreter ends while commands are under way, as it would without shoal."""

import pytest
from support.children import Ended, run_child
from support.faces import DRIVERS, LOOPS
from support.scale import SCALE
from support.server import Server

#: Each way to end is tried so often; at scale 50 that makes 1000 and more.
ROUNDS = SCALE
COMMANDS = 10_000

#: How it ends: what the main thread does at last, and the exit code that must follow.
WAYS = {
    "by itself": ("pass", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "exception": ("raise SystemExit('bye') from ValueError()", 1),
    "os._exit": ("os._exit(4)", 4),
}

THREADS = """
    client = shoal.Client(url, timeout=20)
    client.execute("PING")
    begun = threading.Barrier(9)
    def work():
        begun.wait()
        try:
            while True:
                client.execute_many([("ECHO", i) for i in range({commands} // 8)])
        except shoal.ClosedError:
            pass
    for _ in range(8):
        threading.Thread(target=work, daemon={daemon}).start()
    begun.wait()
    time.sleep(0.02)
"""

ASYNCIO = """
    async def main():
        client = {client}
        await client.wait_ready()
        tasks = [asyncio.ensure_future(client.execute("ECHO", i))
                 for i in range({commands})]
        await asyncio.sleep(0)
        {last}
    run(main())
"""

CLIENTS = {
    "borrowed": "shoal.aio.Client(url)",
    "thread": "shoal.aio.Client(url, thread=True)",
    "shared": "shoal.Client(url).aio()",
}


def check(end: Ended, way: str, code: int) -> None:
    """It did end, with the right code, and said nothing that was not asked for."""
    said = "bye\n" if way == "exception" else ""
    assert (end.code, end.output, end.errors) == (code, "", said), end.errors


@pytest.mark.parametrize("way", WAYS)
def test_daemon_threads(server: Server, way: str) -> None:
    last, code = WAYS[way]
    script = THREADS.format(commands=COMMANDS, daemon=True) + f"    {last}\n"
    for _ in range(ROUNDS):
        check(run_child(script, server.url), way, code)


@pytest.mark.parametrize("way", ["by itself", "sys.exit", "exception"])
def test_threads_that_are_waited_for(server: Server, way: str) -> None:
    """The interpreter waits for them before it ends: the client is closed before."""
    last, code = WAYS[way]
    script = THREADS.format(commands=COMMANDS, daemon=False)
    for _ in range(ROUNDS):
        end = run_child(f"{script}    client.close()\n    {last}\n", server.url)
        check(end, way, code)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("loop", LOOPS)
def test_asyncio(server: Server, loop: str, driver: str, way: str) -> None:
    if loop == "uvloop" and way in ("sys.exit", "exception") and SCALE == 1:
        pytest.skip("as with asyncio; at larger scales")
    last, code = WAYS[way]
    script = ASYNCIO.format(commands=COMMANDS, client=CLIENTS[driver], last=last)
    for _ in range(ROUNDS):
        check(run_child(script, server.url, loop=loop), way, code)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_loop_in_a_daemon_thread(server: Server, driver: str) -> None:
    script = f"""
    def work():
        async def main():
            client = {CLIENTS[driver]}
            async def one():
                while True:
                    try:
                        await client.execute("PING")
                    except shoal.ClosedError:
                        await asyncio.sleep(0.001)
            await asyncio.gather(*[one() for _ in range(100)])
        run(main())
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)
    """
    for _ in range(ROUNDS):
        check(run_child(script, server.url), "by itself", 0)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_loop_that_is_left_standing(server: Server, driver: str) -> None:
    """Neither the client nor the loop is closed."""
    script = f"""
    loop = asyncio.new_event_loop()
    async def begin():
        client = {CLIENTS[driver]}
        await client.wait_ready()
        return client, [client.submit("ECHO", i) for i in range({COMMANDS})]
    kept = loop.run_until_complete(begin())
    """
    for _ in range(ROUNDS):
        check(run_child(script, server.url), "by itself", 0)


def test_calls_at_exit(server: Server) -> None:
    """Handlers that were registered before ours run after it: all is closed then."""
    before = "import atexit\natexit.register(lambda: last_words())"
    script = """
    client = shoal.Client(url)
    def last_words():
        try:
            client.execute("PING")
        except shoal.ClosedError:
            print("closed")
    client.execute("PING")
    """
    end = run_child(script, server.url, before=before)
    assert (end.code, end.output, end.errors) == (0, "closed\n", ""), end.errors


def test_a_server_that_does_not_answer_holds_nothing_up(own_server: Server) -> None:
    script = f"""
    client = shoal.Client(url, timeout=1000)
    pid = client.execute("INFO", "server", decode=True).split("process_id:")[1]
    pid = int(pid.split()[0])
    os.kill(pid, signal.SIGSTOP)
    def work():
        try:
            client.execute_many([("ECHO", "x" * 100)] * {COMMANDS})
        except shoal.ClosedError:
            pass
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.05)
    """
    check(run_child(script, own_server.url), "by itself", 0)


def test_a_subinterpreter_is_refused() -> None:
    end = run_child(
        """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        script = '''if True:
            try:
                import shoal
            except ImportError as error:
                print(error, flush=True)
        '''
        interpreters.run_string(interpreters.create(), script)
        """,
        "redis://127.0.0.1:1",
    )
    assert end.code == 0
    assert "interpreter" in end.output
