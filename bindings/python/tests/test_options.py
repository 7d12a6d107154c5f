# SPDX-License-Identifier: MIT
"""Options: of the URL, of the keyword, and what is said of wrong ones."""

import math
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal._seconds import NEVER
from support.faces import Face
from support.server import Server


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
@pytest.mark.parametrize(
    "options",
    [
        {"port": 0}, {"port": 65536}, {"db": -1}, {"protocol": 4}, {"timeout": 0},
        {"timeout": -1}, {"timeout": math.nan}, {"offline": "maybe"},
        {"flush": "never"},
        {"flush": "fixed"}, {"flush": "fixed:x"}, {"flush": "off", "budget_us": 5},
        {"integrity": "none"}, {"unix_path": "/x", "host": "h"}, {"backoff": (0, 1)},
        {"stall_timeout": 0}, {"connect_timeout": -1}, {"queued_max": 0},
        {"keepalive": 0.5}, {"keepalive": 3601}, {"reply_depth_max": 0},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        kind(**options)


@pytest.mark.parametrize(
    "url",
    [
        "", "http://h", "redis://h:x", "redis://h/x", "redis://h?nonsense=1",
        "redis://h?decode_responses=perhaps",
    ],
)  # fmt: skip
def test_wrong_urls(url: str) -> None:
    with pytest.raises(ValueError):
        shoal.Client(url)


def test_the_password_of_a_wrong_url_is_not_said() -> None:
    with pytest.raises(ValueError) as caught:
        shoal.Client("redis://user:secret@host:port")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "query", ["password=secret", "nonsense=1&password=secret", "db=x&password=secret"]
)
def test_a_password_in_the_query_is_not_said(query: str) -> None:
    """Others have it there."""
    with pytest.raises(ValueError) as caught:
        shoal.Client(f"redis://host?{query}")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "user:secret@host", "redis:user:secret@host", "redis://:se/secret@host",
        "redis://:secret#1@host", "redis://:secret?x@host", "redis://:secret@[host",
        "http://user:secret@host",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
def test_the_password_of_what_is_no_url_is_not_said(kind: Any, url: str) -> None:
    with pytest.raises(ValueError) as caught:
        kind(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
@pytest.mark.parametrize("url", [None, 6379, b"redis://host", ["redis://host"]])
def test_what_is_no_url_at_all(kind: Any, url: Any) -> None:
    with pytest.raises(TypeError, match="the URL must be a str"):
        kind(url)


@pytest.mark.parametrize("name", ["host", "unix_path", "password", "client_name"])
def test_a_text_is_not_cut(name: str) -> None:
    """C would end it at the NUL."""
    options: dict[str, Any] = {name: "before\0behind"}
    with pytest.raises(ValueError, match="NUL"):
        shoal.Client(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"password": b"x"}, {"port": "6379"}, {"settle": "no"}, {"port": True},
        {"db": False}, {"queued_max": 1.5}, {"decode_responses": "no"}, {"host": 5},
        {"decode_responses": 1}, {"flush": 3}, {"offline": []}, {"encoding": 3},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
def test_wrong_types(kind: Any, options: dict[str, Any]) -> None:
    [name] = options
    with pytest.raises(TypeError, match=f"{name} must be"):
        kind(**options)


def test_integers_of_others() -> None:
    class Port:
        def __index__(self) -> int:
            return 1234

    assert ":1234" in repr(shoal.Client(port=Port()))  # type: ignore[call-overload]


def test_a_user_without_a_password() -> None:
    with pytest.raises(ValueError, match="a username needs a password"):
        shoal.Client(username="reader")


@pytest.mark.parametrize("name", ["host", "port", "unix_path", "username", "password"])
def test_none_means_the_default(name: str) -> None:
    options: dict[str, Any] = {name: None}
    assert repr(shoal.Client(**options)) == repr(shoal.Client())


@pytest.mark.parametrize("timeout", [1e300, 10**400])
def test_times_beyond_all_numbers(timeout: float) -> None:
    with pytest.raises(ValueError):
        shoal.Client(timeout=timeout)


def test_unknown_names() -> None:
    with pytest.raises(TypeError, match="max_connections"):
        shoal.Client(max_connections=3)  # type: ignore[call-overload]
    with pytest.raises(LookupError):
        shoal.Client(encoding="no such encoding")


def test_keywords_override_the_url(connect: Connect, server: Server) -> None:
    face = connect(
        url="redis://127.0.0.1:1/1", host="127.0.0.1", port=server.port, db=2
    )
    face.execute("SET", "k", "v")
    assert server.ask("DBSIZE") == 0
    assert face.execute("DBSIZE") == 1


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("queued_max=8", {}),
        ("queued_max=8", {"inflight_max": 1}),
        ("queued_max=8", {"outstanding_bytes_max": 1 << 20}),
        ("inflight_max=1", {"queued_max": 8}),
    ],
)
def test_a_keyword_leaves_its_neighbours_in_the_url(
    connect: Connect, server: Server, query: str, options: dict[str, Any]
) -> None:
    """C sets them together."""
    face = connect(url=f"{server.url}?{query}", **options)
    assert face.execute_many([("PING",)] * 8, contiguous=True) == [b"PONG"] * 8
    with pytest.raises(shoal.DataError):
        face.execute_many([("PING",)] * 16, contiguous=True)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("reply_elements_max=100", {"reply_bytes_max": 1 << 20}),
        ("reply_bytes_max=2048", {"reply_elements_max": 1 << 20}),
        ("", {"reply_elements_max": 100}),
        ("reply_elements_max=100", {"reply_depth_max": 5}),
    ],
)
def test_bounds_of_replies(
    connect: Connect, server: Server, query: str, options: dict[str, Any]
) -> None:
    face = connect(url=f"{server.url}?{query}", **options)
    script = "local r = {} for i = 1, tonumber(ARGV[1]) do r[i] = i end return r"
    assert len(face.execute("EVAL", script, 0, 90)) == 90
    with pytest.raises(shoal.RedisError):
        face.execute("EVAL", script, 0, 1000)
    assert face.execute("PING") == b"PONG"


def test_a_timeout_of_never_in_the_url(connect: Connect, server: Server) -> None:
    """It holds in Python, too: for commands that wait there for room."""
    face = connect(url=f"{server.url}?timeout_ms=never")
    assert face.client._options.timeout_us == NEVER
    assert face.execute("PING") == b"PONG"


def test_source_address(connect: Connect, own_server: Server) -> None:
    own_server.ask("CONFIG", "SET", "protected-mode", "no")  # for other addresses
    url = own_server.url
    for face in (
        connect(url=url, source_address="127.0.0.2"),
        connect(url=f"{url}?source_address=127.0.0.3"),
    ):
        info = face.execute("CLIENT", "INFO", decode=True)
        assert " addr=127.0.0.2:" in info or " addr=127.0.0.3:" in info
    with pytest.raises(ValueError, match="source_address"):
        shoal.Client(source_address="localhost")


@pytest.mark.parametrize("is_url", [False, True])
def test_a_path_that_is_too_long(is_url: bool) -> None:
    path = "/" + "x" * 107
    with pytest.raises(ValueError, match="has 108 bytes; this system allows 107"):
        if is_url:
            shoal.Client(f"unix://{path}")
        else:
            shoal.Client(unix_path=path)


@pytest.mark.parametrize("seconds", [None, 0, 1, 2.5, 3600])
def test_keepalive(connect: Connect, seconds: Any) -> None:
    assert connect(keepalive=seconds).execute("PING") == b"PONG"


def test_database_and_name(connect: Connect, server: Server) -> None:
    face = connect(url=f"{server.url}/3?client_name=by-url")
    info = face.execute("CLIENT", "INFO", decode=True)
    assert " db=3 " in info and " name=by-url " in info
    named = connect(db=4, client_name="by-keyword")
    info = named.execute("CLIENT", "INFO", decode=True)
    assert " db=4 " in info and " name=by-keyword " in info


def test_protocol(connect: Connect, protocol: int) -> None:
    info = connect(protocol=protocol).execute("CLIENT", "INFO", decode=True)
    assert f" resp={protocol}" in info


def test_unix_socket(connect: Connect, server: Server) -> None:
    assert connect(unix_path=server.path).execute("PING") == b"PONG"
    assert connect(url=f"unix://{server.path}").execute("PING") == b"PONG"
    queried = connect(url=f"unix://{server.path}?db=3&decode_responses=yes")
    assert " db=3 " in queried.execute("CLIENT", "INFO")
    info = connect(unix_path=server.path).execute("CLIENT", "INFO", decode=True)
    assert server.path in info


def test_decode_in_the_url(connect: Connect, server: Server) -> None:
    face = connect(url=f"{server.url}?decode_responses=true&encoding=latin-1")
    assert face.execute("ECHO", "\u00ff") == "\u00ff"
    overridden = connect(
        url=f"{server.url}?decode_responses=yes", decode_responses=False
    )
    assert overridden.execute("PING") == b"PONG"


def test_users(connect: Connect, server: Server) -> None:
    server.ask("ACL", "SETUSER", "reader", "on", ">p:w@d", "+@all", "~*")
    for face in (
        connect(username="reader", password="p:w@d"),
        connect(url=f"redis://reader:p%3Aw%40d@127.0.0.1:{server.port}"),
    ):
        assert face.execute("ACL", "WHOAMI") == b"reader"


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed", "asyncio-thread"])
def test_wrong_passwords(connect: Connect) -> None:
    wrong = connect(username="reader", password="hunter2")
    with pytest.raises(shoal.AuthenticationError) as caught:
        wrong.execute("PING")  # may wait until the next attempt, 1 s
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    assert "hunter2" not in repr(caught.value)
    assert "hunter2" not in repr(wrong.events()) + repr(wrong.client)


def writes_of(connect: Connect, count: int, **options: Any) -> int:
    """How many writes so many commands of one tick take."""
    face = connect(**options)
    face.wait_ready()
    before = face.stats().writes
    face.execute_many([("PING",)] * count)
    writes: int = face.stats().writes - before
    return writes


def test_commands_leave_together(connect: Connect) -> None:
    assert writes_of(connect, 100) <= 10
    assert writes_of(connect, 100, flush="fixed:1000") <= 10
    assert writes_of(connect, 100, budget_us=1000) <= 10


@pytest.mark.parametrize("integrity", ["shapes", "detect", "strict"])
def test_integrity(connect: Connect, integrity: str) -> None:
    face = connect(integrity=integrity)
    for number in range(20):
        assert face.execute("ECHO", number) == str(number).encode()
    if integrity == "detect":
        face.pass_time(0.11)  # a fence travels with what comes so late
    face.execute("PING")
    fences = face.stats().fences
    assert fences >= {"shapes": 0, "detect": 1, "strict": 20}[integrity]
    assert fences <= {"shapes": 0, "detect": 20, "strict": 22}[integrity]


def test_maintenance_is_asked_for(own_server: Server, mode: str) -> None:
    """This server does not know the question, and counts it."""
    errors = []
    for asks in (False, True):
        own_server.ask("CONFIG", "RESETSTAT")
        face = Face(mode, own_server.url, maintenance=asks)
        face.execute("PING")
        errors.append(own_server.errors())
        face.end()
    assert errors[1] == errors[0] + 1


def test_offline_queue_waits_for_the_server(own_server: Server, mode: str) -> None:
    own_server.kill()
    face = Face(mode, own_server.url, backoff=(0.01, 0.05), offline="queue")
    failing = Face(mode, own_server.url, offline="fail")
    with pytest.raises(shoal.ConnectionError) as caught:
        failing.execute("INCR", "n")
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    with pytest.raises(shoal.TimeoutError) as late:
        face.execute("INCR", "n", timeout=0.05)
    assert late.value.fate is shoal.Fate.NOT_EXECUTED
    assert own_server.start()
    assert face.execute("INCR", "n") == 1
    face.end()
    failing.end()


def test_all_options_are_accepted(connect: Connect) -> None:
    face = connect(
        timeout=None, connect_timeout=1.0, handshake_timeout=2.0, stall_timeout=5.0,
        ping_interval=10.0, probe_interval=30.0, backoff=(0.01, 1.0), attempts_max=2,
        offline="queue",
        flush="auto", budget_us=100, settle=False, bulk_lane=True,
        maintenance=True, connections=2, order="strict",
        topology="standalone",
        queued_max=100, inflight_max=10,
        outstanding_bytes_max=1 << 20, reply_bytes_max=1 << 20, username=None,
        password=None, client_name=None,
    )  # fmt: skip
    assert face.execute("PING") == b"PONG"


def test_replies_have_a_limit(connect: Connect) -> None:
    face = connect(reply_bytes_max=4096, backoff=(0.001, 0.01))
    assert len(face.execute("ECHO", "x" * 4000)) == 4000
    with pytest.raises(shoal.DesyncError) as caught:
        face.execute("ECHO", "x" * 5000)
    assert caught.value.fate in (shoal.Fate.UNKNOWN, shoal.Fate.REPLY_LOST)
    assert face.execute("PING") == b"PONG"
