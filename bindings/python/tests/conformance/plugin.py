# SPDX-License-Identifier: MIT
"""pytest plugin: our classes in place of redis-py's, and one line of result per test.

Environment: SHOAL_CONFORMANCE_STOCK=1 leaves redis-py's classes where they are;
SHOAL_CONFORMANCE_SHARED=1 lets blocking clients with a connection of their own use the
shared one; SHOAL_CONFORMANCE_TLS=1 makes the fixtures of blocking clients look at the
scheme of the URL, which they would not; SHOAL_CONFORMANCE_CLUSTER=1 puts our classes
for clusters in place, and no others; SHOAL_CONFORMANCE_RESULTS names the file of
results.
"""

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.cluster

_SEVERITY = ("passed", "skipped", "xfailed", "xpassed", "failed")


def _put_ours_in_place() -> None:
    import shoal.redis
    from shoal.redis._leased import LeaseConnection
    from shoal.redis._routes import wire_form

    if os.environ.get("SHOAL_CONFORMANCE_CLUSTER") == "1":
        _put_clusters_in_place()
        return
    shoal.redis.install()
    if os.environ.get("SHOAL_CONFORMANCE_SHARED") != "1":
        return

    class Redis(shoal.redis.Redis):
        """Uses the shared connection for a client with a connection of its own, too.

        The blocking fixtures make only such clients.  What needs their connection,
        SELECT for example, goes over it; the rest as if they had none.
        """

        def execute_command(self, *args: Any, **options: Any) -> Any:
            if isinstance(self.connection, LeaseConnection) and wire_form(args):
                return self._sibling().execute_command(*args, **options)
            return super().execute_command(*args, **options)

        def _sibling(self) -> shoal.redis.Redis:
            found: shoal.redis.Redis | None = vars(self).get("sibling")
            if found is None:
                found = shoal.redis.Redis(connection_pool=self.connection_pool)
                found.response_callbacks = self.response_callbacks
                # A test may replace it on the object it was given.
                found.parse_response = lambda *args, **options: (  # type: ignore
                    self.parse_response(*args, **options)
                )
                vars(self)["sibling"] = found
            return found

    redis.Redis = redis.StrictRedis = Redis  # type: ignore[misc]


def _put_clusters_in_place() -> None:
    """RedisCluster alone: many tests put a mock of `redis.Redis` where redis-py's code
    for clusters has its clients of nodes, which are redis-py's here, too."""
    import shoal.redis.asyncio

    ours = shoal.redis.RedisCluster
    redis.RedisCluster = redis.cluster.RedisCluster = ours  # type: ignore[misc]
    ours_async = shoal.redis.asyncio.RedisCluster
    for module in (redis.asyncio, redis.asyncio.cluster):
        module.RedisCluster = ours_async  # type: ignore[misc]


def pytest_configure(config: pytest.Config) -> None:
    # Their conftest.py traces each allocation, for nobody, which takes most time.
    tracemalloc.start = lambda *_: None
    if os.environ.get("SHOAL_CONFORMANCE_STOCK") != "1":
        _put_ours_in_place()
    config.pluginmanager.register(_Results(), "shoal-results")


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.environ.get("SHOAL_CONFORMANCE_TLS") == "1":
        from tests import conftest

        conftest.Connection = redis.SSLConnection


class _Results:
    """The worst outcome of each test's phases."""

    def __init__(self) -> None:
        self._outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: str = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = {"skipped": "xfailed", "passed": "xpassed"}.get(outcome, outcome)
        former = self._outcomes.get(report.nodeid, "passed")
        self._outcomes[report.nodeid] = max(former, outcome, key=_SEVERITY.index)

    def lines(self) -> Iterator[str]:
        for test, outcome in sorted(self._outcomes.items()):
            yield f"{outcome} {test}\n"

    def pytest_sessionfinish(self) -> None:
        Path(os.environ["SHOAL_CONFORMANCE_RESULTS"]).write_text("".join(self.lines()))
