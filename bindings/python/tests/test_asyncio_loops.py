# SPDX-License-Identifier: MIT
"""More than one event loop: at the same time, one after the other, closed too early."""

import asyncio
import threading
import time

import pytest
import shoal
import shoal.aio
from support.children import run_child
from support.faces import LOOPS, new_loop
from support.server import Server
from support.wire import PATIENCE_S

CLIENTS = {
    "borrowed": "shoal.aio.Client(url, timeout=20, client_name='counted')",
    "thread": "shoal.aio.Client(url, thread=True, timeout=20, client_name='counted')",
    "shared": "shoal.Client(url, timeout=20, client_name='counted').aio()",
}

on_each_loop = pytest.mark.parametrize("loop", LOOPS)

#: Tracebacks show the driver as the name of the file.
EACH_DRIVER = """
    import textwrap
    for driver, made in {clients!r}.items():
        scope = dict(globals())
        scope["client"] = eval(made)
        exec(compile(textwrap.dedent({script!r}), driver, "exec"), scope)
"""


def passes(server: Server, script: str, loop: str) -> None:
    """With each kind of `client` the script ends well, and in silence."""
    whole = EACH_DRIVER.format(clients=CLIENTS, script=script)
    end = run_child(whole, server.url, loop=loop)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


@on_each_loop
def test_one_after_the_other(server: Server, loop: str) -> None:
    script = """
    async def main(me):
        tags = [b"%d.%d" % (me, i) for i in range(100)]
        assert await asyncio.gather(*[client.execute("ECHO", t) for t in tags]) == tags
    for me in range(20):
        run(main(me))
    run(client.close())
    """
    passes(server, script, loop)


@on_each_loop
def test_closed_with_commands_pending(server: Server, loop: str) -> None:
    """The next loop works, and gets no reply of the former."""
    script = """
    async def leave(me):
        await client.execute("PING")
        for i in range(1000):
            client.submit("ECHO", b"former %d" % me)
        await asyncio.sleep(0)
    async def check():
        tags = [b"%d" % i for i in range(100)]
        assert await asyncio.gather(*[client.execute("ECHO", t) for t in tags]) == tags
    for me in range(10):
        run(leave(me))
        run(check())
    run(client.close())
    """
    passes(server, script, loop)


@on_each_loop
def test_closed_with_tasks_waiting(server: Server, loop: str) -> None:
    script = """
    async def release():
        try:
            await asyncio.sleep(600)
        finally:  # all have been cancelled
            with shoal.Client(url) as other:
                other.execute("RPUSH", "l", "x")
    async def leave():
        await client.execute("DEL", "l")
        blocked = client.execute("BLPOP", "l", 0, may_block=True)
        tasks = [asyncio.ensure_future(blocked), asyncio.ensure_future(release())]
        tasks += [asyncio.ensure_future(client.execute("ECHO", i)) for i in range(100)]
        await asyncio.sleep(0.01)
        return tasks
    tasks = run(leave())  # run() cancels what is left
    assert all(task.cancelled() for task in tasks)
    async def check():
        assert await client.execute("ECHO", "mine") == b"mine"
        await client.close()
    run(check())
    """
    passes(server, script, loop)


@on_each_loop
def test_at_the_same_time(server: Server, loop: str) -> None:
    script = """
    errors = []
    begin = threading.Barrier(6)
    async def main(me):
        begin.wait()
        for number in range(30):
            tags = [b"%d.%d.%d" % (me, number, i) for i in range(20)]
            replies = await asyncio.gather(*[client.execute("ECHO", t) for t in tags])
            if replies != tags:
                errors.append((tags, replies))
    def work(me):
        try:
            run(main(me))
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert errors == [], errors
    run(client.close())
    """
    passes(server, script, loop)


@on_each_loop
def test_closed_while_others_use_it(server: Server, loop: str) -> None:
    """Their loops run on; what they wait for ends with ClosedError."""
    script = """
    ends = []
    begin = threading.Barrier(4)
    async def main():
        await client.execute("PING")
        begin.wait()
        while True:
            try:
                await client.execute("ECHO", "x")
                await asyncio.sleep(0)
            except shoal.ClosedError:
                ends.append(1)
                return
    threads = [threading.Thread(target=lambda: run(main())) for _ in range(3)]
    for thread in threads: thread.start()
    begin.wait()
    async def close():
        await client.execute("PING")
        await client.close()
    run(close())
    for thread in threads: thread.join(5)
    assert ends == [1] * 3, ends
    """
    passes(server, script, loop)


@on_each_loop
def test_a_loop_ends_while_another_closes(server: Server, loop: str) -> None:
    """The close of its connection does not begin, or is under way: it ends with the
    loop, in silence."""
    script = """
    def listed():
        with shoal.Client(url) as other:
            return other.execute("CLIENT", "LIST", decode=True).count(" name=counted ")
    async def use():
        await client.execute("PING")
    one = new_loop()
    one.run_until_complete(use())
    run(client.close())
    one.call_soon(one.stop)
    one.run_forever()
    one.close()
    if driver == "borrowed":
        client = eval(made)
        two = new_loop()
        async def begin():
            await client.execute("PING")
            blocked = client.submit("BLPOP", "nothing", 0, may_block=True)
            client._ports[two].begin_close(60.0)
            return blocked
        blocked = two.run_until_complete(begin())
        assert listed() == 1
        two.close()
        while listed(): time.sleep(0.001)
        assert isinstance(blocked.exception(), shoal.ClosedError)
    """
    passes(server, script, loop)


@on_each_loop
def test_nothing_is_left(server: Server, loop: str) -> None:
    """Many loops over one client: descriptors do not add up."""
    script = """
    async def main():
        await client.execute("PING")
    for _ in range(3):
        run(main())
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        run(main())
    import gc
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    run(client.close())
    """
    passes(server, script, loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_blocking_client_closes_under_a_loop(server: Server, loop: str) -> None:
    client = shoal.Client(server.url)

    async def main() -> None:
        face = client.aio()
        assert await face.execute("PING") == b"PONG"
        blocked = face.submit("BLPOP", "nothing", 9, may_block=True)
        await asyncio.sleep(0.01)
        await asyncio.get_running_loop().run_in_executor(None, client.close)
        with pytest.raises(shoal.ClosedError):
            await blocked
        for _ in range(3):
            with pytest.raises(shoal.ClosedError):
                await face.execute("PING")
        await face.close()

    own = new_loop(loop)
    own.run_until_complete(main())
    own.close()


@on_each_loop
def test_how_many_connections(server: Server, loop: str) -> None:
    """One for each loop that drives its own, else one for all."""
    script = """
    begin, may_end = threading.Barrier(5), threading.Event()
    async def main():
        begin.wait()
        await client.execute("PING")
        begin.wait()
        while not may_end.is_set():
            await asyncio.sleep(0.001)
    threads = [threading.Thread(target=lambda: run(main())) for _ in range(4)]
    for thread in threads: thread.start()
    begin.wait()
    begin.wait()
    with shoal.Client(url) as other:
        listed = other.execute("CLIENT", "LIST", decode=True).count(" name=counted ")
        assert listed == (4 if driver == "borrowed" else 1), listed
        may_end.set()
        for thread in threads: thread.join()
        run(client.close())
    """
    passes(server, script, loop)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("driver", ["borrowed", "thread"])
def test_a_close_ends_what_other_loops_wait_for(
    server: Server, driver: str, loop: str
) -> None:
    """Each on its own thread; and no connection is left while they run on."""
    name = f"closed-{driver}"
    client = shoal.aio.Client(
        server.url, thread=driver == "thread", client_name=name, timeout=20
    )
    is_used, may_end = threading.Event(), threading.Event()
    ends: list[object] = []

    async def other() -> None:
        await client.execute("PING")
        blocked = client.submit("BLPOP", "nothing", 9, may_block=True)
        is_used.set()
        ends.extend(await asyncio.gather(blocked, return_exceptions=True))
        while not may_end.is_set():
            await asyncio.sleep(0.001)

    thread = threading.Thread(target=lambda: asyncio.run(other()))
    thread.start()
    is_used.wait()

    async def main() -> None:
        behind = client.submit("ECHO", "waits, if there is one connection for both")
        await asyncio.sleep(0.01)
        await client.close()
        await asyncio.gather(behind, return_exceptions=True)
        with pytest.raises(shoal.ClosedError):
            await client.execute("PING")

    own = new_loop(loop)
    try:
        own.run_until_complete(main())
        until = time.monotonic() + PATIENCE_S
        while not ends or f" name={name} ".encode() in server.ask("CLIENT", "LIST"):
            assert time.monotonic() < until
            time.sleep(0.001)
    finally:
        own.close()
        may_end.set()
        thread.join()
    assert [type(end) for end in ends] == [shoal.ClosedError]
