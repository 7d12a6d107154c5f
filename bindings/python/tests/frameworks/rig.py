# SPDX-License-Identifier: MIT
"""The folder in which a program of the document is tried, and its processes."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from frameworks import documented
from support.server import Server
from support.wire import PATIENCE_S

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


class Answer(dict[str, Any]):
    """The JSON of a response, and the cookies that came with it."""

    cookies: str = ""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Rig:
    """Runs programs against a server; `stop()` ends all that were started.

    chapter  a heading of docs/FRAMEWORKS.md, whose files are laid into `folder`
    ours     False: as they were before the change
    """

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server
        self.socket = folder / "http"
        self._running: list[tuple[subprocess.Popen[bytes], Path]] = []

    def lay(self, chapter: str, *apps: str, ours: bool = True) -> list[list[str]]:
        """The files of the chapter, and what the tests add; returns its commands."""
        text = documented.chapter(chapter)
        for name, source in documented.files(text, self.server.url, ours).items():
            (self.folder / name).write_text(source)
        for app in apps:
            shutil.copy(HERE / "apps" / app, self.folder)
        return documented.commands(text, self.server.url, ours)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.folder}:{HERE / 'inside'}",
            "PYTHONUNBUFFERED": "1",
            "PYTHONFAULTHANDLER": "1",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }

    def start(self, *words: str, out: Path | None = None) -> subprocess.Popen[bytes]:
        """A program that runs until it is stopped; `out`: what it prints goes there."""
        log = self.folder / f"{len(self._running)}.log"
        # The kernel ends it even if this process is killed.
        guard = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        with log.open("ab") as output, (out or log).open("ab") as printed:
            process = subprocess.Popen(
                [*guard, *words],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=output,
                start_new_session=True,
            )
        self._running.append((process, log))
        return process

    def run(self, *words: str) -> Any:
        """A program that ends; returns the JSON that it printed last."""
        out = self.folder / f"{len(self._running)}.out"
        process = self.start(*words, out=out)
        has_ended = self._has_ended(process, 2 * PATIENCE_S)
        self._ask_to_end(process)
        self._end(process)
        printed = out.read_text(errors="replace")
        said = f"{printed}\n{self.logs()}"
        assert has_ended and process.returncode == 0, said
        self._running.pop()[1].unlink()  # the logs are of what still runs
        return json.loads(printed.splitlines()[-1])

    def serve(self, *words: str, port: int = 0) -> None:
        """A server of HTTP at `socket`, or at a port of the loopback; it answers when
        this returns."""
        process = self.start(*words)
        until = time.monotonic() + PATIENCE_S
        family = socket.AF_INET if port else socket.AF_UNIX
        address = ("127.0.0.1", port) if port else str(self.socket)
        while True:
            try:
                with contextlib.closing(socket.socket(family)) as probe:
                    probe.connect(address)
                return
            except OSError:
                assert not self._has_ended(process, 0), self.logs()
                assert time.monotonic() < until, self.logs()
                time.sleep(0.02)

    def get(self, path: str, cookies: str = "") -> Answer:
        """Ask the server of HTTP."""
        with contextlib.closing(_UnixConnection(self.socket)) as connection:
            headers = {"Cookie": cookies} if cookies else {}
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            body = response.read().decode()
        assert response.status == 200, f"{body[:2000]}\n{self.logs()}"
        answer = Answer(json.loads(body))
        set_cookie = response.getheader("Set-Cookie", "")
        answer.cookies = set_cookie.partition(";")[0] or cookies
        return answer

    def logs(self) -> str:
        """What all said."""
        return "".join(
            log.read_text(errors="replace")[-30_000:] for _, log in self._running
        )

    def stop(self) -> None:
        """By their ids: what has begun sessions of its own ends with its parent."""
        for process, _ in self._running:
            self._ask_to_end(process)
        for process, _ in self._running:
            self._end(process)
        self._running.clear()

    @staticmethod
    def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
        """Without a look at it, as Popen.send_signal() takes, which would reap it."""
        if process.returncode is None:
            os.kill(process.pid, signal.SIGTERM)

    @staticmethod
    def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait for its end.  It is not reaped: until then nothing else can have its
        number, which is that of its group."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        until = time.monotonic() + seconds
        while not os.waitid(os.P_PID, process.pid, how):
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        return True

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for its end, and kill what it leaves behind."""
        if process.returncode is None:
            self._has_ended(process, PATIENCE_S)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
