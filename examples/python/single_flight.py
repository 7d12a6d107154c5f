# SPDX-License-Identifier: MIT
"""single_flight.py [url [page]]: many miss one key, and one of them computes it.

A page that leaves the cache is missed by all callers who ask for it at that moment.  In
one program a table of flights joins them: a caller waits for the computation that is
under way.  Among programs a lock in the server decides.  It ends by itself if the
program that holds it dies.  Both faces are shown: a cache for tasks, one for threads.
"""

import asyncio
import os
import secrets
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import shoal
import shoal.aio
from shoal import scripts

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
CALLERS = 32
KEEP_S = 60
HOLD_MS = 30_000  # longer than a computation takes
LOOK_S = 0.01  # another program computes: look again after so long


def keys_of(page: str) -> tuple[str, str]:
    """Of the text and of its lock; both are in one slot of a cluster."""
    return f"{{page:{page}}}", f"{{page:{page}}}:lock"


class TaskCache:
    """For the tasks of one event loop."""

    def __init__(self, client: shoal.aio.Client[str]) -> None:
        self.client = client
        self.unlock = client.script(scripts.COMPARE_AND_DELETE)
        self.flights: dict[str, asyncio.Task[str]] = {}

    async def get(self, page: str) -> str:
        text: str | None = await self.client.execute("GET", keys_of(page)[0])
        if text is not None:
            return text
        flight = self.flights.get(page)
        if flight is None:
            flight = self.flights[page] = asyncio.ensure_future(self.fly(page))
            flight.add_done_callback(lambda _: self.flights.pop(page))
        # A caller that is cancelled does not end the computation of the others.
        return await asyncio.shield(flight)

    async def fly(self, page: str) -> str:
        key, lock = keys_of(page)
        me = secrets.token_hex()
        while True:
            # In this order: a holder stores the text before it gives the lock back.
            is_mine, text = await self.client.execute_many(
                [("SET", lock, me, "NX", "PX", HOLD_MS), ("GET", key)]
            )
            try:
                if text is None and is_mine:
                    text = await self.compute(page)
                    await self.client.execute("SET", key, text, "EX", KEEP_S)
            finally:
                if is_mine:
                    await self.unlock([lock], [me])
            if text is not None:
                return str(text)
            await asyncio.sleep(LOOK_S)

    async def compute(self, page: str) -> str:
        await self.client.execute("INCR", f"computed:{page}")
        await asyncio.sleep(0.05)
        return page[::-1]


class ThreadCache:
    """For any number of threads: the one that finds no flight computes."""

    def __init__(self, client: shoal.Client[str]) -> None:
        self.client = client
        self.unlock = client.script(scripts.COMPARE_AND_DELETE)
        self.flights: dict[str, Future[str]] = {}
        self.flights_lock = threading.Lock()

    def get(self, page: str) -> str:
        text: str | None = self.client.execute("GET", keys_of(page)[0])
        if text is not None:
            return text
        with self.flights_lock:
            flight = self.flights.get(page)
            if is_first := flight is None:
                flight = self.flights[page] = Future()
        assert flight is not None
        if is_first:
            try:
                flight.set_result(self.fly(page))
            except BaseException as error:  # all who wait for it get it
                flight.set_exception(error)
            finally:
                del self.flights[page]
        return flight.result()

    def fly(self, page: str) -> str:
        key, lock = keys_of(page)
        me = secrets.token_hex()
        while True:
            is_mine, text = self.client.execute_many(
                [("SET", lock, me, "NX", "PX", HOLD_MS), ("GET", key)]
            )
            try:
                if text is None and is_mine:
                    text = self.compute(page)
                    self.client.execute("SET", key, text, "EX", KEEP_S)
            finally:
                if is_mine:
                    self.unlock([lock], [me])
            if text is not None:
                return str(text)
            time.sleep(LOOK_S)

    def compute(self, page: str) -> str:
        self.client.execute("INCR", f"computed:{page}")
        time.sleep(0.05)
        return page[::-1]


def check(page: str, texts: list[str]) -> None:
    if texts != [page[::-1]] * CALLERS:
        raise SystemExit(f"{page}: {texts}")


async def show_tasks(url: str, page: str) -> None:
    async with shoal.aio.Client[str](url, decode_responses=True) as client:
        cache = TaskCache(client)
        check(page, await asyncio.gather(*(cache.get(page) for _ in range(CALLERS))))
        count = await client.execute("GET", f"computed:{page}")
        print(f"{CALLERS} tasks asked for {page}, computed {count} times")


def show_threads(url: str, page: str) -> None:
    with (
        shoal.Client[str](url, decode_responses=True) as client,
        ThreadPoolExecutor(CALLERS) as pool,
    ):
        cache = ThreadCache(client)
        check(page, list(pool.map(cache.get, [page] * CALLERS)))
        count = client.execute("GET", f"computed:{page}")
        print(f"{CALLERS} threads asked for {page}, computed {count} times")


if __name__ == "__main__":
    url, page, *_ = [*sys.argv[1:], "", ""]
    page = page or f"page-{os.getpid()}"
    asyncio.run(show_tasks(url or DEFAULT_URL, f"{page}-a"))
    show_threads(url or DEFAULT_URL, f"{page}-b")
