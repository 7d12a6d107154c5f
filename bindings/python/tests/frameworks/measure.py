#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests per second of the web programs of docs/FRAMEWORKS.md, before and after.

    measure.py [--rounds N] [--seconds S] [--connections N] [--only HEADING]

Wants wrk and taskset, and runs in an environment with the packages of requirements.txt
and shoal.  The program runs on the first CPU, redis-server and wrk on the last one.
Each measurement is a new process, and both ways take turns.  Prints a table.
"""

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from frameworks.rig import Rig  # noqa: E402
from support.server import Server  # noqa: E402

APPS = {
    "Django": ("site_wsgi.py", "site_urls.py"),
    "django-redis": ("site_wsgi.py", "site_urls.py"),
    "Flask-Caching": ("flask_views.py",),
    "FastAPI and Starlette": ("shop_report.py",),
}
MODULES = {"shop:app": "flask_views:app"}


class Figures(NamedTuple):
    """Of one measurement, or medians of several."""

    rate: float
    p50_ms: float
    p99_ms: float


def read_wrk(text: str) -> Figures:
    """What wrk says; ValueError if a request failed, or none was answered."""
    if "Non-2xx" in text or "Socket errors" in text or "Requests/sec:      0" in text:
        raise ValueError(text)

    def found(pattern: str) -> tuple[str, ...]:
        match = re.search(pattern, text)
        if match is None:
            raise ValueError(text)
        return match.groups()

    def time_ms(share: str) -> float:
        number, unit = found(rf"{share}%\s+([\d.]+)(us|ms|s)")
        return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]

    return Figures(
        float(found(r"Requests/sec:\s+([\d.]+)")[0]), *map(time_ms, ("50", "99"))
    )


def median(rounds: list[Figures]) -> Figures:
    """Of each figure by itself."""
    return Figures(*map(statistics.median, zip(*rounds, strict=True)))


def row(name: str, before: Figures, after: Figures) -> str:
    """A line of the table."""
    return (
        f"| {name} | {before.rate:.0f} | {after.rate:.0f} |"
        f" {after.rate / before.rate:.2f} |"
        f" {before.p50_ms:.2f}, {before.p99_ms:.2f} |"
        f" {after.p50_ms:.2f}, {after.p99_ms:.2f} |"
    )


HEAD = """| | requests/s before | after | ratio | p50, p99 before (ms) | after (ms) |
|---|---:|---:|---:|---:|---:|"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def measure(heading: str, ours: bool, options: argparse.Namespace) -> Figures:
    """One process of the program, and one run of wrk."""
    cpus = sorted(os.sched_getaffinity(0))
    first, last = str(cpus[0]), str(cpus[-1])
    server = Server()
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder), server)
        try:
            os.sched_setaffinity(server.process.pid, {cpus[-1]})
            [words] = rig.lay(heading, *APPS[heading], ours=ours)
            port = free_port()
            if words[0] == "uvicorn":
                words = ["uvicorn", "shop:app", "--port", str(port), "--no-access-log"]
            else:
                words = [MODULES.get(word, word) for word in words]
                words[words.index("--workers") + 1] = "1"
                words += ["--bind", f"127.0.0.1:{port}"]
            rig.serve("taskset", "-c", first, *words, port=port)
            url = f"http://127.0.0.1:{port}/visit"
            for seconds in (1, options.seconds):  # the first one warms up
                wrk = ["taskset", "-c", last, "wrk", "--latency", "-t1"]
                wrk += [f"-c{options.connections}", f"-d{seconds}s", url]
                said = subprocess.run(wrk, check=True, capture_output=True, text=True)
            return read_wrk(said.stdout)
        finally:
            rig.stop()
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--only", choices=APPS)
    options = parser.parse_args()
    print(HEAD)
    for heading in [options.only] if options.only else APPS:
        taken: dict[bool, list[Figures]] = {False: [], True: []}
        for _ in range(options.rounds):
            for ours in (False, True):
                taken[ours].append(measure(heading, ours, options))
        print(row(heading, median(taken[False]), median(taken[True])), flush=True)


if __name__ == "__main__":
    main()
