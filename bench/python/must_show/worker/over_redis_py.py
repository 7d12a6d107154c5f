# SPDX-License-Identifier: MIT
"""redis-py, and the drop-in: the same code over another package."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import Any

from must_show.worker.clients import Calls, Target

DISTRIBUTIONS = {"redis-py": "redis", "hiredis-py": "hiredis", "shoal": "shoal"}


def make_pool(module: Any, target: Target, size: int | None) -> Any:
    """The library's own kind of pool with a connection per caller, beyond which it
    refuses commands. With a size, one in which callers wait for a connection."""
    place: dict[str, Any] = {"host": "127.0.0.1", "port": target.port}
    if target.socket:
        connection = module.UnixDomainSocketConnection
        place = {"path": target.socket, "connection_class": connection}
    if size:
        return module.BlockingConnectionPool(
            max_connections=size, timeout=None, **place
        )
    return module.ConnectionPool(max_connections=target.callers + 1, **place)


def calls_of(client: Any) -> Calls:
    def many(pairs: Sequence[tuple[str, bytes]]) -> Any:
        pipeline = client.pipeline(transaction=False)
        for key, value in pairs:
            pipeline.set(key, value)
            pipeline.get(key)
        return pipeline.execute()

    return Calls(
        set=client.set,
        get=client.get,
        many=many,
        mget=client.mget,
        lrange=lambda key: client.lrange(key, 0, -1),
        hgetall=client.hgetall,
        zrange=lambda key: client.zrange(key, 0, -1, withscores=True),
    )


def insist(client: Any) -> None:
    """The bars are against redis-py with hiredis; and a drop-in that leaves commands to
    redis-py's own connections is not one."""
    if not import_module("redis.utils").HIREDIS_AVAILABLE:
        raise RuntimeError("redis-py runs without hiredis")
    reason = getattr(client, "shoal_bypass", None)
    if reason:
        raise RuntimeError(f"the drop-in is passed by: {reason}")


@contextmanager
def blocking(
    target: Target, package: str = "redis", size: int | None = None
) -> Iterator[Calls]:
    module = import_module(package)
    pool = make_pool(module, target, size)
    client = module.Redis(connection_pool=pool)
    insist(client)
    yield calls_of(client)
    pool.disconnect()


@asynccontextmanager
async def asynchronous(
    target: Target, package: str = "redis", size: int | None = None
) -> AsyncIterator[Calls]:
    module = import_module(f"{package}.asyncio")
    pool = make_pool(module, target, size)
    client = module.Redis(connection_pool=pool)
    insist(client)
    yield calls_of(client)
    await pool.disconnect()
