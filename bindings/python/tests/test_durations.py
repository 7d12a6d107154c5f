# SPDX-License-Identifier: MIT
"""Every time that a user gives in seconds: what is no time is refused before anything
has happened, with the same words everywhere."""

import asyncio
import datetime
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from support.faces import Face
from support.server import Server

#: No numbers of seconds.
WRONG_TYPES: list[Any] = [True, "1", b"1", [1], 1j, datetime.timedelta(seconds=1)]
#: Numbers that are no duration.
WRONG_VALUES: list[Any] = [-1, -0.5, 1e300, 10**400, math.nan, -math.inf, 86_400.5]

CALLS: dict[str, Callable[[Face, Any], object]] = {
    "execute": lambda face, time: face.execute("PING", timeout=time),
    "execute_many": lambda face, time: face.execute_many([("PING",)], timeout=time),
    "pipeline": lambda face, time: face.run_pipeline(
        face.client.pipeline().add("PING"), timeout=time
    ),
    "wait_ready": lambda face, time: face.wait_ready(time),
}
OPTIONS = ["timeout", "connect_timeout", "handshake_timeout", "stall_timeout"]


@pytest.mark.parametrize("call", CALLS)
def test_of_a_call(connect: Connect, call: str) -> None:
    face = connect()
    for wrong in WRONG_TYPES:
        with pytest.raises(TypeError, match="timeout must be a number of seconds"):
            CALLS[call](face, wrong)
    for wrong in [*WRONG_VALUES, 0]:
        with pytest.raises(ValueError, match="timeout must be more than 0"):
            CALLS[call](face, wrong)
    for right in (30, 30.5, Fraction(61, 2), math.inf, None):
        CALLS[call](face, right)


def test_of_submit(async_face: Face) -> None:
    async def submit(client: Any, wrong: Any) -> None:
        client.submit("PING", timeout=wrong)

    for wrong in WRONG_TYPES:
        with pytest.raises(TypeError, match="timeout must be a number of seconds"):
            async_face.run(functools.partial(submit, wrong=wrong))
    assert async_face.execute("PING") == b"PONG"


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
@pytest.mark.parametrize("name", [*OPTIONS, "ping_interval", "probe_interval"])
def test_of_a_client(kind: Any, name: str) -> None:
    for wrong in WRONG_TYPES:
        with pytest.raises(TypeError, match=f"{name} must be a number of seconds"):
            kind(**{name: wrong})
    for wrong in WRONG_VALUES:
        with pytest.raises(ValueError, match=name):
            kind(**{name: wrong})
    kind(**{name: Fraction(5, 2)})


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
def test_of_the_pauses_between_attempts(kind: Any) -> None:
    for no_pair in (1, "ab", (1,), (1, 2, 3), {1, 2}):
        with pytest.raises(TypeError, match="backoff must be a pair"):
            kind(backoff=no_pair)
    for no_numbers in ((True, 1), ("1", 2)):
        with pytest.raises(TypeError, match="backoff must be a number of seconds"):
            kind(backoff=no_numbers)
    for values in ((0, 1), (1, math.nan), (1, -1), (2, 1)):
        with pytest.raises(ValueError, match="backoff"):
            kind(backoff=values)
    kind(backoff=[0.1, 1])


def test_of_a_close(connect: Connect, server: Server) -> None:
    """The client that is asked to close so goes on as before."""
    face = connect(client_name="closed-wrongly")
    assert face.execute("PING") == b"PONG"
    for wrong in [*WRONG_TYPES, None]:
        with pytest.raises(TypeError, match="drain must be a number of seconds"):
            face.close(drain=wrong)
    for wrong in [*WRONG_VALUES, math.inf]:
        with pytest.raises(ValueError, match="drain must be at least 0"):
            face.close(drain=wrong)
    assert face.execute("PING") == b"PONG"
    face.close(drain=0.5)
    face.until(lambda: b"closed-wrongly" not in server.ask("CLIENT", "LIST"))
    with pytest.raises(shoal.ClosedError):
        face.execute("PING")


def test_a_drain_lets_commands_finish(async_connect: Connect, server: Server) -> None:
    """Also those that wait in Python for room."""
    face = async_connect(inflight_max=8, queued_max=8)

    async def main(client: Any) -> None:
        futures = [client.submit("BLPOP", "gate", 0, may_block=True, timeout=60)]
        futures += [client.submit("ECHO", number) for number in range(100)]
        while client.stats().inflight_now == 0:
            await asyncio.sleep(0.001)
        closing = asyncio.ensure_future(client.close(drain=60))
        await asyncio.sleep(0)
        with pytest.raises(shoal.ClosedError):
            await client.execute("PING")
        server.ask("RPUSH", "gate", "open")
        await closing
        replies = [await future for future in futures]
        assert replies == [[b"gate", b"open"], *(b"%d" % n for n in range(100))]

    face.run(main)
