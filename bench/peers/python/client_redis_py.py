# SPDX-License-Identifier: MIT
"""redis-py, with hiredis as its parser if that is installed."""

import functools
from contextlib import asynccontextmanager

import redis
import redis.asyncio
import tasks
import threads
from workload import KEY

DISTRIBUTIONS = {"redis-py": "redis", "hiredis-py": "hiredis"}


def place_of(options):
    if options.socket:
        return {"path": options.socket}
    return {"host": options.host, "port": options.port}


def make_pool(module, options, size):
    """The library's own kind of pool, as large as needed: it refuses commands beyond
    100 connections. With a size, one in which callers wait for a connection."""
    place = place_of(options)
    if options.socket:
        place["connection_class"] = module.UnixDomainSocketConnection
    if size:
        return module.BlockingConnectionPool(
            max_connections=size, timeout=None, **place
        )
    return module.ConnectionPool(max_connections=options.callers + 1, **place)


class Threaded:
    def __init__(self, options, size):
        self._client = redis.Redis(connection_pool=make_pool(redis, options, size))
        self.set = functools.partial(self._client.set, KEY, options.value)

    def close(self):
        self._client.connection_pool.disconnect()


class Asynchronous:
    def __init__(self, client, options):
        self.set = functools.partial(client.set, KEY, options.value)


@asynccontextmanager
async def connect_async(options, size):
    pool = make_pool(redis.asyncio, options, size)
    client = redis.asyncio.Redis(connection_pool=pool)
    yield Asynchronous(client, options)
    await pool.disconnect()


def run_threads(options, size=None):
    return threads.run(options, lambda options: Threaded(options, size))


def run_asyncio(options, size=None):
    return tasks.run(options, lambda options: connect_async(options, size))


CLIENTS = {
    "redis-py-threads": run_threads,
    "redis-py-threads-16": functools.partial(run_threads, size=16),
    "redis-py-asyncio": run_asyncio,
    "redis-py-asyncio-16": functools.partial(run_asyncio, size=16),
}
