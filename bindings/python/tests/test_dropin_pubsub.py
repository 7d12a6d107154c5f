# SPDX-License-Identifier: MIT
"""redis-py's PubSub over a connection that all share says what redis-py's own says."""

import asyncio
import gc
import select
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from support.dropin import Scene, theirs, until  # noqa: E402
from support.scale import SCALE  # noqa: E402
from support.server import Server  # noqa: E402

PATIENCE_S = 30 * SCALE
MANY = 300
# A subscription of redis-py's has so many times the memory of ours.
BAR = 4.4


def heard(scene: Scene, p: Any) -> Any:
    """The next message, which comes."""
    message = scene.do(lambda: p.get_message(timeout=PATIENCE_S))
    assert message is not None
    return message


def brief(message: dict[str, Any]) -> tuple[Any, ...]:
    """Without what is always there."""
    return message["type"], message["channel"], message["data"]


def subscribed(scene: Scene, r: Any, *channels: str, **options: Any) -> Any:
    """A PubSub whose names are confirmed."""
    p = r.pubsub(**options)
    scene.do(lambda: p.subscribe(*channels))
    for _ in channels:
        heard(scene, p)
    return p


def close(scene: Scene, p: Any) -> None:
    scene.do(p.aclose if scene.is_async else p.close)


def subscribers(server: Server) -> int:
    """Connections with subscriptions."""
    lines = server.ask("CLIENT", "LIST").decode().splitlines()
    kinds = (" sub=", " psub=", " ssub=")
    return sum(
        any(kind in line and f"{kind}0 " not in line for kind in kinds)
        for line in lines
    )


# Each step, and how many messages it is answered by.
STEPS: tuple[tuple[Callable[[Any, Any], Any], int], ...] = (
    (lambda p, r: p.subscribe("a", b"b\xff", 5), 3),
    (lambda p, r: p.psubscribe("a*", "?"), 2),
    (lambda p, r: p.ssubscribe("a", "s"), 2),
    (lambda p, r: r.publish("a", "one"), 3),
    (lambda p, r: r.spublish("a", "two"), 1),
    (lambda p, r: p.subscribe("a"), 1),
    (lambda p, r: p.subscribe("d", "d"), 1),
    (lambda p, r: p.unsubscribe("a", "nothing"), 2),
    (lambda p, r: r.publish("a", ""), 2),
    (lambda p, r: p.punsubscribe("a*", "a*"), 2),
    (lambda p, r: p.sunsubscribe("s"), 1),
    (lambda p, r: p.sunsubscribe(), 1),
    (lambda p, r: p.sunsubscribe(), 1),
    (lambda p, r: p.punsubscribe(), 1),
    (lambda p, r: p.unsubscribe("d", 5), 2),
    (lambda p, r: p.psubscribe("x"), 1),
    (lambda p, r: p.unsubscribe(), 1),
    (lambda p, r: p.punsubscribe(), 1),
)


def conversation(scene: Scene, r: Any) -> list[Any]:
    p = r.pubsub()
    said = []
    for step, count in STEPS:
        scene.do(lambda step=step: step(p, r))
        # The server has its patterns in any order.
        said.append(sorted(map(repr, (heard(scene, p) for _ in range(count)))))
    assert not p.subscribed
    close(scene, p)
    return said


def test_it_says_what_redis_py_says(
    scene: Scene, server: Server, protocol: int
) -> None:
    module: Any = redis.asyncio if scene.is_async else redis
    plain = module.Redis.from_url(server.url, protocol=protocol)
    expected = conversation(scene, plain)
    scene.do(plain.aclose if scene.is_async else plain.close)
    r = scene.client(server.url, protocol=protocol)
    assert conversation(scene, r) == expected
    assert theirs(r) == 0


@pytest.mark.parametrize(
    ("encoding", "sent", "got"),
    [("utf-8", "\u00e9".encode(), "\u00e9"), ("latin-1", b"\xe9", "\u00e9")],
)
def test_text(
    scene: Scene, server: Server, encoding: str, sent: bytes, got: str
) -> None:
    r = scene.client(server.url, decode_responses=True, encoding=encoding)
    p = r.pubsub()
    scene.do(lambda: p.subscribe("\u00e9"))
    scene.do(lambda: p.psubscribe("\u00e9*"))
    assert brief(heard(scene, p)) == ("subscribe", got, 1)
    assert brief(heard(scene, p)) == ("psubscribe", got + "*", 2)
    server.ask("PUBLISH", sent, sent)
    assert brief(heard(scene, p)) == ("message", got, got)
    assert heard(scene, p)["pattern"] == got + "*"
    scene.do(lambda: p.ping("\u00e9"))
    assert brief(heard(scene, p)) == ("pong", None, got)
    close(scene, p)


def test_bytes_that_are_no_text(scene: Scene, server: Server) -> None:
    r = scene.client(server.url, decode_responses=True)
    p = subscribed(scene, r, "c")
    server.ask("PUBLISH", "c", b"\xff")
    assert brief(heard(scene, p)) == ("message", "c", b"\xff")
    r = scene.client(server.url, decode_responses=True, encoding_errors="replace")
    q = subscribed(scene, r, "c")
    server.ask("PUBLISH", "c", b"\xff")
    assert brief(heard(scene, q)) == ("message", "c", "\ufffd")


def test_all_share_a_connection(scene: Scene, own_server: Server) -> None:
    r = scene.client(own_server.url)
    every = [subscribed(scene, r, f"room:{i}", "all") for i in range(MANY)]
    assert subscribers(own_server) == 1 and theirs(r) == 0
    assert own_server.ask("PUBLISH", "all", "x") == 1
    for i in range(MANY):
        own_server.ask("PUBLISH", f"room:{i}", i)
    for i, p in enumerate(every):
        assert brief(heard(scene, p)) == ("message", b"all", b"x")
        assert brief(heard(scene, p)) == ("message", b"room:%d" % i, b"%d" % i)
    close(scene, every.pop())
    last = b"room:%d" % (MANY - 1)
    until_gone(scene, own_server, last)
    assert len(own_server.ask("PUBSUB", "CHANNELS")) == MANY


def until_gone(scene: Scene, server: Server, name: bytes) -> None:
    """Nobody is subscribed to it."""
    while server.ask("PUBSUB", "NUMSUB", name)[1]:
        scene.do(lambda: asyncio.sleep(0.001) if scene.is_async else None)


def test_a_pong_comes_behind_what_was_published(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    p = subscribed(scene, r, "c")
    for i in range(50):
        server.ask("PUBLISH", "c", i)
        scene.do(lambda i=i: p.ping(str(i)))
        assert brief(heard(scene, p)) == ("message", b"c", b"%d" % i)
        assert brief(heard(scene, p)) == ("pong", None, b"%d" % i)
    scene.do(p.ping)
    assert brief(heard(scene, p)) == ("pong", None, b"")
    names = server.ask("PUBSUB", "CHANNELS", "__shoal*")
    while names:  # the names that were asked for are given up
        scene.do(lambda: p.get_message())
        names = server.ask("PUBSUB", "CHANNELS", "__shoal*")


def test_dropped_without_a_close(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    p = subscribed(scene, r, "dropped")
    assert server.ask("PUBSUB", "NUMSUB", "dropped")[1] == 1
    del p
    gc.collect()
    until_gone(scene, server, b"dropped")


def test_commands_that_a_pubsub_does_not_send(scene: Scene, server: Server) -> None:
    p = subscribed(scene, scene.client(server.url), "c")
    with pytest.raises(redis.DataError, match="does not send GET"):
        scene.do(lambda: p.execute_command("GET", "k"))


def test_forbidden_names(scene: Scene, server: Server) -> None:
    """Nor may the user have the names by which answers are put in order."""
    server.ask("ACL", "SETUSER", "some", "on", ">secret", "+@all", "&mine*")
    server.ask("ACL", "LOG", "RESET")
    try:
        r = scene.client(server.url, username="some", password="secret")
        p = subscribed(scene, r, "mine")
        scene.do(lambda: p.subscribe("other"))
        with pytest.raises(redis.exceptions.NoPermissionError):
            heard(scene, p)
        for _ in range(2):
            scene.do(lambda: p.ping("x"))
            assert brief(heard(scene, p)) == ("pong", None, b"x")
        scene.do(lambda: p.unsubscribe("mine"))
        assert brief(heard(scene, p)) == ("unsubscribe", b"mine", 0)
        denied = server.ask("ACL", "LOG")
        assert len(denied) == 2  # "other", and one of ours: not asked for again
    finally:
        server.ask("ACL", "DELUSER", "some")


def test_handlers_of_pushes(scene: Scene, server: Server) -> None:
    """As with redis-py: RESP3 alone has pushes."""
    for protocol, is_handled in (3, True), (2, False):
        seen: list[Any] = []

        async def keep(reply: Any, seen: list[Any] = seen) -> None:
            seen.append(reply)

        r = scene.client(server.url, protocol=protocol)
        p = r.pubsub(push_handler_func=keep if scene.is_async else seen.append)
        scene.do(lambda p=p: p.subscribe("c"))
        message = scene.do(lambda p=p: p.get_message(timeout=PATIENCE_S))
        assert seen == ([[b"subscribe", b"c", 1]] if is_handled else [])
        assert (message is None) == is_handled


def test_pools_that_are_not_carried(scene: Scene, server: Server) -> None:
    module: Any = redis.asyncio if scene.is_async else redis

    class Own(module.Connection):  # type: ignore[misc, name-defined]
        pass

    r = scene.client(server.url, connection_class=Own)
    p = subscribed(scene, r, "c")
    assert "Own" in p.shoal_bypass and type(p.connection) is Own
    assert theirs(r) == 1 and p.shoal_gaps == ()
    close(scene, p)
    assert subscribed(scene, scene.client(server.url), "c").shoal_bypass is None


# ---- threads ----


def test_a_thread_that_listens(server: Server) -> None:
    """Others change its names meanwhile, and end it."""
    with shoal.redis.Redis.from_url(server.url) as r:
        p = r.pubsub()
        p.subscribe("c")
        said: list[Any] = []
        reader = threading.Thread(target=lambda: said.extend(map(brief, p.listen())))
        reader.start()
        until(lambda: len(said) == 1)
        for i in range(10):
            p.subscribe(f"c{i}")
            until(lambda i=i: len(said) == 2 + i)
        p.unsubscribe()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        assert said[-1][0] == "unsubscribe" and said[-1][2] == 0
        p.close()


def test_run_in_thread(server: Server) -> None:
    with shoal.redis.Redis.from_url(server.url) as r:
        said: list[Any] = []
        p = r.pubsub()
        p.subscribe(c=said.append)
        worker = p.run_in_thread(sleep_time=0.01)
        while not server.ask("PUBLISH", "c", "x"):
            pass
        until(lambda: bool(said))
        worker.stop()
        worker.join(PATIENCE_S)
        assert not worker.is_alive() and p.connection is None


def test_run(server: Server) -> None:
    async def main() -> None:
        async with shoal.redis.asyncio.Redis.from_url(server.url) as r:
            said: asyncio.Queue[Any] = asyncio.Queue()
            p = r.pubsub()
            await p.subscribe(c=said.put_nowait)
            task = asyncio.ensure_future(p.run())
            while not await r.publish("c", "x"):
                pass
            assert (await said.get())["data"] == b"x"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await p.aclose()

    asyncio.run(main())


def test_a_reader_of_another_thread_hears_of_a_close(server: Server) -> None:
    with shoal.redis.Redis.from_url(server.url) as r:
        p = r.pubsub()
        p.subscribe("c")
        p.get_message(timeout=PATIENCE_S)
        view = p.connection
        failures: list[Exception] = []

        def read() -> None:
            try:
                view.read_response(timeout=None)
            except redis.ConnectionError as error:
                failures.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        until(lambda: view._feed._users == 1)  # it waits
        p.close()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        with pytest.raises(redis.ConnectionError, match="closed"):
            view.read_response(timeout=None)


# ---- memory ----


def test_memory(server: Server) -> None:
    """What a subscription adds to redis-py's object."""

    async def bytes_of_each(module: Any, count: int) -> float:
        async with module.Redis.from_url(server.url, max_connections=count) as r:
            every: list[Any] = [r.pubsub() for _ in range(count)]
            for number, p in enumerate(every):
                if number == 1:  # the first one opens what all share
                    gc.collect()
                    tracemalloc.start()
                await p.subscribe(f"memory:{number}")
                assert await p.get_message(timeout=PATIENCE_S)
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            for p in every:
                await p.aclose()
            return held / (count - 1)

    # The first use fills caches that are not a subscription's.
    _, plain = (asyncio.run(bytes_of_each(redis.asyncio, 31)) for _ in range(2))
    _, ours = (asyncio.run(bytes_of_each(shoal.redis.asyncio, 101)) for _ in range(2))
    assert ours < plain / BAR, f"{ours:.0f} bytes each; redis-py's {plain:.0f}"


def test_the_socket_of_a_pubsub_can_be_polled(server: Server) -> None:
    """Celery waits for results in a poll of its own."""
    with shoal.redis.Redis.from_url(server.url) as r:
        pubsub = r.pubsub()
        pubsub.subscribe("news")
        assert pubsub.get_message(timeout=PATIENCE_S)["type"] == "subscribe"
        poller = select.poll()
        poller.register(pubsub.connection._sock, select.POLLIN)
        sent, got = [b"hello", b"again"], []
        for data in sent:
            assert r.publish("news", data) == 1
        while got != sent:
            assert poller.poll(PATIENCE_S * 1000)
            while (message := pubsub.get_message()) is not None:
                got.append(message["data"])
        assert poller.poll(0) == []
        feed = pubsub.connection._sock
        pubsub.close()
        assert feed.fileno() == -1
