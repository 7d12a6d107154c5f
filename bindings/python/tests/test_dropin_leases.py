# SPDX-License-Identifier: MIT
"""What the drop-in carries over leases: commands that block, WATCH, and clients with a
connection of their own. redis-py's pool has no part in it."""

import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from redis.asyncio.retry import Retry as AsyncRetry  # noqa: E402
from redis.backoff import NoBackoff  # noqa: E402
from redis.retry import Retry  # noqa: E402
from shoal import Fate  # noqa: E402
from shoal._lease import CONNECTIONS_MAX  # noqa: E402
from shoal.redis._routes import blocks_for_ever  # noqa: E402
from support.cancels import check_let_go, raised_inside  # noqa: E402
from support.dropin import Scene, has_leases, theirs, until  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.server import Server  # noqa: E402
from support.wire import PATIENCE_S  # noqa: E402


def blocked(server: Server) -> int:
    """How many commands block on the server."""
    clients = server.ask("INFO", "clients").decode()
    return int(clients.partition("blocked_clients:")[2].split()[0])


def test_a_command_that_blocks(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    scene.do(r.ping)
    popped = scene.begin(lambda: r.blpop("jobs", 0))
    moved = scene.begin(lambda: r.blmove("from", "to", 0))
    read = scene.begin(lambda: r.xread({"s": "0"}, block=0))
    while blocked(server) < 3:
        assert scene.do(r.ping)
    scene.do(lambda: r.pipeline(False).rpush("jobs", "a").rpush("from", "b").execute())
    scene.do(lambda: r.xadd("s", {"f": "v"}, "1-1"))
    assert popped() in ((b"jobs", b"a"), [b"jobs", b"a"])
    assert moved() == b"b"
    assert b"1-1" in repr(read()).encode()
    assert theirs(r) == 0 and has_leases(scene, r, 0)


@pytest.mark.parametrize("single", [False, True])
def test_its_own_timeout_counts(scene: Scene, server: Server, single: bool) -> None:
    """redis-py would give up when its socket's timeout has passed."""
    options = {"socket_timeout": 0.5, "single_connection_client": single}
    r = scene.client(server.url, **options)
    assert scene.do(lambda: r.blpop("empty", 0.7)) is None
    assert scene.do(lambda: r.xread({"s": "0"}, block=700)) in ([], {})
    assert scene.do(lambda: r.wait(1, 700)) == 0
    assert theirs(r) == 0


@pytest.mark.parametrize(
    "command",
    [
        ("BRPOP", "empty", 0),
        ("BLMPOP", 0, 1, "empty", "LEFT"),
        ("XREAD", "BLOCK", "0", "STREAMS", "empty", "0"),
    ],
    ids=lambda command: command[0],
)
def test_for_ever_is_as_long_as_the_sockets_timeout(
    scene: Scene, server: Server, command: tuple[Any, ...]
) -> None:
    r = scene.client(server.url, socket_timeout=0.1)
    scene.do(lambda: r.shoal_client.wait_ready(PATIENCE_S))
    ends = time.monotonic() + 0.1
    with pytest.raises(redis.TimeoutError) as caught:
        scene.do(lambda: r.execute_command(*command))
    check_let_go(caught.value.fate, time.monotonic() - ends)
    until(lambda: blocked(server) == 0)


def test_which_commands_block_for_ever() -> None:
    words = "XREADGROUP GROUP block 0 BLOCK 1 STREAMS s >".split()
    assert not blocks_for_ever(tuple(words))
    words[5] = "0"
    assert blocks_for_ever(tuple(words))
    assert not blocks_for_ever(("XREAD", "BLOCK"))


def test_a_cancelled_command_loses_nothing(server: Server) -> None:
    async def play() -> None:
        async with shoal.redis.asyncio.Redis.from_url(server.url) as r:
            for i in range(20):
                task = asyncio.create_task(r.blpop("jobs", 0))
                await asyncio.sleep(0)
                while not blocked(server):
                    await asyncio.sleep(0)
                await r.rpush("jobs", i)
                then = time.monotonic()
                task.cancel()
                try:
                    key, job = await task
                except asyncio.CancelledError as cancelled:
                    error = raised_inside(cancelled)
                    if error.fate is Fate.UNKNOWN:
                        check_let_go(error.fate, time.monotonic() - then)
                        await r.delete("jobs")
                        continue
                    if error.fate is Fate.NOT_EXECUTED:
                        key, job = await r.blpop("jobs", 1)
                    else:
                        key, job = error.reply
                assert (key, job) == (b"jobs", b"%d" % i)

    asyncio.run(play())


def test_as_many_as_there_are(scene: Scene, server: Server) -> None:
    """One more would wait in line until another one ends, which redis-py's do not."""
    r = scene.client(server.url)
    scene.do(r.ping)
    places = vars(r.connection_pool)["__shoal_lane__"]._places
    taken = places[:]
    places.clear()
    assert scene.do(lambda: r.blpop("empty", 0.01)) is None
    assert theirs(r) == 1
    assert scene.do(r.client_getname) is None
    places.extend(taken)
    taken.clear()  # who holds one keeps it
    assert scene.do(lambda: r.blpop("empty", 0.01)) is None
    assert len(places) == CONNECTIONS_MAX
    assert theirs(r) == 1


def test_commands_that_change_their_connection(scene: Scene, server: Server) -> None:
    """They all take the same one, as one thread does with redis-py's pool."""
    r = scene.client(server.url)
    scene.do(lambda: r.client_setname("mine"))
    assert scene.do(r.client_getname) == "mine"
    scene.do(lambda: r.execute_command("SELECT", 3))
    assert scene.do(lambda: r.client_info())["db"] == 3
    assert scene.do(lambda: r.set("k", "in 0")) is True
    assert server.ask("GET", "k") == b"in 0"
    assert theirs(r) == 0 and has_leases(scene, r, 1)
    core = r.shoal_client
    scene.do(r.connection_pool.disconnect)
    assert scene.do(r.client_getname) is None
    assert r.shoal_client is not core


def test_a_pipeline_with_such_commands(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    pipe = r.pipeline(False).set("a", 1).blpop("empty", 0.01).client_setname("mine")
    assert scene.do(pipe.client_getname().execute) == [True, None, True, "mine"]
    long = r.pipeline(True)
    for _ in range(20_000):
        long.incr("n")
    assert scene.do(long.execute)[-1] == 20_000
    assert theirs(r) == 0 and has_leases(scene, r, 0)


def test_an_empty_pipeline(scene: Scene, server: Server) -> None:
    """It leaves nothing behind."""
    r = scene.client(server.url)
    pipe = r.pipeline()
    assert scene.do(pipe.execute) == []
    assert pipe.connection is None
    assert scene.do(lambda: pipe.watch("n")) is True
    pipe.multi()
    assert scene.do(pipe.incr("n").execute) == [1]
    assert theirs(r) == 0 and has_leases(scene, r, 0)


def test_a_pipeline_of_text_and_bytes(scene: Scene, server: Server) -> None:
    r = scene.client(server.url, decode_responses=True)
    scene.do(lambda: r.hset("h", mapping={"f": "\u00e9"}))
    pipe = r.pipeline(False).hgetall("h").dump("h").execute_command("NOSUCH").type("h")
    fields, dump, error, kind = scene.do(lambda: pipe.execute(raise_on_error=False))
    assert (fields, kind) == ({"f": "\u00e9"}, "hash")
    assert isinstance(dump, bytes) and isinstance(error, redis.ResponseError)
    assert theirs(r) == 0


def changed(scene: Scene, r: Any, meanwhile: Callable[[], Any]) -> Any:
    """The outcome of one optimistic increment of n."""
    pipe = r.pipeline()
    try:
        scene.do(lambda: pipe.watch("n"))
        n = int(scene.do(lambda: pipe.get("n")) or 0)
        meanwhile()
        pipe.multi()
        pipe.set("n", n + 1)
        return scene.do(pipe.execute)
    finally:
        scene.do(pipe.reset)


def test_watch(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    assert changed(scene, r, lambda: None) == [True]
    with pytest.raises(redis.WatchError) as caught:
        changed(scene, r, lambda: server.ask("SET", "n", "10"))
    assert caught.value.fate is Fate.NOT_EXECUTED
    assert changed(scene, r, lambda: server.ask("SET", "other", "10")) == [True]
    assert server.ask("GET", "n") == b"11"
    assert theirs(r) == 0 and has_leases(scene, r, 0)


def test_what_was_watched_is_forgotten(scene: Scene, server: Server) -> None:
    """The next holder of the connection is not disturbed by it."""
    r = scene.client(server.url)
    pipe = r.pipeline()
    scene.do(lambda: pipe.watch("n"))
    scene.do(pipe.reset)
    server.ask("SET", "n", "5")
    other = r.pipeline()
    scene.do(lambda: other.watch("m"))
    other.multi()
    assert scene.do(other.incr("n").execute) == [6]
    scene.do(lambda: pipe.watch("n"))
    assert scene.do(pipe.unwatch) is True
    assert scene.do(pipe.set("n", 7).execute) == [True]
    assert has_leases(scene, r, 0)


def test_a_loss_before_exec_is_a_watch_error(
    scene: Scene, proxy: Proxy, server: Server
) -> None:
    """Nothing was executed, so that the caller may begin anew."""
    r = scene.client(proxy.url)
    with pytest.raises(redis.WatchError) as caught:
        changed(scene, r, lambda: proxy.tell("cut to-client reset"))
    assert caught.value.fate is Fate.NOT_EXECUTED
    pipe = r.pipeline()
    scene.do(lambda: pipe.watch("n"))
    proxy.tell("cut to-client reset")
    with pytest.raises(redis.WatchError) as caught:
        scene.do(lambda: pipe.get("n"))
    assert caught.value.fate is Fate.NOT_EXECUTED
    assert server.ask("GET", "n") is None
    assert changed(scene, r, lambda: None) == [True]
    assert theirs(r) == 0


def test_a_loss_during_exec_is_none(scene: Scene, proxy: Proxy, server: Server) -> None:
    """A WatchError would make redis-py's transaction() repeat what was executed."""
    r = scene.client(proxy.url, 3, socket_timeout=2)
    calls = 0

    def increment(pipe: Any) -> Any:
        nonlocal calls
        calls += 1
        pipe.multi()
        pipe.incr("n")
        proxy.tell("carry to-client stopped=1")

    async def increment_later(pipe: Any) -> None:
        increment(pipe)

    is_async = isinstance(r, shoal.redis.asyncio.Redis)
    with pytest.raises((redis.ConnectionError, redis.TimeoutError)) as caught:
        scene.do(lambda: r.transaction(increment_later if is_async else increment, "n"))
    assert caught.value.fate is Fate.UNKNOWN
    assert calls == 1
    proxy.tell("cut to-client reset")
    proxy.tell("carry to-client")
    assert server.ask("GET", "n") == b"1"


@pytest.fixture
def single(scene: Scene, server: Server) -> Iterator[Any]:
    """A client with a connection of its own."""
    yield scene.client(server.url, single_connection_client=True)


def test_a_client_with_a_connection(scene: Scene, single: Any, server: Server) -> None:
    scene.do(lambda: single.client_setname("single"))
    scene.do(lambda: single.execute_command("SELECT", 3))
    assert scene.do(lambda: single.set("k", "v")) is True
    assert scene.do(lambda: single.blpop("empty", 0.01)) is None
    about = scene.do(lambda: single.client_info())
    assert (about["name"], about["db"]) == ("single", 3)
    assert server.ask("EXISTS", "k") == 0
    assert single.shoal_bypass is None
    assert theirs(single) == 0 and has_leases(scene, single, 1)


def test_its_state_ends_with_it(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    for _ in range(3):
        mine = r.client()
        assert scene.do(lambda mine=mine: mine.client_info())["db"] == 0
        scene.do(lambda mine=mine: mine.execute_command("SELECT", 3))
        scene.do(mine.aclose if hasattr(mine, "aclose") else mine.close)
    assert has_leases(scene, r, 0) and theirs(r) == 0


def test_what_a_lease_may_not_carry(scene: Scene, server: Server) -> None:
    """The client takes one of redis-py's connections, unless something were lost."""
    fresh = scene.client(server.url, single_connection_client=True)
    scene.do(lambda: fresh.set("k", "v"))
    assert scene.do(lambda: fresh.execute_command("RESET")) in (True, b"RESET", "RESET")
    assert fresh.shoal_bypass == "the object has a connection of redis-py's"
    assert scene.do(lambda: fresh.get("k")) == b"v"
    used = scene.client(server.url, single_connection_client=True)
    scene.do(lambda: used.execute_command("SELECT", 3))
    with pytest.raises(redis.DataError):
        scene.do(lambda: used.execute_command("RESET"))
    assert scene.do(lambda: used.client_info())["db"] == 3


def test_its_connection_is_lost(scene: Scene, proxy: Proxy, server: Server) -> None:
    r = scene.client(proxy.url, 1, single_connection_client=True)
    scene.do(lambda: r.execute_command("SELECT", 3))
    proxy.tell("cut to-client reset")
    # As with redis-py: a retry connects again, to the client's own database.
    assert scene.do(lambda: r.client_info())["db"] == 0
    assert theirs(r) == 0


def test_its_server_is_away(scene: Scene, proxy: Proxy) -> None:
    proxy.tell("turn-away on")
    with pytest.raises(redis.ConnectionError):
        r = scene.client(proxy.url, single_connection_client=True)
        scene.do(r.ping)


def test_the_collector_gives_it_back(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)

    def watch_and_forget() -> None:
        pipe = r.pipeline()
        pipe.me = pipe
        scene.do(lambda: pipe.watch("n"))
        assert has_leases(scene, r, 1)

    watch_and_forget()
    gc.collect()
    assert has_leases(scene, r, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(server: Server) -> None:
    with shoal.redis.Redis.from_url(server.url) as r:
        mine = r.client()
        mine.set("n", 1)
        child = os.fork()
        if child == 0:
            os._exit(0 if mine.incr("n") == 2 and r.blpop("e", 0.01) is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert mine.incr("n") == 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("ending", ["state", "watch"])
def test_what_the_server_knew_stays_with_the_parent(
    server: Server, ending: str
) -> None:
    """A child hears of that once, where redis-py's would use the parent's socket."""
    with shoal.redis.Redis.from_url(
        server.url, single_connection_client=ending == "state"
    ) as r:
        pipe = r.pipeline()
        if ending == "state":
            r.execute_command("SELECT", 3)
        else:
            pipe.watch("k")
            pipe.multi()
            pipe.get("k")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if ending == "state":
                    r.client_info()
                else:
                    pipe.execute()
            except (redis.ConnectionError, redis.WatchError) as error:
                code = 7 if error.fate is Fate.NOT_EXECUTED else 2
                if r.client_info()["db"] != 0:
                    code = 3
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        if ending == "state":
            assert r.client_info()["db"] == 3
        else:
            assert pipe.execute() == [None]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_child_does_not_go_on_in_another_database(
    server: Server, is_async: bool
) -> None:
    """redis-py's Retry, of which its clients have one unless made from a URL, does not
    repeat a command on a connection that lacks the parent's SELECT."""
    made: Any = shoal.redis.asyncio.Redis if is_async else shoal.redis.Redis
    r = made.from_url(
        server.url,
        single_connection_client=True,
        retry=(AsyncRetry if is_async else Retry)(NoBackoff(), 3),
    )

    def run(loop: asyncio.AbstractEventLoop, *command: Any) -> Any:
        outcome = r.execute_command(*command)
        return loop.run_until_complete(outcome) if is_async else outcome

    loop = asyncio.new_event_loop()
    run(loop, "SELECT", 3)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(asyncio.new_event_loop(), "SET", "k", "v")
        except redis.ConnectionError as error:
            code = 7 if error.fate is Fate.NOT_EXECUTED else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert run(loop, "DBSIZE") == 0 and server.ask("GET", "k") is None
    if is_async:
        loop.run_until_complete(r.aclose())
    else:
        r.close()
    loop.close()
