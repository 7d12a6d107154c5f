# SPDX-License-Identifier: MIT
"""Methods for commands: against a server, on all faces, and the types they name."""

import asyncio
import gc
import inspect
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType, UnionType
from typing import Any, get_args, get_origin

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal._words import flat, several, swapped
from support.server import Server
from test_commands_oracle import METHODS

BY_NAME = {method.name: method for method in METHODS}


# ---- one of each type of data, on each face ----


def test_strings(connect: Connect) -> None:
    face = connect()
    assert face.method("set", "k", "v", ex=100, nx=True) == b"OK"
    assert face.method("set", "k", "w", nx=True) is None
    assert face.method("set", "k", "w", get=True, keepttl=True) == b"v"
    assert 0 < face.method("ttl", "k") <= 100
    assert face.method("mset", {"a": 1, b"b": 2.5}) == b"OK"
    assert face.method("mget", "a", "b", "none") == [b"1", b"2.5", None]
    assert face.method("incr", "a", 41) == 42
    assert face.method("getex", "k", persist=True) == b"w"
    assert face.method("delete", "a", "b", "none") == 2


def test_hashes(connect: Connect) -> None:
    face = connect(decode_responses=True)
    assert face.method("hset", "h", "f", "\u20ac") == 1
    assert face.method("hset", "h", mapping={"g": 2, "f": 1}) == 1
    assert face.method("hset", "h", "i", 3, {"j": 4}) == 2
    assert face.method("hgetall", "h") == {"f": "1", "g": "2", "i": "3", "j": "4"}
    assert face.method("hmget", "h", "g", "none") == ["2", None]
    assert face.method("hincrby", "h", "g") == 3


def test_lists(connect: Connect) -> None:
    face = connect()
    assert face.method("rpush", "l", "a", "b", "c", "b") == 4
    assert face.method("lrange", "l", 0, -1) == [b"a", b"b", b"c", b"b"]
    assert face.method("lpos", "l", "b", count=0) == [1, 3]
    assert face.method("lpop", "l", 2) == [b"a", b"b"]
    assert face.method("blpop", ("none", "l"), 1) == [b"l", b"c"]
    assert face.method("blpop", "l") == [b"l", b"b"]
    assert face.method("lmpop", ["none", "l"], "LEFT") is None


def test_sets(connect: Connect) -> None:
    face = connect()
    assert face.method("sadd", "s", "a", "b") == 2
    assert face.method("sadd", "t", "b", "c") == 2
    assert face.method("sinter", "s", "t") == {b"b"}
    assert face.method("sintercard", ("s", "t"), limit=5) == 1
    assert face.method("smismember", "s", "a", "z") == [1, 0]


def test_sorted_sets(connect: Connect) -> None:
    face = connect()
    assert face.method("zadd", "z", {"a": 1, "b": 2.5, b"c": 3}) == 3
    assert face.method("zadd", "z", {"a": 5}, nx=True, ch=True) == 0
    assert face.method("zadd", "z", {"a": 0.5}, incr=True) == 1.5
    wanted = [[b"a", 1.5], [b"b", 2.5]]
    assert face.method("zrange", "z", 0, 1, withscores=True) == wanted
    in_range = face.method("zrange", "z", "(1", "+inf", byscore=True, offset=1, num=1)
    assert in_range == [b"b"]
    assert face.method("zunion", "z", weights=2, withscores=True)[0] == [b"a", 3.0]
    assert face.method("zscore", "z", "c") == 3.0
    assert face.method("zpopmin", "z") == [b"a", 1.5]


def test_streams(connect: Connect) -> None:
    face = connect()
    assert face.method("xgroup_create", "x", "g", mkstream=True) == b"OK"
    assert face.method("xadd", "x", {"f": 1, "g": 2}, id="5-1") == b"5-1"
    page = [[b"5-1", [b"f", b"1", b"g", b"2"]]]
    assert face.method("xread", {"x": 0}, count=1) == {b"x": page}
    assert face.method("xreadgroup", "g", "c", {"x": ">"}, block=10) == {b"x": page}
    assert face.method("xpending", "x", "g")[0] == 1
    assert face.method("xack", "x", "g", "5-1") == 1
    assert face.method("xtrim", "x", 0, approximate=False) == 1


def test_places_and_bits(connect: Connect) -> None:
    face = connect()
    places = (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")
    assert face.method("geoadd", "g", places) == 2
    assert float(face.method("geodist", "g", "Palermo", "Catania", "km")) > 160
    found = face.method("geosearch", "g", member="Palermo", radius=200, unit="km")
    assert set(found) == {b"Palermo", b"Catania"}
    assert face.method("setbit", "b", 7, 1) == 0
    assert face.method("bitcount", "b", 0, -1, "BYTE") == 1
    assert face.method("bitpos", "b", 1) == 7
    assert face.method("pfadd", "p", "a", "b") == 1
    assert face.method("pfcount", "p") == 2


def test_scripts(connect: Connect) -> None:
    face = connect()
    sha = face.method("script_load", "return {KEYS[1], ARGV[1]}")
    assert face.method("evalsha", sha, 1, "k", "a") == [b"k", b"a"]
    assert face.method("script_exists", sha, "0" * 40) == [1, 0]


# ---- the other faces ----


def test_pipelines_and_transactions(connect: Connect) -> None:
    face = connect()
    for kind in ("pipeline", "transaction"):
        gathered = getattr(face.client, kind)()
        assert gathered.set("k", 1).incr("k").add("GET", "k") is gathered
        gathered.hset("h", mapping={"f": 1}).get(b"none")
        replies = face.run_pipeline(gathered)
        assert replies[:3] == [b"OK", 2, b"2"]
        assert replies[4] is None


def test_attempts_queue(connect: Connect) -> None:
    face = connect()

    def add_one(attempt: Any) -> Any:
        count = yield "GET", "n"
        attempt.set("n", int(count or 0) + 1).get("n")

    assert face.transaction(add_one, "n") == [b"OK", b"1"]


def test_leases(connect: Connect) -> None:
    face = connect()
    with face.lease() as lease:
        assert lease.method("set", "k", 1) == b"OK"
        number = lease.method("client_id")
        assert lease.method("client_id") == number != face.method("client_id")


def test_what_cannot_be_sent(connect: Connect) -> None:
    face = connect()
    for name, *args in (
        ("get", None),
        ("mget", ["a", "b"]),
        ("set", "k", True),
        ("hset", "h", "f", None),
        ("zrangebylex", "z", "-", "+", 1),
    ):
        with pytest.raises(shoal.DataError):
            face.method(name, *args)
    with pytest.raises(shoal.ResponseError) as caught:
        face.method("lrange", "k", "first", "last")
    assert caught.value.fate is shoal.Fate.REPLIED


def test_other_encodings(connect: Connect) -> None:
    face = connect(encoding="latin-1", decode_responses=True)
    assert face.method("set", "k", "\u00e9") == "OK"
    assert connect().method("get", "k") == b"\xe9"
    assert face.method("get", "k") == "\u00e9"


def test_coroutines_send_when_they_run(server: Server) -> None:
    async def main() -> None:
        async with shoal.aio.Client(server.url) as client:
            later = client.incr("n")
            assert inspect.iscoroutine(later)
            assert await client.get("n") is None
            assert await asyncio.create_task(later) == 1
            both = await asyncio.gather(client.incr("n"), client.incr("n"))
            assert list(both) == [2, 3]

    asyncio.run(main())


def test_a_cancelled_method(server: Server) -> None:
    async def main() -> None:
        async with shoal.aio.Client(server.url) as client:
            task = asyncio.create_task(client.blpop("none"))
            await asyncio.to_thread(server.until_blocked)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            later = client.blpop("none")
            later.send(None)
            later.close()
            del later
            gc.collect()
            assert await client.ping() == b"PONG"

    asyncio.run(main())


def opcodes(act: Callable[[], object], *codes: CodeType) -> int:
    """How many the interpreter executes of these functions."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def test_a_method_costs_what_execute_costs(server: Server) -> None:
    """In opcodes of our own, which do not depend on the machine."""
    kind = shoal.Client
    codes = [f.__code__ for f in (kind.execute, kind._run, kind.get, kind.hset)]
    with shoal.Client(server.url) as client:
        plain = opcodes(lambda: client.execute("GET", "k"), *codes)
        assert 20 < opcodes(lambda: client.get("k"), *codes) <= plain
        plain = opcodes(lambda: client.execute("HSET", "h", "f", "v"), *codes)
        # It looks at what else a field may be; execute() looks at nothing.
        assert opcodes(lambda: client.hset("h", "f", "v"), *codes) <= plain + 15


def test_words() -> None:
    assert several("one") == ("one",)
    assert several(b"one") == (b"one",)
    assert several(5) == (5,)
    assert list(several(["a", "b"])) == ["a", "b"]
    assert several(iter("ab")) == ("a", "b")
    assert several({"a": 1}.keys()) == ("a",)
    assert flat({"a": 1, "b": 2}) == ("a", 1, "b", 2)
    assert swapped({"a": 1, "b": 2}) == (1, "a", 2, "b")


# ---- the types that methods name are those of the values ----


def conforms(value: Any, wanted: Any) -> bool:
    """Is it of that type, to the depth that the type says?"""
    if wanted is Any:
        return True
    if wanted is None or isinstance(wanted, type(None)):
        return value is None
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is None:
        return type(value) is (type(None) if wanted is None else wanted)
    if origin is UnionType:
        return any(conforms(value, choice) for choice in inner)
    if type(value) is not origin:
        return False
    if origin is dict:
        return all(
            conforms(k, inner[0]) and conforms(v, inner[1]) for k, v in value.items()
        )
    return all(conforms(item, inner[0]) for item in value)


def test_conforms() -> None:
    assert conforms([[b"a", None]], list[list[bytes | None]])
    assert conforms({"a": 1.5}, dict[str, Any])
    assert not conforms([b"a"], list[str])
    assert not conforms(1, float | None)
    assert not conforms(True, int)


#: A call of each method that a test can make, in an order in which all give something.
CALLS = r"""
set("k", 1, ex=100); get("k"); get("none"); append("k", "1"); getrange("k", 0, 0)
getset("k", 5); setnx("k", 1); setex("k", 10, 1); psetex("k", 10000, 1); incr("k")
decr("k"); incrby("k", 2); decrby("k", 2); incrbyfloat("f", 0.5); getex("k")
setrange("k", 0, "2"); strlen("k"); mset({"a": 1, "b": 2}); msetnx({"a": 1})
mget("a", "none"); lcs("a", "b"); lcs("a", "b", len=True); lcs("a", "b", idx=True)
getdel("a"); set("k", 1, get=True)
setbit("bits", 1, 1); getbit("bits", 1); bitcount("bits"); bitpos("bits", 1)
bitop("NOT", "other", "bits"); bitfield("bits", "GET", "u8", 0)
bitfield_ro("bits", "u8", 0, [("u4", 4)])
copy("k", "l"); exists("k", "l"); expire("k", 100, nx=True); expiretime("k")
pexpire("k", 100000); expireat("k", 4000000000); pexpireat("k", 4000000000000)
pexpiretime("k"); ttl("k"); pttl("k"); persist("k"); type("k"); touch("k"); keys("k*")
object_encoding("k"); object_refcount("k"); object_idletime("k"); randomkey()
rename("l", "m"); renamenx("m", "n"); dump("n"); move("n", 1); memory_usage("k")
delete("other"); unlink("none"); rpush("e", 3, 1, 2); sort("e"); sort("e", store="es")
sort_ro("e", desc=True, start=0, num=1)
hset("h", mapping={"a": 1, "b": 2}); hget("h", "a"); hgetall("h"); hkeys("h")
hvals("h"); hlen("h"); hmget("h", "a", "z"); hexists("h", "a"); hstrlen("h", "a")
hincrby("h", "a"); hincrbyfloat("h", "a"); hsetnx("h", "a", 1); hrandfield("h")
hrandfield("h", 2); hrandfield("h", 2, withvalues=True); hdel("h", "a")
hmset("h", {"a": 1})
lpush("l", 1, 2, 3); rpushx("l", 4); lpushx("l", 0); linsert("l", "BEFORE", 1, 9)
llen("l"); lindex("l", 0); lrange("l", 0, -1); lpos("l", 1); lpos("l", 1, count=0)
lset("l", 0, 7); lrem("l", 0, 9); lmove("l", "l2"); rpoplpush("l", "l2")
lmpop("l", "LEFT"); lpop("l"); lpop("l2", 1); rpop("none"); rpop("l", 1)
ltrim("l", 0, 0); blpop("l2", 1); brpop("e", 1); rpush("l", 1, 2, 3, 4)
blmove("l", "l2", 1); brpoplpush("l", "l2", 1); blmpop(1, "l", "RIGHT")
sadd("s", 1, 2); sadd("t", 2, 3); scard("s"); smembers("s"); sismember("s", 1)
smismember("s", 1, 9); sinter("s", "t"); sunion("s", "t"); sdiff("s", "t")
sinterstore("u", "s", "t"); sunionstore("u", "s", "t"); sdiffstore("u", "s", "t")
sintercard(["s", "t"]); smove("s", "t", 1); srandmember("t"); srandmember("t", 2)
spop("t"); spop("t", 2); srem("s", 2)
zadd("z", {"a": 1, "b": 2}); zadd("z", {"a": 1}, incr=True); zadd("y", {"a": 5})
zadd("z", {"none": 1}, incr=True, xx=True)
zcard("z"); zcount("z", "-inf", 9); zscore("z", "a"); zscore("z", "z")
zmscore("z", ["a", "z"]); zincrby("z", 1, "a"); zrank("z", "a"); zrevrank("z", "z")
zrange("z", 0, -1); zrange("z", 0, -1, withscores=True); zrevrange("z", 0, -1)
zrevrange("z", 0, -1, withscores=True); zrangebyscore("z", 0, 9, withscores=True)
zrangebyscore("z", 0, 9); zrevrangebyscore("z", 9, 0); zrangebylex("z", "-", "+")
zrevrangebyscore("z", 9, 0, withscores=True); zrevrangebylex("z", "+", "-")
zlexcount("z", "-", "+"); zrandmember("z"); zrandmember("z", 2)
zrandmember("z", 2, withscores=True); zunion(["z", "y"]); zinter(["z", "y"])
zunion(["z", "y"], withscores=True); zinter(["z", "y"], withscores=True)
zdiff(["z", "y"]); zdiff(["z", "y"], withscores=True); zintercard(["z", "y"])
zunionstore("w", ["z", "y"], weights=[1, 2]); zinterstore("w", ["z", "y"], "MAX")
zdiffstore("w", ["z", "y"]); zrangestore("w", "z", 0, -1); zmpop("w", min=True)
bzmpop(1, "z", max=True); zpopmin("y"); zpopmax("z", 1); zadd("z", {"a": 1, "b": 2})
bzpopmin("z", 1); bzpopmax("z", 1); zadd("z", {"a": 1, "b": 2}); zrem("z", "a")
zremrangebyrank("z", 0, 0); zremrangebyscore("z", 0, 1); zremrangebylex("z", "-", "+")
pfadd("p", 1); pfcount("p"); pfmerge("q", "p")
xadd("x", {"f": 1}, id="1-1"); xadd("x", {"f": 1}, id="2-1"); xlen("x"); xrange("x")
xadd("none", {"f": 1}, nomkstream=True)
xrevrange("x", count=1); xread({"x": 0}); xread({"x": "$"}); xgroup_create("x", "g", 0)
xgroup_createconsumer("x", "g", "c"); xreadgroup("g", "c", {"x": ">"}, count=2)
xpending("x", "g"); xpending_range("x", "g", "-", "+", 9); xack("x", "g", "1-1")
xclaim("x", "g", "d", 0, ["2-1"]); xautoclaim("x", "g", "c", 0); xinfo_stream("x")
xinfo_stream("x", full=True); xinfo_groups("x"); xinfo_consumers("x", "g")
xgroup_setid("x", "g", 0); xgroup_delconsumer("x", "g", "c"); xgroup_destroy("x", "g")
xsetid("x", "9-1"); xdel("x", "1-1"); xtrim("x", maxlen=0, approximate=False)
geoadd("geo", [13.3, 38.1, "P", 15.1, 37.5, "C"]); geodist("geo", "P", "C")
geodist("geo", "P", "none"); geohash("geo", "P", "none"); geopos("geo", "P", "none")
geosearch("geo", member="P", radius=1); geosearchstore("near", "geo", "P", radius=1)
eval("return 1", 0); eval_ro("return 1", 0); script_load("return 1"); script_flush()
script_exists("0")
function_load("#!lua name=l\nredis.register_function('f', function() end)")
function_list("*"); function_list(withcode=True); function_stats(); function_dump()
function_delete("l"); function_flush()
acl_cat(); acl_cat("string"); acl_genpass(); acl_getuser("default"); acl_getuser("none")
acl_list(); acl_log(1); acl_log_reset(); acl_setuser("u", "on", "+get"); acl_users()
acl_dryrun("u", "get", "k"); acl_deluser("u"); acl_whoami()
command_count(); command_docs("get"); command_getkeys("get", "k"); command_info("get")
command_getkeysandflags("get", "k"); command_list(pattern="ge*"); config_get("max*")
config_set("maxmemory-samples", 5); dbsize(); info("server", "cpu"); lastsave()
config_resetstat(); latency_doctor(); latency_histogram("get"); latency_history("fork")
latency_latest(); latency_reset(); memory_doctor(); memory_malloc_stats()
memory_purge(); memory_stats(); module_list(); role(); slowlog_get(1); slowlog_len()
slowlog_reset(); swapdb(0, 0); time(); client_getname(); client_id(); client_info()
client_list(); client_list(_type="normal"); client_kill_filter(addr="none:1")
client_unblock(0); client_pause(1, all=False); client_unpause(); echo("a"); ping()
ping("a"); publish("c", "m"); pubsub_channels(); pubsub_numpat(); pubsub_numsub("c")
spublish("c", "m"); pubsub_shardchannels(); pubsub_shardnumsub("c")
flushdb(); flushall(asynchronous=True)
"""
#: What a test on one server cannot call: it ends something, or there is no cluster.
NOT_CALLED = {
    *("acl_load", "acl_save", "bgrewriteaof", "bgsave", "config_rewrite", "save"),
    *("client_kill", "evalsha", "evalsha_ro", "fcall", "fcall_ro", "function_kill"),
    *("function_restore", "latency_graph", "migrate", "object_freq", "restore"),
    *("script_kill",),
    *(name for name in BY_NAME if name.startswith("cluster_")),
    # Newer than the server.
    *("hexpire", "hexpireat", "hexpiretime", "hgetdel", "hgetex", "hpersist", "httl"),
    *("hpexpire", "hpexpireat", "hpexpiretime", "hpttl", "hsetex"),
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("text", [bytes, str])
def test_types_are_those_of_the_values(
    server: Server, version: int, text: type
) -> None:
    called: set[str] = set()
    wrong: list[str] = []
    decodes = text is str

    class Named:
        """Tells which method it is, and what was given."""

        def __init__(self, client: shoal.Client, name: str) -> None:
            self.method = BY_NAME[name]
            self.call = getattr(client, name)

        def __call__(self, *args: Any, **options: Any) -> None:
            name = self.method.name
            called.add(name)
            if decodes and name in ("dump", "function_dump"):  # no text
                return
            bound = inspect.signature(self.call).bind(*args, **options)
            result = self.method.result
            given, alternative = self.method.when or ("", result)
            if not any(bound.arguments.get(given) is no for no in (None, False)):
                result = alternative
            wanted = result.resp2 if version == 2 and result.resp2 else result.resp3
            names = {"S": text, "Any": Any}
            value = self.call(*args, **options)
            if not conforms(value, eval(wanted, names)):
                wrong.append(f"{name}{args}: {value!r} is no {wanted}")

    class All(dict[str, Any]):
        """Each method by its name."""

        def __missing__(self, name: str) -> Named:
            return Named(client, name)

    with shoal.Client(server.url, protocol=version, decode_responses=decodes) as client:
        for statement in re.split(r";|\n", CALLS):
            if statement.strip():
                eval(statement.strip(), {"__builtins__": {"True": True}}, All())
    assert not wrong
    assert called | NOT_CALLED == BY_NAME.keys()
    assert not called & NOT_CALLED
