# SPDX-License-Identifier: MIT
"""What the drop-in says of a command is true for all its attempts together; the server
keeps the ledger. And WAIT asks of the writes of its own client."""

from collections.abc import Callable
from typing import Any

import pytest

redis = pytest.importorskip("redis")

from redis.backoff import AbstractBackoff  # noqa: E402
from shoal import Fate  # noqa: E402
from support.dropin import Scene, until  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.server import Server  # noqa: E402

_LOSSES = (redis.ConnectionError, redis.TimeoutError)


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
    r = scene.client(proxy.url, 1, socket_timeout=1)
    if repeats is not None:
        r.shoal_repeats_unknown = repeats
    scene.do(r.ping)
    proxy.tell("carry to-client stopped=1")
    fate = Fate.NOT_EXECUTED
    while fate is Fate.NOT_EXECUTED:  # a busy machine has not written it in time
        with pytest.raises(_LOSSES) as caught:
            scene.do(ways(r)[way])
        fate = caught.value.fate
    assert fate is Fate.UNKNOWN
    until(lambda: server.ask("GET", "n") is not None)
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
    r = scene.client(proxy.url, 1, harm, socket_timeout=2.5)
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
    r = scene.client(server.url, 0, socket_timeout=2)
    scene.do(lambda: r.set("k", "v"))
    assert scene.do(lambda: r.wait(1, 2200)) == 0
