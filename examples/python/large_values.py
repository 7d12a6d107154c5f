# SPDX-License-Identifier: MIT
"""large_values.py [url]: pages of 1 MiB beside small commands, on one client.

The large commands take the bulk lane, a second connection, so that the small ones need
not wait behind them. Commands for different keys then have no order, unless they are
submitted in one call: a page and its announcement are.
"""

import os
import sys
import threading
import time

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
PAGES = 50
PAGE = b"p" * 1048576


def visit(client: shoal.Client, over: threading.Event, took: list[float]) -> None:
    """Small commands, one after the other; how many milliseconds each took."""
    while not over.is_set():
        begin = time.perf_counter()
        client.execute("INCR", "visits")
        took.append((time.perf_counter() - begin) * 1e3)


def publish(client: shoal.Client, key: str) -> None:
    """By one call: whoever finds the page in the list finds the page."""
    client.execute_many([("SET", key, PAGE, "EX", 60), ("LPUSH", "pages", key)])


def show(url: str, *, has_lane: bool) -> None:
    over = threading.Event()
    took: list[float] = []
    with shoal.Client(url, bulk_lane=has_lane) as client:
        visitor = threading.Thread(target=visit, args=(client, over, took))
        visitor.start()
        try:
            for number in range(PAGES):
                publish(client, f"page:{number % 5}")
                key = client.execute("RPOP", "pages")
                assert client.execute("GET", key) == PAGE
        finally:
            over.set()
            visitor.join()
        print("with" if has_lane else "without", "a bulk lane:", end=" ")
        print(f"a visit took {sum(took) / len(took):.2f} ms on average", end=", ")
        print(f"{max(took):.1f} at most", end="; ")
        print(f"{client.stats().bulk} commands took the lane")


def main(url: str) -> None:
    show(url, has_lane=False)
    show(url, has_lane=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL)
