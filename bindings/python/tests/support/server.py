# SPDX-License-Identifier: MIT
"""A redis-server of the tests' own."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .wire import PATIENCE_S, Wire

_TRIES = 5


class NotInstalled(Exception):
    """There is no server to start."""


def _claim_port() -> tuple[int, socket.socket]:
    """A port that no other test gets until the claim is closed, although the server may
    be down for a while: as tests/support/loopback_port.h."""
    while True:
        port = random.randrange(20000, 32000)
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0shoal-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        return port, claim


class Server:
    """On a Unix socket and a loopback port; ends by `stop()`, or with this process.

    `tls`: the folder of support.certificates; the port speaks TLS only then.
    `config`: the text of a file of settings, which the server may write."""

    def __init__(
        self, *options: str, tls: Path | None = None, config: str | None = None
    ) -> None:
        self._options = options
        self._tls = tls
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-python."))
        self._config: list[str] = []
        if config is not None:
            self._config = [str(self._folder / "config")]
            (self._folder / "config").write_text(config)
        self.path = str(self._folder / "socket")
        for attempt in range(_TRIES):
            self.port, self._claim = _claim_port()
            if self.start():
                break
            self._claim.close()
            if attempt == _TRIES - 1:
                raise RuntimeError(self._log())
        scheme = "redis" if tls is None else "rediss"
        self.url = f"{scheme}://127.0.0.1:{self.port}"

    def _log(self) -> str:
        return (self._folder / "log").read_text()

    def start(self) -> bool:
        """Start it (again, on the same port). False: the port was taken."""
        program = shutil.which(os.environ.get("REDIS_SERVER", "redis-server"))
        if program is None:
            raise NotInstalled
        # The kernel ends it even if this process is killed.
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with open(self._folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [
                    *guard, program, *self._config, *self._ports(),
                    "--bind", "127.0.0.1", "--unixsocket", self.path,
                    "--dir", str(self._folder), "--save", "", "--appendonly", "no",
                    "--daemonize", "no", *self._options,
                ],
                stdout=log,
                stderr=log,
            )  # fmt: skip
        return self._comes_up()

    def _ports(self) -> list[str]:
        if self._tls is None:
            return ["--port", str(self.port)]
        return [
            "--port", "0", "--tls-port", str(self.port),
            "--tls-cert-file", str(self._tls / "server.crt"),
            "--tls-key-file", str(self._tls / "server.key"),
            "--tls-ca-cert-file", str(self._tls / "ca.crt"),
            "--tls-auth-clients", "optional",
        ]  # fmt: skip

    def _comes_up(self) -> bool:
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < until:
            try:
                with Wire(self.path) as wire:
                    if wire.ask("PING") == b"PONG":
                        return True
            except OSError:
                time.sleep(0.01)
        self.kill()
        return False

    def kill(self) -> None:
        """As if the machine had lost power."""
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Meanwhile it answers nothing, however late this process looks."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it, and forget its files."""
        self.kill()
        self._claim.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, *args: str | bytes | int) -> Any:
        """One command on a connection of its own."""
        with Wire(self.path) as wire:
            return wire.ask(*args)

    def calls(self, command: str) -> int:
        """How often it has run the command since it began."""
        for line in self.ask("INFO", "commandstats").decode().splitlines():
            name, _, rest = line.partition(":")
            if name == f"cmdstat_{command.lower()}":
                return int(rest.split("=")[1].split(",")[0])
        return 0

    def errors(self) -> int:
        """How many commands it has answered with an ordinary error."""
        for line in self.ask("INFO", "errorstats").decode().splitlines():
            if line.startswith("errorstat_ERR:"):
                return int(line.split("=")[1])
        return 0

    def blocked(self, command: str = "blpop") -> int:
        """Clients for which it has nothing yet in a command that blocks."""
        count = 0
        for line in self.ask("CLIENT", "LIST").decode().splitlines():
            about = dict(word.partition("=")[::2] for word in line.split())
            count += "b" in about["flags"] and about["cmd"] == command
        return count

    def until_blocked(self, command: str = "blpop") -> None:
        """A client waits in that command."""
        until = time.monotonic() + PATIENCE_S
        while not self.blocked(command):
            assert time.monotonic() < until
            time.sleep(0.001)

    def connections(self) -> int:
        """Clients that are connected, but this one."""
        return len(self.ask("CLIENT", "LIST").decode().splitlines()) - 1
