# SPDX-License-Identifier: MIT
"""Our classes in place of redis-py's, for programs that import redis-py themselves."""

from types import ModuleType, TracebackType
from typing import Any, Final, NamedTuple

import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.sentinel
import redis.cluster
import redis.sentinel

from . import asyncio, client, cluster

_CLIENTS: Final = ("Redis", "StrictRedis", "from_url", "Sentinel")
_REPLACED: Final[tuple[tuple[ModuleType, ModuleType, tuple[str, ...]], ...]] = (
    (redis, client, _CLIENTS),
    (redis.asyncio, asyncio, _CLIENTS),
    (redis, cluster, ("RedisCluster",)),
    (redis.cluster, cluster, ("RedisCluster",)),
    (redis.asyncio, asyncio, ("RedisCluster",)),
    (redis.asyncio.cluster, asyncio, ("RedisCluster",)),
    (redis.sentinel, client, ("Sentinel",)),
    (redis.asyncio.sentinel, asyncio, ("Sentinel",)),
)


class Replacement(NamedTuple):
    """One name of one module, and what it meant before and means now."""

    module: ModuleType
    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.module.__name__}.{self.name}"


class Installation:
    """What install() replaced; undone by undo(), or by leaving its `with` block.

    replaced  one entry per name, in the order of replacement
    """

    def __init__(self, replaced: tuple[Replacement, ...]):
        self.replaced = replaced

    def undo(self) -> tuple[Replacement, ...]:
        """Put back what was there; returns what was not put back.

        A name that somebody else has replaced since is left alone.  Doing it twice
        does nothing.  Threads: any, but nobody else may be replacing.
        """
        kept = []
        for entry in reversed(self.replaced):
            if getattr(entry.module, entry.name) is entry.after:
                setattr(entry.module, entry.name, entry.before)
            else:
                kept.append(entry)
        self.replaced = ()
        return tuple(kept)

    def __enter__(self) -> "Installation":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<Installation of {', '.join(map(str, self.replaced)) or 'nothing'}>"


def install() -> Installation:
    """Replace `Redis`, `StrictRedis`, `from_url`, `Sentinel` and `RedisCluster` of
    `redis` and `redis.asyncio`.

    Call it before other modules do `from redis import Redis`: names that were imported
    keep their meaning, and so do objects that exist.  Nothing else is changed.
    Returns what was replaced.  Threads: any, but nobody else may be replacing.
    """
    replaced = []
    for module, ours, names in _REPLACED:
        for name in names:
            before, after = getattr(module, name), getattr(ours, name)
            if before is not after:
                setattr(module, name, after)
                replaced.append(Replacement(module, name, before, after))
    return Installation(tuple(replaced))
