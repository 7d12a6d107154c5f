# SPDX-License-Identifier: MIT
"""shoal's own two faces."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from must_show.worker.clients import Calls, Target

DISTRIBUTIONS = {"shoal": "shoal"}


def place_of(target: Target) -> dict[str, Any]:
    if target.socket:
        return {"unix_path": target.socket}
    return {"host": "127.0.0.1", "port": target.port}


def calls_of(client: Any) -> Calls:
    def many(pairs: Sequence[tuple[str, bytes]]) -> Any:
        commands: list[tuple[Any, ...]] = []
        for key, value in pairs:
            commands.append(("SET", key, value))
            commands.append(("GET", key))
        return client.execute_many(commands)

    execute = client.execute
    return Calls(
        set=partial(execute, "SET"),
        get=partial(execute, "GET"),
        many=many,
        mget=lambda keys: execute("MGET", *keys),
        lrange=lambda key: execute("LRANGE", key, 0, -1),
        hgetall=partial(execute, "HGETALL"),
        zrange=lambda key: execute("ZRANGE", key, 0, -1, "WITHSCORES"),
    )


@contextmanager
def blocking(target: Target) -> Iterator[Calls]:
    with import_module("shoal").Client(**place_of(target)) as client:
        yield calls_of(client)


@asynccontextmanager
async def asynchronous(
    target: Target, has_thread: bool = False
) -> AsyncIterator[Calls]:
    module = import_module("shoal.aio")
    async with module.Client(thread=has_thread, **place_of(target)) as client:
        yield calls_of(client)
