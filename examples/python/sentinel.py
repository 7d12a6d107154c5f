# SPDX-License-Identifier: MIT
"""sentinel.py [url [steps]]: a counter that survives the failover of its server.

The URL names sentinels, for example redis+sentinel://s1,s2,s3/mymaster; any other URL
works, too, without a failover. Steps are writes, which go to the primary. The sum is
read from a replica, if there is one, and may be older than the last step.
"""

import asyncio
import os
import sys

import shoal
import shoal.aio

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis+sentinel://127.0.0.1/mymaster")


async def count(client: shoal.aio.Client) -> str:
    """One step; what became of it."""
    for _ in range(3):
        try:
            await client.execute("INCR", "steps")
            return "counted"
        except shoal.RedisError as error:
            if error.fate is not shoal.Fate.NOT_EXECUTED:
                return "unknown"  # it may have been counted: once more counts twice
    return "failed"


async def main(url: str, steps: int) -> None:
    # A command waits until there is a primary again, longer than a failover takes.
    async with shoal.aio.Client(
        url, timeout=10, read_from="replica_preferred"
    ) as client:
        tally = {"counted": 0, "unknown": 0, "failed": 0}
        for _ in range(steps):
            tally[await count(client)] += 1
        for event in client.events():
            if event.kind in ("server_changed", "sentinels_lost"):
                print(event.detail)
        print(", ".join(f"{number} {fate}" for fate, number in tally.items()))
        print("at a replica:", await client.execute("GET", "steps", decode=True))


if __name__ == "__main__":
    url, steps, *_ = [*sys.argv[1:], "", ""]
    asyncio.run(main(url or DEFAULT_URL, int(steps or 1000)))
