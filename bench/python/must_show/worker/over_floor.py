# SPDX-License-Identifier: MIT
"""No client: what the event loop and its tasks cost alone. A command is a future, and
those of one tick get their replies together in the next one, out of a dict."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from must_show.worker.clients import Calls, Target

DISTRIBUTIONS = {"floor": "floor"}


def blocking(target: Target, **_: object) -> NoReturn:
    raise RuntimeError("the floor is that of event loops")


class Floor:
    """The futures of this tick, and their replies."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._set_result = type(self._loop.create_future()).set_result
        self._futures: list[asyncio.Future[Any]] = []
        self._replies: list[Any] = []
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: bytes) -> asyncio.Future[Any]:
        self._values[key] = value
        return self._answer(b"OK")

    def get(self, key: str) -> asyncio.Future[Any]:
        return self._answer(self._values[key])

    def _answer(self, reply: bytes) -> asyncio.Future[Any]:
        futures = self._futures
        if not futures:
            self._loop.call_soon(self._resolve)
        future = self._loop.create_future()
        futures.append(future)
        self._replies.append(reply)
        return future

    def _resolve(self) -> None:
        futures, self._futures = self._futures, []
        replies, self._replies = self._replies, []
        deque(map(self._set_result, futures, replies), 0)


@asynccontextmanager
async def asynchronous(target: Target) -> AsyncIterator[Calls]:
    floor = Floor()
    yield Calls(set=floor.set, get=floor.get)
