# SPDX-License-Identifier: MIT
"""Job queues, each with a real worker."""

import sys

from frameworks.rig import Rig

# kombu waits for the sockets of its connections in a poll of its own.
OF_KOMBU = "connections are Connection"


def test_celery(rig: Rig) -> None:
    [worker] = rig.lay("Celery", "shop_tasks.py", "celery_client.py")
    rig.start(*worker, "--include", "shop_tasks", "--loglevel", "WARNING")
    said = rig.run(sys.executable, "celery_client.py")
    assert said["sum"] == 42
    assert said["sums"] == list(range(1, 21))
    assert said["pong"] == [{"ok": "pong"}]
    kinds = [kind for kind in said["events"] if kind.startswith("task-")]
    assert sorted(kinds) == [
        "task-received",
        "task-sent",
        "task-started",
        "task-succeeded",
    ]
    assert said["worker"]["commands"] > 0  # results
    assert said["worker"]["bypass"] == []  # its parent waits for tasks
    assert rig.logs().count(f"redis-py's own connections: {OF_KOMBU}") == 1
    assert said["client"]["commands"] > 20  # results, and what it published
    assert said["client"]["bypass"] == [OF_KOMBU]


def test_rq(rig: Rig) -> None:
    [worker] = rig.lay("RQ", "rq_client.py")
    rig.start(*worker)
    said = rig.run(sys.executable, "rq_client.py")
    assert said["sum"] == 42
    for side in ("worker", "client"):
        assert said[side]["commands"] > 0
        assert said[side]["bypass"] == []
        assert said[side]["theirs"] == 0


def test_arq(rig: Rig) -> None:
    [[python, _]] = rig.lay("arq", "arq_client.py")
    rig.start(python, "arq_client.py", "worker")
    said = rig.run(sys.executable, "arq_client.py")
    assert said["sums"] == list(range(1, 21))
    for side in ("worker", "client"):
        assert said[side]["commands"] > 20
        assert said[side]["bypass"] == []
        assert said[side]["theirs"] == 0


def test_dramatiq(rig: Rig) -> None:
    [worker] = rig.lay("Dramatiq", "dramatiq_client.py")
    rig.start(*worker[:2], "dramatiq_client", *worker[2:])
    said = rig.run(sys.executable, "dramatiq_client.py")
    assert said["sums"] == list(range(1, 21))
    assert said["later"] == 42
    for side in ("worker", "client"):
        assert said[side]["commands"] > 0
        assert said[side]["bypass"] == []
        assert said[side]["theirs"] == 0
