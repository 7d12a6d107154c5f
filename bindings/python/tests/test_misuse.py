# SPDX-License-Identifier: MIT
"""Mistakes of people who have not read the manual: each gets a clear message."""

import asyncio
import copy
import gc
import importlib.util
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal import exceptions
from shoal.aio._loop import _why_none
from support.children import run_child
from support.server import Server

KINDS = [shoal.Client, shoal.aio.Client]


# ---- copies ----

COPIES: dict[str, Callable[[Any], object]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": partial(pickle.dumps, protocol=n) for n in (0, 2, 4, 5)},
}


@pytest.mark.parametrize("way", COPIES)
def test_copies(connect: Connect, way: str) -> None:
    face = connect()
    assert face.execute("PING") == b"PONG"
    for it in (face.client, face.client.pipeline(), face.client.transaction()):
        with pytest.raises(TypeError, match=r"shoal.* cannot be copied or pickled"):
            COPIES[way](it)
    assert face.execute("PING") == b"PONG"


@pytest.mark.parametrize("name", exceptions.__all__)
def test_errors_travel(name: str) -> None:
    """Between processes, with all that is known."""
    kind = getattr(exceptions, name)
    if not isinstance(kind, type) or not issubclass(kind, shoal.RedisError):
        return
    error = kind("CODE the words")
    assert isinstance(error.fate, shoal.Fate)
    error.fate = shoal.Fate.REPLY_LOST
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is kind
    assert (str(twin), twin.fate) == ("CODE the words", shoal.Fate.REPLY_LOST)
    assert vars(twin) == vars(error)


def test_a_wait_says_what_it_waited_for(connect: Connect) -> None:
    face = connect(url="redis://127.0.0.1:1")
    face.until(lambda: face.stats().attempts_failed > 0)
    with pytest.raises(shoal.NoConnectionError, match="127.0.0.1:1.*refused") as caught:
        face.wait_ready(0.3)
    assert isinstance(caught.value, shoal.TimeoutError)
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED


def test_a_wait_with_a_wrong_password(connect: Connect) -> None:
    face = connect(username="nobody", password="secret")
    with pytest.raises(shoal.AuthenticationError, match="WRONGPASS") as caught:
        face.wait_ready()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_out_of_range_is_named(kind: Any) -> None:
    with pytest.raises(ValueError, match="attempts_max=0"):
        kind(attempts_max=0)
    with pytest.raises(ValueError, match="host='h' and port=70000"):
        kind(host="h", port=70000)


# ---- the wrong place ----


@pytest.mark.parametrize("driver", ["borrowed", "thread", "shared"])
def test_asyncio_outside_of_a_loop(server: Server, driver: str) -> None:
    blocking = shoal.Client(server.url)
    client = (
        blocking.aio()
        if driver == "shared"
        else shoal.aio.Client(server.url, thread=driver == "thread")
    )

    def try_all() -> None:
        for call in (lambda: client.submit("PING"), client.stats, client.events):
            with pytest.raises(RuntimeError, match="needs a running event loop"):
                call()

    try_all()
    assert asyncio.run(client.execute("PING")) == b"PONG"
    try_all()
    asyncio.run(client.close())
    blocking.close()


def test_what_was_not_imported() -> None:
    """`import shoal` is enough; but a program without asyncio does not pay for it."""
    end = run_child(
        """
        assert shoal.aio.Client
        try:
            shoal.nonsense
        except AttributeError as error:
            print(error)
        """,
        before="import sys, shoal\nassert 'asyncio' not in sys.modules\nshoal.aio\n",
    )
    wanted = "module 'shoal' has no attribute 'nonsense'\n"
    assert (end.code, end.output, end.errors) == (0, wanted, ""), end.errors


def test_events_of_no_connection(connect: Connect) -> None:
    """Asking makes none."""
    face = connect()
    assert face.events() == []
    assert ", not connected>" in repr(face.client)
    face.wait_ready()
    assert [event.kind for event in face.events()] == ["connected", "ready"]
    face.close()
    assert face.events() == []


def test_asyncio_in_trio(server: Server) -> None:
    trio = pytest.importorskip("trio")
    client = shoal.aio.Client(server.url)

    async def main() -> None:
        with pytest.raises(RuntimeError, match="a task of trio.*trio.to_thread"):
            await client.execute("PING")
        with shoal.Client(server.url) as blocking:
            reply = await trio.to_thread.run_sync(blocking.execute, "PING")
            assert reply == b"PONG"

    trio.run(main)


def test_asyncio_in_curio() -> None:
    assert "curio.run_in_thread" in _why_none("curio")


GEVENT = """
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client = shoal.Client(url)
    [warning] = caught
    assert warning.category is RuntimeWarning, warning
    assert "threadpool" in str(warning.message), warning
    assert warning.filename == "<string>", warning
    warnings.simplefilter("ignore")
    pool = gevent.get_hub().threadpool
    turns = 0
    def turn():
        global turns
        while True:
            turns += 1
            gevent.sleep(0)
    turning = gevent.spawn(turn)
    assert pool.apply(client.execute, ("ECHO", "there")) == b"there"
    before = turns
    def open_later():
        while turns < before + 100:
            gevent.sleep(0)
        pool.apply(other.execute, ("RPUSH", "gate", "open"))
    other = shoal.Client(url)
    opening = gevent.spawn(open_later)
    blocked = pool.apply(
        client.execute, ("BLPOP", "gate", 60), {"may_block": True, "timeout": 60}
    )
    assert blocked == [b"gate", b"open"], blocked
    turning.kill()
    assert client.execute("ECHO", "here") == b"here"
    client.close(drain=1)
    other.close()
"""


@pytest.mark.skipif(importlib.util.find_spec("gevent") is None, reason="no gevent")
def test_gevent(server: Server) -> None:
    """A blocking call holds up all greenlets, unless it is made in gevent's pool."""
    before = "import gevent, gevent.monkey\ngevent.monkey.patch_all()\n"
    end = run_child(GEVENT, server.url, before=before)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors


@pytest.mark.skipif(importlib.util.find_spec("gevent") is None, reason="no gevent")
def test_the_drop_in_leaves_gevent_alone(server: Server) -> None:
    """redis-py's own sockets are patched, ours cannot be; that is logged once."""
    pytest.importorskip("redis")
    script = """
        import shoal.redis
        for _ in range(2):
            with shoal.redis.Redis.from_url(url) as r:
                assert r.ping()
                assert "gevent" in r.shoal_bypass, r.shoal_bypass
                print(r.shoal_bypass)
    """
    before = "import gevent, gevent.monkey\ngevent.monkey.patch_all()\n"
    end = run_child(script, server.url, before=before)
    assert end.code == 0, end.errors
    reason, _ = end.output.splitlines()
    told = f"commands go over redis-py's own connections: {reason}\n"
    assert end.errors == told


# ---- what a client says of itself ----


def test_repr(connect: Connect, server: Server) -> None:
    face = connect(url="redis://nobody:secret@127.0.0.1:1/2", port=server.port)
    name = f"redis://127.0.0.1:{server.port}/2"
    assert repr(face.client).endswith(f"Client {name}, not connected>")
    with pytest.raises(shoal.AuthenticationError):
        face.execute("PING")

    async def shown(client: Any) -> str:
        return repr(client)

    def state() -> str:
        text = face.run(shown) if face.is_async else repr(face.client)
        assert name in text and "secret" not in text
        return text.removesuffix(">").split(", ")[1]

    assert state() == "credentials rejected"
    face.close()
    assert state() == "closed"


def test_repr_of_states(connect: Connect, own_server: Server) -> None:
    face = connect(url=own_server.url)

    async def shown(client: Any) -> str:
        return repr(client)

    def text() -> str:
        return face.run(shown) if face.is_async else repr(face.client)

    assert face.execute("PING") == b"PONG"
    assert ", ready>" in text()
    own_server.kill()
    face.until(lambda: ", connecting>" in text())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("url", "options", "wanted"),
    [
        ("redis://h", {}, "redis://h:6379"),
        ("redis://u:p@h:5/0", {}, "redis://h:5/0"),
        ("valkey://[::1]?db=3", {}, "redis://[::1]:6379/3"),
        ("redis://h:5", {"host": "other"}, "redis://other:5"),
        ("redis://h:5/1", {"port": 6, "db": 4}, "redis://h:6/4"),
        ("redis://h:5", {"unix_path": "/a/b"}, "unix:///a/b"),
        ("unix://u:p@/a/b?db=2", {}, "unix:///a/b?db=2"),
        ("unix:///a/b", {"host": "h"}, "redis://h:6379"),
    ],
)
def test_repr_of_servers(
    kind: Any, url: str, options: dict[str, Any], wanted: str
) -> None:
    assert f"Client {wanted}, not connected>" in repr(kind(url, **options))


def test_repr_of_pipelines(connect: Connect) -> None:
    client = connect().client
    assert repr(client.pipeline().add("PING")) == "<pipeline of 1 commands>"
    assert repr(client.transaction()) == "<transaction of 0 commands>"


# ---- forgotten closes ----


def forget(url: str, face: str, close: bool) -> None:
    """Use a client and drop it."""

    async def main() -> None:
        client = shoal.aio.Client(url, thread=face == "thread")
        await client.execute("PING")
        if close:
            await client.close()

    if face != "sync":
        asyncio.run(main())
        return
    client = shoal.Client(url)
    client.execute("PING")
    if close:
        client.close()


@pytest.mark.parametrize("face", ["sync", "borrowed", "thread"])
def test_a_forgotten_close(server: Server, face: str) -> None:
    gc.collect()
    with pytest.warns(ResourceWarning, match="unclosed .* shoal .*127.0.0.1"):
        forget(server.url, face, close=False)
        gc.collect()


@pytest.mark.parametrize("face", ["sync", "borrowed", "thread"])
def test_no_close_is_forgotten(server: Server, face: str) -> None:
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forget(server.url, face, close=True)
        for kind in KINDS:
            kind(server.url)  # never used
        gc.collect()


# ---- wrong shapes ----


@pytest.mark.parametrize(
    "wrong",
    [
        "PING", b"PING", None, 5, {"PING": 1}, {"PING"}, frozenset(["PING"]),
        bytearray(b"PING"), memoryview(b"PING"), object(),
    ],
    ids=lambda wrong: type(wrong).__name__,
)  # fmt: skip
def test_what_is_no_command(connect: Connect, wrong: Any) -> None:
    face = connect()
    with pytest.raises(shoal.DataError, match="a command is a sequence of its arg"):
        face.execute_many([("PING",), wrong])
    assert face.execute_many([["PING"], ("ECHO", "x"), range(0)[:0] or ["PING"]]) == [
        b"PONG", b"x", b"PONG"
    ]  # fmt: skip
