# SPDX-License-Identifier: MIT
"""The drop-in's clients of a primary that sentinels name."""

from pathlib import Path
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from support.dropin import Scene, theirs, until  # noqa: E402
from support.sentinels import NAME, Watched  # noqa: E402


def manager_of(scene: Scene, watched: Watched, **options: Any) -> Any:
    """redis-py's Sentinel, or rather ours."""
    module: Any = shoal.redis.asyncio if scene.is_async else shoal.redis
    return module.Sentinel([watched.address], **options)


def master_of(scene: Scene, manager: Any, **options: Any) -> Any:
    scene._clients.append(manager.master_for(NAME, **options))
    return scene._clients[-1]


def test_it_moves_with_the_primary(scene: Scene, watched: Watched) -> None:
    options: dict[str, Any] = {"socket_timeout": 60, "retry": scene.retry(3)}
    r = master_of(scene, manager_of(scene, watched, **options), db=2)
    p = r.pubsub()
    scene.do(lambda: p.subscribe("c"))
    assert scene.do(lambda: p.get_message(timeout=60))["type"] == "subscribe"
    assert scene.do(lambda: r.incr("n")) == 1
    assert r.shoal_bypass is None and theirs(r) == 0
    assert scene.do(lambda: r.wait(1, 0)) == 1
    watched.fail_over()
    port = str(watched.primary.port)
    until(lambda: scene.do(r.shoal_client.connection).server.endswith(port))
    assert scene.do(lambda: r.incr("n")) == 2
    assert " db=2 " in watched.primary.ask("CLIENT", "LIST").decode()
    message = scene.do(lambda: p.get_message(timeout=60))
    assert message["type"] == "subscribe"  # once more: the new primary has confirmed it
    assert scene.do(lambda: r.publish("c", "x")) == 1
    assert scene.do(lambda: p.get_message(timeout=60))["data"] == b"x"
    assert theirs(r) == 0 and p.shoal_bypass is None


def test_replicas_keep_their_connections(scene: Scene, watched: Watched) -> None:
    r = manager_of(scene, watched).slave_for(NAME)
    scene._clients.append(r)
    assert scene.do(lambda: r.get("k")) is None
    assert r.shoal_bypass == "the pool is one of replicas"
    r = manager_of(scene, watched).replica_for(NAME)
    scene._clients.append(r)
    assert scene.do(lambda: r.get("k")) is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"min_other_sentinels": 1}, "the parameter min_other_sentinels"),
        ({"force_master_ip": "127.0.0.1"}, "the parameter force_master_ip"),
        (
            {"sentinel_kwargs": {"ssl": True}},
            "sentinels with TLS, and a primary without",
        ),
        (
            {"sentinel_kwargs": {"redis_connect_func": print}},
            "the parameter redis_connect_func",
        ),
    ],
    ids=["others", "forced", "tls", "function"],
)
def test_what_is_not_carried(
    scene: Scene, watched: Watched, options: dict[str, Any], reason: str
) -> None:
    r = master_of(scene, manager_of(scene, watched, **options))
    assert r.shoal_bypass == reason


@pytest.mark.parametrize("name", ["discover_master", "check_master_state"])
def test_a_way_of_its_own(scene: Scene, watched: Watched, name: str) -> None:
    module: Any = shoal.redis.asyncio if scene.is_async else shoal.redis

    def found(self: Any, *args: Any) -> Any:
        return getattr(super(kind, self), name)(*args)

    kind = type("Nat", (module.Sentinel,), {name: found})
    r = master_of(scene, kind([watched.address]))
    assert r.shoal_bypass == f"Nat has its own {name}()"
    assert scene.do(lambda: r.set("k", "v"))


def test_without_sentinels(scene: Scene, watched: Watched) -> None:
    manager = manager_of(scene, watched)
    manager.sentinels = []
    reason = "sentinels that are no clients of redis-py's"
    assert master_of(scene, manager).shoal_bypass == reason


def test_tls(scene: Scene, watched: Watched, certificates: Path) -> None:
    """Nobody speaks it here; the core would, if the same certificates are trusted."""
    files = {"ssl_ca_certs": str(certificates / "ca.crt")}
    tls = {"ssl": True, **files}
    manager = manager_of(scene, watched, sentinel_kwargs=tls, **tls)
    assert master_of(scene, manager).shoal_bypass is None
    manager = manager_of(scene, watched, sentinel_kwargs={"ssl": True}, **tls)
    reason = "sentinels with other parameters of TLS than the primary"
    assert master_of(scene, manager).shoal_bypass == reason


def test_sentinels_that_differ(scene: Scene, watched: Watched) -> None:
    manager = manager_of(scene, watched)
    other = manager_of(scene, watched, sentinel_kwargs={"password": "x"})
    manager.sentinels += other.sentinels
    r = master_of(scene, manager)
    assert r.shoal_bypass == "sentinels with different parameters"


def test_credentials_of_sentinels(scene: Scene, watched: Watched) -> None:
    assert watched.sentinel
    watched.sentinel.ask("CONFIG", "SET", "requirepass", "p@ss")
    watched.sentinel.ask("ACL", "SETUSER", "default", "resetpass", ">p@ss")
    manager = manager_of(scene, watched, sentinel_kwargs={"password": "p@ss"})
    r = master_of(scene, manager)
    assert scene.do(lambda: r.set("k", "v"))
    assert r.shoal_bypass is None and theirs(r) == 0
