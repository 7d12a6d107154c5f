# SPDX-License-Identifier: MIT
"""sessions.py [url]: the sessions of a web service, one hash each.

A session lives as long as it is used: each use gives it its full time again.  Requests
of one session that come at the same time lose nothing of each other: a change is made
to what was read, or not at all.  A session that has ended is not brought back to life.
"""

import asyncio
import os
import secrets
import sys
from collections.abc import Callable

import shoal.aio

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
LIFE_S = 1800
REQUESTS = 20

Session = dict[str, str]


class EndedError(Exception):
    """The session has ended, or was not used in time."""


class Sessions:
    """All sessions; names of sessions are secret, because who knows one is in it."""

    def __init__(self, client: shoal.aio.Client[str], life_s: int = LIFE_S) -> None:
        self.client = client
        self.life_s = life_s

    async def begin(self, session: Session) -> str:
        name = secrets.token_urlsafe()
        unit = self.client.transaction()  # else it might live for ever
        unit.add("HSET", f"session:{name}", *flat(session))
        unit.add("EXPIRE", f"session:{name}", self.life_s)
        await unit.run()
        return name

    async def use(self, name: str) -> Session:
        # Two commands, one write: nothing between them matters.
        session, is_there = await self.client.execute_many(
            [
                ("HGETALL", f"session:{name}"),
                ("EXPIRE", f"session:{name}", self.life_s),
            ]
        )
        if not session or not is_there:
            raise EndedError(name)
        return as_dict(session)

    async def change(self, name: str, function: Callable[[Session], None]) -> Session:
        """The function changes what it is given; it may be called several times."""
        key = f"session:{name}"

        async def attempt(unit: shoal.aio.Attempt) -> Session:
            before = as_dict(await unit.execute("HGETALL", key))
            if not before:
                raise EndedError(name)
            after = before.copy()
            function(after)
            if gone := before.keys() - after.keys():
                unit.add("HDEL", key, *gone)
            if after:
                unit.add("HSET", key, *flat(after))
            unit.add("EXPIRE", key, self.life_s)
            return after

        done: Session = await self.client.transaction(
            attempt, key, attempts=1000, value_from_callable=True
        )
        return done

    async def end(self, name: str) -> None:
        await self.client.execute("DEL", f"session:{name}")


def flat(session: Session) -> list[str]:
    return [word for pair in session.items() for word in pair]


def as_dict(reply: dict[str, str] | list[str]) -> Session:
    """RESP3 has maps, RESP2 lists of names and values."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2], strict=True))


def add_to_cart(session: Session) -> None:
    session["cart"] = str(int(session.get("cart", "0")) + 1)


async def main(url: str) -> None:
    async with shoal.aio.Client[str](url, decode_responses=True) as client:
        sessions = Sessions(client)
        name = await sessions.begin({"user": "ada"})
        await asyncio.gather(
            *(sessions.change(name, add_to_cart) for _ in range(REQUESTS))
        )
        session = await sessions.use(name)
        print(f"{session['user']} has {session['cart']} things in the cart")
        if int(session["cart"]) != REQUESTS:
            raise SystemExit("a change was lost")

        await client.execute("EXPIRE", f"session:{name}", 60)  # time passes
        await sessions.use(name)
        if await client.execute("TTL", f"session:{name}") <= 60:
            raise SystemExit("a use did not give the session its time again")
        await sessions.end(name)
        for use in (sessions.use(name), sessions.change(name, add_to_cart)):
            try:
                await use
                raise SystemExit("a session that has ended was used")
            except EndedError:
                pass
        print("and has left")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL))
