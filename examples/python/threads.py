# SPDX-License-Identifier: MIT
"""threads.py [url]: 32 threads that share one client, hence one connection."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
THREADS = 32
ROUNDS = 200


def count(client: shoal.Client, thread: int) -> int:
    """Returns how many replies were not this thread's."""
    strays = 0
    for number in range(ROUNDS):
        text = f"{thread}:{number}"
        strays += client.execute("ECHO", text, decode=True) != text
        client.execute("INCR", "threads:count")
    return strays


def main(url: str) -> None:
    with shoal.Client(url) as client, ThreadPoolExecutor(THREADS) as pool:
        client.execute("DEL", "threads:count")
        strays = sum(pool.map(lambda thread: count(client, thread), range(THREADS)))
        total = client.execute("GETDEL", "threads:count")
        stats = client.stats()
        print(f"{THREADS} threads counted to {int(total)}, {strays} stray replies")
        print(f"{stats.commands} commands left in {stats.writes} writes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL)
