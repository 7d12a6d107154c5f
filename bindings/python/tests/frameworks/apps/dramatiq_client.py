# SPDX-License-Identifier: MIT
"""Actors of the worker; as a program, it sends messages and prints their results."""

import json
from typing import Any

import carried
import dramatiq
from shop import add

PATIENCE_MS = 30_000


@dramatiq.actor(store_results=True)
def report() -> dict[str, Any]:
    return carried.report()


def main() -> None:
    sums = [add.send(i, 1) for i in range(20)]
    later = add.send_with_options(args=(20, 22), delay=50)
    worker = report.send()
    print(
        json.dumps(
            {
                "sums": [
                    one.get_result(block=True, timeout=PATIENCE_MS) for one in sums
                ],
                "later": later.get_result(block=True, timeout=PATIENCE_MS),
                "worker": worker.get_result(block=True, timeout=PATIENCE_MS),
                "client": carried.report(),
            }
        )
    )


if __name__ == "__main__":
    main()
