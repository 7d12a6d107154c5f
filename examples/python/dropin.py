# SPDX-License-Identifier: MIT
"""dropin.py [url]: code written for redis-py, with one changed line.

Needs redis-py: pip install shoal[redis].
"""

import asyncio
import os
import sys

import shoal.redis as redis  # was: import redis

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
TASKS = 200


def blocking(url: str) -> None:
    with redis.Redis.from_url(url, decode_responses=True) as r:
        r.hset("dropin:fish", mapping={"name": "herring", "fins": 7})
        print("a hash:    ", r.hgetall("dropin:fish"))
        pipe = r.pipeline().incr("dropin:count").incr("dropin:count")
        print("a pipeline:", pipe.execute())
        with r.lock("dropin:lock", timeout=5):
            print("a lock:    ", r.get("dropin:lock") is not None)
        try:
            r.incr("dropin:fish")
        except redis.ResponseError as error:
            print("an error:  ", error)
        with r.pubsub(ignore_subscribe_messages=True) as room:
            room.subscribe("dropin:room")
            room.get_message(timeout=5)  # the confirmation
            r.publish("dropin:room", "hello")
            print("a message: ", (room.get_message(timeout=5) or {}).get("data"))
        r.delete("dropin:fish", "dropin:count")


async def concurrent(url: str) -> None:
    async with redis.asyncio.Redis.from_url(url) as r:
        await asyncio.gather(*(r.incr("dropin:count") for _ in range(TASKS)))
        print(f"{TASKS} tasks:  counted to", await r.getdel("dropin:count"))
        if r.shoal_client:  # None: over redis-py's own connections; shoal_bypass
            stats = r.shoal_client.stats()
            print(f"            {stats.commands} commands in {stats.writes} writes")


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL
    blocking(address)
    asyncio.run(concurrent(address))
