# SPDX-License-Identifier: MIT
"""RedisCluster of the drop-in: what is carried, and that it reads like redis-py's.

What a test calls on our client it calls on redis-py's as well, and compares.
"""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
import shoal.redis  # noqa: E402
from support.cluster import Cluster  # noqa: E402
from support.dropin import ClusterScene, shown, until  # noqa: E402
from support.wire import PATIENCE_S  # noqa: E402

# Of three slots, which three nodes own.
KEYS = ("a", "b", "c")


@pytest.fixture(params=["sync", "asyncio"])
def scene(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[ClusterScene]:
    scene = ClusterScene(cluster, request.param == "asyncio")
    yield scene
    scene.end()


def carried(scene: ClusterScene, r: Any) -> int:
    """How many commands the core has carried."""
    return int(scene.do(lambda: r.shoal_client.stats().commands))


def test_the_keys_are_at_three_nodes(scene: ClusterScene, cluster: Cluster) -> None:
    r = scene.client()
    assert len({r.get_node_from_key(key).port for key in KEYS}) == len(cluster.nodes)


def test_commands_with_keys_are_carried(scene: ClusterScene) -> None:
    r = scene.client()
    assert r.shoal_bypass is None
    before = carried(scene, r)
    for key in KEYS:
        assert scene.do(lambda key=key: r.set(key, 1)) is True
        assert scene.do(lambda key=key: r.incr(key)) == 2
        assert scene.do(lambda key=key: r.execute_command("get", key)) == b"2"
        assert scene.do(lambda key=key: r.object("encoding", key)) == b"int"
        assert scene.do(lambda key=key: r.publish(key, "x")) == 0
        assert scene.do(lambda key=key: r.spublish(key, "x")) == 0
    assert carried(scene, r) == before + 6 * len(KEYS)


CALLS: list[Callable[[Any], Any]] = [
    lambda r: r.set("a", 1),
    lambda r: r.get("a"),
    lambda r: r.delete("h"),
    lambda r: r.hset("h", mapping={"f": "v"}),
    lambda r: r.hgetall("h"),
    lambda r: r.get("h"),
    lambda r: r.mget("a", "b"),
    lambda r: r.mget([]),
    lambda r: r.mset({"{t}1": 1, "{t}2": 2}),
    lambda r: r.mget("{t}1", "{t}2"),
    lambda r: r.set("a", 1, nx=True),
    lambda r: r.set("a", 2, get=True),
    lambda r: r.mset_nonatomic({"a": 1, "b": 2, "c": 3}),
    lambda r: r.mget_nonatomic("a", "b", "none"),
    lambda r: r.exists("a", "b", "none"),
    lambda r: r.touch("a", "b"),
    lambda r: r.unlink("a", "b", "c"),
    lambda r: r.zadd("z", {"one": 1, "two": 2}),
    lambda r: r.zrange("z", 0, -1, withscores=True),
    lambda r: r.zunion(["z", "{z}2"], withscores=True),
    lambda r: r.xread({"x": 0}),
    lambda r: r.eval("return {KEYS[1], ARGV[1]}", 1, "k", "v"),
    lambda r: r.eval("return 5", 0),
    lambda r: r.eval("return redis.call('get', 'other')", 1, "k"),
    lambda r: r.evalsha("0" * 40, 1, "k"),
    lambda r: r.memory_usage("none"),
    lambda r: r.blpop("none", timeout=0.01),
    lambda r: r.blpop("h", timeout=0.01),
    lambda r: r.blpop(["a", "b"], timeout=0.01),
    lambda r: r.pipeline().blpop("none", timeout=0.01).execute(),
    lambda r: r.dump("none"),
    lambda r: r.sort("none"),
    lambda r: r.ping(),
    lambda r: r.dbsize(target_nodes=r.PRIMARIES),
    lambda r: r.config_get("maxmemory"),
    lambda r: r.config_set("maxmemory", 0, target_nodes=r.ALL_NODES),
    lambda r: r.keys("nosuch*", target_nodes=r.PRIMARIES),
    lambda r: r.cluster_keyslot("a"),
    lambda r: r.keyslot("a"),
    lambda r: r.get_node_from_key("a").name,
    lambda r: sorted(node.name for node in r.get_primaries()),
    lambda r: r.get_replicas(),
    lambda r: r.execute_command("GET", "a", target_nodes=r.get_node_from_key("b")),
    lambda r: r.execute_command("ECHO", "x"),
    lambda r: r.execute_command("NOSUCH", "x"),
    lambda r: r.execute_command("GET"),
    lambda r: r.lpush("h", 1),
    lambda r: r.publish("news", "x"),
    lambda r: r.script_load("return 1"),
    lambda r: r.script_exists("e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
    lambda r: r.pipeline().set("a", 1).incr("a").get("b").execute(),
    lambda r: r.pipeline().lpush("h", 1).set("a", 5).execute(raise_on_error=False),
    lambda r: r.pipeline().set("a", 1).lpush("h", 1).execute(),
    lambda r: r.pipeline().mget("a", "b").execute(),
    lambda r: r.pipeline().ping().set("a", 1).execute(),
    lambda r: r.pipeline().hgetall("h").smembers("none").execute(),
    lambda r: r.pipeline().execute(),
    lambda r: r.pipeline(transaction=True).set("{t}1", 1).incr("{t}1").execute(),
    lambda r: r.pipeline(transaction=True).set("a", 1).set("b", 1).execute(),
    lambda r: r.pipeline(transaction=True).lpush("h", 1).hgetall("h").execute(),
    lambda r: r.pipeline(transaction=True).execute_command("GET", "h", 1).execute(),
    lambda r: r.flushall(target_nodes=r.PRIMARIES),
]  # fmt: skip


@pytest.mark.parametrize("resp", [None, 2, 3])
@pytest.mark.parametrize("decode", [False, True])
def test_replies_are_redis_pys(
    scene: ClusterScene, resp: int | None, decode: bool
) -> None:
    options = {"protocol": resp, "decode_responses": decode}
    ours, stock = scene.client(**options), scene.stock(**options)
    assert ours.shoal_bypass is None
    seen = [
        [scene.outcome(lambda call=call, r=r: call(r)) for call in CALLS]
        for r in (ours, stock)
    ]
    for number, (our, their) in enumerate(zip(*seen, strict=True)):
        assert our == their, number


def test_errors_have_a_fate(scene: ClusterScene) -> None:
    r = scene.client()
    scene.do(lambda: r.set("a", "text"))
    with pytest.raises(redis.ResponseError, match="^WRONGTYPE") as caught:
        scene.do(lambda: r.lpush("a", 1))
    assert caught.value.fate is shoal.Fate.REPLIED
    with pytest.raises(redis.exceptions.RedisClusterException) as apart:
        scene.do(lambda: r.mget("a", "b"))
    assert apart.value.fate is shoal.Fate.NOT_EXECUTED
    with pytest.raises(redis.DataError):
        scene.do(lambda: r.set("a", {}))


def test_it_is_told_what_cannot_be_carried(scene: ClusterScene) -> None:
    for options, reason in (
        ({"address_remap": lambda address: address}, "the parameter address_remap"),
        ({"socket_timeout": 100_000.0}, "socket_timeout=100000.0"),
    ):
        r = scene.client(**options)
        assert r.shoal_bypass == reason
        assert r.shoal_client is None
        assert scene.do(lambda r=r: r.set("a", 1)) is True


def test_commands_that_block_have_leases(scene: ClusterScene) -> None:
    r = scene.client()
    scene.do(lambda: r.delete("list"))
    before = carried(scene, r)
    assert scene.do(lambda: r.blpop("list", timeout=0.05)) is None
    end = scene.begin(lambda: r.blpop("list", timeout=30))
    until(lambda: scene.do(lambda: r.shoal_client.stats().leases_now) == 1)
    scene.do(lambda: r.rpush("list", "v"))
    assert end() == (b"list", b"v")
    assert not scene.do(lambda: r.xread({"stream": "$"}, block=20))
    assert carried(scene, r) >= before + 4


def port_of(r: Any, key: str) -> int:
    return int(r.get_node_from_key(key).port)


def test_slots_move(scene: ClusterScene, cluster: Cluster) -> None:
    r = scene.client()
    scene.do(lambda: r.set("moving", 1))
    for number in range(3):
        port = cluster.move("moving")
        assert scene.do(lambda: r.incr("moving")) == number + 2
        pipe = r.pipeline().get("moving").get("a")
        assert scene.do(pipe.execute)[0] == b"%d" % (number + 2)
        # redis-py's view follows the core's, although redis-py met no redirect.
        until(lambda port=port: scene.do(lambda: port_of(r, "moving")) == port)
    cluster.move("moving")
    pipe = r.pipeline(transaction=True)
    pipe.incr("moving").get("moving")
    assert scene.do(pipe.execute) == [5, b"5"]


def test_closing(scene: ClusterScene) -> None:
    r = scene.client()
    scene.do(lambda: r.set("a", 1))
    first = r.shoal_client
    scene.shut(r)
    with pytest.raises(shoal.ClosedError):
        scene.do(lambda: first.execute("GET", "a"))
    assert scene.do(lambda: r.get("a")) == b"1"
    assert r.shoal_client is not first


def test_garbage(scene: ClusterScene) -> None:
    r = scene.client()
    core, ref = r.shoal_client, weakref.ref(r)
    scene.do(lambda: core.execute("SET", "a", 1))
    scene.forget(r)
    del r
    scene.do(gc.collect)
    assert ref() is None
    with pytest.raises(shoal.ClosedError):
        scene.do(lambda: core.execute("GET", "a"))


def test_locks_scripts_scans_and_watch(cluster: Cluster) -> None:
    with shoal.redis.RedisCluster.from_url(cluster.seed_url) as r:
        with r.lock("lock", timeout=PATIENCE_S) as lock:
            assert lock.owned()
            assert not r.lock("lock", timeout=PATIENCE_S).acquire(blocking=False)
        script = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        r.delete("n")
        assert script(keys=["n"], args=[5]) == 5
        r.script_flush()
        assert script(keys=["n"], args=[5]) == 10
        r.mset_nonatomic({f"key:{i}": i for i in range(100)})
        assert len(set(r.scan_iter("key:*", count=7))) == 100

        def double(pipe: Any) -> None:
            n = int(pipe.get("n"))
            pipe.multi()
            pipe.set("n", n * 2)

        assert shown(r.transaction(double, "n")) == [(bytes, b"OK")]
        assert r.get("n") == b"20"
        assert r.blpop("none", timeout=0.05) is None


def test_pubsub_beside_commands(cluster: Cluster) -> None:
    with shoal.redis.RedisCluster.from_url(cluster.seed_url) as r:
        pubsub = r.pubsub()
        pubsub.subscribe("news")
        assert pubsub.get_message(timeout=PATIENCE_S)["type"] == "subscribe"
        r.publish("news", "hello")
        assert pubsub.get_message(timeout=PATIENCE_S)["data"] == b"hello"
        pubsub.close()


def test_threads_share_the_connections(cluster: Cluster) -> None:
    each, threads = 300, 8
    with shoal.redis.RedisCluster.from_url(cluster.seed_url) as r:
        r.delete(*KEYS)

        def count() -> None:
            for number in range(each):
                r.incr(KEYS[number % len(KEYS)])

        workers = [threading.Thread(target=count) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        counts = r.mget_nonatomic(*KEYS)
        assert sum(map(int, counts)) == each * threads
        client = r.shoal_client
        assert client is not None
        assert client.stats().commands >= each * threads


def test_install(cluster: Cluster) -> None:
    with shoal.redis.install():
        with redis.RedisCluster.from_url(cluster.seed_url) as r:
            assert isinstance(r, shoal.redis.RedisCluster)
            assert r.set("a", 1) is True
        assert redis.cluster.RedisCluster is shoal.redis.RedisCluster
    assert redis.RedisCluster is not shoal.redis.RedisCluster
