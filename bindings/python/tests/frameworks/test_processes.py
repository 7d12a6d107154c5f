# SPDX-License-Identifier: MIT
"""Programs that fork, and programs with greenlets."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from frameworks.rig import Rig
from support.wire import PATIENCE_S

PROCESSES = "Processes: gunicorn, uWSGI, multiprocessing"
GREENLETS = "Greenlets: gevent and eventlet"
VISITS = 40


def visit_together(rig: Rig) -> list[int]:
    with ThreadPoolExecutor(8) as clients:
        answers = clients.map(rig.get, ["/visit"] * VISITS)
        return sorted(answer["visits"] for answer in answers)


@pytest.mark.parametrize("name", ["gunicorn", "uwsgi"])
def test_workers_that_are_forked(rig: Rig, name: str) -> None:
    """The client was used before the fork; each worker has a connection of its own."""
    commands = rig.lay(PROCESSES, "shop_processes.py")
    [serve] = [words for words in commands if words[0] == name]
    serve = [word.replace("shop:app", "shop_processes:app") for word in serve]
    where = ["--bind", f"unix:{rig.socket}"]
    if name == "uwsgi":
        where = ["--http-socket", str(rig.socket), "--need-app"]
    rig.serve(*serve, *where)
    with ThreadPoolExecutor(2) as clients:
        one, other = clients.map(rig.get, ["/meet"] * 2)
    assert (one["met"], other["met"]) == (other["pid"], one["pid"])
    assert one["pid"] != other["pid"]
    for worker in (one, other):
        assert worker["commands"] >= 3
        assert worker["bypass"] == []
        assert worker["theirs"] == 0
    assert visit_together(rig) == list(range(1, VISITS + 1))


def test_multiprocessing(rig: Rig) -> None:
    rig.lay(PROCESSES, "shop_multiprocessing.py")
    said = rig.run(sys.executable, "shop_multiprocessing.py")
    for kind in ("fork", "spawn", "forkserver"):
        assert said[kind] == list(range(1, 21)), kind
    assert said["bypass"] == []


@pytest.mark.parametrize("name", ["gevent", "eventlet"])
def test_greenlets_keep_redis_py(rig: Rig, name: str) -> None:
    """Eight greenlets of one thread wait in the server, and hold up no other."""
    [serve] = rig.lay(GREENLETS, "shop_processes.py", "serve_eventlet.py")
    serve = [word.replace("shop:app", "shop_processes:app") for word in serve]
    serve += ["--bind", f"unix:{rig.socket}"]
    if name == "eventlet":
        serve = [sys.executable, "serve_eventlet.py", str(rig.socket)]
    rig.serve(*serve)
    with ThreadPoolExecutor(8) as clients:
        waiting = [clients.submit(rig.get, "/wait") for _ in range(8)]
        until_blocked(rig, 8)
        assert visit_together(rig) == list(range(1, VISITS + 1))
        report = rig.get("/carried")
        rig.server.ask("RPUSH", "elements", *range(8))
        elements = sorted(one.result()["element"] for one in waiting)
    assert elements == list(range(8))
    assert report["commands"] == 0
    assert report["bypass"] == [
        f"{name} has patched the sockets; ours would hold up greenlets"
    ]
    assert rig.logs().count("commands go over redis-py's own connections") == 1


def until_blocked(rig: Rig, count: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while rig.server.blocked() < count:
        assert time.monotonic() < until, rig.logs()
        time.sleep(0.01)
