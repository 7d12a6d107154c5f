# SPDX-License-Identifier: MIT
"""The clients by name, and what a load asks of one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn


@dataclass(frozen=True)
class Target:
    """Where the server is: a Unix socket, or a port of 127.0.0.1; and how many callers
    will ask."""

    socket: str | None
    port: int | None
    callers: int


def unknown(*_: object) -> NoReturn:
    raise RuntimeError("this client is not asked for this load")


@dataclass(frozen=True)
class Calls:
    """A client's own functions as far as they have the same parameters, so that nothing
    comes between load and client. On asyncio they return awaitables."""

    set: Callable[[str, bytes], Any]
    get: Callable[[str], Any]
    many: Callable[[Sequence[tuple[str, bytes]]], Any] = unknown
    """SET and GET of each pair, as one batch; the replies in order."""
    mget: Callable[[Sequence[str]], Any] = unknown
    lrange: Callable[[str], Any] = unknown
    """All of a list."""
    hgetall: Callable[[str], Any] = unknown
    zrange: Callable[[str], Any] = unknown
    """All of a sorted set, with the scores."""


# The module in this folder and the settings of its blocking() and asynchronous(): they
# take a Target and return a context that gives Calls.
CLIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "shoal": ("over_shoal", {}),
    "shoal-thread": ("over_shoal", {"has_thread": True}),
    "shoal-redis": ("over_redis_py", {"package": "shoal.redis"}),
    "redis-py": ("over_redis_py", {}),
    "redis-py-16": ("over_redis_py", {"size": 16}),
    "coredis": ("over_coredis", {}),
    "coredis-one": ("over_coredis", {"size": 1}),
    "valkey-glide": ("over_glide", {}),
    "floor": ("over_floor", {}),
}
