# SPDX-License-Identifier: MIT
"""The private server: on a free port of the loopback, pinned, stopped by pid."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass

from .resp import Control, parse_info

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1


def pinned(cpus):
    """What a child does before it becomes another program: pin itself to these CPUs, if
    any, and ask to be ended when we are."""
    libc = ctypes.CDLL(None)

    def prepare():
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


def counters_of(info):
    return ServerCounters(
        cpu_us=1e6 * (float(info["used_cpu_user"]) + float(info["used_cpu_sys"])),
        commands=int(info["total_commands_processed"]),
        reads=int(info.get("total_reads_processed", 0)),
        connections=int(info["connected_clients"]) - 1,
    )


def find_server():
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError("neither redis-server nor valkey-server is installed")


class Server:
    """A context: the server runs inside of it."""

    def __init__(self, cpus):
        self._cpus = cpus
        self._process = None
        self._folder = None
        self._control = None
        self.port = None
        self.version = None

    def __enter__(self):
        program = find_server()
        self._folder = tempfile.mkdtemp(prefix="shoal-peers.")
        try:
            self._start(program)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, program):
        with socket.create_server((HOST, 0)) as probe:
            self.port = probe.getsockname()[1]
        arguments = [
            "--bind",
            HOST,
            "--port",
            str(self.port),
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
        self._control = self._await()
        info = parse_info(self._control.ask("INFO"))
        name = "valkey" if "valkey_version" in info else "redis"
        self.version = f"{name} {info[name + '_version']}"

    def _await(self):
        give_up = time.monotonic() + 10
        while True:
            try:
                return Control(HOST, self.port)
            except OSError:
                if self._process.poll() is not None:
                    raise RuntimeError("the server ended at once") from None
                if time.monotonic() > give_up:
                    raise RuntimeError("the server does not answer") from None
                time.sleep(0.01)

    def __exit__(self, *_):
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

    def flush(self):
        self._control.ask("FLUSHALL")

    def counters(self):
        return counters_of(parse_info(self._control.ask("INFO")))
