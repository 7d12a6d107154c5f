# SPDX-License-Identifier: MIT
"""hello.py [url]: a few commands from a blocking client, and what can go wrong."""

import os
import sys

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")


def main(url: str) -> None:
    with shoal.Client(url) as client:
        client.execute("SET", "hello:greeting", "good morning", "EX", 60)
        print("as bytes:", client.execute("GET", "hello:greeting"))
        print("as str:  ", client.execute("GET", "hello:greeting", decode=True))

        client.execute("HSET", "hello:fish", "name", "herring", "fins", 7)
        print("a map:   ", client.execute("HGETALL", "hello:fish", decode=True))

        pipe = client.pipeline()
        pipe.add("SET", "hello:count", 41).add("INCR", "hello:count")
        print("together:", pipe.run())
        unit = client.transaction()
        unit.add("INCR", "hello:count").add("DEL", "hello:count")
        print("a unit:  ", unit.run())

        try:
            client.execute("INCR", "hello:greeting")
        except shoal.exceptions.ResponseError as error:
            print("an error:", error.code, "|", error.text, "|", error.fate.name)
        client.execute("DEL", "hello:greeting", "hello:fish")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL)
