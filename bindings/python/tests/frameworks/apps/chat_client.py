# SPDX-License-Identifier: MIT
"""chat_client.py <socket> <layer>: four WebSockets in each of two rooms."""

import json
import sys
from contextlib import ExitStack

from websockets.sync.client import unix_connect

PATIENCE_S = 30


def main(path: str, layer: str) -> None:
    with ExitStack() as stack:
        rooms = {
            room: [
                stack.enter_context(
                    unix_connect(path, f"ws://localhost/{layer}/{room}")
                )
                for _ in range(4)
            ]
            for room in ("one", "other")
        }
        rooms["one"][0].send("hello")
        rooms["one"][3].send("again")
        rooms["other"][0].send("elsewhere")
        heard = {
            room: [
                sorted(one.recv(PATIENCE_S) for _ in range(2 if room == "one" else 1))
                for one in members
            ]
            for room, members in rooms.items()
        }
    print(json.dumps({room: [x[::-1] for x in all] for room, all in heard.items()}))


main(*sys.argv[1:])
