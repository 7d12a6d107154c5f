# SPDX-License-Identifier: MIT
"""redis-py's own classes, whose commands are carried by one pipelined connection.

For code that was written for redis-py.  One line changes:

    from shoal.redis import Redis               # instead of: from redis import Redis
    from shoal.redis.asyncio import Redis       # instead of: from redis.asyncio ...

or, for libraries that import redis-py by themselves, `install()` before they do.
Every other name of the package `redis` can be had from here too.  Needs redis-py 7.4 or
newer.
"""

from typing import Any

import redis

from ._install import Installation, install
from .client import Pipeline, Redis, Sentinel, StrictRedis, from_url
from .cluster import ClusterPipeline, RedisCluster

__all__ = [
    "ClusterPipeline",
    "Installation",
    "Pipeline",
    "Redis",
    "RedisCluster",
    "Sentinel",
    "StrictRedis",
    "from_url",
    "install",
]


def __getattr__(name: str) -> Any:
    return getattr(redis, name)
