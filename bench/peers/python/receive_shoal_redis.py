# SPDX-License-Identifier: MIT
"""The drop-in: the functions of redis-py's rows with other modules."""

import functools

import receive_tasks
import receive_threads
import shoal.redis
import shoal.redis.asyncio
from receive_redis_py import get_message, listen

DISTRIBUTIONS = {"shoal-python": "shoal", "redis-py": "redis"}

CLIENTS = {
    "shoal-redis-listen": functools.partial(
        receive_tasks.run,
        receive=functools.partial(listen, module=shoal.redis.asyncio),
    ),
    "shoal-redis-get-message": functools.partial(
        receive_threads.run, receive=functools.partial(get_message, module=shoal.redis)
    ),
}
