# SPDX-License-Identifier: MIT
"""Enqueues jobs and prints their results."""

import json

import carried
from shop import queue

PATIENCE_S = 30


def result_of(function: object, *args: object) -> object:
    return queue.enqueue(function, *args).latest_result(PATIENCE_S).return_value


def main() -> None:
    print(
        json.dumps(
            {
                "sum": result_of(sum, (20, 22)),
                "worker": result_of(carried.report),
                "client": carried.report(),
            }
        )
    )


main()
