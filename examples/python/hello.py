# SPDX-License-Identifier: MIT
"""hello.py [url]: a few commands from a blocking client, and what can go wrong."""

import os
import sys

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")


def main(url: str) -> None:
    with shoal.Client(url) as client:
        client.set("hello:greeting", "good morning", ex=60)
        print("as bytes:", client.get("hello:greeting"))
        print("as str:  ", client.execute("GET", "hello:greeting", decode=True))

        client.hset("hello:fish", mapping={"name": "herring", "fins": 7})
        print("a map:   ", client.hgetall("hello:fish"))

        pipe = client.pipeline()
        pipe.set("hello:count", 41).incr("hello:count")
        print("together:", pipe.run())
        unit = client.transaction()
        unit.incr("hello:count").delete("hello:count")
        print("a unit:  ", unit.run())

        try:
            client.incr("hello:greeting")
        except shoal.exceptions.ResponseError as error:
            print("an error:", error.code, "|", error.text, "|", error.fate.name)
        client.delete("hello:greeting", "hello:fish")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL)
