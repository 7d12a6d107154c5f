# SPDX-License-Identifier: MIT
"""What every Python peer shares: the options, the window, the result."""

import argparse
import functools
import itertools
import math
import random
import resource
import sys
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

KEY = "key:000000000000"
CLUSTER_KEYS = 100000
CALLERS_ALL_TIMED = 64  # beyond these a closed loop is sampled, as in shoal-bench
SAMPLING = 8

WARMING, MEASURING, STOPPING = range(3)


class Options(Protocol):
    """What a measurement is asked for; `rate` 0 is the closed loop."""

    client: str
    callers: int
    rate: int
    value_bytes: int
    duration: float
    warmup: float


def parse_options(
    arguments: Sequence[str], clients: Collection[str]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peer.py")
    add = parser.add_argument
    add("--client", required=True, choices=sorted(clients))
    add("--socket")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=6379)
    add("--cluster", action="store_true", help="host and port are those of a node")
    add("--ca", help="TLS, with a server that the authority of this file signed for")
    add("--callers", type=int, default=128)
    add("--rate", type=int, default=0)
    add("--value-bytes", type=int, default=16)
    add("--duration", type=float, default=5)
    add("--warmup", type=float, default=1)
    add("--no-command", action="store_true")
    add("--channels", type=int, default=0, help="receive the messages of so many")
    add("--credits", type=int, default=-1, help="the descriptor for the publisher")
    add("--check", action="store_true", help="import the client, and end")
    options = parser.parse_args(arguments)
    if options.no_command and not options.rate:
        parser.error("--no-command needs --rate")
    if options.callers < 1 or options.value_bytes < 1 or options.duration <= 0:
        parser.error("a number is out of range")
    options.value = "x" * options.value_bytes
    return options


def setter(options: argparse.Namespace, call: Callable[..., Any]) -> Callable[[], Any]:
    """`call` with a key and the value. The key is always the same; of a cluster, one of
    100 000 in random order."""
    value = options.value
    if not options.cluster:
        return functools.partial(call, KEY, value)
    keys = [f"key:{number:012d}" for number in range(CLUSTER_KEYS)]
    random.Random(1).shuffle(keys)
    following = itertools.cycle(keys).__next__  # one step, so threads may share it
    return lambda: call(following(), value)


class Recorder:
    """One caller's own figures; only its thread or loop writes them."""

    def __init__(self) -> None:
        self.ops = 0
        self.errors = 0
        self.first_error: str | None = None
        self.latency_ns = array("q")
        self.service_ns = array("q")

    def note_error(self, error: Exception) -> None:
        self.errors += 1
        self.first_error = self.first_error or f"{type(error).__name__}: {error}"


class Measurement:
    """The phases, the recorders of all callers, the moments at the window's ends."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.phase = WARMING
        is_sampled = not options.rate and options.callers > CALLERS_ALL_TIMED
        self.sampling = SAMPLING if is_sampled else 1
        self.recorders = [Recorder() for _ in range(options.callers)]
        self._from = self._to = self._moment()

    def _moment(self) -> tuple[float, float, int]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return (
            time.perf_counter(),
            usage.ru_utime + usage.ru_stime,
            sum(recorder.ops for recorder in self.recorders),
        )

    def begin(self) -> None:
        print("measuring", file=sys.stderr, flush=True)
        self.phase = MEASURING
        self._from = self._moment()

    def end(self) -> None:
        self._to = self._moment()
        self.phase = STOPPING
        print("measured", file=sys.stderr, flush=True)

    def result(self, versions: dict[str, str | None]) -> dict[str, Any]:
        """The result with the keys of shoal-bench."""
        (begin_s, begin_cpu_s, begin_ops), (end_s, end_cpu_s, end_ops) = (
            self._from,
            self._to,
        )
        seconds, cpu_s, ops = (
            end_s - begin_s,
            end_cpu_s - begin_cpu_s,
            end_ops - begin_ops,
        )
        if ops == 0:
            raise RuntimeError(f"no command finished; {self._first_error()}")
        options = self.options
        usage = resource.getrusage(resource.RUSAGE_SELF)
        result: dict[str, Any] = {
            "client": options.client,
            "commands": ops,
            "errors": sum(recorder.errors for recorder in self.recorders),
            "first_error": self._first_error(),
            "seconds": seconds,
            "ops_per_s": ops / seconds,
            "client_cpu_us_per_op": cpu_s * 1e6 / ops,
            "client_cpu_percent": cpu_s * 100 / seconds,
            "peak_rss_bytes": usage.ru_maxrss * 1024,
            "latency_us": summarize(recorder.latency_ns for recorder in self.recorders),
        }
        if options.rate and any(recorder.service_ns for recorder in self.recorders):
            result["service_latency_us"] = summarize(
                recorder.service_ns for recorder in self.recorders
            )
        result["config"] = {
            "callers": options.callers,
            "rate": options.rate,
            "value_bytes": options.value_bytes,
            "duration_s": options.duration,
            "warmup_s": options.warmup,
            "latency_sampling": self.sampling,
            "versions": versions,
        }
        return result

    def _first_error(self) -> str | None:
        return next((r.first_error for r in self.recorders if r.first_error), None)


def summarize(arrays: Iterable[Iterable[int]]) -> dict[str, float | None]:
    """Quantiles and the mean, in microseconds, under the keys of the JSON."""
    durations = sorted(ns for one in arrays for ns in one)
    shares = {
        "p0": 0,
        "p50": 0.5,
        "p90": 0.9,
        "p95": 0.95,
        "p99": 0.99,
        "p99_9": 0.999,
        "p99_99": 0.9999,
        "p100": 1,
    }
    if not durations:
        return dict.fromkeys([*shares, "mean"])
    last = len(durations) - 1
    summary: dict[str, float | None] = {
        name: durations[min(last, int(share * len(durations)))] / 1e3
        for name, share in shares.items()
    }
    summary["mean"] = sum(durations) / len(durations) / 1e3
    return summary


class Schedule:
    """When the commands of an open loop are due, in nanoseconds of perf_counter. Those
    that were due before are nobody's."""

    def __init__(self, rate: int, start_ns: int) -> None:
        self.interval_ns = 1e9 / rate
        self.start_ns = start_ns
        past_ns = max(0, time.perf_counter_ns() - start_ns)
        self.released = math.ceil(past_ns / self.interval_ns)

    def due_ns(self, number: int) -> int:
        return self.start_ns + int(number * self.interval_ns)

    def take_due(self) -> list[int]:
        """The moments that have come since the last call."""
        now = time.perf_counter_ns()
        due = []
        while (moment := self.due_ns(self.released)) <= now:
            due.append(moment)
            self.released += 1
        return due
