# SPDX-License-Identifier: MIT
"""The command line, and the rounds."""

import argparse
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import messages
from .cluster import Cluster
from .figures import summarize
from .machine import describe, plan_cpus
from .measure import Failed, Load, Place, Result, measure, measure_generator
from .programs import ROOT, Programs, Unavailable
from .report import Report
from .rows import ROWS, Row, select
from .server import Server


def whole_numbers(text: str) -> list[int]:
    numbers = [int(word) for word in text.split(",") if word.isdecimal()]
    if len(numbers) != len(text.split(",")) or min(numbers) < 1:
        raise argparse.ArgumentTypeError(
            "expected whole numbers of 1 or more, with commas between them"
        )
    return numbers


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def parse(arguments: Sequence[str]) -> Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/peers/run",
        description="Measures shoal and other clients, interleaved round by round.",
    )
    add = parser.add_argument
    add(
        "--callers",
        type=whole_numbers,
        metavar="N,..",
        help="concurrent callers [1,128,1024; 128 with --rate]",
    )
    add(
        "--rate",
        type=whole_numbers,
        metavar="R,..",
        help="open loop: so many commands per second",
    )
    add("--rounds", type=int, default=3, help="each row so often [3]")
    add("--duration", type=float, default=2, help="seconds of one run [2]")
    add("--warmup", type=float, default=1, help="seconds before it [1]")
    add("--value-bytes", type=int, default=16, help="size of the value [16]")
    add(
        "--client-cpus",
        type=int,
        default=1,
        metavar="N",
        help="CPUs that a client may use; the server has the last one [1]",
    )
    add("--only", type=words, default=[], metavar="GLOB,..", help="these rows only")
    add("--skip", type=words, default=[], metavar="GLOB,..", help="not these rows")
    add(
        "--out",
        type=Path,
        default=ROOT / "build" / "peers",
        metavar="DIR",
        help="where peers.md and peers.json go [build/peers]",
    )
    add(
        "--build",
        type=Path,
        default=ROOT / "build" / "peers",
        metavar="DIR",
        help="where the Go and Python peers are built [build/peers]",
    )
    add(
        "--shoal",
        type=Path,
        default=ROOT / "build" / "bin" / "shoal-bench",
        metavar="PATH",
        help="shoal-bench; peer-hiredis is expected beside it",
    )
    add(
        "--tls",
        action="store_true",
        help="clients speak TLS with the server; shoal-certificates is expected beside"
        " shoal-bench",
    )
    add(
        "--cluster",
        action="store_true",
        help="a private cluster of three primaries, random keys, and the rows that know"
        " clusters; shoal-cluster-nodes is expected beside shoal-bench",
    )
    add(
        "--messages",
        action="store_true",
        help="not commands but the rows that receive what shoal-bench publishes",
    )
    add(
        "--channels",
        type=whole_numbers,
        metavar="N,..",
        help="of --messages [1,100]",
    )
    add(
        "--window",
        type=int,
        default=8192,
        help="of --messages without --rate: so many are on their way; 0: whatever the"
        " server takes, which cuts off who is too slow [8192]",
    )
    add("--list", action="store_true", help="show the rows and end")
    options = parser.parse_args(arguments)
    if min(options.rounds, options.client_cpus, options.value_bytes) < 1:
        parser.error("--rounds, --client-cpus and --value-bytes must be 1 or more")
    if options.messages and (options.cluster or options.callers):
        parser.error("--messages: not with --cluster or --callers")
    if options.messages and (options.value_bytes < 16 or options.window < 0):
        parser.error("--messages: --value-bytes must be 16 or more, --window 0 or more")
    if options.tls and options.cluster:
        parser.error("--tls: the private cluster has none")
    if options.duration <= 0 or options.warmup < 0:
        parser.error("--duration must be more than 0, --warmup not less")
    return options


def loads_of(options: Namespace) -> list[Load]:
    if options.messages:
        return [
            Load(
                1,
                rate,
                options.value_bytes,
                options.duration,
                options.warmup,
                channels,
                options.window,
            )
            for rate in options.rate or [0]
            for channels in options.channels or [1, 100]
        ]
    most = [128, 1024] if options.cluster else [1, 128, 1024]
    callers = options.callers or ([128] if options.rate else most)
    return [
        Load(count, rate, options.value_bytes, options.duration, options.warmup)
        for rate in options.rate or [0]
        for count in callers
    ]


def progress(text: str) -> None:
    """One line that is written over on a terminal, a line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def conditions_of(
    options: Namespace, server: Server | Cluster, cpus: tuple[set[int], set[int]]
) -> dict[str, Any]:
    client, last = (",".join(map(str, sorted(some))) for some in cpus)
    pinning = "nothing is pinned: there are too few CPUs"
    if client:
        pinning = (
            f"server on CPU {last}, client with all its threads on CPU {client} "
            f"(GOMAXPROCS is therefore {len(cpus[0])})"
        )
    return {
        **describe(),
        "server": f"{server.version}, TCP on the loopback"
        f"{', TLS' if server.ca else ''}, flushed before each run",
        "pinning": pinning,
        "command": "PUBLISH by shoal, in a process on the server's CPU"
        if options.messages
        else f"SET key:{'0' * 12} with {options.value_bytes} bytes"
        if not server.is_cluster
        else f"SET of random ones of 100000 keys, {options.value_bytes} bytes",
        "rounds": f"{options.rounds} of {options.duration:g} s after "
        f"{options.warmup:g} s of warm-up, interleaved; medians, +- half of the range",
    }


def find_commands(
    rows: list[Row], programs: Programs, report: Report, is_paced: bool
) -> dict[str, list[str]]:
    commands = {}
    for row in rows:
        try:
            commands[row.name] = programs.command(row)
            if is_paced and row.program != "shoal":
                programs.need_pacer()
        except Unavailable as problem:
            commands.pop(row.name, None)
            report.skip(row.name, str(problem))
    return commands


def is_paced(row: Row, load: Load) -> bool:
    """Whether a peer takes its commands from a pacer."""
    return row.program != "shoal" and not load.channels


def measure_load(
    load: Load,
    rounds: int,
    commands: dict[str, list[str]],
    report: Report,
    place: Place,
    results: dict[str, Result],
    publisher: Sequence[str],
) -> None:
    """Every row once, then every row again, beginning with another one."""
    names = {row.name: row for row in report.rows if row.name in commands}
    collected: dict[str, list[Result]] = {name: [] for name in names}
    failed: set[str] = set()
    generators: dict[str, float] = {}
    try:
        for turn in range(rounds):
            order = list(names)
            order = order[turn % len(order) :] + order[: turn % len(order)]
            for name in order:
                if name in failed:
                    continue
                progress(f"{load.title()}: round {turn + 1}/{rounds}, {name}")
                try:
                    row = names[name]
                    if load.rate and turn == 0 and is_paced(row, load):
                        generators[name] = measure_generator(
                            commands[name], load, place
                        )
                    run = messages.runner(row, publisher) if load.channels else None
                    collected[name].append(
                        measure(row, commands[name], load, place, run)
                    )
                except Failed as problem:
                    failed.add(name)
                    report.skip(name, f"{load.title()}: {problem}")
    finally:
        for name, rounds_of in collected.items():
            if rounds_of and name not in failed:
                results[name] = summarize(rounds_of)
                if name in generators:
                    results[name]["generator_cpu_us_per_op"] = generators[name]


def open_server(options: Namespace, cpus: set[int]) -> Server | Cluster:
    """The context of what is measured against; tools are beside shoal-bench."""
    tool, option = "", ""
    if options.tls:
        tool, option = "shoal-certificates", "--tls"
    elif options.cluster:
        tool, option = "shoal-cluster-nodes", "--cluster"
    path = options.shoal.parent / tool
    if tool and not os.access(path, os.X_OK):
        raise RuntimeError(f"{tool}, which {option} needs, is not built")
    return (
        Cluster(cpus, path)
        if options.cluster
        else Server(cpus, str(path) if options.tls else "")
    )


def run(options: Namespace) -> int:
    rows = select(
        messages.ROWS if options.messages else ROWS,
        options.only,
        options.skip,
        bool(options.rate),
        options.cluster,
    )
    if options.list:
        width = max((len(row.name) for row in rows), default=0)
        for row in rows:
            print(f"{row.name:{width}}  {row.setting:7}  {row.about}")
        return 0
    if not rows:
        print("run: no row matches", file=sys.stderr)
        return 2
    cpus = plan_cpus(os.sched_getaffinity(0), options.client_cpus)
    was_interrupted = False
    with open_server(options, cpus[1]) as server:
        report = Report(rows, conditions_of(options, server, cpus))
        try:
            programs = Programs(options.shoal, options.build, progress)
            has_pacer = bool(options.rate) and not options.messages
            commands = find_commands(rows, programs, report, has_pacer)
            place = Place(server, cpus[0], str(programs.pacer), cpus[1])
            for load in loads_of(options):
                report.results.append((load, {}))
                if not commands:
                    break
                measure_load(
                    load,
                    options.rounds,
                    commands,
                    report,
                    place,
                    report.results[-1][1],
                    [str(options.shoal)],
                )
        except KeyboardInterrupt:
            was_interrupted = True
            report.conditions["interrupted"] = "yes; what was measured until then"
    progress("")
    print(report.write(options.out))
    if was_interrupted:
        return 130
    return 0 if any(results for _, results in report.results) else 1


def main(arguments: Sequence[str]) -> int:
    # Ended from outside, we end our server and peers like after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(parse(arguments))
    except BrokenPipeError:  # whoever read the output wants no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except RuntimeError as problem:
        print(f"run: {problem}", file=sys.stderr)
        return 1
