# SPDX-License-Identifier: MIT
"""What the drop-in says of a command is true for all its attempts together; the server
keeps the ledger. And WAIT asks of the writes of its own client."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from redis.asyncio.retry import Retry as AsyncRetry  # noqa: E402
from redis.backoff import AbstractBackoff, NoBackoff  # noqa: E402
from redis.retry import Retry  # noqa: E402
from shoal import Fate  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.server import Server  # noqa: E402

_LOSSES = (redis.ConnectionError, redis.TimeoutError)


class Scene:
    """One of the drop-in's faces, to be called from synchronous code."""

    def __init__(self, is_async: bool) -> None:
        self._is_async = is_async
        self._loop = asyncio.new_event_loop()
        self._clients: list[Any] = []

    def client(self, url: str, retries: int, pause: Any = None, **options: Any) -> Any:
        """A client that repeats so often, after a pause."""
        kind: Any = shoal.redis.Redis
        retry: Any = Retry(pause or NoBackoff(), retries)
        if self._is_async:
            kind = shoal.redis.asyncio.Redis
            retry = AsyncRetry(pause or NoBackoff(), retries)
        self._clients.append(kind.from_url(url, retry=retry, **options))
        return self._clients[-1]

    def do(self, call: Callable[[], Any]) -> Any:
        """The call's outcome, awaited if it has to be."""

        async def act() -> Any:
            outcome = call()
            return await outcome if inspect.isawaitable(outcome) else outcome

        return self._loop.run_until_complete(act()) if self._is_async else call()

    def end(self) -> None:
        """Close all."""
        for client in self._clients:
            self.do(client.aclose if self._is_async else client.close)
        self._loop.close()


@pytest.fixture(params=["sync", "asyncio"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """Each face."""
    scene = Scene(request.param == "asyncio")
    yield scene
    scene.end()


def ways(r: Any) -> dict[str, Callable[[], Any]]:
    """How one INCR can be sent."""
    return {
        "command": lambda: r.incr("n"),
        "transaction": lambda: r.pipeline(True).incr("n").execute(),
    }


@pytest.mark.parametrize("way", ["command", "transaction"])
@pytest.mark.parametrize("repeats", [None, True])
def test_no_reply_comes(
    scene: Scene, proxy: Proxy, server: Server, repeats: bool | None, way: str
) -> None:
    """However often it was tried: it may have run. Once, unless repeats are wanted."""
    r = scene.client(proxy.url, 1, socket_timeout=0.1)
    if repeats is not None:
        r.shoal_repeats_unknown = repeats
    scene.do(r.ping)
    proxy.tell("carry to-client stopped=1")
    with pytest.raises(_LOSSES) as caught:
        scene.do(ways(r)[way])
    assert caught.value.fate is Fate.UNKNOWN
    executed = int(server.ask("GET", "n"))
    assert 1 <= executed <= 2 if repeats else executed == 1
    proxy.tell("cut to-client reset")
    proxy.tell("carry to-client")


class Harm(AbstractBackoff):
    """A pause between two attempts, in which something happens."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def compute(self, failures: int) -> float:
        """No pause."""
        self._act()
        return 0.0


def test_a_later_attempt_disproves_nothing(
    scene: Scene, proxy: Proxy, server: Server
) -> None:
    """The first one ran, and its reply was lost; the second one was never written."""
    harm = Harm(lambda: proxy.tell("cut to-client reset"))
    r = scene.client(proxy.url, 1, harm, socket_timeout=0.1)
    r.shoal_repeats_unknown = True
    scene.do(r.ping)
    proxy.tell("carry to-client stopped=1")  # the next connection has no greeting
    with pytest.raises(_LOSSES) as caught:
        scene.do(lambda: r.incr("n"))
    assert server.ask("GET", "n") == b"1"
    assert caught.value.__cause__.fate is Fate.NOT_EXECUTED
    assert caught.value.fate is Fate.UNKNOWN
    proxy.tell("carry to-client")
    proxy.tell("cut to-client reset")


def test_wait_asks_of_the_writes_before_it(scene: Scene, server: Server) -> None:
    """Over the same connection: another one has no writes to wait for."""
    r = scene.client(server.url, 0)
    scene.do(r.ping)
    with redis.Redis.from_url(server.url) as other, other.monitor() as monitor:
        scene.do(lambda: r.set("k", "v"))
        scene.do(lambda: r.wait(0, 100))
        seen: dict[str, str] = {}
        while "WAIT" not in seen:
            entry = monitor.next_command()
            seen[entry["command"].split()[0]] = entry["client_port"]
    assert seen["SET"] == seen["WAIT"]


def test_wait_waits_longer_than_a_timeout(scene: Scene, server: Server) -> None:
    """There are no replicas: the server answers when its time is over."""
    r = scene.client(server.url, 0, socket_timeout=0.05)
    scene.do(lambda: r.set("k", "v"))
    assert scene.do(lambda: r.wait(1, 150)) == 0
