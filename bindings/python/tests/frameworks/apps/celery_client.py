# SPDX-License-Identifier: MIT
"""Waits for events of the worker, sends tasks meanwhile, and prints what was seen."""

import json
from typing import Any

import carried
import shop
import shop_tasks

PATIENCE_S = 30


def listen() -> tuple[list[str], Any]:
    """The kinds of events until a task has succeeded, and that task's result.

    The task is sent when the worker is heard: before that, nobody listens."""
    seen: list[str] = []
    results: list[Any] = []

    def on_event(event: dict[str, Any]) -> None:
        seen.append(event["type"])
        if not results:
            results.append(shop.add.delay(20, 22))
        if event["type"] == "task-succeeded":
            receiver.should_stop = True

    with shop.app.connection() as connection:
        receiver = shop.app.events.Receiver(connection, handlers={"*": on_event})
        receiver.capture(limit=None, timeout=PATIENCE_S, wakeup=True)
    return seen, results[0]


def main() -> None:
    seen, result = listen()
    sums = [shop.add.delay(i, 1) for i in range(20)]
    pong = shop.app.control.broadcast("ping", reply=True, limit=1, timeout=PATIENCE_S)
    print(
        json.dumps(
            {
                "events": seen,
                "sum": result.get(timeout=PATIENCE_S),
                "sums": [one.get(timeout=PATIENCE_S) for one in sums],
                "pong": list(pong[0].values()),
                "worker": shop_tasks.report.delay().get(timeout=PATIENCE_S),
                "client": carried.report(),
            }
        )
    )


main()
