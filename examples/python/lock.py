# SPDX-License-Identifier: MIT
"""lock.py [url]: a lock that is worth its name.

Tasks add to a number that stands elsewhere, one at a time.  Whoever takes the lock gets
a number that is greater than those of all before, and hands it on with what it writes:
what comes from a holder whose time is over is refused there.
"""

import asyncio
import os
import secrets
import sys

import shoal.aio
from shoal import scripts

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
TASKS = 10
ROUNDS = 5
HOLD_MS = 60_000


class Elsewhere:
    """What the lock protects: it knows the last holder that wrote."""

    value = 0
    token = 0

    def write(self, value: int, token: int) -> None:
        if token < self.token:
            raise RuntimeError("a holder whose time is over")
        self.value, self.token = value, token


async def work(client: shoal.aio.Client, name: str, elsewhere: Elsewhere) -> None:
    take = client.script(scripts.LOCK)
    give_back = client.script(scripts.COMPARE_AND_DELETE)
    for _ in range(ROUNDS):
        me = secrets.token_hex()
        keys = [f"{{{name}}}", f"{{{name}}}:token"]  # one slot of a cluster
        while (token := await take(keys, [me, HOLD_MS])) is None:
            await asyncio.sleep(0.001)
        value = elsewhere.value
        await asyncio.sleep(0)  # without the lock another task would come between
        elsewhere.write(value + 1, token)
        await give_back(keys[:1], [me])


async def main(url: str) -> None:
    elsewhere = Elsewhere()
    name = f"lock:{os.getpid()}"
    async with shoal.aio.Client(url) as client:
        await asyncio.gather(*(work(client, name, elsewhere) for _ in range(TASKS)))
        await client.execute("DEL", f"{{{name}}}:token")
    print(f"{elsewhere.value} additions by {TASKS} tasks, one at a time")
    if elsewhere.value != TASKS * ROUNDS:
        raise SystemExit("two were at it at the same time")


if __name__ == "__main__":
    asyncio.run(main(*(sys.argv[1:] or [DEFAULT_URL])))
