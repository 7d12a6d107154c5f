# SPDX-License-Identifier: MIT
"""The redis-py drop-in, blocking: what is carried, and that it reads like redis-py."""

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
import shoal.redis  # noqa: E402
from support.dropin import shown  # noqa: E402
from support.server import Server  # noqa: E402
from support.wire import PATIENCE_S  # noqa: E402

TYPES_SCRIPT = """
redis.setresp(3)
if ARGV[1] == 'set' then return {set={['a']=true}}
elseif ARGV[1] == 'nested set' then return {1, {set={['b']=true}}}
elseif ARGV[1] == 'big' then return {big_number='123456789012345678901234567890'}
elseif ARGV[1] == 'double' then return {double=3.5}
elseif ARGV[1] == 'map' then return {map={['k']={1, 'two', false}}}
elseif ARGV[1] == 'bool' then return true
elseif ARGV[1] == 'verbatim' then
  return {verbatim_string={string='text', format='txt'}}
elseif ARGV[1] == 'error inside' then return {1, redis.error_reply('MY own')}
else return false end
"""
TYPES = ("set", "nested set", "big", "double", "map", "bool", "verbatim", "nil")


@pytest.fixture
def url(server: Server) -> str:
    """Of a real server, which is empty."""
    return server.url


@pytest.fixture
def r(url: str) -> Any:
    """Our client."""
    with shoal.redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture
def stock(url: str) -> Any:
    """redis-py's own client."""
    with redis.Redis.from_url(url) as client:
        yield client


def carried(client: Any) -> int:
    """How many commands the core has carried."""
    return int(client.shoal_client.stats().commands)


def outcome(call: Any) -> Any:
    try:
        return shown(call())
    except redis.RedisError as error:
        return shown(error)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ex": 10},
        {"px": 10000, "nx": True},
        {"xx": True, "get": True},
        {"ex": 1, "px": 1},
        {"keepttl": True},
        {"wrong": 1},
    ],
)
def test_set_with_and_without_options(r: Any, stock: Any, options: Any) -> None:
    def of(client: Any) -> Any:
        client.delete("set")
        try:
            return [
                outcome(lambda: client.set("set", 1, **options)),
                outcome(lambda: client.set(value=2, name="set", **options)),
                client.get("set"),
                client.ttl("set"),
            ]
        except TypeError:
            return TypeError

    assert of(r) == of(stock)
    assert inspect.signature(shoal.redis.Redis.set) == inspect.signature(
        redis.Redis.set
    )


def test_commands_are_carried(r: Any) -> None:
    assert r.shoal_bypass is None
    r.ping()
    before = carried(r)
    assert r.set("a", 1) is True
    assert r.get("a") == b"1"
    assert r.config_get("maxmemory") == {"maxmemory": "0"}
    assert r.execute_command("get", "a") == b"1"
    assert r.execute_command(b"GET", "a") == b"1"
    assert carried(r) >= before + 5
    assert not r.connection_pool._available_connections


def test_objects_over_one_pool_share_a_connection(r: Any) -> None:
    other = shoal.redis.Redis(connection_pool=r.connection_pool)
    assert other.shoal_client is r.shoal_client


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("decode", [False, True])
@pytest.mark.parametrize("kind", [*TYPES, "error inside"])
def test_replies_have_redis_pys_types(
    url: str, protocol: int, decode: bool, kind: str
) -> None:
    options = {"protocol": protocol, "decode_responses": decode}
    with (
        redis.Redis.from_url(url, **options) as stock,
        shoal.redis.Redis.from_url(url, **options) as ours,
    ):
        expected = outcome(lambda: stock.eval(TYPES_SCRIPT, 0, kind))
        assert outcome(lambda: ours.eval(TYPES_SCRIPT, 0, kind)) == expected
        assert ours.shoal_bypass is None


@pytest.mark.parametrize("protocol", [2, 3])
def test_callbacks_get_what_they_expect(url: str, protocol: int) -> None:
    with (
        redis.Redis.from_url(url, protocol=protocol) as stock,
        shoal.redis.Redis.from_url(url, protocol=protocol) as ours,
    ):
        ours.sadd("s", "x", "y")
        ours.zadd("z", {"one": 1, "two": 2.5})
        ours.hset("h", mapping={"f": "v"})
        ours.xadd("x", {"f": "v"}, id="1-1")
        for call in (
            lambda r: r.smembers("s"),
            lambda r: r.zrange("z", 0, -1, withscores=True),
            lambda r: r.zscore("z", "two"),
            lambda r: r.hgetall("h"),
            lambda r: r.xread({"x": 0}),
            lambda r: r.xinfo_stream("x")["first-entry"],
            lambda r: r.execute_command("COMMAND INFO", "get", "nosuch"),
            lambda r: r.info("server")["redis_version"],
            lambda r: r.mget([]),
            lambda r: r.mget("a", "b"),
            lambda r: r.set("h", 1, nx=True),
            lambda r: r.pipeline(transaction=False).mget([]).hgetall("h").execute(),
        ):
            expected = outcome(lambda call=call: call(stock))
            assert outcome(lambda call=call: call(ours)) == expected


def test_decoding(url: str) -> None:
    with shoal.redis.Redis.from_url(url, decode_responses=True) as r:
        r.set("a", "\u00e9")
        assert r.get("a") == "\u00e9"
        assert r.get(name="a") == "\u00e9"
        assert isinstance(r.dump("a"), bytes)
        pipe = r.pipeline(transaction=False).get("a").dump("a")
        text, dump = pipe.execute()
        assert text == "\u00e9" and isinstance(dump, bytes)
        r.set("bad", b"\xff")
        with pytest.raises(UnicodeDecodeError):
            r.get("bad")
    options = {"decode_responses": True, "encoding": "latin-1"}
    with shoal.redis.Redis.from_url(url, **options) as r:
        r.set("a", "\u00e9")
        assert r.get("a") == "\u00e9"
        assert r.pipeline().get("a").execute() == ["\u00e9"]
    with shoal.redis.Redis.from_url(url) as r:
        assert r.get("a") == b"\xe9"


def test_errors_are_redis_pys_with_a_fate(r: Any) -> None:
    r.set("a", "text")
    with pytest.raises(redis.ResponseError) as caught:
        r.lpush("a", 1)
    assert caught.value.fate is shoal.Fate.REPLIED
    assert str(caught.value).startswith("WRONGTYPE ")
    with pytest.raises(redis.exceptions.NoScriptError, match="^No matching script"):
        r.evalsha("0" * 40, 0)
    with pytest.raises(redis.DataError, match="Invalid input of type: 'dict'") as bad:
        r.set("a", {})
    assert bad.value.fate is shoal.Fate.NOT_EXECUTED
    assert r.get("a") == b"text"


def test_what_needs_a_connection_of_its_own(r: Any) -> None:
    before = carried(r)
    assert r.blpop("empty", timeout=0.05) is None
    r.client_setname("mine")
    assert r.client_getname() == "mine"
    assert r.execute_command("CLIENT", "GETNAME") in (b"mine", "mine")
    assert r.xread({"s": "$"}, block=20) in ([], {})
    with pytest.raises(redis.ResponseError, match="No scripts in execution"):
        r.script_kill()
    pipe = r.pipeline(transaction=False).set("a", 1).blpop("empty", timeout=0.05)
    assert pipe.get("a").execute() == [True, None, b"1"]
    assert carried(r) == before + 6 + 3
    assert not r.connection_pool._available_connections


def test_pipelines(r: Any) -> None:
    r.set("text", "x")
    before = carried(r)
    assert r.pipeline().set("a", 1).incr("a").get("a").execute() == [True, 2, b"2"]
    assert r.pipeline(transaction=False).get("a").config_get("port").execute()[0]
    assert carried(r) == before + 5 + 2
    assert r.pipeline().execute() == []
    with r.pipeline() as pipe:
        pipe.smembers("none").hgetall("none")
        assert pipe.execute() == [set(), {}]
        assert len(pipe) == 0


@pytest.mark.parametrize("transaction", [False, True])
@pytest.mark.parametrize("raises", [False, True])
def test_pipelines_with_errors(
    r: Any, stock: Any, transaction: bool, raises: bool
) -> None:
    r.set("text", "x")
    for command in (("LPUSH", "text", 1), ("NOSUCH",), ("GET",)):

        def run(client: Any, command: Any = command) -> Any:
            pipe = client.pipeline(transaction=transaction)
            pipe.set("b", 1).execute_command(*command).get("b")
            return pipe.execute(raise_on_error=raises)

        expected = outcome(lambda run=run: run(stock))
        assert outcome(lambda run=run: run(r)) == expected


def test_a_pipeline_that_the_core_has_no_room_for(r: Any) -> None:
    pipe = r.pipeline(transaction=False)
    for _ in range(70_000):
        pipe.ping()
    assert pipe.execute() == [True] * 70_000
    assert r.pipeline().ping().execute() == [True]


def test_watch(r: Any) -> None:
    r.set("n", 1)
    with r.pipeline() as pipe:
        pipe.watch("n")
        n = int(pipe.get("n"))
        r.set("n", 10)
        pipe.multi()
        pipe.set("n", n + 1)
        with pytest.raises(redis.WatchError):
            pipe.execute()

    def double(pipe: Any) -> None:
        n = int(pipe.get("n"))
        pipe.multi()
        pipe.set("n", n * 2)

    assert r.transaction(double, "n") == [True]
    assert r.get("n") == b"20"


def test_pubsub_beside_commands(r: Any) -> None:
    with r.pubsub() as pubsub:
        pubsub.subscribe("news")
        assert pubsub.get_message(timeout=PATIENCE_S)["type"] == "subscribe"
        assert r.publish("news", "hello") == 1
        assert pubsub.get_message(timeout=PATIENCE_S)["data"] == b"hello"
        assert r.get("nothing") is None


def test_scripts_locks_and_scans(r: Any) -> None:
    script = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert script(keys=["n"], args=[5]) == 5
    r.script_flush()
    pipe = r.pipeline()
    script(keys=["n"], args=[5], client=pipe)
    assert pipe.execute() == [10]
    with r.lock("lock", timeout=PATIENCE_S) as lock:
        assert lock.owned()
        assert not r.lock("lock", timeout=PATIENCE_S).acquire(blocking=False)
    r.mset({f"key:{i}": i for i in range(100)})
    assert len(set(r.scan_iter("key:*", count=7))) == 100


def test_threads_share_the_connection(r: Any) -> None:
    def count(thread: int) -> int:
        strays = 0
        for i in range(100):
            strays += r.echo(f"{thread}:{i}") != f"{thread}:{i}".encode()
            r.incr("n")
        return strays

    before = threading.active_count()
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(count, range(8))) == 0
    assert r.get("n") == b"800"
    assert not r.connection_pool._available_connections
    assert threading.active_count() <= before


def test_callbacks_of_the_user(r: Any) -> None:
    r.set("a", 1)
    r.set_response_callback("GET", lambda reply, **options: ("mine", reply))
    assert r.get("a") == ("mine", b"1")
    for transaction in (True, False):
        pipe = r.pipeline(transaction=transaction).get("a").execute_command("get", "a")
        assert pipe.execute() == [("mine", b"1"), ("mine", b"1")]
    for name in ("DUMP", "MGET", "GETEX"):
        r.set_response_callback(name, lambda reply, **options: options)
    assert [r.dump("a"), r.mget("a"), r.getex("a")] == [{}, {}, {}]
    pipe = r.pipeline(transaction=False).dump("a").mget("a").getex("a")
    assert pipe.execute() == [{}, {}, {}]


def test_unix_socket_and_database(server: Server) -> None:
    path = server.path
    with shoal.redis.Redis(unix_socket_path=path, db=3, client_name="here") as r:
        r.set("only-in-3", 1)
        assert r.shoal_bypass is None
        clients = server.ask("CLIENT", "LIST").decode().splitlines()
        (here,) = [line for line in clients if " name=here " in line]
        assert " db=3 " in here
    with shoal.redis.from_url(f"unix://{path}?db=4") as r:
        assert r.get("only-in-3") is None
        assert r.shoal_bypass is None


def test_a_connection_of_its_own(server: Server) -> None:
    options = {"client_name": "single", "single_connection_client": True}
    with shoal.redis.Redis.from_url(server.url, **options) as single:
        assert single.set("a", 1)
        assert single.get("a") == b"1"
        assert single.shoal_bypass is None and single.shoal_client is not None
        assert single.client_getname() == "single"
        assert single.client_id() == single.client_id()


def test_redis_pys_measurements(r: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for at each command, and recorded while measuring."""
    r.set("a", "text")
    seen: list[Any] = []

    def note(command_name: str = "", **about: Any) -> None:
        seen.append((command_name, about.get("error_type"), about["server_port"]))

    for name in ("record_operation_duration", "record_error_count"):
        monkeypatch.setattr(shoal.redis.client, name, note)
    r.get("a")
    assert not seen
    monkeypatch.setattr(shoal.redis.client, "_measuring", lambda: object())
    before = carried(r)
    assert r.get("a") == b"text"
    with pytest.raises(redis.ResponseError) as caught:
        r.incr("a")
    port = r.get_connection_kwargs()["port"]
    assert seen == [("GET", None, port), ("", caught.value, port)]
    assert carried(r) == before + 2
