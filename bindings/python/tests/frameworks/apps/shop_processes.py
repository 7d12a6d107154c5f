# SPDX-License-Identifier: MIT
"""The document's program, which can tell one process from another.

/meet     waits until two processes are here
/wait     waits until it gets an element
/carried  what this one has carried
"""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import carried
import shop

PATIENCE_S = 30


def meet() -> dict[str, Any]:
    """Each says hello to the other, and waits for the other's hello."""
    me = shop.redis.incr("here")
    shop.redis.rpush(f"hello:{3 - me}", os.getpid())
    _, other = shop.redis.blpop(f"hello:{me}", PATIENCE_S)
    return {"met": int(other), **carried.report()}


def wait() -> dict[str, Any]:
    """A command that blocks, in whatever stands for a thread here."""
    _, element = shop.redis.blpop("elements", PATIENCE_S)
    return {"element": int(element)}


VIEWS = {"/meet": meet, "/wait": wait, "/carried": carried.report}


def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    view = VIEWS.get(environ["PATH_INFO"])
    if view is None:
        return shop.app(environ, start)
    start("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(view()).encode()]
