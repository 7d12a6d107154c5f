# SPDX-License-Identifier: MIT
"""redis-py's ClusterPubSub over connections that all share says what redis-py's own
says, follows slots, and tells of losses."""

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
from redis.crc import key_slot  # noqa: E402
from shoal._native import lib  # noqa: E402
from shoal.redis._cluster_subscriber import ClusterSubscriber  # noqa: E402
from shoal.redis._fences import ClusterFences  # noqa: E402
from support.cluster import Cluster  # noqa: E402
from support.dropin import ClusterScene, until  # noqa: E402
from support.scale import SCALE  # noqa: E402
from support.server import Server  # noqa: E402

PATIENCE_S = 30 * SCALE
# Of three slots, which three nodes own.
KEYS = ("a", "b", "c")


@pytest.fixture(params=["sync", "asyncio"])
def scene(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[ClusterScene]:
    scene = ClusterScene(cluster, request.param == "asyncio")
    yield scene
    scene.end()


def brief(message: Any) -> tuple[Any, ...]:
    """Without what is always there."""
    assert message is not None
    return message["type"], message["channel"], message["data"]


def heard(scene: ClusterScene, p: Any) -> tuple[Any, ...]:
    """The next message of a channel or a pattern, which comes."""
    return brief(scene.do(lambda: p.get_message(timeout=PATIENCE_S)))


def heard_of(scene: ClusterScene, p: Any, r: Any, name: str) -> tuple[Any, ...]:
    """The next message that the owner of a shard's channel sends, which comes."""
    node = r.get_node_from_key(name)
    return brief(
        scene.do(lambda: p.get_sharded_message(timeout=PATIENCE_S, target_node=node))
    )


def subscribed(scene: ClusterScene, r: Any, *channels: str, **options: Any) -> Any:
    """A PubSub whose names are confirmed."""
    p = r.pubsub(**options)
    scene.do(lambda: p.subscribe(*channels))
    for _ in channels:
        heard(scene, p)
    return p


def close(scene: ClusterScene, p: Any) -> None:
    scene.do(p.aclose if scene.is_async else p.close)


def subscribers(node: Server) -> int:
    """Connections with subscriptions."""
    lines = node.ask("CLIENT", "LIST").decode().splitlines()
    kinds = (" sub=", " psub=", " ssub=")
    return sum(
        any(kind in line and f"{kind}0 " not in line for kind in kinds)
        for line in lines
    )


# Each step, and how many messages it is answered by.
STEPS: tuple[tuple[Callable[[Any, Any], Any], int], ...] = (
    (lambda p, r: p.subscribe("a", b"b\xff", "c"), 3),
    (lambda p, r: p.subscribe("d"), 1),
    (lambda p, r: p.psubscribe("a*", "?}"), 2),
    (lambda p, r: p.subscribe("a"), 1),
    (lambda p, r: p.ping("x"), 1),
    (lambda p, r: p.unsubscribe("c", "nothing", "d"), 3),
    (lambda p, r: p.punsubscribe("a*"), 1),
    (lambda p, r: r.publish("a", "one"), 1),
    (lambda p, r: p.punsubscribe(), 1),
    (lambda p, r: p.punsubscribe(), 1),
    (lambda p, r: p.unsubscribe("a"), 1),
    (lambda p, r: p.unsubscribe(), 1),
)


def conversation(scene: ClusterScene, r: Any) -> list[Any]:
    p = r.pubsub()
    said = []
    for step, count in STEPS:
        scene.do(lambda step=step: step(p, r))
        said.append([heard(scene, p) for _ in range(count)])
    for name in KEYS:
        scene.do(lambda name=name: p.ssubscribe(name))
        said.append([heard_of(scene, p, r, name)])
        scene.do(lambda name=name: r.spublish(name, "two"))
        said.append([heard_of(scene, p, r, name)])
    assert len(p.node_pubsub_mapping) == len(KEYS)
    scene.do(lambda: p.sunsubscribe("a"))
    said.append(heard_of(scene, p, r, "a"))
    scene.do(lambda: p.sunsubscribe())
    said.append([heard_of(scene, p, r, name) for name in KEYS[1:]])
    assert not p.subscribed and not p.node_pubsub_mapping
    close(scene, p)
    return said


def test_it_says_what_redis_py_says(scene: ClusterScene, protocol: int) -> None:
    said = [
        conversation(scene, make(protocol=protocol))
        for make in (scene.client, scene.stock)
    ]
    assert said[0] == said[1]


def test_text(scene: ClusterScene) -> None:
    r = scene.client(decode_responses=True)
    p = subscribed(scene, r, "\u00e9", "a")
    scene.do(lambda: p.ssubscribe("\u00e9"))
    scene.do(lambda: r.publish("\u00e9", "\u00e9"))
    scene.do(lambda: r.spublish("\u00e9", b"\xff"))
    assert heard(scene, p) == ("message", "\u00e9", "\u00e9")
    assert heard_of(scene, p, r, "\u00e9") == ("ssubscribe", "\u00e9", 1)
    assert heard_of(scene, p, r, "\u00e9")[:2] == ("smessage", "\u00e9")


def test_all_share_a_connection_to_each_node(
    scene: ClusterScene, cluster: Cluster
) -> None:
    r = scene.client()
    before = [subscribers(node) for node in cluster.nodes]
    several = [subscribed(scene, r, *KEYS) for _ in range(20)]
    for p in several:
        assert p.shoal_bypass is None
        scene.do(lambda p=p: p.ssubscribe(*KEYS))
        assert {heard_of(scene, p, r, name)[1] for name in KEYS} == {b"a", b"b", b"c"}
    now = [subscribers(node) for node in cluster.nodes]
    assert [n - b for n, b in zip(now, before, strict=True)] == [1, 1, 1]
    for name in KEYS:
        assert scene.do(lambda name=name: r.publish(name, "x")) == 1
        assert scene.do(lambda name=name: r.spublish(name, "x")) == 1
    for p in several:
        assert {heard(scene, p)[1] for _ in KEYS} == {b"a", b"b", b"c"}
        assert {heard_of(scene, p, r, name)[1] for name in KEYS} == {b"a", b"b", b"c"}
        close(scene, p)


def test_a_node_that_is_named(scene: ClusterScene, cluster: Cluster) -> None:
    r = scene.client()
    node = r.get_node_from_key("b")
    for options in ({"node": node}, {"host": node.host, "port": node.port}):
        p = subscribed(scene, r, "a", **options)
        assert p.shoal_bypass == "a node was named"
        assert p.get_pubsub_node() == node and p.shoal_gaps == ()
        port = next(n for n in cluster.nodes if n.port == node.port)
        assert port.ask("PUBSUB", "NUMSUB", "a")[1] == 1
        close(scene, p)
    with pytest.raises(redis.DataError):
        r.pubsub(host="x")


def test_what_cannot_be_carried(scene: ClusterScene) -> None:
    r = scene.client(address_remap=lambda address: address)
    p = subscribed(scene, r, "a")
    assert p.shoal_bypass == "the parameter address_remap"
    scene.do(lambda: r.publish("a", "x"))
    assert heard(scene, p) == ("message", b"a", b"x")
    close(scene, p)


def test_handlers_and_reading_in_a_loop(scene: ClusterScene) -> None:
    r = scene.client()
    got: list[Any] = []
    p = r.pubsub(ignore_subscribe_messages=True)
    scene.do(lambda: p.subscribe(a=got.append, b=None))
    scene.do(lambda: p.ssubscribe(c=got.append))
    for name in ("a", "b"):
        until(lambda name=name: scene.do(lambda: r.publish(name, "x")) > 0)
    until(lambda: scene.do(lambda: r.spublish("c", "x")) > 0)

    async def listened() -> Any:
        async for message in p.listen():
            return message

    first = scene.do(listened if scene.is_async else lambda: next(p.listen()))
    assert brief(first) == ("message", b"b", b"x")
    while not any(message["type"] == "smessage" for message in got):
        scene.do(lambda: p.get_sharded_message(timeout=0.01))
    assert {brief(message) for message in got} == {
        ("message", b"a", b"x"),
        ("smessage", b"c", b"x"),
    }
    close(scene, p)


def test_threads_of_redis_pys(cluster: Cluster) -> None:
    with shoal.redis.RedisCluster.from_url(cluster.seed_url) as r:
        came = [threading.Event(), threading.Event()]
        p, q = r.pubsub(), r.pubsub()
        p.subscribe(a=lambda _: came[0].set())
        q.ssubscribe(a=lambda _: came[1].set())
        threads = [
            p.run_in_thread(sleep_time=0.01),
            q.run_in_thread(sleep_time=0.01, sharded_pubsub=True),
        ]
        until(lambda: r.publish("a", "x") > 0)
        until(lambda: r.spublish("a", "x") > 0)
        assert all(event.wait(PATIENCE_S) for event in came)
        for thread in threads:
            thread.stop()
            thread.join()


# ---- slots that move, and nodes that are lost ----


def test_a_slot_that_moves(scene: ClusterScene, cluster: Cluster) -> None:
    """Numbers ascend, and where one is missing a confirmation stands; the new owner's
    messages are had from the new owner."""
    r = scene.client()
    p, name = r.pubsub(), "moving"
    scene.do(lambda: p.ssubscribe(name, "{moving}2"))
    for _ in range(2):
        assert heard_of(scene, p, r, name)[0] == "ssubscribe"
    numbers, last, is_told = itertools.count(), -1, False
    for round_ in range(3):
        port = cluster.move(name)
        until(
            lambda port=port: (
                scene.do(lambda: r.get_node_from_key(name)).port == port
                or scene.do(lambda: r.get(name)) is not None
            )
        )
        while not scene.do(lambda: r.spublish(name, next(numbers))):
            pass  # the library has not subscribed there yet
        sent = next(numbers)
        scene.do(lambda sent=sent: r.spublish(name, sent))
        data = b""
        while data != b"%d" % sent:
            kind, channel, data = heard_of(scene, p, r, name)
            if kind == "ssubscribe":
                is_told |= channel == name.encode()
            else:
                number = int(data)
                assert kind == "smessage" and number > last
                assert is_told or number == last + 1
                last, is_told = number, False
        moved = [g for g in p.shoal_gaps if g.name == name.encode()]
        assert [gap.reason for gap in moved] == ["moved"] * (round_ + 1)
    # It is subscribed to once more, and given up.
    scene.do(lambda: p.ssubscribe(name))
    assert heard_of(scene, p, r, name) == ("ssubscribe", b"moving", 2)
    assert len(p.node_pubsub_mapping) == 1  # what is not read yet comes first
    scene.do(lambda: p.sunsubscribe())
    said = [heard_of(scene, p, r, name) for _ in range(2)]
    assert {what[:2] for what in said} == {
        ("sunsubscribe", b"moving"),
        ("sunsubscribe", b"{moving}2"),
    }
    assert not p.subscribed
    close(scene, p)


def test_a_former_owner_is_read_while_the_present_one_is_idle(
    scene: ClusterScene, cluster: Cluster
) -> None:
    """No reading waits for a message of one node while the other's has come."""
    r, name = scene.client(), "moving"
    ports = [node.port for node in cluster.nodes]
    port = ports[(ports.index(r.get_node_from_key(name).port) + 1) % len(ports)]
    other = next(key for key in KEYS if r.get_node_from_key(key).port == port)
    target = r.get_node_from_key(other)
    p, handled = r.pubsub(), []
    scene.do(lambda: p.ssubscribe(other, **{name: handled.append}))

    def read() -> Any:
        return scene.do(lambda: p.get_sharded_message(True, None, target))

    for key in (name, other):
        assert heard_of(scene, p, r, key)[0] == "ssubscribe"
    assert cluster.move(name) == port
    until(
        lambda: (
            scene.do(lambda: r.get(name)) is None
            and scene.do(lambda: r.get_node_from_key(name)).port == port
        )
    )
    until(lambda: scene.do(lambda: r.spublish(name, "x")) > 0)
    while not handled:  # it is confirmed once more before
        assert read() is None
    assert brief(handled[0]) == ("smessage", b"moving", b"x")
    assert len(p.node_pubsub_mapping) == 2
    # Something comes to one of them while both are waited for.
    waiting = scene.begin(lambda: p.get_sharded_message(True, None, target))
    scene.do(lambda: r.spublish(other, "y"))
    assert brief(waiting()) == ("smessage", other.encode(), b"y")
    waiting = scene.begin(lambda: p.get_sharded_message(True, None, target))
    scene.do(lambda: r.spublish(name, "z"))
    assert waiting() is None
    assert brief(handled[1]) == ("smessage", b"moving", b"z")
    close(scene, p)


def test_a_node_that_has_left_is_not_tried(scene: ClusterScene) -> None:
    r = scene.client()
    p = subscribed(scene, r, "a")
    manager, pool = r.nodes_manager, p.connection_pool
    assert pool.new_connection().port == p.connection.port
    gone = manager.nodes_cache.pop(f"{p.connection.host}:{p.connection.port}")
    was, manager.default_node = manager.default_node, r.get_node_from_key("b")
    assert pool.new_connection().port == manager.default_node.port != gone.port
    manager.nodes_cache[gone.name], manager.default_node = gone, was
    close(scene, p)


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """Of a test that kills."""
    cluster = Cluster()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"])
def test_a_node_that_is_lost(own_cluster: Cluster, is_async: bool) -> None:
    """redis-py says so, and confirms names again when the node is back; an object with
    names of other nodes alone notices nothing."""
    scene = ClusterScene(own_cluster, is_async)
    try:
        r = scene.client()
        lost, other = "a", "b"
        p, q = subscribed(scene, r, lost, other), subscribed(scene, r, other)
        port = r.get_node_from_key(lost).port
        node = next(node for node in own_cluster.nodes if node.port == port)
        owner = r.get_node_from_key(other).port
        alive = next(node for node in own_cluster.nodes if node.port == owner)
        alive.ask("CONFIG", "SET", "cluster-require-full-coverage", "no")
        node.kill()
        with pytest.raises(redis.ConnectionError):
            heard(scene, p)
        alive.ask("PUBLISH", other, "x")
        for one in (p, q):
            what = None
            while what != ("message", b"b", b"x"):
                try:
                    what = heard(scene, one)
                except redis.ConnectionError:
                    assert one is p  # redis-py says so as long as its node is away
        # Its answer does not wait for that of the lost node.
        scene.do(lambda: q.subscribe(lost, "{b}2"))
        assert heard(scene, q)[:2] == ("subscribe", b"{b}2")
        assert node.start()
        again = None
        while again != ("subscribe", b"a"):
            try:
                again = heard(scene, p)[:2]
            except redis.ConnectionError:
                continue
        node.ask("PUBLISH", lost, "y")
        assert heard(scene, p) == ("message", b"a", b"y")
        while heard(scene, q) != ("message", b"a", b"y"):
            pass
        close(scene, p)
        close(scene, q)
    finally:
        scene.end()


# ---- the replies, without a server ----

CHANNEL, PATTERN = lib.SHOAL_NAME_CHANNEL, lib.SHOAL_NAME_PATTERN
SUBSCRIBED = lib.SHOAL_ITEM_SUBSCRIBED


def mark(what: int, name: bytes | None = None, detail: bytes = b"") -> tuple[Any, ...]:
    return what, CHANNEL, name, 0, 0, detail, 1


def subscriber(*names: bytes) -> ClusterSubscriber:
    made = ClusterSubscriber(None, ClusterFences(), lambda: False)
    made.ask("SUBSCRIBE", list(names))
    return made


def test_answers_come_in_the_order_of_the_commands() -> None:
    made = subscriber(b"a", b"b")
    _, fences = made.ask("UNSUBSCRIBE", [b"b"])
    _, pong = made.ask("PING", [])
    made.ask("SUBSCRIBE", [b"c"])
    for key in ((CHANNEL, b"c"), *pong, *fences):
        made.read([mark(SUBSCRIBED, key[1])], True)
        assert not made.ready
    assert made.is_owed()
    made.read([mark(SUBSCRIBED, b"a")], True)
    assert made.ready == [
        [b"subscribe", b"a", 1],
        [b"subscribe", b"b", 2],
        [b"unsubscribe", b"b", 1],
        [b"pong", b""],
        [b"subscribe", b"c", 2],
    ]
    assert not made.is_owed()


def test_a_message_comes_behind_its_confirmation() -> None:
    made = subscriber(b"a", b"b", b"c")
    made.read([mark(SUBSCRIBED, b"c"), (b"c", b"x", None)], True)
    assert made.ready == [[b"subscribe", b"c", 1], [b"message", b"c", b"x"]]
    made.read([mark(SUBSCRIBED, b"b"), mark(SUBSCRIBED, b"a")], True)
    assert [what[1] for what in made.ready[2:]] == [b"a", b"b"]


def test_a_name_that_is_refused_holds_up_no_other() -> None:
    made = subscriber(b"a", b"b")
    made.read([mark(SUBSCRIBED, b"b")], True)
    made.read([mark(lib.SHOAL_ITEM_REJECTED, b"a", b"NOPERM no")], True)
    error, confirmed = made.ready
    assert isinstance(error, redis.ResponseError)
    assert confirmed == [b"subscribe", b"b", 1]


def test_the_loss_of_one_node() -> None:
    made = subscriber(b"a", b"b")
    made.read([mark(SUBSCRIBED, b"a"), mark(SUBSCRIBED, b"b")], True)
    made.ready.clear()
    made.read([mark(lib.SHOAL_ITEM_SUSPENDED)], True)
    assert not made.ready and made.is_owed()
    made.read([(b"b", b"x", None), mark(lib.SHOAL_ITEM_GAP, b"a")], True)
    assert made.ready == [[b"message", b"b", b"x"], [b"subscribe", b"a", 2]]


def test_a_name_that_is_given_up_and_wanted_again() -> None:
    made = subscriber(b"a")
    _, fences = made.ask("UNSUBSCRIBE", [b"a"])
    made.ask("SUBSCRIBE", [b"a"])
    # The confirmation of the first time was there already.
    for name in (b"a", b"a", fences[0][1]):
        made.read([mark(SUBSCRIBED, name)], True)
    assert [what[0] for what in made.ready] == [
        b"subscribe", b"unsubscribe", b"subscribe",
    ]  # fmt: skip


def test_a_confirmation_that_waits_when_its_name_is_given_up() -> None:
    made = subscriber(b"x", b"a")
    made.read([mark(SUBSCRIBED, b"a")], True)  # that of x is still to come
    _, fences = made.ask("UNSUBSCRIBE", [b"a"])
    made.ask("SUBSCRIBE", [b"a"])
    for name in (fences[0][1], b"a", b"x"):
        made.read([mark(SUBSCRIBED, name)], True)
    assert made.ready == [
        [b"subscribe", b"x", 1],
        [b"subscribe", b"a", 2],
        [b"unsubscribe", b"a", 1],
        [b"subscribe", b"a", 2],
    ]
    assert not made.is_owed()


@pytest.mark.parametrize(
    "name", [b"a", b"{t}x", b"x{t}{u}", b"{}a", b"a{b", b"{a{b}", b"f*", b"\xff\x00"]
)
def test_fences_are_in_the_slot_of_the_name(name: bytes) -> None:
    fences = ClusterFences()
    fence, other = fences.next(name)[1], fences.next(name)[1]
    if name != b"{}a":  # no tag stands for such a name
        assert key_slot(fence) == key_slot(other) == key_slot(name)
    assert fence != other and fence.startswith(b"__shoal:")
