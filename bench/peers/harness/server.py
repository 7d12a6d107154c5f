# SPDX-License-Identifier: MIT
"""The private server: on a free port of the loopback and on a Unix socket, pinned,
stopped by pid."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

from .resp import Control, parse_info

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1


def pinned(cpus: set[int]) -> Callable[[], None]:
    """What a child does before it becomes another program: pin itself to these CPUs, if
    any, and ask to be ended when we are."""
    libc = ctypes.CDLL(None)

    def prepare() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if cpus:
            os.sched_setaffinity(0, cpus)

    return prepare


@dataclass(frozen=True)
class ServerCounters:
    """What INFO says at one moment."""

    cpu_us: float
    commands: int
    reads: int
    connections: int  # but for our own


def counters_of(info: Mapping[str, str]) -> ServerCounters:
    return ServerCounters(
        cpu_us=1e6 * (float(info["used_cpu_user"]) + float(info["used_cpu_sys"])),
        commands=int(info["total_commands_processed"]),
        reads=int(info.get("total_reads_processed", 0)),
        connections=int(info["connected_clients"]) - 1,
    )


def find_server() -> str:
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError("neither redis-server nor valkey-server is installed")


class Server:
    """A context: the server runs inside of it. `port`, `socket` (a path) and `version`
    are known then. `certificates` is shoal-certificates: with it clients speak TLS at
    `port`, and trust the authority in the file `ca`. With `node_options`, which has the
    options of the node with this `bus` port, it is one of a cluster."""

    nodes = 1
    is_cluster = False

    def __init__(
        self,
        cpus: set[int],
        certificates: str = "",
        node_options: Callable[[int], list[str]] | None = None,
    ) -> None:
        self._cpus = cpus
        self._certificates = certificates
        self._node_options = node_options
        self._plain_port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._control: Control | None = None
        self.port = 0
        self.bus = 0
        self.ca = ""
        self.socket = ""
        self.version = ""

    def __enter__(self) -> "Server":
        program = find_server()
        self._folder = tempfile.mkdtemp(prefix="shoal-peers.")
        self.socket = os.path.join(self._folder, "socket")
        try:
            self._start(program)
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self, program: str) -> None:
        with (
            socket.create_server((HOST, 0)) as plain,
            socket.create_server((HOST, 0)) as encrypted,
            socket.create_server((HOST, 0)) as bus,
        ):
            self.bus = bus.getsockname()[1]
            self.port = self._plain_port = plain.getsockname()[1]
            if self._certificates:
                self.port = encrypted.getsockname()[1]
        arguments = [
            "--bind",
            HOST,
            "--port",
            str(self._plain_port),
            *self._tls_options(),
            *(self._node_options(self.bus) if self._node_options else []),
            "--unixsocket",
            self.socket,
            "--save",
            "",
            "--appendonly",
            "no",
            "--maxclients",
            "20000",
            "--dir",
            self._folder,
        ]
        self._process = subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=pinned(self._cpus),
        )
        self._control = self._await(self._process)
        info = parse_info(self.ask("INFO"))
        name = "valkey" if "valkey_version" in info else "redis"
        self.version = f"{name} {info[name + '_version']}"

    def _tls_options(self) -> list[str]:
        if not self._certificates:
            return []
        subprocess.run([self._certificates, self._folder], check=True)
        self.ca = os.path.join(self._folder, "ca.crt")
        return [
            "--tls-port",
            str(self.port),
            "--tls-cert-file",
            os.path.join(self._folder, "server.crt"),
            "--tls-key-file",
            os.path.join(self._folder, "server.key"),
            "--tls-auth-clients",
            "no",
        ]

    def _await(self, process: subprocess.Popen[bytes]) -> Control:
        give_up = time.monotonic() + 10
        while True:
            try:
                return Control(HOST, self._plain_port)
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError("the server ended at once") from None
                if time.monotonic() > give_up:
                    raise RuntimeError("the server does not answer") from None
                time.sleep(0.01)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._control:
            self._control.close()
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, *words: str) -> str:
        """One command over a connection of our own, and its reply as text."""
        if self._control is None:
            raise RuntimeError("the server is not running")
        return self._control.ask(*words)

    def flush(self) -> None:
        self.ask("FLUSHALL")

    def counters(self) -> ServerCounters:
        return counters_of(parse_info(self.ask("INFO")))
