# SPDX-License-Identifier: MIT
"""The drop-in: the program of redis-py with another import."""

import functools

import shoal.redis
import shoal.redis.asyncio
from client_redis_py import DISTRIBUTIONS as REDIS_PY
from client_redis_py import run_asyncio, run_threads

DISTRIBUTIONS = {"shoal-python": "shoal", **REDIS_PY}

over_asyncio = functools.partial(run_asyncio, module=shoal.redis.asyncio)

CLIENTS = {
    "shoal-redis-threads": functools.partial(run_threads, module=shoal.redis),
    "shoal-redis-asyncio": over_asyncio,
    "shoal-redis-uvloop": functools.partial(over_asyncio, uses_uvloop=True),
}
