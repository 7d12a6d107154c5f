# SPDX-License-Identifier: MIT
"""valkey-glide-sync: the core of valkey-glide, called by threads."""

import glide_sync
import threads
from client_glide_tls import tls_of
from workload import setter

DISTRIBUTIONS = {"valkey-glide-sync": "valkey-glide-sync"}


class Client:
    def __init__(self, options):
        address = glide_sync.NodeAddress(options.host, options.port)
        if options.socket:
            address = glide_sync.NodeAddress(unix_socket_path=options.socket)
        client, configuration = (
            glide_sync.GlideClient,
            glide_sync.GlideClientConfiguration,
        )
        if options.cluster:
            client, configuration = (
                glide_sync.GlideClusterClient,
                glide_sync.GlideClusterClientConfiguration,
            )
        self._client = client.create(
            configuration(
                [address],
                **tls_of(glide_sync, options),
                request_timeout=30000,
                inflight_requests_limit=max(1000, options.callers + 1),
            )
        )
        self.set = setter(options, self._client.set)
        self.close = self._client.close


def run(options):
    return threads.run(options, Client)


CLIENTS = {"valkey-glide-sync": run}
