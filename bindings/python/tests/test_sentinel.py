# SPDX-License-Identifier: MIT
"""The primary that sentinels name."""

from typing import Any

import pytest
import shoal
from conftest import Connect
from support.faces import Face
from support.sentinels import NAME, Watched


def port_of(face: Face) -> int:
    """Of the server that it is connected with."""
    return int(face._do("connection").server.rpartition(":")[2])


@pytest.fixture(params=["url", "keywords"])
def face(request: pytest.FixtureRequest, connect: Connect, watched: Watched) -> Face:
    if request.param == "url":
        return connect(url=f"{watched.url}/3?client_name=app", timeout=60)
    return connect(
        url="redis://127.0.0.1:1/3?client_name=app",
        sentinel=NAME,
        sentinels=[watched.address],
        timeout=60,
    )


def test_it_moves_with_the_primary(face: Face, watched: Watched) -> None:
    assert face.execute("INCR", "n") == 1
    info = face.execute("CLIENT", "INFO", decode=True)
    assert " db=3 " in info and " name=app " in info
    assert port_of(face) == watched.primary.port
    assert face.execute("WAIT", 1, 0, may_block=True) == 1
    watched.fail_over()
    face.until(lambda: port_of(face) == watched.primary.port)
    assert face.execute("INCR", "n") == 2
    kinds = [event.kind for event in face._do("events")]
    assert "server_changed" in kinds


def test_how_it_is_shown(face: Face, watched: Watched) -> None:
    assert f"{watched.url}/3" in repr(face.client)


def test_credentials_of_sentinels(connect: Connect, watched: Watched) -> None:
    assert watched.sentinel
    watched.sentinel.ask(
        "ACL", "SETUSER", "watcher", "on", ">9080706050", "+@all", "&*"
    )
    watched.sentinel.ask("ACL", "SETUSER", "default", "off")
    by_url = "?sentinel_user=watcher&sentinel_password=9080706050"
    face = connect(url=watched.url + by_url, timeout=60)
    assert face.execute("SET", "k", "v") == b"OK"
    assert "9080706050" not in repr(face.client)
    face = connect(
        url=f"{watched.url}?sentinel_user=nobody&sentinel_password=9080706050",
        sentinel_username="watcher",
        timeout=60,
    )
    assert face.execute("GET", "k") == b"v"
    assert "9080706050" not in repr(face.client)


PAIR = [("localhost", 26379)]
URL = "redis+sentinel://localhost/mymaster"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sentinel": NAME}, ValueError, "together"),
        ({"sentinels": PAIR}, ValueError, "sentinels without sentinel"),
        ({"sentinel_tls": True}, ValueError, "sentinel_tls without sentinel"),
        ({"sentinel": NAME, "sentinels": []}, ValueError, "there is none"),
        ({"sentinel": NAME, "sentinels": ["a:1"]}, TypeError, "not .host, port"),
        ({"sentinel": NAME, "sentinels": PAIR * 17}, ValueError, "sentinels="),
        ({"sentinel": "a b", "sentinels": PAIR}, ValueError, "sentinel='a b'"),
        ({"sentinel": NAME, "sentinels": PAIR, "host": "a"}, ValueError, "no host"),
        ({"url": URL, "unix_path": "/s"}, ValueError, "no unix_path"),
        ({"url": URL, "sentinels": PAIR}, ValueError, "the URL names"),
        ({"url": URL, "sentinel_username": "u"}, ValueError, "needs a sentinel_pass"),
        ({"url": "redis+sentinel://localhost"}, ValueError, "sentinel"),
        ({"url": f"{URL}?sentinel_user=u"}, ValueError, "sentinel_user"),
    ],
    ids=str,
)
def test_what_makes_no_sense(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        shoal.Client(**options)
