# SPDX-License-Identifier: MIT
"""What the drop-in does after it lost the connection of a lease: the next command has
another one."""

import asyncio
from typing import Any

import pytest

redis = pytest.importorskip("redis")

from shoal import Fate  # noqa: E402
from support.dropin import Scene  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.server import Server  # noqa: E402

_LOSSES = (redis.ConnectionError, redis.TimeoutError)


def select_3(scene: Scene, r: Any) -> None:
    """From now on the server knows something of the client's connection."""
    scene.do(lambda: r.execute_command("SELECT", 3))


def test_no_call_answers_for_an_earlier_one(scene: Scene, proxy: Proxy) -> None:
    """A single connection serves many calls; each has a fate of its own."""
    r = scene.client(proxy.url, 1, socket_timeout=2, single_connection_client=True)
    select_3(scene, r)
    proxy.tell("carry to-client stopped=1")
    with pytest.raises(_LOSSES) as lost:
        scene.do(lambda: r.incr("n"))
    assert lost.value.fate is Fate.UNKNOWN
    with pytest.raises(redis.DataError) as wrong:
        scene.do(lambda: r.execute_command("SET", "k", object()))
    assert wrong.value.fate is Fate.NOT_EXECUTED
    proxy.tell("cut to-client reset")
    proxy.tell("carry to-client")
    assert scene.do(lambda: r.client_info())["db"] == 0


def test_a_loss_in_flight(scene: Scene, proxy: Proxy, server: Server) -> None:
    """It is told once; without any retry, the client then goes on."""
    r = scene.client(proxy.url, single_connection_client=True)
    select_3(scene, r)
    popped = scene.begin(lambda: r.blpop("empty", 0))
    while b"blocked_clients:0" in server.ask("INFO", "clients"):
        scene.do(lambda: asyncio.sleep(0) if scene.is_async else None)
    proxy.tell("cut to-client reset")
    with pytest.raises(redis.ConnectionError) as lost:
        popped()
    assert lost.value.fate is Fate.UNKNOWN
    assert scene.do(lambda: r.client_info())["db"] == 0


def test_a_loss_while_nobody_used_it(scene: Scene, proxy: Proxy) -> None:
    """What other commands share is checked before its use, as redis-py's pool does."""
    r = scene.client(proxy.url)
    scene.do(lambda: r.client_setname("mine"))
    assert scene.do(r.client_getname) == "mine"
    proxy.tell("cut to-client reset")
    assert scene.do(r.client_getname) is None
    select_3(scene, r)
    assert scene.do(lambda: r.client_info())["db"] == 3
    proxy.tell("cut to-client reset")
    assert scene.do(lambda: r.client_info())["db"] == 0
