# SPDX-License-Identifier: MIT
"""Measure one client under one load; the result is one JSON object."""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module

from peer import versions_of
from workload import Measurement

from must_show.worker import run_tasks, run_threads
from must_show.worker.clients import CLIENTS, Target
from must_show.worker.loads import LOADS


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="must_show.worker")
    add = parser.add_argument
    add("--client", required=True, choices=sorted(CLIENTS))
    add("--face", required=True, choices=("asyncio", "uvloop", "threads"))
    add("--load", required=True, choices=sorted(LOADS))
    add("--callers", type=int, default=1)
    add("--duration", type=float, default=2)
    add("--warmup", type=float, default=0.5)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--socket")
    place.add_argument("--port", type=int)
    options = parser.parse_args(arguments)
    if options.callers < 1 or options.duration <= 0 or options.warmup < 0:
        parser.error("a number is out of range")
    options.rate = 0
    options.value_bytes = LOADS[options.load].value_bytes
    return options


def main(arguments: Sequence[str]) -> None:
    options = parse(arguments)
    name, settings = CLIENTS[options.client]
    module = import_module(f"must_show.worker.{name}")
    target = Target(options.socket, options.port, options.callers)
    load = LOADS[options.load]
    measurement = Measurement(options)
    distributions = module.DISTRIBUTIONS
    if options.face == "threads":
        run_threads.run(measurement, load, module.blocking(target, **settings))
    else:
        if options.face == "uvloop":
            distributions = {**distributions, "uvloop": "uvloop"}
        opened = module.asynchronous(target, **settings)
        run_tasks.run(measurement, load, opened, options.face)
    json.dump(measurement.result(versions_of(distributions)), sys.stdout)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
