# SPDX-License-Identifier: MIT
"""Users of a cluster: what belongs together has a common tag, and so one node.

    cluster.py [URL]

The URL names nodes, for example redis+cluster://127.0.0.1:7000. Any other URL works,
too: one server has all slots; and with redis://127.0.0.1:7000?topology=auto the client
finds out."""

import asyncio
import sys

import shoal.aio

USERS = 5


async def add_user(client: shoal.aio.Client, number: int) -> None:
    """Name and visits have one slot: one command may have both."""
    user = f"{{user{number}}}"
    await client.execute("MSET", f"{user}.name", f"user-{number}", f"{user}.visits", 1)


async def visit(client: shoal.aio.Client, number: int) -> None:
    visits = await client.execute("INCR", f"{{user{number}}}.visits")
    print(f"user {number}: {visits} visits")


async def main(url: str) -> None:
    async with shoal.aio.Client(url) as client:
        # Users have different slots: these commands go to different nodes.
        await asyncio.gather(*(add_user(client, number) for number in range(USERS)))
        await asyncio.gather(*(visit(client, number) for number in range(USERS)))
        try:
            await client.execute("MGET", "{user0}.name", "{user1}.name")
        except shoal.ClusterCrossSlotError as error:
            print(error)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6379"))
