# SPDX-License-Identifier: MIT
"""Credentials that change: set by the program, or given by a provider."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal._core import Core
from support.faces import Face
from support.server import Server
from support.wire import PATIENCE_S


@pytest.fixture
def user(server: Server) -> Callable[[str], None]:
    """Gives the user `app` one password more, or takes one away."""

    def change(sign_and_password: str) -> None:
        rights = ("on", "+@all", "~*", "&*")
        server.ask("ACL", "SETUSER", "app", *rights, sign_and_password)

    server.ask("ACL", "DELUSER", "app")
    change(">old")
    return change


def whoami(face: Face) -> bytes:
    name: bytes = face.execute("ACL", "WHOAMI")
    return name


def test_a_pair(connect: Connect, user: Any) -> None:
    face = connect(credentials=("app", "old"))
    assert whoami(face) == b"app"
    assert "old" not in repr(face.client)


@pytest.mark.parametrize("rotation", ["successor", "in_place"])
def test_set(connect: Connect, user: Any, rotation: str) -> None:
    face = connect(credentials=("app", "old"), rotation=rotation)
    assert whoami(face) == b"app"
    number = face.execute("CLIENT", "ID")
    kinds: list[str] = []
    user(">new")
    face._do("set_credentials", "app", "new")

    def is_done() -> bool:
        kinds.extend(event.kind for event in face.events())
        wanted = "credentials" if rotation == "in_place" else "ready"
        return kinds.count(wanted) == (1 if rotation == "in_place" else 2)

    face.until(is_done)
    user("<old")
    assert whoami(face) == b"app"
    assert (face.execute("CLIENT", "ID") == number) == (rotation == "in_place")
    assert "lost" not in kinds and "attempt_failed" not in kinds


def test_set_before_the_first_command(connect: Connect, user: Any) -> None:
    face = connect(credentials=("app", "wrong"))
    face._do("set_credentials", "app", "old")
    assert whoami(face) == b"app"


def test_set_after_a_refusal(connect: Connect, user: Any) -> None:
    face = connect(credentials=("app", "wrong"))
    with pytest.raises(shoal.AuthenticationError):
        face.wait_ready()
    face._do("set_credentials", "app", "old")
    face.wait_ready()
    assert whoami(face) == b"app"


def test_set_on_a_closed_client(connect: Connect) -> None:
    face = connect()
    face.execute("PING")
    face.close()
    with pytest.raises(shoal.ClosedError):
        face._do("set_credentials", "app", "old")


class TellingLock:
    """Tells when a thread comes to a lock."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.thread: threading.Thread | None = None
        self.came = threading.Event()

    def __enter__(self) -> None:
        if threading.current_thread() is self.thread:
            self.came.set()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def has_new(face: Face, server: Server) -> None:
    """The client gets a connection, which the former password does not."""
    server.ask("ACL", "SETUSER", "app", "<old")
    connects = face.stats().connects
    server.ask("CLIENT", "KILL", "USER", "app")
    face.until(lambda: face.stats().connects > connects)


def test_set_while_another_thread_opens(
    connect: Connect,
    mode: str,
    server: Server,
    user: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user(">new")
    face = connect(credentials=("app", "old"))
    is_of_loop = mode.endswith(("borrowed", "thread"))
    owner: Any = face.client if is_of_loop else face._sync
    lock = owner._lock = TellingLock(owner._lock)

    def new_core(*args: Any, **options: Any) -> Core:
        core = Core(*args, **options)  # with the former ones
        lock.thread = threading.Thread(
            target=face.client.set_credentials, args=("app", "new")
        )
        lock.thread.start()
        assert lock.came.wait(PATIENCE_S)
        return core

    module = shoal.aio._ports if is_of_loop else shoal.client
    monkeypatch.setattr(module, "Core", new_core)
    face.begin("execute", "PING")()
    assert lock.thread
    lock.thread.join()
    has_new(face, server)


@pytest.mark.parametrize("driver", ["thread", "shared"])
def test_set_between_two_loops(server: Server, user: Any, driver: str) -> None:
    """The connection lives on, and the next loop finds it."""
    user(">new")
    face = Face(f"asyncio-{driver}", server.url, credentials=("app", "old"))
    try:
        assert whoami(face) == b"app"
        face.loop.close()
        assert not face.client._ports
        face.client.set_credentials("app", "new")
        face.loop = asyncio.new_event_loop()
        has_new(face, server)
    finally:
        face.end()


def test_set_while_one_of_two_closes(server: Server, user: Any) -> None:
    user(">new")
    face = Face("asyncio-borrowed", server.url, credentials=("app", "old"))
    other = asyncio.new_event_loop()
    try:
        assert whoami(face) == b"app"
        other.run_until_complete(face.client.execute("PING"))
        face.client._ports[other].core.begin_close(0)
        face.client.set_credentials("app", "new")
        has_new(face, server)
    finally:
        face.end()
        other.close()


def test_a_provider(connect: Connect, user: Any) -> None:
    face = connect(credentials=lambda: ("app", "old"))
    assert whoami(face) == b"app"


def test_a_coroutine_function(connect: Connect, user: Any) -> None:
    async def ask() -> tuple[str, str]:
        await asyncio.sleep(0)
        return "app", "old"

    face = connect(credentials=ask)
    assert whoami(face) == b"app"


def test_it_is_asked_again(connect: Connect, user: Any) -> None:
    passwords = ["old", "new"]
    face = connect(credentials=lambda: ("app", passwords.pop(0), 0.001))
    assert whoami(face) == b"app"
    user(">new")
    face.until(lambda: face.stats().connects == 2)
    user("<old")
    assert whoami(face) == b"app"


def test_a_refusal_asks_again(connect: Connect, user: Any) -> None:
    passwords = ["wrong", "old"]
    face = connect(credentials=lambda: ("app", passwords.pop(0)))
    face.until(lambda: face.stats().connects == 1)
    assert whoami(face) == b"app"


def _raise() -> Any:
    raise LookupError("secret-1")


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (_raise, "LookupError"),
        (lambda: ["app", "secret-2"], "TypeError"),
        (lambda: ("app", "secret-3\ud800"), "ValueError"),
    ],
    ids=["raises", "a list", "a surrogate"],
)
def test_a_provider_that_fails(
    connect: Connect, user: Any, ask: Any, name: str
) -> None:

    face = connect(credentials=ask)
    with pytest.raises(shoal.AuthenticationError) as error:
        face.wait_ready()
    assert f"no credentials: the provider failed: {name}" in str(error.value)
    assert "secret" not in str(error.value)


def test_a_provider_that_is_late(connect: Connect, user: Any) -> None:
    gate = threading.Event()

    def ask() -> tuple[str, str]:
        gate.wait()
        return "app", "old"

    face = connect(credentials=ask, credentials_timeout=0.5)
    try:
        with pytest.raises(shoal.AuthenticationError, match="did not answer in time"):
            face.wait_ready()
    finally:
        gate.set()
    face.until(lambda: face.stats().connects == 1)
    assert whoami(face) == b"app"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"credentials": ("a",)}, TypeError, "must be"),
        ({"credentials": "secret"}, TypeError, "must be"),
        ({"credentials": ("a", 1)}, TypeError, "the password must be a str"),
        ({"credentials": (b"a", "p")}, TypeError, "the user must be a str"),
        ({"credentials": ("a", "p\0")}, ValueError, "NUL"),
        ({"credentials": ("a", "p\ud800")}, ValueError, "the password has a lone"),
        ({"password": "p\ud800"}, ValueError, "a text with a lone surrogate"),
        ({"credentials": ("a", "p", "1")}, ValueError, "seconds"),
        ({"credentials": ("a", "p"), "password": "q"}, ValueError, "either"),
        ({"credentials_timeout": 0}, ValueError, "credentials_timeout"),
        ({"rotation": "never"}, ValueError, "rotation"),
    ],
    ids=str,
)
def test_what_makes_no_sense(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        shoal.Client(**options)
    assert type(raised.value) is error and raised.value.__context__ is None


@pytest.mark.parametrize("password", [None, "secret\ud800"], ids=["none", "surrogate"])
def test_set_makes_no_sense(connect: Connect, password: Any) -> None:
    face = connect()
    with pytest.raises((TypeError, ValueError)) as error:
        face._do("set_credentials", "app", password)
    assert "secret" not in repr(error.value) and error.value.__context__ is None
    assert face.execute("PING") in (b"PONG", "PONG")
