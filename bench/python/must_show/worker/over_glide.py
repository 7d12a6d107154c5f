# SPDX-License-Identifier: MIT
"""valkey-glide and valkey-glide-sync: a core in Rust, one connection."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import Any

from must_show.worker.clients import Calls, Target

DISTRIBUTIONS = {
    "valkey-glide": "valkey-glide",
    "valkey-glide-sync": "valkey-glide-sync",
}


def configuration(module: Any, target: Target) -> Any:
    """The defaults, but for two limits that would turn commands into errors: 1000
    requests at a time and 250 ms for each."""
    address = module.NodeAddress("127.0.0.1", target.port)
    if target.socket:
        address = module.NodeAddress(unix_socket_path=target.socket)
    return module.GlideClientConfiguration(
        [address],
        request_timeout=30000,
        inflight_requests_limit=max(1000, target.callers + 1),
    )


@contextmanager
def blocking(target: Target) -> Iterator[Calls]:
    module = import_module("glide_sync")
    client = module.GlideClient.create(configuration(module, target))
    yield Calls(set=client.set, get=client.get)
    client.close()


@asynccontextmanager
async def asynchronous(target: Target) -> AsyncIterator[Calls]:
    module = import_module("glide")
    client = await module.GlideClient.create(configuration(module, target))
    yield Calls(set=client.set, get=client.get)
    await client.close()
