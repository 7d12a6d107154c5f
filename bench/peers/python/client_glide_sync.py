# SPDX-License-Identifier: MIT
"""valkey-glide-sync: the core of valkey-glide, called by threads."""

import functools

import glide_sync
import threads
from client_glide_tls import tls_of
from workload import KEY

DISTRIBUTIONS = {"valkey-glide-sync": "valkey-glide-sync"}


class Client:
    def __init__(self, options):
        address = glide_sync.NodeAddress(options.host, options.port)
        if options.socket:
            address = glide_sync.NodeAddress(unix_socket_path=options.socket)
        self._client = glide_sync.GlideClient.create(
            glide_sync.GlideClientConfiguration(
                [address],
                **tls_of(glide_sync, options),
                request_timeout=30000,
                inflight_requests_limit=max(1000, options.callers + 1),
            )
        )
        self.set = functools.partial(self._client.set, KEY, options.value)
        self.close = self._client.close


def run(options):
    return threads.run(options, Client)


CLIENTS = {"valkey-glide-sync": run}
