# SPDX-License-Identifier: MIT
"""The drop-in over TLS: which of redis-py's options the core takes, and what else."""

import ssl
from pathlib import Path
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from support.dropin import Scene, theirs  # noqa: E402
from support.server import Server  # noqa: E402


def kind_of(scene: Scene) -> Any:
    """The class of its clients."""
    return shoal.redis.asyncio.Redis if scene.is_async else shoal.redis.Redis


def ca_file(certificates: Path) -> str:
    return str(certificates / "ca.crt")


def test_it_is_carried(scene: Scene, tls_server: Server, certificates: Path) -> None:
    r = scene.client(tls_server.url, ssl_ca_certs=ca_file(certificates))
    assert scene.do(lambda: r.set("fish", "herring"))
    assert scene.do(lambda: r.get("fish")) == b"herring"
    pipe = r.pipeline().incr("fishes").get("fish")
    assert scene.do(pipe.execute)[1] == b"herring"
    assert scene.do(lambda: r.blpop("no such list", 0.01)) is None
    assert scene.do(r.client_id) > 0
    assert r.shoal_bypass is None and theirs(r) == 0
    assert scene.do(lambda: r.shoal_client.stats().commands) >= 5


def test_by_the_constructor(
    scene: Scene, tls_server: Server, certificates: Path
) -> None:
    r = kind_of(scene)(
        host="127.0.0.1", port=tls_server.port, ssl=True,
        ssl_ca_certs=ca_file(certificates),
        ssl_certfile=str(certificates / "client.crt"),
        ssl_keyfile=str(certificates / "client.key"),
        ssl_min_version=ssl.TLSVersion.TLSv1_2, ssl_ciphers="ECDHE+AESGCM",
    )  # fmt: skip
    scene._clients.append(r)
    assert scene.do(r.ping)
    assert r.shoal_bypass is None and theirs(r) == 0


@pytest.mark.parametrize("requirement", ["none", ssl.CERT_NONE, None])
def test_unchecked(scene: Scene, tls_server: Server, requirement: Any) -> None:
    r = scene.client(tls_server.url, ssl_cert_reqs=requirement)
    assert scene.do(r.ping)
    assert r.shoal_bypass is None and theirs(r) == 0


def test_by_a_url(scene: Scene, tls_server: Server, certificates: Path) -> None:
    query = f"ssl_ca_certs={ca_file(certificates)}&ssl_min_version=771"
    r = scene.client(f"{tls_server.url}/3?{query}")
    assert scene.do(lambda: r.client_info())["db"] == 3
    assert r.shoal_bypass is None and theirs(r) == 0


def test_a_server_that_is_not_trusted(
    scene: Scene, tls_server: Server, certificates: Path
) -> None:
    """redis-py says so in its own words, which programs look for."""
    r = scene.client(tls_server.url, ssl_ca_certs=str(certificates / "other_ca.crt"))
    with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        scene.do(r.ping)
    events = scene.do(lambda: r.shoal_client.events())
    assert "unknown authority" in str(events)


@pytest.mark.parametrize(
    "options",
    [
        {"ssl_check_hostname": False},
        {"ssl_include_verify_flags": [ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN]},
        {"ssl_min_version": ssl.TLSVersion.MINIMUM_SUPPORTED},
        {"ssl_ca_data": "of no use to us"},
    ],
    ids=str,
)
def test_what_the_core_does_not_do(
    scene: Scene, tls_server: Server, certificates: Path, options: dict[str, Any]
) -> None:
    """redis-py's own connections do it."""
    if "ssl_ca_data" in options:
        options = {"ssl_ca_data": (certificates / "ca.crt").read_text()}
    r = scene.client(tls_server.url, ssl_ca_certs=ca_file(certificates), **options)
    assert scene.do(r.ping)
    [name] = options
    assert name in r.shoal_bypass
    assert theirs(r) == 1
