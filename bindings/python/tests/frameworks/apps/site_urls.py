# SPDX-License-Identifier: MIT
"""A site that counts visits in the cache and in the session."""

import carried
from django.core.cache import cache
from django.http import HttpRequest, JsonResponse
from django.urls import path


def visit(request: HttpRequest) -> JsonResponse:
    cache.add("visits", 0)
    mine = request.session["mine"] = request.session.get("mine", 0) + 1
    return JsonResponse({"visits": cache.incr("visits"), "mine": mine})


def use(request: HttpRequest) -> JsonResponse:
    """More of what a cache does."""
    cache.set("a", {"b": [1, 2]}, 60)
    assert cache.get("a") == {"b": [1, 2]}
    assert cache.add("a", 0) is False
    cache.set_many({"x": 1, "y": 2})
    assert cache.get_many(["x", "y", "z"]) == {"x": 1, "y": 2}
    assert cache.touch("a", 30) and cache.delete("a") and cache.get("a") is None
    if hasattr(cache, "lock"):
        with cache.lock("lock", timeout=5):
            assert not cache.lock("lock", timeout=5).acquire(blocking=False)
        assert set(cache.iter_keys("[xy]")) == {"x", "y"}
    return JsonResponse({"used": True})


def report(request: HttpRequest) -> JsonResponse:
    return JsonResponse(carried.report())


urlpatterns = [path("visit", visit), path("use", use), path("carried", report)]
