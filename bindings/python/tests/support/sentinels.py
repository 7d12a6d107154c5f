# SPDX-License-Identifier: MIT
"""A primary with a replica, and a sentinel that watches them."""

import time

from .server import Server

NAME = "mymaster"
_CONFIG = """
sentinel monitor {name} 127.0.0.1 {port} 1
sentinel down-after-milliseconds {name} 60000
"""
# A primary would wait 5 s for further replicas before it sends one what it has.
_AT_ONCE = ("--repl-diskless-sync-delay", "0")


class Watched:
    """Ends by `stop()`, or with this process."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self.sentinel: Server | None = None
        try:
            self.servers.append(Server(*_AT_ONCE))
            first = str(self.servers[0].port)
            self.servers.append(Server("--replicaof", "127.0.0.1", first, *_AT_ONCE))
            config = _CONFIG.format(name=NAME, port=first)
            self.sentinel = Server("--sentinel", config=config)
        except BaseException:
            self.stop()
            raise
        self.address = ("127.0.0.1", self.sentinel.port)
        self.url = f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{NAME}"

    @property
    def primary(self) -> Server:
        """The server that the sentinel names."""
        assert self.sentinel
        _, port = self.sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        [server] = [server for server in self.servers if server.port == int(port)]
        return server

    @property
    def replica(self) -> Server:
        """The other one."""
        [server] = [server for server in self.servers if server is not self.primary]
        return server

    def fail_over(self) -> None:
        """Exchange them, and wait until the sentinel names the other one."""
        assert self.sentinel
        former = self.primary
        while self.sentinel.ask("SENTINEL", "FAILOVER", NAME) != b"OK":
            time.sleep(0.01)  # it does not know the replica yet
        while self.primary is former:
            time.sleep(0.01)

    def stop(self) -> None:
        """End all."""
        for server in (*self.servers, self.sentinel):
            if server:
                server.stop()
