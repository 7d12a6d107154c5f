# SPDX-License-Identifier: MIT
"""gather.py [url]: 1000 tasks of one event loop, and how few writes they take."""

import asyncio
import os
import sys

import shoal.aio

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
TASKS = 1000


async def visit(client: shoal.aio.Client, task: int) -> int:
    page = f"gather:page:{task % 10}"
    visits: int = await client.execute("INCR", page)
    await client.execute("EXPIRE", page, 60)
    return visits


async def main(url: str) -> None:
    async with shoal.aio.Client(url) as client:
        await client.wait_ready()
        before = client.stats()
        visits = await asyncio.gather(*(visit(client, task) for task in range(TASKS)))
        after = client.stats()
        commands = after.commands - before.commands
        writes = after.writes - before.writes
        print(f"{TASKS} tasks, the last page has {visits[-1]} visits")
        print(f"{commands} commands left in {writes} writes")
        print(f"half of the replies came within {after.latency_us(500)} us")
        await client.execute("DEL", *(f"gather:page:{page}" for page in range(10)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL))
