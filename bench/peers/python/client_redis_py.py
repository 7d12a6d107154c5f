# SPDX-License-Identifier: MIT
"""redis-py, with hiredis as its parser if that is installed; and whatever has its
names."""

import functools
from contextlib import asynccontextmanager

import redis
import redis.asyncio
import tasks
import threads
from workload import setter

DISTRIBUTIONS = {"redis-py": "redis", "hiredis-py": "hiredis"}


def place_of(options):
    if options.socket:
        return {"path": options.socket}
    return {"host": options.host, "port": options.port}


def make_pool(module, options, size):
    """The library's own kind of pool, as large as needed: it refuses commands beyond
    100 connections. With a size, one in which callers wait for a connection."""
    place = place_of(options)
    if options.ca:
        place["connection_class"] = module.SSLConnection
        place["ssl_ca_certs"] = options.ca
    if options.socket:
        place["connection_class"] = module.UnixDomainSocketConnection
    if size:
        return module.BlockingConnectionPool(
            max_connections=size, timeout=None, **place
        )
    return module.ConnectionPool(max_connections=options.callers + 1, **place)


def open_cluster(module, options):
    """Its pool of each node is as large as needed, too."""
    return module.RedisCluster(
        host=options.host, port=options.port, max_connections=options.callers + 1
    )


class Threaded:
    def __init__(self, options, size, module):
        if options.cluster:
            client = open_cluster(module, options)
            self.close = client.close
        else:
            client = module.Redis(connection_pool=make_pool(module, options, size))
            self.close = client.connection_pool.disconnect
        self.set = setter(options, client.set)


class Asynchronous:
    def __init__(self, client, options):
        self.set = setter(options, client.set)


@asynccontextmanager
async def connect_async(options, size, module):
    if options.cluster:
        async with open_cluster(module, options) as client:
            yield Asynchronous(client, options)
        return
    pool = make_pool(module, options, size)
    client = module.Redis(connection_pool=pool)
    yield Asynchronous(client, options)
    await pool.disconnect()


def run_threads(options, size=None, module=redis):
    return threads.run(options, lambda options: Threaded(options, size, module))


def run_asyncio(options, size=None, module=redis.asyncio, uses_uvloop=False):
    return tasks.run(
        options, lambda options: connect_async(options, size, module), uses_uvloop
    )


CLIENTS = {
    "redis-py-threads": run_threads,
    "redis-py-threads-16": functools.partial(run_threads, size=16),
    "redis-py-asyncio": run_asyncio,
    "redis-py-asyncio-16": functools.partial(run_asyncio, size=16),
    "redis-py-uvloop": functools.partial(run_asyncio, uses_uvloop=True),
    "redis-py-uvloop-16": functools.partial(run_asyncio, size=16, uses_uvloop=True),
}
