# SPDX-License-Identifier: MIT
"""Several addresses of one server: in the URL, and as an option."""

import functools
import socket
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.proxy import Proxy
from support.server import Server


def nobody() -> int:
    """A port at which no server listens, and none of the tests will."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_in_the_url(connect: Connect, server: Server) -> None:
    url = f"redis://127.0.0.1:{nobody()},127.0.0.1:{server.port}/3?client_name=many"
    face = connect(url=url)
    info = face.execute("CLIENT", "INFO", decode=True)
    assert " db=3 " in info and " name=many " in info
    assert url.partition("?")[0] in repr(face.client)


def test_as_an_option(connect: Connect, server: Server) -> None:
    face = connect(
        url="redis://127.0.0.1:1/3",
        addresses=[("127.0.0.1", nobody()), server.path, ("127.0.0.1", server.port)],
    )
    info = face.execute("CLIENT", "INFO", decode=True)
    assert server.path in info and " db=3 " in info
    assert server.path in repr(face.client)


def test_credentials_in_a_url_of_several(connect: Connect, server: Server) -> None:
    server.ask("ACL", "SETUSER", "reader", "on", ">p:w@d", "+@all", "~*")
    hosts = f"127.0.0.1:{nobody()},127.0.0.1:{server.port}"
    face = connect(url=f"redis://reader:p%3Aw%40d@{hosts}", timeout=4)
    assert face.execute("ACL", "WHOAMI") == b"reader"
    assert "p%3A" not in repr(face.client)


def test_the_next_one_takes_over(
    connect: Connect, server: Server, own_server: Server
) -> None:
    face = connect(
        url=server.url,
        addresses=[("127.0.0.1", own_server.port), ("127.0.0.1", server.port)],
        backoff=(0.001, 0.01),
    )
    face.execute("SET", "k", "first")
    own_server.kill()
    face.until(lambda: face.stats().connects > 1)
    assert face.execute("GET", "k") is None
    assert face._do("connection").server.endswith(str(server.port))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"addresses": []}, ValueError, "there is none"),
        ({"addresses": "localhost:6379"}, TypeError, "must be a sequence"),
        ({"addresses": [("localhost", "6379")]}, TypeError, "neither"),
        ({"addresses": [("localhost",)]}, TypeError, "neither"),
        ({"addresses": [6379]}, TypeError, "neither"),
        ({"addresses": [("localhost", 1 << 70)]}, ValueError, "out of range"),
        ({"addresses": [("localhost", 0)]}, ValueError, "addresses"),
        ({"addresses": [("localhost", 1)] * 17}, ValueError, "addresses"),
        ({"addresses": ["/" + "x" * 107]}, ValueError, "has 108 bytes"),
        ({"addresses": [("a", 1)], "host": "b"}, ValueError, "or addresses"),
        ({"addresses": [("a", 1)], "unix_path": "/b"}, ValueError, "or addresses"),
        ({"url": "redis://a,b", "port": 1}, ValueError, "host and port together"),
    ],
    ids=str,
)
def test_what_makes_no_sense(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        shoal.Client(**options)


def test_a_server_says_that_it_moves(connect: Connect, proxy: Proxy) -> None:
    """It names nobody: the same name leads elsewhere, or back."""
    face = connect(url=proxy.url)

    def has_connected(times: int) -> bool:
        return bool(face.stats().connects == times)

    face.execute("SET", "n", 0)
    for number in range(3):
        moving = rf"$6\r\nMOVING\r\n:{number}\r\n:0\r\n_\r\n"
        proxy.tell(f'inject to-client ">4\\r\\n{moving}"')
        face.until(functools.partial(has_connected, number + 2))
        assert face.execute("INCR", "n") == number + 1
    kinds = [event.kind for event in face.events()]
    assert kinds.count("maintenance") == 3
    assert "lost" not in kinds
