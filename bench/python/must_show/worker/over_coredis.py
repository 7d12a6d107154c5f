# SPDX-License-Identifier: MIT
"""coredis: its pool, or one connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, NoReturn

from must_show.worker.clients import Calls, Target

DISTRIBUTIONS = {"coredis": "coredis"}


def blocking(target: Target, **_: object) -> NoReturn:
    raise RuntimeError("coredis has no blocking face")


@asynccontextmanager
async def asynchronous(target: Target, size: int | None = None) -> AsyncIterator[Calls]:
    place: dict[str, Any] = {"host": "127.0.0.1", "port": target.port}
    if target.socket:
        place = {"unix_socket_path": target.socket}
    redis = import_module("coredis").Redis
    async with redis(max_connections=size, **place) as client:
        yield Calls(set=client.set, get=client.get)
