# SPDX-License-Identifier: MIT
"""One run of one peer: starts it, watches for the window's ends, reads its result."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from .cluster import Cluster
from .programs import last_line
from .rows import Row
from .server import HOST, Server, ServerCounters, pinned

PATIENCE = 60  # seconds beyond the load's own, before a peer is ended

Result = dict[str, Any]  # with the keys of shoal-bench


class Failed(Exception):
    """The peer ran and there is no result."""


@dataclass(frozen=True)
class Load:
    """What every peer is asked to do."""

    callers: int
    rate: int
    value_bytes: int
    duration: float
    warmup: float
    channels: int = 0  # of messages; 0: it is commands
    window: int = 0  # messages on their way in a closed loop; 0: no bound

    def title(self) -> str:
        if self.channels:
            return self._messages()
        if self.rate:
            return f"{self.rate} commands/s, {self.callers} callers"
        return f"{self.callers} caller{'s' if self.callers > 1 else ''}"

    def _messages(self) -> str:
        pace = f"{self.window or 'any number of'} messages on their way"
        if self.rate:
            pace = f"{self.rate} messages/s"
        channels = f"{self.channels} channel{'s' if self.channels > 1 else ''}"
        return f"{pace}, {channels}, {self.value_bytes} bytes"


@dataclass(frozen=True)
class Place:
    """Where a client runs, and against what."""

    server: Server | Cluster
    cpus: set[int]
    pacer: str = ""
    server_cpus: set[int] = field(default_factory=set)


def peer_options(
    load: Load,
    port: int,
    has_no_command: bool = False,
    ca: str = "",
    is_cluster: bool = False,
) -> list[str]:
    options = [
        "--host",
        HOST,
        "--port",
        str(port),
        "--callers",
        str(load.callers),
        "--duration",
        str(load.duration),
        "--warmup",
        str(load.warmup),
        "--rate",
        str(load.rate),
        "--value-bytes",
        str(load.value_bytes),
    ]
    if ca:
        options += ["--ca", ca]
    if is_cluster:
        options.append("--cluster")
    return [*options, "--no-command"] if has_no_command else options


def shoal_options(
    load: Load, port: int, json_path: str, ca: str = "", is_cluster: bool = False
) -> list[str]:
    options = [
        "-q",
        "-h",
        HOST,
        "-p",
        str(port),
        "-c",
        str(load.callers),
        "--duration",
        str(load.duration),
        "--warmup",
        str(load.warmup),
        "-d",
        str(load.value_bytes),
        "--rounds",
        "1",
        "--json",
        json_path,
    ]
    if ca:
        options += ["--tls", "--ca", ca]
    if is_cluster:
        options.append("--cluster")
    return [*options, "--rate", str(load.rate)] if load.rate else options


def server_figures(begin: ServerCounters, end: ServerCounters) -> Result:
    """What the server spent between two moments, per command that it processed."""
    commands = end.commands - begin.commands
    reads = end.reads - begin.reads
    return {
        "server_cpu_us_per_op": (end.cpu_us - begin.cpu_us) / commands,
        "commands_per_server_read": commands / reads if reads > 0 else None,
    }


@contextmanager
def paced(pacer: str, load: Load, cpus: set[int]) -> Iterator[int | IO[bytes]]:
    """What a peer reads: the pacer of an open loop, on the same CPUs, or nothing."""
    if not load.rate:
        yield subprocess.DEVNULL
        return
    process = subprocess.Popen(
        [pacer, str(load.rate)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        preexec_fn=pinned(cpus),
    )
    assert process.stdout
    try:
        yield process.stdout
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def watch(
    command: Sequence[str],
    cpus: set[int],
    timeout: float,
    on_line: Callable[[str], None],
    source: int | IO[bytes] = subprocess.DEVNULL,
    keeps: Sequence[int] = (),
) -> str:
    """Run a program on some CPUs, giving each line of its standard error to `on_line`
    at once; return what it printed. It keeps the descriptors of `keeps`."""
    process = subprocess.Popen(
        command,
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=keeps,
        preexec_fn=pinned(cpus),
    )
    assert process.stdout and process.stderr
    alarm = threading.Timer(timeout, process.kill)
    alarm.start()
    said = []
    try:
        for line in process.stderr:
            on_line(line.strip())
            said.append(line)
        output = process.stdout.read()
        process.wait()
    finally:
        alarm.cancel()
        process.kill()  # no effect on one that has ended
        process.wait()
        process.stdout.close()
        process.stderr.close()
    if process.returncode < 0:
        raise Failed(
            f"ended by signal {-process.returncode}, or by us after {timeout:g} s"
        )
    if process.returncode > 0:
        raise Failed(last_line("".join(said)))
    return output


def run_peer(
    command: Sequence[str],
    load: Load,
    place: Place,
    on_line: Callable[[str], None],
    has_no_command: bool = False,
) -> Result:
    with paced(place.pacer, load, place.cpus) as source:
        output = watch(
            [
                *command,
                *peer_options(
                    load,
                    place.server.port,
                    has_no_command,
                    place.server.ca,
                    place.server.is_cluster,
                ),
            ],
            place.cpus,
            load.warmup + load.duration + PATIENCE,
            on_line,
            source,
        )
    return read_result(output)


class ServerWatch:
    """A peer says when its window begins and ends, and the server is asked then."""

    def __init__(self, server: Server | Cluster) -> None:
        self._server = server
        self._moments: dict[str, ServerCounters] = {}

    def on_line(self, line: str) -> None:
        if line in ("measuring", "measured"):
            self._moments[line] = self._server.counters()

    def figures(self) -> Result:
        if len(self._moments) != 2:
            raise Failed("it did not say when its window began and ended")
        begin, end = self._moments["measuring"], self._moments["measured"]
        connections = begin.connections  # at the end it may be closing them
        return {"connections": connections, **server_figures(begin, end)}


def measure_peer(command: Sequence[str], load: Load, place: Place) -> Result:
    observed = ServerWatch(place.server)
    result = run_peer(command, load, place, observed.on_line)
    return {**result, **observed.figures()}


def measure_shoal(
    command: Sequence[str], load: Load, place: Place, more: Sequence[str] = ()
) -> Result:
    """shoal-bench asks the server itself at its window's ends."""
    with tempfile.TemporaryDirectory(prefix="shoal-peers.") as folder:
        path = os.path.join(folder, "result.json")
        watch(
            [
                *command,
                *shoal_options(
                    load,
                    place.server.port,
                    path,
                    place.server.ca,
                    place.server.is_cluster,
                ),
                *more,
            ],
            place.cpus,
            load.warmup + load.duration + PATIENCE,
            lambda line: None,
        )
        with open(path, encoding="utf-8") as file:
            result = json.load(file)["runs"][0]
    connections = place.server.nodes * result["config"]["connections"]
    return {**result, "connections": connections}


Run = Callable[[Sequence[str], Load, Place], Result]


def measure(
    row: Row, command: Sequence[str], load: Load, place: Place, run: Run | None = None
) -> Result:
    """One result, with the server's figures of the whole run beside the window's."""
    place.server.flush()
    begin = place.server.counters()
    if run is None:
        run = measure_shoal if row.program == "shoal" else measure_peer
    result = run(command, load, place)
    result["whole_run"] = server_figures(begin, place.server.counters())
    return result


def measure_generator(command: Sequence[str], load: Load, place: Place) -> float:
    """What the generator of an open loop costs without any command, per command."""
    result = run_peer(command, load, place, lambda line: None, has_no_command=True)
    return float(result["client_cpu_us_per_op"])


def read_result(output: str) -> Result:
    try:
        result = json.loads(output)
    except ValueError:
        raise Failed(f"its result is not JSON: {last_line(output)[:100]}") from None
    if not isinstance(result, dict) or "ops_per_s" not in result:
        raise Failed("its result has no ops_per_s")
    return result
