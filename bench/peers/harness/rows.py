# SPDX-License-Identifier: MIT
"""The rows of the table: every client, and the ways of using it."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch


@dataclass(frozen=True)
class Row:
    """One way of using one client.

    name: what --only and --skip match, and the table shows
    program: shoal, hiredis, libvalkey, go:FOLDER, python, or python:shoal for shoal's
        own package
    client: the operand of --client; for shoal-bench its own options
    callers: what a caller is: callback, thread, goroutine or task
    setting: "default", or "tuned" for one that its documentation offers
    about: one line for --list and the README
    rates_only: has a meaning in an open loop only
    """

    name: str
    program: str
    client: str
    callers: str
    setting: str
    about: str
    rates_only: bool = False


SHOAL_CALLBACK = "shoal/callback"
SHOAL_SYNC = "shoal/sync"


# fmt: off
ROWS = [Row(*row) for row in (
    (SHOAL_CALLBACK, "shoal", "--mode callback --flush auto", "callback",
     "default", "shoal; callers are callbacks on its thread"),
    (SHOAL_SYNC, "shoal", "--mode sync --flush auto", "thread",
     "default", "shoal; callers are threads in blocking calls"),
    ("shoal/callback-budget", "shoal",
     "--mode callback --flush auto --budget 1000", "callback",
     "tuned", "shoal; a latency budget of 1 ms", True),
    ("shoal/sync-budget", "shoal", "--mode sync --flush auto --budget 1000", "thread",
     "tuned", "shoal; threads, a latency budget of 1 ms", True),

    ("c/hiredis-pool", "shoal", "--mode pool", "thread",
     "default", "hiredis; a blocking connection per thread"),
    ("c/hiredis-async", "hiredis", "async", "callback",
     "default", "hiredis' asynchronous interface on libuv, one connection"),
    ("c/libvalkey-async", "libvalkey", "async", "callback",
     "default", "libvalkey's asynchronous client of clusters on libuv"),
    ("c/hiredis-collector", "shoal", "--mode collector", "thread",
     "default", "threads, a mutex queue, a worker that pipelines what is queued"),
    ("c/hiredis-async-collector", "shoal", "--mode mutex", "thread",
     "default", "threads, a mutex queue in front of the asynchronous interface"),

    ("go/rueidis", "go:rueidis", "default", "goroutine",
     "default", "rueidis, one connection per CPU, 4 at most"),
    ("go/rueidis-20us", "go:rueidis", "20us", "goroutine",
     "tuned", "MaxFlushDelay 20 us"),
    ("go/rueidis-100us", "go:rueidis", "100us", "goroutine",
     "tuned", "MaxFlushDelay 100 us"),
    ("go/rueidis-one", "go:rueidis", "one", "goroutine",
     "tuned", "one connection"),
    ("go/rueidis-one-20us", "go:rueidis", "one-20us", "goroutine",
     "tuned", "one connection, MaxFlushDelay 20 us"),
    ("go/rueidis-one-100us", "go:rueidis", "one-100us", "goroutine",
     "tuned", "one connection, MaxFlushDelay 100 us"),
    ("go/rueidis-four", "go:rueidis", "four", "goroutine",
     "tuned", "4 connections"),
    ("go/rueidis-four-20us", "go:rueidis", "four-20us", "goroutine",
     "tuned", "4 connections, MaxFlushDelay 20 us"),
    ("go/redispipe", "go:redispipe", "default", "goroutine",
     "default", "redispipe, one connection, its pause of 150 us"),
    ("go/redispipe-50us", "go:redispipe", "50us", "goroutine",
     "tuned", "a pause of 50 us"),
    ("go/redispipe-nopause", "go:redispipe", "nopause", "goroutine",
     "tuned", "without a pause"),
    ("go/go-redis", "go:goredis", "default", "goroutine",
     "default", "go-redis, its pool of 10 connections per CPU"),
    ("go/go-redis-pool", "go:goredis", "pool", "goroutine",
     "tuned", "go-redis, a connection per caller"),
    ("go/go-redis-auto", "go:goredis", "auto", "goroutine",
     "tuned", "go-redis' AutoPipeline as it is"),
    ("go/go-redis-auto-100us", "go:goredis", "auto-100us", "goroutine",
     "tuned", "AutoPipeline, MaxFlushDelay 100 us"),
    ("go/go-redis-auto-duplex", "go:goredis", "auto-duplex", "goroutine",
     "tuned", "AutoPipeline, FullDuplex"),
    ("go/redigo-pool", "go:redigo", "pool", "goroutine",
     "default", "redigo, a pool with a connection per caller"),
    ("go/redigo-collector", "go:redigo", "collector", "goroutine",
     "tuned", "a channel, a goroutine that pipelines what is queued on redigo"),

    ("py/shoal-threads", "python:shoal", "shoal-threads", "thread",
     "default", "shoal.Client, threads"),
    ("py/shoal-asyncio", "python:shoal", "shoal-asyncio", "task",
     "default", "shoal.aio.Client on asyncio"),
    ("py/shoal-asyncio-thread", "python:shoal", "shoal-asyncio-thread", "task",
     "tuned", "shoal.aio.Client on asyncio, thread=True"),
    ("py/shoal-uvloop", "python:shoal", "shoal-uvloop", "task",
     "tuned", "shoal.aio.Client on uvloop"),
    ("py/shoal-redis-threads", "python:shoal", "shoal-redis-threads", "thread",
     "default", "shoal.redis.Redis in the program of py/redis-py-threads"),
    ("py/shoal-redis-asyncio", "python:shoal", "shoal-redis-asyncio", "task",
     "default", "shoal.redis.asyncio.Redis in that of py/redis-py-asyncio"),
    ("py/shoal-redis-uvloop", "python:shoal", "shoal-redis-uvloop", "task",
     "tuned", "the same on uvloop"),

    ("py/redis-py-threads", "python", "redis-py-threads", "thread",
     "default", "redis-py, a connection per thread"),
    ("py/redis-py-threads-16", "python", "redis-py-threads-16", "thread",
     "tuned", "redis-py, threads, a blocking pool of 16 connections"),
    ("py/redis-py-asyncio", "python", "redis-py-asyncio", "task",
     "default", "redis-py on asyncio, a connection per task"),
    ("py/redis-py-asyncio-16", "python", "redis-py-asyncio-16", "task",
     "tuned", "redis-py on asyncio, a blocking pool of 16 connections"),
    ("py/redis-py-uvloop", "python", "redis-py-uvloop", "task",
     "tuned", "redis-py on uvloop, a connection per task"),
    ("py/redis-py-uvloop-16", "python", "redis-py-uvloop-16", "task",
     "tuned", "redis-py on uvloop, a blocking pool of 16 connections"),
    ("py/coredis", "python", "coredis", "task",
     "default", "coredis on asyncio, its pool"),
    ("py/coredis-one", "python", "coredis-one", "task",
     "tuned", "coredis, one connection"),
    ("py/coredis-one-uvloop", "python", "coredis-one-uvloop", "task",
     "tuned", "coredis, one connection, uvloop"),
    ("py/valkey-glide", "python", "valkey-glide", "task",
     "default", "valkey-glide on asyncio"),
    ("py/valkey-glide-uvloop", "python", "valkey-glide-uvloop", "task",
     "tuned", "valkey-glide on uvloop"),
    ("py/valkey-glide-sync", "python", "valkey-glide-sync", "thread",
     "default", "valkey-glide-sync, threads"),
)]
# fmt: on


ONLY_CLUSTERS = {"c/libvalkey-async"}
CLUSTERS = ONLY_CLUSTERS | {
    SHOAL_CALLBACK,
    SHOAL_SYNC,
    "shoal/callback-budget",
    "shoal/sync-budget",
    "go/rueidis",
    "go/rueidis-20us",
    "go/rueidis-100us",
    "go/redispipe",
    "go/redispipe-50us",
    "go/redispipe-nopause",
    "go/go-redis",
    "go/go-redis-pool",
    "go/go-redis-auto",
    "go/go-redis-auto-100us",
    "py/shoal-threads",
    "py/shoal-asyncio",
    "py/shoal-asyncio-thread",
    "py/shoal-uvloop",
    "py/shoal-redis-threads",
    "py/shoal-redis-asyncio",
    "py/redis-py-threads",
    "py/redis-py-asyncio",
    "py/redis-py-uvloop",
    "py/valkey-glide",
    "py/valkey-glide-uvloop",
    "py/valkey-glide-sync",
}


def select(
    rows: Iterable[Row],
    only: list[str],
    skip: list[str],
    is_paced: bool,
    is_cluster: bool,
) -> list[Row]:
    """The rows whose names match a pattern of `only`, if any, and none of `skip`, and
    that know what they are measured against."""
    return [
        row
        for row in rows
        if (not only or any(fnmatch(row.name, pattern) for pattern in only))
        and not any(fnmatch(row.name, pattern) for pattern in skip)
        and (is_paced or not row.rates_only)
        and (row.name in CLUSTERS if is_cluster else row.name not in ONLY_CLUSTERS)
    ]
