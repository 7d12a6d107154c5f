# SPDX-License-Identifier: MIT
"""chat.py [url [name [room]]]: a room where people write to one another.

Each line is kept in a list, and its number is published.  Members read the list on from
where they are, at each message and at each gap: so they see each line once, in order.
Without a name two members talk, and the program checks that both have seen all.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

import shoal.aio

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
LINES = 20


class Member:
    """Of a room: says and hears lines."""

    def __init__(self, client: shoal.aio.Client, name: str, room: str) -> None:
        self.client = client
        self.name = name
        self.key = f"chat:{{{room}}}"
        self.heard = 0  # lines so far

    async def say(self, text: str) -> None:
        number = await self.client.execute("RPUSH", self.key, f"{self.name}: {text}")
        await self.client.execute("PUBLISH", self.key, number)

    async def hear(self) -> AsyncIterator[str]:
        """All lines of the room, old and new."""
        async with self.client.subscribe(self.key) as subscription:
            # What comes from here on arrives: now is the time to read what was before.
            for line in await self.unheard():
                yield line
            async for _ in subscription:  # a message, or a mark that some are missing
                for line in await self.unheard():
                    yield line

    async def unheard(self) -> list[str]:
        lines: list[str] = await self.client.execute(
            "LRANGE", self.key, self.heard, -1, decode=True
        )
        self.heard += len(lines)
        return lines


async def take_part(client: shoal.aio.Client, name: str, room: str) -> None:
    """Lines of the keyboard go to the room, and lines of the room to the screen."""
    member = Member(client, name, room)

    async def show() -> None:
        async for line in member.hear():
            print(line)

    showing = asyncio.ensure_future(show())
    while text := await asyncio.to_thread(sys.stdin.readline):
        await member.say(text.rstrip())
    showing.cancel()


async def demonstrate(client: shoal.aio.Client) -> None:
    room = f"demonstration-{os.getpid()}"
    members = [Member(client, name, room) for name in ("ann", "ben")]

    async def talk(member: Member) -> list[str]:
        lines: list[str] = []
        await member.say("hello")
        async for line in member.hear():
            lines.append(line)
            if len(lines) == len(members) * LINES:
                return lines
            if len(lines) % len(members) == 0 and len(lines) // 2 < LINES:
                await member.say(f"I have heard {len(lines)} lines")
        raise AssertionError("a room ends with its members")

    first, second = await asyncio.gather(*map(talk, members))
    await client.execute("DEL", members[0].key)
    if first != second:
        raise SystemExit(f"the members heard different lines: {first} {second}")
    print(f"both members heard the same {len(first)} lines")


async def main(url: str = DEFAULT_URL, name: str = "", room: str = "lobby") -> None:
    async with shoal.aio.Client(url) as client:
        if name:
            await take_part(client, name, room)
        else:
            await demonstrate(client)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
