# SPDX-License-Identifier: MIT
"""valkey-glide on asyncio: a core in Rust, one connection to a node."""

import functools
from contextlib import asynccontextmanager

import glide
import tasks
from client_glide_tls import tls_of
from workload import setter

DISTRIBUTIONS = {"valkey-glide": "valkey-glide"}


class Client:
    def __init__(self, client, options):
        self.set = setter(options, client.set)


def configuration(options):
    """The defaults, but for two limits that would turn commands into errors: 1000
    requests at a time and 250 ms for each."""
    address = glide.NodeAddress(options.host, options.port)
    if options.socket:
        address = glide.NodeAddress(unix_socket_path=options.socket)
    kind = (
        glide.GlideClusterClientConfiguration
        if options.cluster
        else glide.GlideClientConfiguration
    )
    return kind(
        [address],
        **tls_of(glide, options),
        request_timeout=30000,
        inflight_requests_limit=max(1000, options.callers + 1),
    )


@asynccontextmanager
async def connect(options):
    kind = glide.GlideClusterClient if options.cluster else glide.GlideClient
    client = await kind.create(configuration(options))
    yield Client(client, options)
    await client.close()


def run(options, uses_uvloop=False):
    return tasks.run(options, connect, uses_uvloop)


CLIENTS = {
    "valkey-glide": run,
    "valkey-glide-uvloop": functools.partial(run, uses_uvloop=True),
}
