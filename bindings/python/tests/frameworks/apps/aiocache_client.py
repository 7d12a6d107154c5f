# SPDX-License-Identifier: MIT
"""Uses the cache from many tasks, and prints what was seen."""

import asyncio
import json

import carried
from aiocache import Cache, cached
from shop import cache

calls = []


async def main() -> None:
    @cached(ttl=60, cache=Cache.REDIS, endpoint=cache.endpoint, port=cache.port)
    async def square(number: int) -> int:
        calls.append(number)
        return number * number

    squares = [await square(3), await square(3)]
    await asyncio.gather(*(cache.set(f"k{i}", i, ttl=60) for i in range(50)))
    got = await asyncio.gather(*(cache.get(f"k{i}") for i in range(50)))
    assert await cache.increment("n", 5) == 5
    assert await cache.exists("k1") and await cache.delete("k1")
    said = {"squares": squares, "calls": calls, "got": got, **carried.report()}
    await cache.close()
    print(json.dumps(said))


asyncio.run(main())
