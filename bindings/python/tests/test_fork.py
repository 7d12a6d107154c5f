# SPDX-License-Identifier: MIT
"""fork(): the parent goes on, the child has a connection of its own."""

import pytest
from support.children import run_child
from support.faces import DRIVERS, LOOPS
from support.scale import scaled
from support.server import Server

#: The parent's load, the forks, and what each child does.
UNDER_LOAD = """
    client = shoal.Client(url, timeout=20)
    client.execute("PING")
    is_over = False
    wrong = []
    def work(me):
        number = 0
        while not is_over:
            tag = b"%d.%d" % (me, number)
            number += 1
            if number % 7:
                reply = client.execute("ECHO", tag)
            else:
                reply, = set(client.execute_many([("ECHO", tag)] * 5))
            if reply != tag:
                wrong.append((tag, reply))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    codes = set()
    for number in range(int(sys.argv[2])):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                {child}
                code = 42
            finally:
                os._exit(code)
        codes.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    is_over = True
    for thread in threads:
        thread.join()
    assert codes == {{42}}, codes
    assert wrong == [], wrong
    losses = client.stats().losses
    client.close()
    assert losses == 0, losses
"""

CHILDREN = {
    "uses the client": """
                for i in range(20):
                    assert client.execute("ECHO", i) == str(i).encode()
                assert client.execute_many([("PING",)] * 3) == [b"PONG"] * 3
                assert client.stats().connects == 1
                client.close()""",
    "waits for it": """
                client.wait_ready()
                assert client.stats().connects == 1""",
    "closes it": """
                client.close()
                client.close()""",
    "does nothing": "",
    "runs a loop on it": """
                async def main():
                    face = client.aio()
                    assert await face.execute("ECHO", "mine") == b"mine"
                asyncio.run(main())""",
    "forks again": """
                client.execute("PING")
                pid = os.fork()
                if pid == 0:
                    os._exit(0 if client.execute("ECHO", "x") == b"x" else 1)
                assert os.waitpid(pid, 0)[1] == 0
                assert client.execute("ECHO", "y") == b"y\"""",
}


@pytest.mark.parametrize("what", CHILDREN)
def test_under_load(server: Server, what: str) -> None:
    forks = scaled(15, 1000)
    script = UNDER_LOAD.format(child=CHILDREN[what])
    end = run_child(script, server.url, str(forks))
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


@pytest.mark.parametrize("last", ["sys.exit(6)", "os._exit(6)", "raise SystemExit(6)"])
def test_a_child_ends_by_itself(server: Server, last: str) -> None:
    """With all that the interpreter does at its end."""
    end = run_child(
        f"""
        client = shoal.Client(url, timeout=20)
        threading.Thread(
            target=lambda: client.execute_many([("ECHO", i) for i in range(10000)]),
        ).start()
        client.execute("PING")
        if os.fork() == 0:
            if sys.argv[2] == "used":
                assert client.execute("ECHO", "mine") == b"mine"
            {last}
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 6
        assert client.execute("ECHO", "still") == b"still"
        """,
        server.url,
        "used",
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_a_child_does_not_keep_the_parents_connection(server: Server) -> None:
    """Its copies of the descriptors are closed, used or not."""
    end = run_child(
        """
        def is_socket(name):
            try:
                return "socket:" in os.readlink(f"/proc/self/fd/{name}")
            except FileNotFoundError:  # it is closed by now
                return False
        def sockets():
            return sum(map(is_socket, os.listdir("/proc/self/fd")))
        client = shoal.Client(url)
        client.execute("PING")
        owner = shoal.aio.Client(url, thread=True)
        async def main():
            await owner.execute("PING")
            assert sockets() == 2 + nothing
            if os.fork() == 0:
                os._exit(40 + sockets() - nothing)
            code = os.waitstatus_to_exitcode(os.wait()[1])
            assert code == 40, code
            await owner.close()
        loop = asyncio.new_event_loop()
        client.close()
        nothing = sockets()
        client = shoal.Client(url)
        client.execute("PING")
        loop.run_until_complete(main())
        loop.close()
        """,
        server.url,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


def test_exec(server: Server) -> None:
    """No descriptor of ours is inherited."""
    end = run_child(
        """
        import subprocess
        client = shoal.Client(url)
        async def main():
            face = client.aio()
            await face.execute("PING")
            own = shoal.aio.Client(url)
            await own.execute("PING")
            here = subprocess.run(
                ["ls", "-l", "/proc/self/fd"], close_fds=False, capture_output=True,
                text=True, check=True,
            ).stdout
            assert "socket" not in here and "eventfd" not in here, here
            await own.close()
        asyncio.run(main())
        """,
        server.url,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("loop", LOOPS)
def test_from_a_running_loop(server: Server, loop: str, driver: str) -> None:
    """The child makes a loop of its own, and uses the same client object."""
    made = {
        "borrowed": "shoal.aio.Client(url)",
        "thread": "shoal.aio.Client(url, thread=True)",
        "shared": "shoal.Client(url).aio()",
    }[driver]
    end = run_child(
        f"""
        client = {made}
        async def use():
            for i in range(20):
                assert await client.execute("ECHO", i) == str(i).encode()
            await client.close()
        async def main():
            tasks = [asyncio.ensure_future(client.execute("ECHO", i))
                     for i in range(1000)]
            await asyncio.sleep(0)
            pid = os.fork()
            if pid == 0:
                asyncio.events._set_running_loop(None)
                asyncio.set_event_loop(None)
                code = 1
                try:
                    own = asyncio.new_event_loop()
                    own.run_until_complete(use())
                    code = 42
                finally:
                    os._exit(code)
            replies = await asyncio.gather(*tasks)
            assert replies == [str(i).encode() for i in range(1000)]
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
            await client.close()
        run(main())
        """,
        server.url,
        loop=loop,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(server: Server, method: str) -> None:
    end = run_child(
        """
        import multiprocessing
        client = shoal.Client(url)
        assert client.execute("SET", "k", "v") == b"OK"
        context = multiprocessing.get_context(sys.argv[2])
        child = context.Process(target=os.system, args=("true",))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert client.execute("GET", "k") == b"v"
        """,
        server.url,
        method,
    )
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors
