# SPDX-License-Identifier: MIT
"""The document's Flask program with views."""

from typing import Any

import carried
from shop import app, cache


@app.get("/visit")
def visit() -> dict[str, Any]:
    return {"visits": cache.cache.inc("visits")}


@app.get("/use")
def use() -> dict[str, Any]:
    """What is computed once for all processes."""
    calls = []

    @cache.memoize(timeout=60)
    def square(number: int) -> int:
        calls.append(number)
        return number * number

    assert [square(3), square(3), square(4)] == [9, 9, 16]
    cache.delete_memoized(square)
    assert square(3) == 9
    cache.set_many({"x": 1, "y": 2})
    assert cache.get_many("x", "y", "z") == [1, 2, None]
    return {"used": calls == [3, 4, 3]}


@app.get("/carried")
def report() -> dict[str, Any]:
    return carried.report()
