# SPDX-License-Identifier: MIT
"""Receivers of messages: their rows, one run of one of them, their table."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .figures import ratio
from .markdown import grid, number, percent, times
from .measure import (
    HOST,
    PATIENCE,
    Load,
    Place,
    Result,
    Run,
    ServerWatch,
    measure_shoal,
    peer_options,
    read_result,
    watch,
)
from .rows import Row
from .server import pinned

HIREDIS = "c/hiredis"

# fmt: off
ROWS = [Row(*row) for row in (
    ("shoal/callback", "shoal", "--mode subscribe", "callback",
     "default", "shoal; a callback for each message"),
    ("shoal/mailbox", "shoal", "--mode mailbox", "thread",
     "default", "shoal; a thread takes messages off a mailbox"),
    (HIREDIS, "shoal", "--mode listen", "callback",
     "default", "hiredis' asynchronous interface on libuv"),

    ("go/rueidis-hooks", "go:rueidis", "hooks", "callback",
     "default", "rueidis, a dedicated client with PubSubHooks"),
    ("go/rueidis-receive", "go:rueidis", "receive", "callback",
     "default", "rueidis, Receive"),
    ("go/go-redis-channel", "go:goredis", "channel", "goroutine",
     "default", "go-redis, Channel: 100 messages are held, then it drops"),
    ("go/go-redis-receive", "go:goredis", "receive", "goroutine",
     "default", "go-redis, ReceiveMessage"),

    ("py/shoal-take", "python:shoal", "shoal-take", "task",
     "default", "shoal.aio.Client, await take()"),
    ("py/shoal-iterate", "python:shoal", "shoal-iterate", "task",
     "default", "shoal.aio.Client, async for"),
    ("py/shoal-on-message", "python:shoal", "shoal-on-message", "task",
     "default", "shoal.aio.Client, a function for each message"),
    ("py/shoal-take-thread", "python:shoal", "shoal-take-thread", "thread",
     "default", "shoal.Client, take()"),
    ("py/shoal-iterate-thread", "python:shoal", "shoal-iterate-thread", "thread",
     "default", "shoal.Client, for"),
    ("py/shoal-redis-listen", "python:shoal", "shoal-redis-listen", "task",
     "default", "the drop-in in the program of py/redis-py-listen"),
    ("py/shoal-redis-get-message", "python:shoal", "shoal-redis-get-message", "thread",
     "default", "the drop-in in that of py/redis-py-get-message"),
    ("py/redis-py-listen", "python", "redis-py-listen", "task",
     "default", "redis-py on asyncio, listen"),
    ("py/redis-py-get-message", "python", "redis-py-get-message", "thread",
     "default", "redis-py, a thread in get_message"),
    ("py/coredis-iterate", "python", "coredis-iterate", "task",
     "default", "coredis on asyncio, its iterator"),
    ("py/valkey-glide-get", "python", "valkey-glide-get", "task",
     "default", "valkey-glide on asyncio, get_pubsub_message"),
)]
# fmt: on


def receiver_options(load: Load, place: Place, credits: int) -> list[str]:
    return [
        *peer_options(load, place.server.port, ca=place.server.ca),
        "--channels",
        str(load.channels),
        "--credits",
        str(credits),
    ]


def publisher_command(publisher: Sequence[str], load: Load, place: Place) -> list[str]:
    """shoal-bench, which publishes until it is ended."""
    words = [
        *publisher,
        "-q",
        "--mode",
        "publish",
        "-h",
        HOST,
        "-p",
        str(place.server.port),
        "-d",
        str(load.value_bytes),
        "-r",
        str(load.channels),
        "--warmup",
        "0",
        "--duration",
        "86400",
        "--window",
        str(0 if load.rate else load.window),
    ]
    if place.server.ca:
        words += ["--tls", "--ca", place.server.ca]
    return [*words, "--rate", str(load.rate)] if load.rate else words


def shoal_options(load: Load, place: Place) -> list[str]:
    """Beyond those of commands; it has a publisher of its own."""
    words = ["-r", str(load.channels)]
    if not load.rate:
        words += ["--window", str(load.window)]
    if place.server_cpus:
        words += ["--publisher-cpu", str(max(place.server_cpus))]
    return words


class Publisher:
    """Starts when the receiver has subscribed."""

    def __init__(self, command: Sequence[str], cpus: set[int], credits: int) -> None:
        self._command = command
        self._cpus = cpus
        self._credits = credits
        self._process: subprocess.Popen[bytes] | None = None

    def on_line(self, line: str) -> None:
        if line == "subscribed" and self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=self._credits,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=pinned(self._cpus),
            )

    def end(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()


@contextmanager
def credit_pipe() -> Iterator[tuple[int, int]]:
    """What a receiver tells its publisher: a byte for each 1024 messages."""
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def measure_receiver(
    command: Sequence[str], publisher: Sequence[str], load: Load, place: Place
) -> Result:
    observed = ServerWatch(place.server)
    with credit_pipe() as (reading, writing):
        source = Publisher(
            publisher_command(publisher, load, place), place.server_cpus, reading
        )

        def on_line(line: str) -> None:
            source.on_line(line)
            observed.on_line(line)

        try:
            output = watch(
                [*command, *receiver_options(load, place, writing)],
                place.cpus,
                load.warmup + load.duration + PATIENCE,
                on_line,
                keeps=(writing,),
            )
        finally:
            source.end()
    return {**read_result(output), **observed.figures()}


def runner(row: Row, publisher: Sequence[str]) -> Run:
    """How a row is measured."""
    if row.program == "shoal":
        return lambda command, load, place: measure_shoal(
            command, load, place, shoal_options(load, place)
        )
    return lambda command, load, place: measure_receiver(
        command, publisher, load, place
    )


HEAD = [
    "receiver",
    "receives in a",
    "messages/s",
    f"of {HIREDIS}",
    "client CPU us/message",
    f"of {HIREDIS}",
    "p50 us",
    "p99 us",
    "server CPU us/message",
    "lost",
    "errors",
]
LEFT = 2  # columns of text


def cells(row: Row, result: Result, reference: Result | None) -> list[str]:
    latency = result["latency_us"]
    return [
        row.name,
        row.callers,
        number(result["ops_per_s"]) + percent(result["ops_per_s_spread"]),
        times(ratio(result, reference)),
        number(result["client_cpu_us_per_op"], 2),
        times(ratio(result, reference, "client_cpu_us_per_op")),
        number(latency["p50"]),
        number(latency["p99"]),
        number(result["server_cpu_us_per_op"], 2),
        number(result["lost_messages"]),
        number(result["errors"]),
    ]


def table(load: Load, rows: list[Row], results: dict[str, Result]) -> list[str]:
    """The lines of the table: the fastest first; at a rate, the cheapest."""

    def order(row: Row) -> float:
        result = results[row.name]
        key = result["client_cpu_us_per_op"] if load.rate else -result["ops_per_s"]
        return float(key)

    measured = sorted((row for row in rows if row.name in results), key=order)
    lines = [cells(row, results[row.name], results.get(HIREDIS)) for row in measured]
    return grid(HEAD, lines, LEFT)
