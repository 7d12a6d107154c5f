# SPDX-License-Identifier: MIT
"""Exceptions: one hierarchy, with what is known about the command's execution."""

import asyncio
import builtins
import pickle
import re

import pytest
import shoal
from conftest import Connect
from shoal import exceptions
from support.faces import Face
from support.server import Server

CODES = {
    "WRONGTYPE": exceptions.WrongTypeError,
    "NOSCRIPT": exceptions.NoScriptError,
    "EXECABORT": exceptions.ExecAbortError,
    "READONLY": exceptions.ReadOnlyError,
    "NOPERM": exceptions.NoPermissionError,
    "OOM": exceptions.OutOfMemoryError,
    "LOADING": exceptions.BusyLoadingError,
    "BUSY": exceptions.BusyScriptError,
    "BUSYGROUP": exceptions.BusyGroupError,
    "MISCONF": exceptions.MisconfiguredError,
    "MOVED": exceptions.MovedError,
    "ASK": exceptions.AskError,
    "TRYAGAIN": exceptions.TryAgainError,
    "CLUSTERDOWN": exceptions.ClusterDownError,
    "CROSSSLOT": exceptions.ClusterCrossSlotError,
    "ERR": exceptions.ResponseError,
    "UNHEARDOF": exceptions.ResponseError,
}


@pytest.mark.parametrize("code", CODES)
def test_error_replies(connect: Connect, code: str) -> None:
    face = connect()
    text = f"{code} some words"
    script = "return redis.error_reply(ARGV[1])"
    with pytest.raises(shoal.ResponseError) as caught:
        face.execute("EVAL", script, 0, text)
    assert type(caught.value) is CODES[code]
    assert (caught.value.text, caught.value.code) == (text, code)
    assert str(caught.value) == text
    assert caught.value.fate is shoal.Fate.REPLIED
    assert type(shoal.from_reply(text)) is CODES[code]


def test_errors_of_the_server_itself(face: Face) -> None:
    face.execute("SET", "text", "x")
    with pytest.raises(shoal.WrongTypeError):
        face.execute("LPUSH", "text", 1)
    with pytest.raises(shoal.NoScriptError):
        face.execute("EVALSHA", "0" * 40, 0)
    with pytest.raises(shoal.ResponseError, match="unknown command"):
        face.execute("NONSENSE")
    assert face.execute("PING") == b"PONG"


def test_text_of_the_server_is_not_trusted(face: Face) -> None:
    script = b"return redis.error_reply(ARGV[1])"
    with pytest.raises(shoal.ResponseError) as caught:
        face.execute("EVAL", script, 0, b"ERR \xff\xfe %s {0}")
    assert caught.value.code == "ERR"
    assert "%s {0}" in caught.value.text


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (shoal.ConnectionError, [builtins.ConnectionError, OSError]),
        (shoal.TimeoutError, [builtins.TimeoutError]),
        (shoal.AuthenticationError, [shoal.ConnectionError]),
        (shoal.NoConnectionError, [shoal.ConnectionError, shoal.TimeoutError]),
        (shoal.NoConnectionError, [builtins.ConnectionError, builtins.TimeoutError]),
        (shoal.BusyLoadingError, [shoal.ConnectionError, shoal.ResponseError]),
        (shoal.DesyncError, [shoal.ConnectionError]),
        (shoal.ClosedError, [shoal.ConnectionError]),
        (shoal.ForkError, [shoal.ConnectionError]),
        (shoal.RefusedError, [shoal.DataError]),
        (shoal.FullError, [shoal.RedisError]),
        (shoal.MovedError, [shoal.ClusterError, shoal.ResponseError]),
    ],
)
def test_hierarchy(error: type, bases: list[type]) -> None:
    for base in [*bases, shoal.RedisError]:
        assert issubclass(error, base)
    assert not issubclass(shoal.TimeoutError, asyncio.CancelledError)


@pytest.mark.parametrize("name", exceptions.__all__)
def test_public_names(name: str) -> None:
    assert getattr(shoal, name) is getattr(exceptions, name)
    assert getattr(exceptions, name).__doc__


def test_exceptions_can_be_sent_to_other_processes() -> None:
    error = shoal.from_reply("WRONGTYPE no")
    lost = shoal.ConnectionError("lost")
    lost.fate = shoal.Fate.UNKNOWN
    for before in (error, lost):
        after = pickle.loads(pickle.dumps(before))
        assert type(after) is type(before)
        assert (str(after), after.fate) == (str(before), before.fate)
    assert pickle.loads(pickle.dumps(error)).text == "WRONGTYPE no"


def test_refused_connection(connect: Connect) -> None:
    face = connect(url="redis://127.0.0.1:1", timeout=1)
    face.until(lambda: face.stats().attempts_failed > 0)
    with pytest.raises(shoal.TimeoutError) as caught:
        face.execute("PING")
    assert isinstance(caught.value, shoal.ConnectionError)
    assert re.fullmatch(
        r"no connection to 127\.0\.0\.1:1 for \d+(\.\d)? m?s: Connection refused"
        r" \(\d+ attempts?\); the command was never sent.*",
        str(caught.value),
    )
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    failing = connect(url="redis://127.0.0.1:1", offline="fail")
    with pytest.raises(shoal.ConnectionError) as lost:
        failing.execute("PING")
    assert lost.value.fate is shoal.Fate.NOT_EXECUTED


def test_not_ready(connect: Connect) -> None:
    face = connect(url="redis://127.0.0.1:1", backoff=(0.001, 0.002))
    face.until(lambda: face.stats().attempts_failed > 0)
    with pytest.raises(shoal.NoConnectionError) as caught:
        face.wait_ready(1)
    assert str(caught.value) == (
        "not ready in time: connect 127.0.0.1:1: Connection refused"
    )
    assert caught.value.fate is shoal.Fate.NOT_EXECUTED


def test_not_ready_for_the_password(connect: Connect, server: Server) -> None:
    face = connect(url=f"redis://nobody:wrong@127.0.0.1:{server.port}")
    with pytest.raises(shoal.AuthenticationError, match="WRONGPASS"):
        face.wait_ready()
