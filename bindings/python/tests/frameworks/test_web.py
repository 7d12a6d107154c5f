# SPDX-License-Identifier: MIT
"""Frameworks that serve requests, each under the server of HTTP that people use."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from frameworks.rig import Rig

VISITS = 40


def visit_together(rig: Rig) -> list[int]:
    """Visits by eight clients at once; the numbers that they got, in order."""
    with ThreadPoolExecutor(8) as clients:
        answers = clients.map(rig.get, ["/visit"] * VISITS)
        return sorted(answer["visits"] for answer in answers)


@pytest.mark.parametrize("chapter", ["Django", "django-redis"])
def test_cache_and_sessions_of_a_site(rig: Rig, chapter: str) -> None:
    [serve] = rig.lay(chapter, "site_wsgi.py", "site_urls.py")
    rig.serve(*serve, "--bind", f"unix:{rig.socket}")
    assert rig.get("/use")["used"]
    assert visit_together(rig) == list(range(1, VISITS + 1))
    first = rig.get("/visit")
    second = rig.get("/visit", first.cookies)
    assert (first["mine"], second["mine"]) == (1, 2)
    report = rig.get("/carried")
    assert report["commands"] > 0
    assert report["bypass"] == []
    assert report["theirs"] == 0


def test_fastapi(rig: Rig) -> None:
    [serve] = rig.lay("FastAPI and Starlette", "shop_report.py")
    rig.serve(*serve[:1], "shop_report:app", "--uds", str(rig.socket))
    assert visit_together(rig) == list(range(1, VISITS + 1))
    report = rig.get("/carried")
    assert report["commands"] >= VISITS
    assert report["bypass"] == []
    assert report["theirs"] == 0
    assert rig.server.connections() == 1


def test_flask_caching(rig: Rig) -> None:
    [serve] = rig.lay("Flask-Caching", "flask_views.py")
    serve = [word.replace("shop:app", "flask_views:app") for word in serve]
    rig.serve(*serve, "--bind", f"unix:{rig.socket}")
    assert rig.get("/use")["used"]
    assert visit_together(rig) == list(range(1, VISITS + 1))
    report = rig.get("/carried")
    assert report["bypass"] == []
    assert report["theirs"] == 0


@pytest.mark.parametrize("layer", ["default", "core"])
def test_channels(rig: Rig, layer: str) -> None:
    """Everybody in a room hears what one of them says, and other rooms do not."""
    [serve] = rig.lay("Channels", "site_asgi.py", "chat_client.py")
    rig.serve(*serve, "--uds", str(rig.socket))
    said = rig.run(sys.executable, "chat_client.py", str(rig.socket), layer)
    assert said == {"one": [["hello", "again"]] * 4, "other": [["elsewhere"]] * 4}
    report = rig.get("/carried")
    assert report["commands"] > 0
    assert report["bypass"] == []
    assert report["theirs"] == 0
    if layer == "default":
        assert report["messages"] >= 3
