# SPDX-License-Identifier: MIT
"""What is measured, against whom, and the bars."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch

RATE, CPU, P50 = "rate", "cpu", "p50"
QUANTITIES = {
    RATE: "throughput",
    CPU: "client CPU per command",
    P50: "p50",
}

REDIS_PY = ("redis-py", "redis-py-16")
EVERYBODY = (*REDIS_PY, "coredis", "coredis-one", "valkey-glide")
#: No client at all: the event loop and its tasks alone.
FLOOR = ("floor",)


@dataclass(frozen=True)
class Bar:
    """A limit for the ratio of ours to the best peer's.

    quantity: RATE has to reach the limit, CPU and P50 must not exceed it
    against: clients; the one with the highest throughput is the best
    aim: what is hoped for beyond the limit
    """

    quantity: str
    limit: float
    against: tuple[str, ...]
    aim: float | None = None

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.limit if self.quantity == RATE else ratio <= self.limit

    def text(self) -> str:
        sign = ">=" if self.quantity == RATE else "<="
        aim = f" (aim {self.aim:g})" if self.aim is not None else ""
        return f"{sign} {self.limit:g}{aim}"


@dataclass(frozen=True)
class Figure:
    """One load on several clients in turn.

    name: what --only and --skip match
    face: asyncio, uvloop or threads
    load: a name of worker/loads.py
    subject: ours; peers: the others, the same names as in worker/clients.py
    bars: none for a figure that only informs
    is_pinned: server and client on a CPU each
    """

    name: str
    about: str
    face: str
    load: str
    callers: int
    subject: str
    peers: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    is_pinned: bool = True

    @property
    def clients(self) -> tuple[str, ...]:
        return (self.subject, *self.peers)


def of_tasks(face: str, callers: int, floor: float | None = None) -> Figure:
    """Many tasks, each awaiting SET and GET in turn; `floor`: the bar against it."""
    bars = (Bar(RATE, 10, EVERYBODY), Bar(CPU, 1 / 8, EVERYBODY))
    return Figure(
        f"{face}-{callers}",
        f"{callers} tasks on {face}, each SET and GET in turn",
        face,
        "turns",
        callers,
        "shoal",
        (*EVERYBODY, *FLOOR),
        bars if floor is None else (Bar(RATE, floor, FLOOR), *bars),
    )


def of_one_task(face: str) -> Figure:
    return Figure(
        f"{face}-1",
        f"1 task on {face}, SET and GET in turn",
        face,
        "turns",
        1,
        "shoal",
        ("redis-py", "coredis-one", "valkey-glide"),
        (Bar(P50, 0.75, ("redis-py",)),),
    )


def of_threads(callers: int, bars: tuple[Bar, ...]) -> Figure:
    return Figure(
        f"threads-{callers}",
        f"{callers} thread{'s' * (callers > 1)}, each SET and GET in turn",
        "threads",
        "turns",
        callers,
        "shoal",
        (*(REDIS_PY if callers > 1 else ("redis-py",)), "valkey-glide"),
        bars,
    )


def against_redis_py(
    name: str, about: str, load: str, limit: float, asyncio: float | None = None
) -> list[Figure]:
    """One caller's throughput, blocking and on asyncio, where the limit may be another."""
    return [
        Figure(
            f"{name}-{face}",
            f"{about}, {way}",
            face,
            load,
            1,
            "shoal",
            ("redis-py",),
            (Bar(RATE, least, ("redis-py",)),),
        )
        for face, way, least in (
            ("threads", "blocking", limit),
            ("asyncio", "asyncio", asyncio or limit),
        )
    ]


def of_dropin(face: str, callers: int, *bars: Bar) -> Figure:
    """redis-py's program with another import, beside the same with redis-py."""
    return Figure(
        f"dropin-{face}-{callers}",
        f"drop-in, {callers} {'threads' if face == 'threads' else f'tasks on {face}'}, "
        "unchanged code of redis-py",
        face,
        "turns",
        callers,
        "shoal-redis",
        REDIS_PY if callers > 1 else ("redis-py",),
        bars,
    )


def of_thread_option(callers: int) -> Figure:
    """What thread=True costs or saves."""
    return Figure(
        f"thread-option-{callers}",
        f"thread=True, {callers} task{'s' * (callers > 1)} on asyncio",
        "asyncio",
        "turns",
        callers,
        "shoal-thread",
        ("shoal",),
    )


def unpinned(face: str, callers: int, *bars: Bar) -> Figure:
    """Client and server wherever the scheduler puts them."""
    return Figure(
        f"unpinned-{face}-{callers}",
        f"nothing pinned, {callers} callers, {face}",
        face,
        "turns",
        callers,
        "shoal",
        ("redis-py", "valkey-glide"),
        bars,
        is_pinned=False,
    )


FIGURES = (
    of_tasks("asyncio", 128, floor=0.6),
    of_tasks("uvloop", 128, floor=0.45),
    of_tasks("asyncio", 1024),
    of_tasks("uvloop", 1024),
    of_one_task("asyncio"),
    of_one_task("uvloop"),
    of_threads(1, (Bar(P50, 0.85, ("redis-py",)),)),
    of_threads(32, (Bar(RATE, 2.5, ("valkey-glide",)), Bar(RATE, 5, REDIS_PY))),
    *against_redis_py("many", "execute_many of 100, against a pipeline", "many", 2),
    *against_redis_py("mget", "MGET of 1000 keys", "mget", 1.2),
    *against_redis_py("lrange", "LRANGE of 10 000", "lrange", 1.2),
    *against_redis_py("hgetall", "HGETALL of 1000 fields", "hgetall", 1.2),
    *against_redis_py("zrange", "ZRANGE WITHSCORES of 1000", "zrange", 1.2),
    *against_redis_py("get-100k", "GET of 100 KB", "get-100k", 1.1, asyncio=1.3),
    *against_redis_py("set-100k", "SET of 100 KB", "set-100k", 1.1),
    of_dropin("asyncio", 128, Bar(RATE, 12, ("redis-py",))),
    of_dropin("threads", 32, Bar(RATE, 5, ("redis-py",))),
    of_dropin("threads", 1, Bar(P50, 0.75, ("redis-py",))),
    unpinned("threads", 32, Bar(RATE, 4, ("redis-py", "valkey-glide"))),
    # For information.
    of_dropin("uvloop", 128),
    of_dropin("asyncio", 1),
    of_thread_option(1),
    of_thread_option(128),
    of_thread_option(1024),
    unpinned("asyncio", 1),
    unpinned("asyncio", 128),
    unpinned("threads", 1),
)


def select(figures: Iterable[Figure], only: list[str], skip: list[str]) -> list[Figure]:
    """Those whose names match a pattern of `only`, if any, and none of `skip`."""
    return [
        figure
        for figure in figures
        if (not only or any(fnmatch(figure.name, pattern) for pattern in only))
        and not any(fnmatch(figure.name, pattern) for pattern in skip)
    ]
