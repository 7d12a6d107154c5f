# SPDX-License-Identifier: MIT
"""watch.py [url]: amounts move between accounts, by optimistic locking.

Each thread reads two accounts, and moves an amount from one to the other, if there is
enough.  WATCH sees to it that nobody else changed them in between.  If a connection is
lost with a transfer on its way, nobody knows whether it was made: it is counted, and
never repeated.  The sum of all accounts stays what it was.
"""

import os
import random
import sys
import threading

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
ACCOUNTS = [f"account:{i}" for i in range(8)]
START = 100
THREADS = 8
TRANSFERS = 50


def transfer(client: shoal.Client, source: str, target: str, amount: int) -> bool:
    """Move an amount.  False: there was not enough."""

    def move(attempt: shoal.Attempt) -> bool:
        if int(attempt.execute("GET", source)) < amount:
            return False  # nothing was queued: nothing is sent
        attempt.decrby(source, amount).incrby(target, amount)
        return True

    return client.transaction(
        move, source, target, attempts=1000, value_from_callable=True
    )


def work(client: shoal.Client, counts: dict[str, int], lock: threading.Lock) -> None:
    for _ in range(TRANSFERS):
        source, target = random.sample(ACCOUNTS, 2)
        try:
            is_made = transfer(client, source, target, random.randint(1, START))
            outcome = "made" if is_made else "refused"
        except shoal.ConnectionError as error:
            if error.fate is shoal.Fate.NOT_EXECUTED:
                raise
            outcome = "unknown"
        with lock:
            counts[outcome] += 1


def main(url: str = DEFAULT_URL) -> None:
    counts = {"made": 0, "refused": 0, "unknown": 0}
    lock = threading.Lock()
    with shoal.Client(url, timeout=30) as client:
        client.execute_many([("SET", name, START) for name in ACCOUNTS])
        threads = [
            threading.Thread(target=work, args=(client, counts, lock))
            for _ in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = sum(int(value) for value in client.execute("MGET", *ACCOUNTS))
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    print(f"sum {total}")
    if sum(counts.values()) != THREADS * TRANSFERS or total != START * len(ACCOUNTS):
        raise SystemExit("an amount was lost, or made")


if __name__ == "__main__":
    main(*sys.argv[1:2])
