# SPDX-License-Identifier: MIT
"""The types that a checker sees of the methods; mypy reads this file in each run of CI.

Nothing here is sent: each function is checked, and never called.
"""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import shoal
import shoal.aio

if TYPE_CHECKING:
    from typing_extensions import assert_type


def clients(url: str) -> None:
    assert_type(shoal.Client(), shoal.Client[bytes])
    assert_type(shoal.Client(url, db=1), shoal.Client)
    assert_type(shoal.Client(url, decode_responses=True), shoal.Client[str])
    assert_type(shoal.Client(url, decode_responses=False), shoal.Client[bytes])
    assert_type(shoal.Client.from_url(url), shoal.Client)
    assert_type(shoal.Client.from_url(url, decode_responses=True), shoal.Client[str])
    assert_type(shoal.Client(url).aio(), shoal.aio.Client[bytes])
    assert_type(shoal.aio.Client(url, decode_responses=True), shoal.aio.Client[str])
    assert_type(shoal.aio.Client.from_url(url, thread=True), shoal.aio.Client)
    told: shoal.Client[str] = shoal.Client("redis://h?decode_responses=yes")
    assert_type(told.get("k"), str | None)
    with shoal.Client(url, decode_responses=True) as client:
        assert_type(client.lease().get("k"), str | None)
        assert_type(client.aio(), shoal.aio.Client[str])


def blocking(client: shoal.Client, text: shoal.Client[str]) -> None:
    assert_type(client.get("k"), bytes | None)
    assert_type(text.get(b"k"), str | None)
    assert_type(client.set("k", 1.5, ex=10, nx=True), bytes | None)
    assert_type(client.mget("a", b"b"), list[bytes | None])
    assert_type(client.incr("k"), int)
    assert_type(client.hgetall("h"), dict[bytes, bytes])
    assert_type(text.hgetall("h"), dict[str, str])
    assert_type(text.smembers("s"), set[str])
    assert_type(client.lpop("l"), bytes | None)
    assert_type(client.lpop("l", 2), list[bytes] | None)
    assert_type(client.zscore("z", "m"), float | None)
    assert_type(client.zadd("z", {"m": 1, "n": 2.5}), int)
    assert_type(client.zadd("z", {b"m": 1}, incr=True), float | None)
    assert_type(client.zrange("z", 0, -1), list[bytes])
    assert_type(client.zrange("z", 0, -1, withscores=True), list[list[Any]])
    assert_type(client.xadd("x", {"f": 1}), bytes | None)
    assert_type(text.xread({"x": 0}, block=10), dict[str, list[Any]] | None)
    assert_type(text.config_get("max*"), dict[str, str])


def gathered(client: shoal.Client, aio: shoal.aio.Client) -> None:
    pipeline = client.pipeline()
    assert_type(pipeline.get("k").hset("h", mapping={"f": 1}), shoal.Pipeline)
    unit = aio.transaction()
    assert_type(unit.incr("k").lpop("l", 2).add("PING"), shoal.aio.Pipeline)

    def move(attempt: shoal.Attempt) -> None:
        assert_type(attempt.incr("k"), shoal.Attempt)

    client.transaction(move, "k")


async def awaited(client: shoal.aio.Client, text: shoal.aio.Client[str]) -> None:
    await assert_type(client.get("k"), Coroutine[Any, Any, bytes | None])
    assert_type(await client.get("k"), bytes | None)
    assert_type(await client.get("k"), bytes | None)
    assert_type(await text.hgetall("h"), dict[str, str])
    assert_type(await text.lpop("l", 2), list[str] | None)
    assert_type(await text.zrange("z", 0, -1, withscores=True), list[list[Any]])
    async with text.lease() as lease:
        assert_type(await lease.smembers("s"), set[str])


def wrong(client: shoal.Client, count: int | None) -> None:
    client.get(None)  # type: ignore[arg-type]
    client.get("a", "b")  # type: ignore[call-arg]
    client.expire("k", "soon")  # type: ignore[arg-type]
    client.mget(["a", "b"])  # type: ignore[arg-type]
    client.lmpop("l", "UP")  # type: ignore[arg-type]
    client.hset("h", mapping={"f": None})  # type: ignore[dict-item]
    assert_type(client.lpop("l", count), bytes | list[bytes] | None)
