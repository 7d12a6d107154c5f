# SPDX-License-Identifier: MIT
"""cache.py [url [deadline]]: a cache in front of a slow source.

The source answers whenever the cache does not do so within the deadline (0.02 seconds),
and at once while the server is away.  Answers of the source are stored in the cache.
Where the source must not be asked by all at once, see single_flight.py.
"""

import asyncio
import os
import sys

import shoal.aio

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
TASKS = 20
LOOKUPS = 50
PAGES = 10


async def ask_source(page: str) -> str:
    await asyncio.sleep(0.001)
    return page[::-1]


async def lookup(
    client: shoal.aio.Client, page: str, deadline: float
) -> tuple[str, bool]:
    """Returns the page's text, and whether the cache knew it."""
    key = f"cache:{page}"
    try:
        text = await client.execute("GET", key, timeout=deadline, decode=True)
        if text is not None:
            return text, True
    except shoal.RedisError:
        pass
    text = await ask_source(page)
    stored = client.submit("SET", key, text, "EX", 60)  # nobody waits for it
    # Take the exception, if there is one: asyncio reports those that nobody took.
    stored.add_done_callback(lambda done: done.cancelled() or done.exception())
    return text, False


async def task(client: shoal.aio.Client, deadline: float) -> int:
    hits = 0
    for number in range(LOOKUPS):
        page = f"page-{number % PAGES}"
        text, is_hit = await lookup(client, page, deadline)
        if text != page[::-1]:
            raise SystemExit(f"{page}: {text}")
        hits += is_hit
    return hits


async def main(url: str, deadline: float) -> None:
    async with shoal.aio.Client(url, offline="fail") as client:
        hits = sum(
            await asyncio.gather(*(task(client, deadline) for _ in range(TASKS)))
        )
        print(f"{TASKS * LOOKUPS} lookups, {hits} answered by the cache")


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL
    asyncio.run(main(address, float(sys.argv[2]) if len(sys.argv) > 2 else 0.02))
