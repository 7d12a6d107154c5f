# SPDX-License-Identifier: MIT
"""redis-py's PubSub over a connection that all share tells its user of losses."""

import asyncio
import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from redis.asyncio.retry import Retry as AsyncRetry  # noqa: E402
from redis.backoff import NoBackoff  # noqa: E402
from shoal._native import lib  # noqa: E402
from shoal.redis._fences import Fences  # noqa: E402
from shoal.redis._subscriber import GAPS_MAX, Subscriber  # noqa: E402
from shoal.redis._view import PROBE_S  # noqa: E402
from support.dropin import Scene, theirs, until  # noqa: E402
from support.scale import SCALE  # noqa: E402
from support.server import Server  # noqa: E402
from support.wire import Wire  # noqa: E402

PATIENCE_S = 30 * SCALE


def heard(scene: Scene, p: Any) -> tuple[Any, ...]:
    """The next message, which comes."""
    message = scene.do(lambda: p.get_message(timeout=PATIENCE_S))
    assert message is not None
    return message["type"], message["channel"], message["data"]


def subscribed(scene: Scene, r: Any, *channels: str) -> Any:
    """A PubSub whose names are confirmed."""
    p = r.pubsub()
    scene.do(lambda: p.subscribe(*channels))
    for _ in channels:
        heard(scene, p)
    return p


def cut(server: Server) -> None:
    """The connection of subscriptions is lost."""
    assert server.ask("CLIENT", "KILL", "TYPE", "pubsub") == 1


def test_confirmations_come_again(scene: Scene, own_server: Server) -> None:
    """With a Retry redis-py connects again without an error; its user sees that names
    are confirmed once more, and what is published then."""
    r = scene.client(own_server.url, 1)
    p = subscribed(scene, r, "a", "b")
    q = subscribed(scene, r, "a")
    own_server.ask("PUBLISH", "a", "before")
    cut(own_server)
    assert heard(scene, p) == ("message", b"a", b"before")
    again = [heard(scene, p), heard(scene, p)]
    assert {name for _, name, _ in again} == {b"a", b"b"}
    assert [(kind, count) for kind, _, count in again] == [
        ("subscribe", 1),
        ("subscribe", 2),
    ]
    own_server.ask("PUBLISH", "a", "after")
    assert heard(scene, p) == ("message", b"a", b"after")
    assert [heard(scene, q) for _ in range(3)] == [
        ("message", b"a", b"before"),
        ("subscribe", b"a", 1),
        ("message", b"a", b"after"),
    ]
    gaps = p.shoal_gaps
    assert {(gap.reason, gap.name, gap.kind) for gap in gaps} == {
        ("lost", b"a", "channel"),
        ("lost", b"b", "channel"),
    }
    assert theirs(r) == 0


def test_an_error_without_a_retry(scene: Scene, own_server: Server) -> None:
    p = subscribed(scene, scene.client(own_server.url), "a")
    own_server.ask("PUBLISH", "a", "before")
    cut(own_server)
    assert heard(scene, p) == ("message", b"a", b"before")
    with pytest.raises(redis.ConnectionError, match="Connection lost"):
        heard(scene, p)
    assert heard(scene, p) == ("subscribe", b"a", 1)
    own_server.ask("PUBLISH", "a", "after")
    assert heard(scene, p) == ("message", b"a", b"after")


def test_a_server_that_is_away(scene: Scene, own_server: Server) -> None:
    """redis-py's own connection says why; when the server is back, all goes on."""
    r = scene.client(own_server.url, 1)
    p = subscribed(scene, r, "a")
    own_server.kill()
    with pytest.raises(redis.ConnectionError, match="[Cc]onnect|closed"):
        heard(scene, p)
    with pytest.raises(redis.ConnectionError, match="[Cc]onnect"):
        heard(scene, p)
    q = r.pubsub()
    with pytest.raises(redis.ConnectionError, match="[Cc]onnect"):
        scene.do(lambda: q.subscribe("a"))
    assert not q.subscribed and p.subscribed
    assert own_server.start()
    assert heard(scene, p) == ("subscribe", b"a", 1)
    scene.do(lambda: q.subscribe("a"))
    assert heard(scene, q) == ("subscribe", b"a", 1)
    own_server.ask("PUBLISH", "a", "after")
    assert heard(scene, p) == heard(scene, q) == ("message", b"a", b"after")


def test_a_server_that_was_never_there(scene: Scene, own_server: Server) -> None:
    own_server.kill()
    p = scene.client(own_server.url).pubsub()
    with pytest.raises(redis.ConnectionError):
        scene.do(lambda: p.subscribe("a"))
    assert own_server.start()
    scene.do(lambda: p.subscribe("a"))
    assert heard(scene, p) == ("subscribe", b"a", 1)


def test_a_password_that_is_wrong(scene: Scene, own_server: Server) -> None:
    """The error is redis-py's."""
    own_server.ask("CONFIG", "SET", "requirepass", "right")
    p = scene.client(own_server.url, password="wrong").pubsub()
    with pytest.raises(redis.AuthenticationError):
        scene.do(lambda: p.subscribe("a"))


def test_a_server_that_others_reach(scene: Scene, own_server: Server) -> None:
    """The shared connection has a second, before redis-py's is tried again."""
    p = subscribed(scene, scene.client(own_server.url, 1), "a")
    view = p.connection
    view.subscriber.names[CHANNEL, b"owed"] = 1
    view._feed.hub.is_connected = lambda: False
    word = b"total_connections_received:"
    before = own_server.ask("INFO", "stats").split(word)[1].split()[0]
    begun = time.monotonic()
    assert scene.do(lambda: p.get_message(timeout=0.4)) is None
    passed_s = time.monotonic() - begun
    after = own_server.ask("INFO", "stats").split(word)[1].split()[0]
    probes = int(after) - int(before) - 1  # the other one asked
    assert 1 <= probes <= 1 + passed_s / PROBE_S
    own_server.ask("PUBLISH", "a", "x")
    assert heard(scene, p) == ("message", b"a", b"x")


def test_another_event_loop(server: Server) -> None:
    """redis-py's connection would be of no use there."""
    retry = AsyncRetry(NoBackoff(), 1)
    r = shoal.redis.asyncio.Redis.from_url(server.url, retry=retry)
    p = r.pubsub()

    async def begin() -> None:
        await p.subscribe("loops")
        assert (await p.get_message(timeout=PATIENCE_S))["data"] == 1

    async def go_on() -> None:
        assert (await p.get_message(timeout=PATIENCE_S))["type"] == "subscribe"
        await r.publish("loops", "x")
        assert (await p.get_message(timeout=PATIENCE_S))["data"] == b"x"
        await p.aclose()
        await r.aclose()

    first = asyncio.new_event_loop()
    first.run_until_complete(begin())
    asyncio.run(go_on())
    first.close()


def test_what_was_asked_for_meanwhile(scene: Scene, own_server: Server) -> None:
    """An answer that was due at the loss is given when the connection is back, unless
    redis-py has forgotten the question."""
    p = subscribed(scene, scene.client(own_server.url, 1), "a", "b")
    with own_server.paused():
        scene.do(lambda: p.unsubscribe("b"))
        scene.do(lambda: p.ping("x"))
    cut(own_server)
    said = [heard(scene, p)]
    while said[-1][0] != "pong":
        said.append(heard(scene, p))
    assert ("unsubscribe", b"b", said[-2][2]) in said
    assert said[-1] == ("pong", None, b"x")
    assert own_server.ask("PUBSUB", "NUMSUB", "b")[1] == 0


def test_no_hole_is_silent(scene: Scene, own_server: Server) -> None:
    """Numbers ascend by one, or a confirmation stands between; none comes twice."""
    p = subscribed(scene, scene.client(own_server.url, 3), "n")

    def publish() -> None:
        numbers = itertools.count()
        with Wire(own_server.path) as wire:
            for _ in range(10):
                for _ in range(20):
                    wire.ask("PUBLISH", "n", next(numbers))
                wire.ask("MULTI")
                wire.ask("CLIENT", "KILL", "TYPE", "pubsub")
                wire.ask("PUBLISH", "n", next(numbers))
                wire.ask("EXEC")
                while not wire.ask("PUBLISH", "n", next(numbers)):
                    time.sleep(0.0001)
            wire.ask("PUBLISH", "n", "end")

    with ThreadPoolExecutor(1) as others:
        published = others.submit(publish)
        last, is_told, holes, kind, data = -1, False, 0, "", b""
        while data != b"end":
            kind, _, data = heard(scene, p)
            if kind == "subscribe":
                is_told = True
            elif data != b"end":
                number = int(data)
                assert number > last and (is_told or number == last + 1)
                holes += number != last + 1
                last, is_told = number, False
        published.result()
    assert holes == len(p.shoal_gaps) == 10


def test_a_disconnect(scene: Scene, own_server: Server) -> None:
    """Of its connection, and of the pool, which redis-py's PubSub survives, too."""
    r = scene.client(own_server.url, 1)
    p = subscribed(scene, r, "a", "b")
    scene.do(p.connection.disconnect)
    assert not p.connection.is_connected
    assert [heard(scene, p) for _ in range(2)] == [
        ("subscribe", b"a", 1),
        ("subscribe", b"b", 2),
    ]
    scene.do(r.connection_pool.disconnect)
    assert [heard(scene, p) for _ in range(2)] == [
        ("subscribe", b"a", 1),
        ("subscribe", b"b", 2),
    ]
    scene.do(r.connection_pool.disconnect)
    scene.do(lambda: p.subscribe("c"))
    said = [heard(scene, p) for _ in range(3)]
    assert {name for _, name, _ in said} == {b"a", b"b", b"c"}


def test_fork(own_server: Server) -> None:
    """A child subscribes anew, over a connection of its own."""
    with shoal.redis.Redis.from_url(own_server.url) as r:
        p = r.pubsub()
        p.subscribe("a")
        assert p.get_message(timeout=PATIENCE_S)["data"] == 1
        q = r.pubsub()
        q.subscribe("b")
        held, is_over = threading.Event(), threading.Event()

        def hold() -> None:  # as a thread that reads
            with q.connection._lock:
                held.set()
                is_over.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        child = os.fork()
        if child == 0:
            try:
                with pytest.raises(redis.ConnectionError):
                    p.get_message(timeout=PATIENCE_S)
                while p.get_message(timeout=PATIENCE_S)["data"] != b"x":
                    pass
                p.close()
                with pytest.raises(redis.ConnectionError):
                    q.subscribe("c")
                q.subscribe("c")
                said = {q.get_message(timeout=PATIENCE_S)["channel"] for _ in "bc"}
                os._exit(0 if said == {b"b", b"c"} else 2)
            finally:
                os._exit(1)
        is_over.set()
        until(lambda: own_server.ask("PUBLISH", "a", "x") == 2)
        assert os.waitpid(child, 0)[1] == 0
        assert p.get_message(timeout=PATIENCE_S)["data"] == b"x"


# ---- the replies, without a server ----

CHANNEL = lib.SHOAL_NAME_CHANNEL


def mark(what: int, name: bytes | None = None, count: int = 0, detail: bytes = b""):
    return what, CHANNEL, name, count, 0, detail, 1


def replies(tells_holes: bool = False) -> Subscriber:
    subscriber = Subscriber(None, Fences(), lambda: tells_holes)
    subscriber.ask("SUBSCRIBE", [b"a", b"b", b"late"])
    subscriber.read(
        [mark(lib.SHOAL_ITEM_SUBSCRIBED, name) for name in (b"a", b"b")], True
    )
    assert subscriber.ready == [[b"subscribe", b"a", 1], [b"subscribe", b"b", 2]]
    subscriber.ready.clear()
    return subscriber


def test_messages_that_found_no_room() -> None:
    """As if redis-py had connected again: the server cuts off who is too slow."""
    subscriber = replies()
    items = [(b"a", b"1", None), mark(lib.SHOAL_ITEM_DROPPED, count=7)]
    subscriber.read([*items, (b"a", b"9", None)], True)
    first, *again, last = subscriber.ready
    assert first == [b"message", b"a", b"1"] and last == [b"message", b"a", b"9"]
    assert {name for _, name, _ in again} == {b"a", b"b"}  # the third is not confirmed
    assert [count for _, _, count in again] == [1, 2]
    assert subscriber.gaps == (shoal.Dropped(7),)


def test_messages_that_found_no_room_without_a_retry() -> None:
    subscriber = replies(tells_holes=True)
    subscriber.read([mark(lib.SHOAL_ITEM_DROPPED, count=7)], True)
    (error,) = subscriber.ready
    assert isinstance(error, redis.ConnectionError) and "7 messages" in str(error)


def test_the_end_of_the_shared_connection() -> None:
    subscriber = replies()
    subscriber.read([mark(lib.SHOAL_ITEM_ENDED)], True)
    (error,) = subscriber.ready
    assert isinstance(error, redis.ConnectionError)


def test_a_name_that_is_given_up_and_wanted_again() -> None:
    """The server would have confirmed both, in this order."""
    subscriber = replies()
    removed, added = subscriber.ask("UNSUBSCRIBE", [b"a"])
    subscriber.ask("SUBSCRIBE", [b"a"])
    assert subscriber.is_owed() and removed == [(CHANNEL, b"a")]
    (fence,) = added
    subscriber.read([mark(lib.SHOAL_ITEM_SUBSCRIBED, b"a")], True)
    assert subscriber.ready == [[b"unsubscribe", b"a", 1], [b"subscribe", b"a", 2]]
    served = subscriber.read([mark(lib.SHOAL_ITEM_SUBSCRIBED, fence[1])], True)
    assert served == [fence] and len(subscriber.ready) == 2
    assert not subscriber._left and not subscriber._fenced


def test_a_name_that_is_given_up_before_it_was_confirmed() -> None:
    subscriber = replies()
    _, (fence,) = subscriber.ask("UNSUBSCRIBE", [b"late"])
    subscriber.read([mark(lib.SHOAL_ITEM_SUBSCRIBED, fence[1])], True)
    assert subscriber.ready == [
        [b"subscribe", b"late", 3],
        [b"unsubscribe", b"late", 2],
    ]
    assert not subscriber.is_owed() and not subscriber._left


def test_only_the_latest_gaps_are_kept() -> None:
    subscriber = replies()
    for count in range(GAPS_MAX + 10):
        subscriber.read([mark(lib.SHOAL_ITEM_DROPPED, count=count)], True)
    assert [gap.count for gap in subscriber.gaps] == list(range(10, GAPS_MAX + 10))
