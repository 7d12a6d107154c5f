# SPDX-License-Identifier: MIT
"""The command line."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.machine import describe, plan_cpus
from harness.programs import ROOT, Programs, Unavailable

from must_show.figures import FIGURES, select
from must_show.measure import Pace, Places, measurer, open_places
from must_show.study import Study
from must_show.table import document


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="must_show",
        description="Measures the figures of the Python package beside other clients, "
        "interleaved round by round. Exit status: 0 all bars are met, 1 one is not or "
        "could not be measured, 2 wrong options, 130 interrupted.",
    )
    add = parser.add_argument
    add("--only", type=words, default=[], metavar="GLOB,..", help="these figures only")
    add("--skip", type=words, default=[], metavar="GLOB,..", help="not these figures")
    add("--rounds", type=int, default=5, help="each client so often [5]")
    add("--seconds", type=float, default=1.5, help="of one measurement [1.5]")
    add("--warmup", type=float, default=0.5, help="seconds before it [0.5]")
    add("--tcp", action="store_true", help="TCP on the loopback, not a Unix socket")
    add("--json", type=Path, metavar="FILE", help="everything, with every round")
    add("--python", type=Path, metavar="PATH", help="an interpreter with all packages")
    add(
        "--build",
        type=Path,
        default=ROOT / "build" / "peers",
        metavar="DIR",
        help="where they are installed else, as for bench/peers/run [build/peers]",
    )
    add("--list", action="store_true", help="show the figures and end")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.seconds <= 0 or options.warmup < 0:
        parser.error("--rounds, --seconds or --warmup is out of range")
    return options


def progress(text: str) -> None:
    """One line that is written over on a terminal, a line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def conditions_of(
    options: argparse.Namespace, places: Places, cpus: tuple[set[int], set[int]]
) -> dict[str, Any]:
    client, server = (",".join(map(str, sorted(some))) for some in cpus)
    pinning = "nothing is pinned: there are too few CPUs"
    if client:
        pinning = f"server on CPU {server}, client with all its threads on CPU {client}"
    transport = "TCP on the loopback" if options.tcp else "a Unix socket"
    version = places.place(True).server.version
    return {
        **describe(),
        "server": f"{version}, {transport}, flushed before each measurement",
        "pinning": pinning,
        "values": "16 bytes, unless it says otherwise",
        "rounds": f"{options.rounds} of {options.seconds:g} s after "
        f"{options.warmup:g} s of warm-up, each a new process, interleaved; "
        "ratios of medians, +- half of the range",
    }


def list_figures(options: argparse.Namespace) -> None:
    for figure in select(FIGURES, options.only, options.skip):
        bars = ", ".join(f"{bar.quantity} {bar.text()}" for bar in figure.bars)
        print(f"{figure.name:22}  {figure.about}; {bars or 'for information'}")


def run(options: argparse.Namespace) -> int:
    figures = select(FIGURES, options.only, options.skip)
    if not figures:
        print("must_show: no figure matches", file=sys.stderr)
        return 2
    programs = Programs(Path(), options.build, progress)
    python = options.python or programs.python_with_shoal()
    pace = Pace(options.rounds, options.seconds, options.warmup)
    cpus = plan_cpus(os.sched_getaffinity(0), 1)
    was_interrupted = False
    with open_places(cpus, options.tcp) as places:
        study = Study(figures, conditions_of(options, places, cpus))
        measure = measurer(python, places, pace)
        try:
            for figure in figures:
                study.take_rounds(figure, pace.rounds, measure, progress)
        except KeyboardInterrupt:
            was_interrupted = True
            study.conditions["interrupted"] = "yes; what was measured until then"
    progress("")
    print(document(study), end="")
    if options.json:
        options.json.write_text(json.dumps(study.as_json(), indent=1) + "\n")
    if was_interrupted:
        return 130
    return 0 if study.are_all_met() else 1


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    if options.list:
        list_figures(options)
        return 0
    # Ended from outside, we end server and workers like after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(options)
    except (RuntimeError, Unavailable) as problem:
        print(f"must_show: {problem}", file=sys.stderr)
        return 1
