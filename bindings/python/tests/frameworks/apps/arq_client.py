# SPDX-License-Identifier: MIT
"""Enqueues jobs and prints their results; with an argument it is the worker."""

import asyncio
import json
import sys
from typing import Any

import carried

from shop import WorkerSettings  # isort: skip  # before arq is imported
from arq import create_pool, run_worker  # isort: skip

PATIENCE_S = 30


async def report(context: Any) -> dict[str, Any]:
    return carried.report()


class Settings:
    """The document's, with a job that looks at the worker."""

    functions = [*WorkerSettings.functions, report]
    redis_settings = WorkerSettings.redis_settings
    poll_delay = 0.05


async def main() -> None:
    redis = await create_pool(Settings.redis_settings)

    async def result_of(name: str, *args: Any) -> Any:
        job = await redis.enqueue_job(name, *args)
        assert job is not None
        return await job.result(timeout=PATIENCE_S, poll_delay=0.01)

    sums = await asyncio.gather(*(result_of("add", i, 1) for i in range(20)))
    worker = await result_of("report")
    print(json.dumps({"sums": sums, "worker": worker, "client": carried.report()}))
    await redis.aclose()


if len(sys.argv) > 1:
    run_worker(Settings)
else:
    asyncio.run(main())
