# SPDX-License-Identifier: MIT
"""The private cluster: three primaries, which look like one server to the rest of the
script."""

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from .server import Server, ServerCounters

PRIMARIES = 3


def options_by(tool: Path) -> Callable[[int], list[str]]:
    """What a node is started with, by the number of its bus port."""

    def options(bus: int) -> list[str]:
        done = subprocess.run(
            [tool, "options", str(bus)], check=True, capture_output=True, text=True
        )
        return done.stdout.splitlines()

    return options


def total(counters: list[ServerCounters]) -> ServerCounters:
    return ServerCounters(
        cpu_us=sum(one.cpu_us for one in counters),
        commands=sum(one.commands for one in counters),
        reads=sum(one.reads for one in counters),
        connections=sum(one.connections for one in counters),
    )


class Cluster:
    """A context, as Server is; `tool` is shoal-cluster-nodes. `port` is that of one of
    the nodes."""

    nodes = PRIMARIES
    is_cluster = True
    ca = ""
    socket = ""

    def __init__(self, cpus: set[int], tool: Path) -> None:
        self._tool = tool
        self._servers = [Server(cpus, "", options_by(tool)) for _ in range(self.nodes)]
        self._stack = ExitStack()
        self.port = 0
        self.version = ""

    def __enter__(self) -> "Cluster":
        with self._stack:
            for server in self._servers:
                self._stack.enter_context(server)
            self._join()
            self._stack = self._stack.pop_all()  # all went well: they live on
        return self

    def _join(self) -> None:
        places = [f"{server.port}:{server.bus}" for server in self._servers]
        subprocess.run([self._tool, "join", str(self.nodes), *places], check=True)
        self.port = self._servers[0].port
        self.version = f"{self._servers[0].version}, {self.nodes} primaries"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def flush(self) -> None:
        for server in self._servers:
            server.flush()

    def counters(self) -> ServerCounters:
        return total([server.counters() for server in self._servers])
