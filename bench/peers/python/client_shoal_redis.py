# SPDX-License-Identifier: MIT
"""The drop-in: the program of redis-py with another import."""

import functools

import shoal.redis
import shoal.redis.asyncio
from client_redis_py import DISTRIBUTIONS as REDIS_PY
from client_redis_py import run_asyncio, run_threads

DISTRIBUTIONS = {"shoal-python": "shoal", **REDIS_PY}


def run_own(run, module, options, **settings):
    """The drop-in hands on what redis-py has and it has not."""
    if options.cluster and not module.RedisCluster.__module__.startswith("shoal."):
        raise RuntimeError(f"{module.__name__} has no RedisCluster of its own")
    return run(options, module=module, **settings)


over_asyncio = functools.partial(run_own, run_asyncio, shoal.redis.asyncio)

CLIENTS = {
    "shoal-redis-threads": functools.partial(run_own, run_threads, shoal.redis),
    "shoal-redis-asyncio": over_asyncio,
    "shoal-redis-uvloop": functools.partial(over_asyncio, uses_uvloop=True),
}
