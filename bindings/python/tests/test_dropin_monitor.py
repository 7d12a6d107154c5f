# SPDX-License-Identifier: MIT
"""`monitor()` of the drop-in: redis-py's lines, over a lease."""

import asyncio
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from shoal.redis._lane import Places  # noqa: E402
from support.dropin import Scene, has_leases, theirs  # noqa: E402
from support.server import Server  # noqa: E402


class Watched:
    """A monitor of either face, in a `with` block."""

    def __init__(self, scene: Scene, r: Any) -> None:
        self.scene, self.monitor = scene, r.monitor()

    def __enter__(self) -> "Watched":
        enter = "__aenter__" if self.scene.is_async else "__enter__"
        self.scene.do(getattr(self.monitor, enter))
        return self

    def __exit__(self, *_: object) -> None:
        leave = getattr(
            self.monitor, "__aexit__" if self.scene.is_async else "__exit__"
        )
        self.scene.do(lambda: leave(None, None, None))

    def command_with(self, word: str) -> Any:
        """The next command that has this word in it."""
        while True:
            entry = self.scene.do(self.monitor.next_command)
            if word in entry["command"]:
                return entry


@pytest.mark.parametrize("decode_responses", [False, True])
def test_what_it_says_is_what_redis_py_says(
    scene: Scene, server: Server, decode_responses: bool
) -> None:
    r = scene.client(server.url, decode_responses=decode_responses)
    words = ("SET", 'the "key"', "a\r\n\xff \\ b")
    with (
        Watched(scene, r) as watched,
        redis.Redis.from_url(server.url) as plain,
        plain.monitor() as their_monitor,
    ):
        scene.do(lambda: r.execute_command(*words))
        scene.do(lambda: r.eval("return redis.call('EXISTS', KEYS[1])", 1, "in lua"))
        for word in "the", "in lua", "in lua":
            ours = watched.command_with(word)
            their = their_monitor.next_command()
            while word not in their["command"]:
                their = their_monitor.next_command()
            assert ours == their
        assert ours["client_type"] == "lua"
    assert theirs(r) == 0 and has_leases(scene, r, 0)


def test_listen(server: Server) -> None:
    with shoal.redis.Redis.from_url(server.url) as r, r.monitor() as monitor:
        r.set("k", "v")
        while not next(monitor.listen())["command"].startswith("SET"):
            pass

    async def main() -> None:
        async with (
            shoal.redis.asyncio.Redis.from_url(server.url) as r,
            r.monitor() as monitor,
        ):
            await r.set("k", "v")
            async for entry in monitor.listen():
                if entry["command"].startswith("SET"):
                    break

    asyncio.run(main())


def test_a_silence(scene: Scene, own_server: Server) -> None:
    """redis-py's socket would have a timeout."""
    r = scene.client(own_server.url, socket_timeout=60)
    with Watched(scene, r) as watched:
        watched.monitor.connection.timeout = 0.05  # but it connects without haste
        with pytest.raises(redis.TimeoutError, match="no line came within 0.05 s"):
            while True:
                scene.do(watched.monitor.next_command)


def test_a_lost_connection(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    with Watched(scene, r) as watched:
        server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        with pytest.raises(redis.ConnectionError):
            watched.command_with("nothing has this")
    assert scene.do(r.ping)


def test_the_server_refuses(scene: Scene, server: Server) -> None:
    server.ask("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all", "-monitor")
    try:
        r = scene.client(server.url, username="few", password="secret")
        with pytest.raises(redis.exceptions.NoPermissionError), Watched(scene, r):
            pass
        assert theirs(r) == 0
    finally:
        server.ask("ACL", "DELUSER", "few")


def test_redis_pys_connection_where_no_lease_is(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    scene.do(r.ping)
    vars(r.connection_pool)["__shoal_lane__"]._places = Places()
    with Watched(scene, r) as watched:
        scene.do(lambda: r.set("k", "v"))
        assert watched.command_with("SET")
        assert theirs(r) == 1
    own = scene.client(server.url, socket_timeout=100_000)
    assert own.shoal_bypass
    with Watched(scene, own) as watched:
        scene.do(lambda: r.set("k", "v"))
        assert watched.command_with("SET")


def test_no_server(scene: Scene, own_server: Server) -> None:
    r = scene.client(own_server.url)
    own_server.stop()
    with pytest.raises(redis.ConnectionError), Watched(scene, r):
        pass


def test_two_at_a_time(scene: Scene, server: Server) -> None:
    r = scene.client(server.url)
    with Watched(scene, r) as one, Watched(scene, r) as other:
        scene.do(lambda: r.set("k", "v"))
        assert one.command_with("SET") == other.command_with("SET")
    assert has_leases(scene, r, 0)
