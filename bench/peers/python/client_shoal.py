# SPDX-License-Identifier: MIT
"""shoal's own two faces, one connection."""

import functools
from contextlib import asynccontextmanager

import shoal
import shoal.aio
import tasks
import threads
from workload import setter

DISTRIBUTIONS = {"shoal-python": "shoal"}


def place_of(options):
    if options.socket:
        return {"unix_path": options.socket}
    if options.cluster:
        return {"url": f"redis+cluster://{options.host}:{options.port}"}
    place = {"host": options.host, "port": options.port}
    return place | ({"tls": True, "tls_ca_file": options.ca} if options.ca else {})


class Threaded:
    def __init__(self, options):
        self._client = shoal.Client(**place_of(options))
        execute = functools.partial(self._client.execute, "SET")
        self.set = setter(options, execute)
        self.close = self._client.close


class Asynchronous:
    def __init__(self, client, options):
        self.set = setter(options, functools.partial(client.execute, "SET"))


@asynccontextmanager
async def connect_async(options, has_thread):
    async with shoal.aio.Client(thread=has_thread, **place_of(options)) as client:
        yield Asynchronous(client, options)


def run_threads(options):
    return threads.run(options, Threaded)


def run_asyncio(options, has_thread=False, uses_uvloop=False):
    return tasks.run(
        options, lambda options: connect_async(options, has_thread), uses_uvloop
    )


CLIENTS = {
    "shoal-threads": run_threads,
    "shoal-asyncio": run_asyncio,
    "shoal-asyncio-thread": functools.partial(run_asyncio, has_thread=True),
    "shoal-uvloop": functools.partial(run_asyncio, uses_uvloop=True),
}
