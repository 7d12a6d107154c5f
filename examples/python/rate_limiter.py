# SPDX-License-Identifier: MIT
"""rate_limiter.py [url [deadline]]: each user gets so many answers a second.

All programs of the service share the counts: the server keeps and changes them, by a
script.  A request too many is told when to come again.  If the server does not say so
within the deadline (0.1 seconds), the service answers: without limits is better than
not at all.
"""

import asyncio
import math
import os
import sys
import time
from dataclasses import dataclass

import shoal.aio
from shoal import scripts

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
LIMIT = 10  # requests of a user at once, and in the long run
SPAN_MS = 200  # ... in so many milliseconds
USERS = 3
REQUESTS = 25  # of each user


class RateLimiter:
    """Admits `limit` requests of a name in `span_ms` milliseconds."""

    def __init__(
        self, client: shoal.aio.Client, limit: int, span_ms: int, deadline: float
    ) -> None:
        self.ask = client.script(scripts.RATE_LIMIT)
        self.limits = [limit, span_ms]
        self.deadline = deadline
        self.unasked = 0  # requests that were admitted because the server was away

    async def wait_s(self, name: str) -> float:
        """0: admitted; else the seconds after which the next request is."""
        try:
            answer = await self.ask(
                [f"limit:{name}"], self.limits, timeout=self.deadline
            )
        except shoal.RedisError:
            self.unasked += 1
            return 0.0
        return float(answer[2]) / 1000


@dataclass
class Response:
    """Of HTTP, as far as it matters here."""

    status: int
    retry_after_s: float = 0.0


async def handle(limiter: RateLimiter, user: str) -> Response:
    wait_s = await limiter.wait_s(user)
    if wait_s > 0:
        return Response(429, wait_s)  # Too Many Requests
    return Response(200)


async def send(limiter: RateLimiter, user: str, tally: dict[int, int]) -> None:
    """A polite user: a refused request comes again when it is told to."""
    while True:
        response = await handle(limiter, user)
        tally[response.status] += 1
        if response.status == 200:
            return
        await asyncio.sleep(response.retry_after_s)


async def main(url: str, deadline: float) -> None:
    async with shoal.aio.Client(url, offline="fail") as client:
        limiter = RateLimiter(client, LIMIT, SPAN_MS, deadline)
        tally = {200: 0, 429: 0}
        begun = time.monotonic()
        await asyncio.gather(
            *(
                send(limiter, f"user-{os.getpid()}-{number % USERS}", tally)
                for number in range(USERS * REQUESTS)
            )
        )
        took_ms = (time.monotonic() - begun) * 1000
    print(f"{tally[200]} requests were answered, {tally[429]} were told to wait")
    print(f"{limiter.unasked} were answered without asking the server")
    most = LIMIT + math.ceil(took_ms * LIMIT / SPAN_MS)
    if limiter.unasked == 0 and most < REQUESTS:
        raise SystemExit(f"at most {most} of a user should have been answered")


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL
    asyncio.run(main(address, float(sys.argv[2]) if len(sys.argv) > 2 else 0.1))
