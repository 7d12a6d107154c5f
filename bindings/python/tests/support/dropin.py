# SPDX-License-Identifier: MIT
"""The drop-in's two faces, for tests that are the same for both."""

import asyncio
import inspect
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import redis.asyncio.cluster
import redis.cluster
import shoal.redis
import shoal.redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry


class Scene:
    """One of the drop-in's faces, to be called from synchronous code."""

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async
        self._loop = asyncio.new_event_loop()
        self._clients: list[Any] = []

    def client(
        self, url: str, retries: int = 0, pause: Any = None, **options: Any
    ) -> Any:
        """A client that repeats so often, after a pause."""
        kind: Any = shoal.redis.asyncio if self.is_async else shoal.redis
        retry = self.retry(retries, pause)
        self._clients.append(kind.Redis.from_url(url, retry=retry, **options))
        return self._clients[-1]

    def retry(self, retries: int, pause: Any = None) -> Any:
        """redis-py's."""
        kind: Any = AsyncRetry if self.is_async else Retry
        return kind(pause or NoBackoff(), retries)

    def do(self, call: Callable[[], Any]) -> Any:
        """The call's outcome, awaited if it has to be."""

        async def act() -> Any:
            outcome = call()
            return await outcome if inspect.isawaitable(outcome) else outcome

        return self._loop.run_until_complete(act()) if self.is_async else call()

    def begin(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """The same, beside what follows; the outcome is waited for later."""
        if self.is_async:
            task = self._loop.create_task(call())
            self.do(lambda: asyncio.sleep(0))
            return lambda: self.do(lambda: task)
        return ThreadPoolExecutor(1).submit(call).result

    def close(self, client: Any) -> None:
        """Before the end of the scene."""
        self._clients.remove(client)
        self.do(client.aclose if self.is_async else client.close)

    def end(self) -> None:
        """Close all."""
        for client in self._clients:
            self.do(client.aclose if self.is_async else client.close)
        self._loop.close()


class ClusterScene(Scene):
    """The same for RedisCluster, beside redis-py's own."""

    def __init__(self, cluster: Any, is_async: bool) -> None:
        super().__init__(is_async)
        self._cluster = cluster

    def client(self, url: str = "", *_: Any, **options: Any) -> Any:
        """One of ours."""
        module: Any = shoal.redis.asyncio if self.is_async else shoal.redis
        return self._open(module.RedisCluster, url, options)

    def stock(self, **options: Any) -> Any:
        """One of redis-py's."""
        module: Any = redis.asyncio.cluster if self.is_async else redis.cluster
        return self._open(module.RedisCluster, "", options)

    def _open(self, kind: Any, url: str, options: dict[str, Any]) -> Any:
        self._clients.append(kind.from_url(url or self._cluster.seed_url, **options))
        if self.is_async:
            self.do(self._clients[-1].initialize)
        return self._clients[-1]

    def outcome(self, call: Callable[[], Any]) -> Any:
        """What the call returns or raises, to be compared."""
        try:
            return shown(self.do(call))
        except Exception as error:
            return shown(error)

    def shut(self, client: Any) -> None:
        """Close it; it may be used again."""
        self.do(client.aclose if self.is_async else client.close)

    def forget(self, client: Any) -> None:
        """Nobody has it any more."""
        self._clients.remove(client)


def shown(value: Any) -> Any:
    """A value with the types of all its parts; exceptions can be compared too."""
    if isinstance(value, list):
        return [shown(part) for part in value]
    if isinstance(value, dict):
        return {shown(key): shown(part) for key, part in value.items()}
    if isinstance(value, Exception):
        return type(value), str(value)
    return type(value), value


def until(is_so: Callable[[], bool]) -> None:
    """It comes true, or the test ends by its timeout."""
    while not is_so():
        time.sleep(0.002)


def theirs(r: Any) -> int:
    """How many connections of redis-py's the client has made."""
    pool = r.connection_pool
    return len(pool._available_connections) + len(pool._in_use_connections)


def has_leases(scene: Scene, r: Any, wanted: int) -> bool:
    """Are so many leases open? One that was given back ends in the background."""
    until(lambda: scene.do(lambda: r.shoal_client.stats().leases_now) <= wanted)
    return bool(scene.do(lambda: r.shoal_client.stats().leases_now) == wanted)
