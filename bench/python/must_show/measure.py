# SPDX-License-Identifier: MIT
"""One measurement: a fresh process of the worker against a server that was filled."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.measure import PATIENCE, Result, ServerWatch, read_result, watch
from harness.programs import PEERS
from harness.server import Server

from must_show.contents import (
    BIG,
    BIG_KEY,
    HASH_FIELDS,
    HASH_KEY,
    LIST_ITEMS,
    LIST_KEY,
    MGET_KEYS,
    ZSET_KEY,
    ZSET_MEMBERS,
    value_of_key,
)
from must_show.figures import Figure

FOLDERS = (Path(__file__).resolve().parent.parent, PEERS / "python")


@dataclass(frozen=True)
class Pace:
    """How often and how long."""

    rounds: int
    seconds: float
    warmup: float


@dataclass(frozen=True)
class Place:
    """A server, and the CPUs of the clients; none: all."""

    server: Server
    cpus: set[int]
    uses_tcp: bool

    def options(self) -> list[str]:
        if self.uses_tcp:
            return ["--port", str(self.server.port)]
        return ["--socket", self.server.socket]


class Places:
    """A context with the pinned place and the other one; each server starts when it is
    asked for."""

    def __init__(self, cpus: tuple[set[int], set[int]], uses_tcp: bool) -> None:
        self._cpus = cpus
        self._uses_tcp = uses_tcp
        self._places: dict[bool, Place] = {}

    def place(self, is_pinned: bool) -> Place:
        if is_pinned not in self._places:
            client, server = self._cpus if is_pinned else (set[int](), set[int]())
            self._places[is_pinned] = Place(
                Server(server).__enter__(), client, self._uses_tcp
            )
        return self._places[is_pinned]

    def stop(self) -> None:
        places, self._places = self._places, {}
        for place in places.values():
            place.server.__exit__(None, None, None)


@contextmanager
def open_places(cpus: tuple[set[int], set[int]], uses_tcp: bool) -> Iterator[Places]:
    places = Places(cpus, uses_tcp)
    try:
        yield places
    finally:
        places.stop()


def fill(server: Server, load: str) -> None:
    """An empty server, but for what the load reads."""
    server.flush()
    if load == "mget":
        words = [
            word for key in MGET_KEYS for word in (key, value_of_key(key).decode())
        ]
        server.ask("MSET", *words)
    if load == "lrange":
        server.ask("RPUSH", LIST_KEY, *(item.decode() for item in LIST_ITEMS))
    if load == "hgetall":
        words = [part.decode() for item in HASH_FIELDS.items() for part in item]
        server.ask("HSET", HASH_KEY, *words)
    if load == "zrange":
        pairs = [(str(score), member.decode()) for member, score in ZSET_MEMBERS]
        server.ask("ZADD", ZSET_KEY, *(word for pair in pairs for word in pair))
    if load == "get-100k":
        server.ask("SET", BIG_KEY, BIG.decode())


def worker_command(
    python: Path, figure: Figure, client: str, place: Place, pace: Pace
) -> list[str]:
    path = ":".join(str(folder) for folder in FOLDERS)
    words = ["env", f"PYTHONPATH={path}", str(python), "-m", "must_show.worker"]
    options: Mapping[str, object] = {
        "--client": client,
        "--face": figure.face,
        "--load": figure.load,
        "--callers": figure.callers,
        "--duration": pace.seconds,
        "--warmup": pace.warmup,
    }
    for name, value in options.items():
        words += [name, str(value)]
    return words + place.options()


Measure = Callable[[Figure, str], Result]


def measurer(python: Path, places: Places, pace: Pace) -> Measure:
    """What measures one client of a figure once; Failed says why it cannot."""

    def measure(figure: Figure, client: str) -> Result:
        place = places.place(figure.is_pinned)
        fill(place.server, figure.load)
        observed = ServerWatch(place.server)
        output = watch(
            worker_command(python, figure, client, place, pace),
            place.cpus,
            pace.warmup + pace.seconds + PATIENCE,
            observed.on_line,
        )
        return {**read_result(output), **observed.figures()}

    return measure
