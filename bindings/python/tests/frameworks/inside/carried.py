# SPDX-License-Identifier: MIT
"""Asked inside of a program: what went over which connections of this process?"""

import gc
import os
from typing import Any

import redis
import redis.asyncio
from shoal.redis._lane import Lane


def _all_of(*classes: type) -> list[Any]:
    # type() and not isinstance(), which would ask proxies of frameworks.
    return [one for one in gc.get_objects() if issubclass(type(one), classes)]


def _is_open(connection: Any) -> bool:
    if isinstance(connection, redis.connection.AbstractConnection):
        return connection._sock is not None
    return bool(connection.is_connected)


def report() -> dict[str, Any]:
    """The process, the commands that the library carried, the messages that its
    subscriptions got, why pools are not carried, and redis-py's open connections."""
    lanes = _all_of(Lane)
    cores = [lane.core for lane in lanes if lane.core is not None]
    theirs = _all_of(
        redis.connection.AbstractConnection, redis.asyncio.connection.AbstractConnection
    )
    return {
        "pid": os.getpid(),
        "commands": sum(core.stats().commands for core in cores),
        "messages": sum(core.subscription_stats().messages for core in cores),
        "bypass": sorted({lane.bypass for lane in lanes if lane.bypass}),
        "theirs": sum(_is_open(connection) for connection in theirs),
    }
