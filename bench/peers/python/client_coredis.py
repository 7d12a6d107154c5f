# SPDX-License-Identifier: MIT
"""coredis on asyncio."""

import functools
from contextlib import asynccontextmanager

import coredis
import tasks
from workload import setter

DISTRIBUTIONS = {"coredis": "coredis"}


class Client:
    def __init__(self, client, options):
        self.set = setter(options, client.set)


@asynccontextmanager
async def connect(options, size):
    place = {"host": options.host, "port": options.port}
    if options.ca:
        place |= {"ssl": True, "ssl_ca_certs": options.ca}
    if options.socket:
        place = {"unix_socket_path": options.socket}
    async with coredis.Redis(max_connections=size, **place) as client:
        yield Client(client, options)


def run(options, size=None, uses_uvloop=False):
    return tasks.run(options, lambda options: connect(options, size), uses_uvloop)


CLIENTS = {
    "coredis": run,
    "coredis-one": functools.partial(run, size=1),
    "coredis-one-uvloop": functools.partial(run, size=1, uses_uvloop=True),
}
