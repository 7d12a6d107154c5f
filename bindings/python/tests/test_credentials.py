# SPDX-License-Identifier: MIT
"""Credentials that change: set by the program, or given by a provider."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
import shoal
from conftest import Connect
from support.faces import Face
from support.server import Server


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


@pytest.mark.parametrize("how", ["raises", "returns"])
def test_a_provider_that_fails(connect: Connect, user: Any, how: str) -> None:
    def ask() -> Any:
        if how == "raises":
            raise LookupError("secret-1")
        return ["app", "secret-2"]

    face = connect(credentials=ask)
    with pytest.raises(shoal.AuthenticationError) as error:
        face.wait_ready()
    name = "LookupError" if how == "raises" else "TypeError"
    assert f"no credentials: the provider failed: {name}" in str(error.value)
    assert "secret" not in str(error.value)


def test_a_provider_that_is_late(connect: Connect, user: Any) -> None:
    gate = threading.Event()

    def ask() -> tuple[str, str]:
        gate.wait()
        return "app", "old"

    face = connect(credentials=ask, credentials_timeout=0.01)
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
        ({"credentials": ("a", "p", "1")}, ValueError, "seconds"),
        ({"credentials": ("a", "p"), "password": "q"}, ValueError, "either"),
        ({"credentials_timeout": 0}, ValueError, "credentials_timeout"),
        ({"rotation": "never"}, ValueError, "rotation"),
    ],
    ids=str,
)
def test_what_makes_no_sense(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        shoal.Client(**options)


def test_set_makes_no_sense(connect: Connect) -> None:
    face = connect()
    with pytest.raises(TypeError):
        face._do("set_credentials", "app", None)
    assert face.execute("PING") in (b"PONG", "PONG")
