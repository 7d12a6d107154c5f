# SPDX-License-Identifier: MIT
"""The words that methods send, against redis-py and the server's own descriptions."""

import functools
import importlib
import importlib.util
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shoal
from command_methods.facts import Facts, Word, read_facts, rows_of
from command_methods.methods import Method, Parameter, read_methods
from shoal._commands import Commands
from shoal._requests import encoded
from support.scale import SCALE
from support.server import Server

TOOLS = Path(__file__).resolve().parents[1] / "tools"

FACTS = read_facts(
    *((TOOLS / name).read_text() for name in ("command_facts.json", "newer_facts.json"))
)
METHODS, _ = read_methods((TOOLS / "methods.txt").read_text(), FACTS)
HAS_REDIS_PY = importlib.util.find_spec("redis") is not None
DRAWS = 6 * SCALE

Given = dict[str, Any]


class Recorder(Commands[bytes]):
    """Our methods, which give back what they would send."""

    def _run(self, args: tuple[Any, ...]) -> Any:
        return encoded(args)


# ---- calls that the descriptions allow ----


#: Of methods with a body of their own: what excludes each other, or has limits.
EXCLUSIVE = [
    ("xadd", {"maxlen", "minid"}),
    ("xtrim", {"maxlen", "minid"}),
    ("geoadd", {"nx", "xx"}),
    ("command_list", {"module", "category", "pattern"}),
    ("lcs", {"len", "idx"}),
    ("hsetex", {"ex", "px", "exat", "pxat", "keepttl"}),
    ("hsetex", {"fnx", "fxx"}),
]
#: What is given with another parameter, or not at all.
TOGETHER = {
    "hset": {"value": "key"},
    "hsetex": {"value": "key"},
    "sort": {"num": "start"},
    "sort_ro": {"num": "start"},
    "lcs": {"minmatchlen": "idx", "withmatchlen": "idx"},
    "xinfo_stream": {"count": "full"},
}
ONE_OF = {
    "hset": ("key", "mapping"),
    "hsetex": ("key", "mapping"),
    "xtrim": ("maxlen", "minid"),
    "client_kill_filter": ("_id", "_type", "addr", "skipme", "laddr", "user"),
}
NUMBERS: dict[tuple[str, str], tuple[int, int]] = {
    ("setbit", "value"): (0, 1),
    ("bitpos", "bit"): (0, 1),
    ("eval", "numkeys"): (0, 1),
}


class Draw:
    """Random arguments for a method."""

    def __init__(self, method: Method, facts: Facts, seed: int) -> None:
        self._method = method
        self._random = random.Random(f"{method.name} {seed}")
        self.given: Given = {}
        if method.body:
            self._by_parameter()
        else:
            for word in facts.words:
                self._by_word(word)

    def _text(self) -> str:
        return f"w{self._random.randrange(1000)}"

    def _one(self, parameter: Parameter) -> Any:
        draw = self._random
        if parameter.type == "int":
            low, high = NUMBERS.get((self._method.name, parameter.name), (2, 999))
            return draw.randint(low, high)
        if parameter.type == "float":
            return draw.choice((draw.randrange(2, 999), round(draw.random(), 3) + 2))
        if parameter.is_flag:
            return True
        if parameter.type.startswith("Literal["):
            return draw.choice(re.findall(r'"(\w+)"', parameter.type))
        if parameter.type == "Sequence[Sequence[Argument]]":
            return [("u8", n) for n in range(draw.randint(1, 3))]
        if parameter.type == "Sequence[Argument]":
            count = draw.randint(1, 2)
            return [w for _ in range(count) for w in (1.5, 2.5, self._text())]
        return draw.choice((self._text(), self._text().encode()))

    def _give(self, parameter: Parameter) -> None:
        count = self._random.randint(1, 3)
        value: Any = self._one(parameter)
        if parameter.shape in ("any", "some"):
            count += self._method.name == "config_set" and count % 2  # pairs
            value = [value, *(self._one(parameter) for _ in range(count - 1))]
        elif parameter.shape == "map":
            value = {self._text(): self._one(parameter) for _ in range(count)}
            if self.given.get("incr"):
                value = dict(list(value.items())[:1])
        self.given[parameter.name] = value

    def _is_given(self) -> bool:
        return self._random.random() < 0.6

    def _by_parameter(self) -> None:
        name = self._method.name
        for parameter in self._method.parameters:
            leader = TOGETHER.get(name, {}).get(parameter.name)
            if any(
                name == method and parameter.name in group and self.given.keys() & group
                for method, group in EXCLUSIVE
            ):
                continue
            if leader is not None and leader not in self.given:
                continue
            is_flag = parameter.is_flag and parameter.default == "False"
            may_lack = parameter.default is not None
            if not may_lack or (leader and not is_flag) or self._is_given():
                self._give(parameter)
        wanted = ONE_OF.get(name, ())
        if wanted and not self.given.keys() & set(wanted):
            by_name = {p.name: p for p in self._method.parameters}
            self._give(by_name[wanted[0]])
            for follower, leader in TOGETHER.get(name, {}).items():
                if leader == wanted[0]:
                    self._give(by_name[follower])

    def _by_word(self, word: Word) -> None:
        if word.is_optional and not self._is_given():
            return
        names = [part.name for part in word.parts]
        for key in (word.name, ":".join(names), ":".join(names[::-1])):
            parameter = self._method.by_word.get(key)
            if parameter is not None:
                self._give(parameter)
                return
        parts = word.parts
        if word.kind == "oneof":
            parts = (self._random.choice(parts),)
        for part in parts:
            self._by_word(part)


def up_to_words(method: Method) -> list[Parameter]:
    """The parameters up to `*words`; none if there are no such words."""
    shapes = [parameter.shape for parameter in method.parameters]
    return list(method.parameters[: shapes.index("any") + 1 if "any" in shapes else 0])


def call(target: Any, method: Method, given: Given) -> Any:
    """The method of that target, with these arguments, by position up to `*words`."""
    given = dict(given)
    positional: list[Any] = []
    for parameter in up_to_words(method):
        if parameter.shape == "any":
            positional += given.pop(parameter.name, [])
        elif parameter.name in given:
            positional.append(given.pop(parameter.name))
    return getattr(target, method.name)(*positional, **given)


def draws(method: Method) -> list[Given]:
    """The same ones in each run."""
    drawn = [Draw(method, FACTS[method.command], seed).given for seed in range(DRAWS)]
    return [given for given in drawn if is_callable(method, given)]


def is_callable(method: Method, given: Given) -> bool:
    """Words can only follow if those before them are there."""
    names = [parameter.name for parameter in up_to_words(method)]
    return not names or names[-1] not in given or given.keys() >= set(names)


# ---- the descriptions ----


def pattern(word: Word) -> str:
    """A regular expression for words, each followed by a space."""
    inner = r"\S* "
    if word.kind == "pure-token":
        inner = ""
    elif word.kind == "oneof":
        inner = "(?:" + "|".join(map(pattern, word.parts)) + ")"
    elif word.kind == "block":
        inner = "".join(map(pattern, word.parts))
    token = "" if word.token is None else re.escape(word.token) + " "
    if word.is_multiple:
        inner = f"(?:{token}{inner})+" if word.repeats_token else f"{token}(?:{inner})+"
    else:
        inner = token + inner
    return f"(?:{inner})?" if word.is_optional else f"(?:{inner})"


#: The descriptions leave these out, or say less than the server takes.
NOT_DESCRIBED = {
    "command_getkeys": "any command",
    "command_getkeysandflags": "any command",
    "bitfield": "the test's operations are no operations",
    "client_kill_filter": "the value of SKIPME has no spaces, but others may",
}


def test_words_are_as_the_server_describes_them() -> None:
    for method in METHODS:
        if method.name in NOT_DESCRIBED:
            continue
        facts = FACTS[method.command]
        syntax = f"{facts.name} " + "".join(map(pattern, facts.words))
        drawn = draws(method)
        assert drawn, method.name
        for given in drawn:
            words = call(Recorder(), method, given)
            sent = "".join(f"{word.decode()} " for word in words)
            assert re.fullmatch(syntax, sent, re.IGNORECASE), (sent, syntax)


# ---- redis-py ----


class Unlike(Exception):
    """This call has no counterpart in redis-py."""


def counted(name: str, *needed: str) -> Callable[[Given], Any]:
    """redis-py wants the number of keys, too; it has defaults for what is needed."""

    def change(given: Given) -> Any:
        return {**only_with(*needed)(given), name: len(given["keys"])}

    return change


def counted_words(first: tuple[str, ...], *needed: str) -> Callable[[Given], Any]:
    """redis-py wants the number of keys, and then the keys by position."""

    def change(given: Given) -> Any:
        given = dict(only_with(*needed)(given))
        keys = given.pop("keys")
        return [*(given.pop(name) for name in first), len(keys), *keys], given

    return change


def weighted(given: Given) -> Given:
    """redis-py takes weights as the values of a dict of keys."""
    if "weights" not in given:
        return given
    given = dict(given)
    weights = given.pop("weights")
    keys = given["keys"]
    if len(set(keys)) < len(keys) or len(weights) != len(keys):
        raise Unlike
    return {**given, "keys": dict(zip(keys, weights, strict=True))}


def without(name: str, *others: str) -> Callable[[Given], Given]:
    """redis-py lacks a parameter."""

    def change(given: Given) -> Given:
        if given.keys() & {name, *others}:
            raise Unlike
        return given

    return change


def only_with(*needed: str) -> Callable[[Given], Given]:
    """Without these parameters redis-py sends defaults of its own."""

    def change(given: Given) -> Given:
        if not given.keys() >= set(needed):
            raise Unlike
        return given

    return change


def zadd(given: Given) -> Given:
    """redis-py refuses what the server refuses, too."""
    if given.get("nx") and given.keys() & {"gt", "lt"}:
        raise Unlike
    return given


def zrange(given: Given) -> Given:
    """redis-py sends ZREVRANGE then."""
    if given.get("desc") and not given.keys() & {"byscore", "bylex", "offset"}:
        raise Unlike
    if given.get("bylex") and given.get("withscores"):
        raise Unlike
    return given


def objects(what: str) -> Callable[[Given], Any]:
    """redis-py has one method for all."""
    return lambda given: ("object", [what, given["key"]], {})


#: What one says otherwise in redis-py.
DIFFERENCES: dict[str, Callable[[Given], Any]] = {
    "sintercard": counted("numkeys", "limit"),
    "zintercard": counted("numkeys", "limit"),
    "bzmpop": counted("numkeys", "count"),
    "zmpop": counted("num_keys"),
    "lmpop": counted_words(()),
    "blmpop": counted_words(("timeout",), "count"),
    "zinter": weighted,
    "zinterstore": weighted,
    "zunion": weighted,
    "zunionstore": weighted,
    "zadd": zadd,
    "zrange": zrange,
    "hsetex": without("fnx", "fxx"),
    "object_encoding": objects("ENCODING"),
    "object_freq": objects("FREQ"),
    "object_idletime": objects("IDLETIME"),
    "object_refcount": objects("REFCOUNT"),
    "function_list": only_with("library"),
    "xinfo_stream": without("count"),
    "ping": without("message"),
}
#: Options whose order is not redis-py's.
OTHER_ORDER = {
    *("geosearch", "geosearchstore", "sort", "xread", "zadd"),
    *("zrangebyscore", "zrevrangebyscore"),
}
#: redis-py has no such method, or none that sends this.
ONLY_OURS = {
    "acl_setuser": "redis-py has a parameter for each kind of rule",
    "bitfield": "redis-py has an object that gathers operations",
    "command_docs": "raises NotImplementedError in redis-py",
    "command_info": "raises NotImplementedError in redis-py",
    "latency_doctor": "raises NotImplementedError in redis-py",
    "latency_graph": "raises NotImplementedError in redis-py",
    "latency_histogram": "raises NotImplementedError in redis-py",
    "memory_doctor": "raises NotImplementedError in redis-py",
    "sort_ro": "redis-py sends SORT",
    "xsetid": "redis-py has none",
    **{m.name: "in RedisCluster" for m in METHODS if m.name.startswith("cluster_")},
}


@functools.cache
def capture() -> Any:
    """redis-py's client, which remembers what it would send."""
    redis: Any = importlib.import_module("redis")

    class Capture(redis.Redis):  # type: ignore[misc]
        sent: tuple[Any, ...] = ()

        def execute_command(self, *args: Any, **_: Any) -> Any:
            self.sent = args

    return Capture()


def theirs(method: Method, given: Given) -> list[bytes]:
    """What redis-py sends for the same call. Unlike: there is no such call."""
    connection: Any = importlib.import_module("redis.connection")
    client = capture()
    change = DIFFERENCES.get(method.name)
    changed = given if change is None else change(given)
    if isinstance(changed, dict):
        call(client, method, changed)
    else:
        name, args, options = (method.name, *changed)[-3:]
        getattr(client, name)(*args, **options)
    serializer = connection.PythonRespSerializer(1 << 30, client.get_encoder().encode)
    packed = b"".join(serializer.pack(*client.sent))
    assert packed.startswith(b"*")
    return packed.split(b"\r\n")[2::2]


@pytest.mark.skipif(not HAS_REDIS_PY, reason="needs redis-py")
@pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
def test_words_are_those_of_redis_py() -> None:
    for method in METHODS:
        if method.name in ONLY_OURS:
            continue
        compared = 0
        for given in draws(method):
            try:
                wanted = theirs(method, given)
            except Unlike:
                continue
            sent = list(call(Recorder(), method, given))
            if method.name in OTHER_ORDER:
                sent, wanted = sorted(sent), sorted(wanted)
            assert sent == wanted, (method.name, given)
            compared += 1
        assert compared, method.name


@pytest.mark.skipif(not HAS_REDIS_PY, reason="needs redis-py")
def test_only_ours_are_only_ours() -> None:
    """A name that redis-py gets must be compared."""
    import redis

    for name, why in ONLY_OURS.items():
        method = getattr(redis.Redis, name, None)
        assert (method is None) == (why in ("redis-py has none", "in RedisCluster")), (
            name
        )


# ---- the generated files ----


def test_what_is_generated_is_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, TOOLS / "gen_commands.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "ok\n", "")


def test_the_facts_are_the_servers(server: Server) -> None:
    """Another version says something else, which proves nothing."""
    kept = json.loads((TOOLS / "command_facts.json").read_text())
    with shoal.Client(server.url, decode_responses=True) as client:
        version = re.search(r"redis_version:(\S+)", client.info("server"))
        if version is None or version[1] != kept["server"]:
            pytest.skip(f"the facts are of {kept['server']}")
        answer = client.command_docs()
    assert rows_of(answer) == kept["commands"]
