#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Try the drop-in under programs that were written for redis-py; not part of CI.

    apps.py [--folder PATH] [--shoal WHAT]

Makes a virtual environment in the folder, with the packages of apps.txt and shoal
(WHAT: a wheel or a source folder; this repository), and there uses each program twice
beside a private redis-server: as it is, and with its one changed line.  Says what the
core carried, and the time of a call with 8 threads.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
WITH_REDIS = ROOT / "tests" / "support" / "with_redis.sh"
THREADS, ROUNDS = 8, 400


def measure(call: Callable[[], object]) -> float:
    """Microseconds of wall time per call, by several threads."""

    def work(_: int) -> None:
        for _round in range(ROUNDS):
            call()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
        begun = time.monotonic()
        list(pool.map(work, range(THREADS)))
    return (time.monotonic() - begun) / (THREADS * ROUNDS) * 1e6


def tell(what: str, call: Callable[[], object], client: Any) -> None:
    """One line about a client that a program used."""
    time_us = measure(call)
    core = getattr(client, "shoal_client", None)
    count = f"{core.stats().commands} commands carried" if core else "nothing carried"
    print(f"  {what}: {time_us:.0f} us per call; {count}", flush=True)


def use_cache(cache: Any) -> None:
    cache.clear()
    cache.set("a", {"b": [1, 2]}, 60)
    assert cache.get("a") == {"b": [1, 2]}
    cache.set("n", 1)
    assert cache.incr("n", 4) == 5
    assert cache.add("a", 0) is False
    cache.set_many({"x": 1, "y": 2})
    assert cache.get_many(["x", "y", "z"]) == {"x": 1, "y": 2}
    assert cache.touch("a", 30) and cache.delete("a") and cache.get("a") is None


def set_up_django(backend: str, url: str, options: dict[str, str]) -> Any:
    from django.conf import settings

    entry = {"BACKEND": backend, "LOCATION": url, "OPTIONS": options}
    settings.configure(CACHES={"default": entry})
    from django.core.cache import cache

    return cache


def django(url: str, ours: bool) -> None:
    if ours:
        import shoal.redis

        shoal.redis.install()
    cache = set_up_django("django.core.cache.backends.redis.RedisCache", url, {})
    use_cache(cache)
    tell("django RedisCache get", lambda: cache.get("x"), cache._cache.get_client())


def django_redis(url: str, ours: bool) -> None:
    options = {"REDIS_CLIENT_CLASS": "shoal.redis.Redis"} if ours else {}
    cache = set_up_django("django_redis.cache.RedisCache", url, options)
    use_cache(cache)
    with cache.lock("lock", timeout=5):
        assert not cache.lock("lock", timeout=5).acquire(blocking=False)
    assert cache.lock("lock", timeout=5).acquire(blocking=False)
    tell("django-redis get", lambda: cache.get("x"), cache.client.get_client())


def rq(url: str, ours: bool) -> None:
    import redis
    import rq as package
    import shoal.redis

    connection = (shoal.redis if ours else redis).Redis.from_url(url)
    queue = package.Queue(connection=connection)
    for worker in (package.SimpleWorker, package.Worker):
        job = queue.enqueue(sum, (20, 22))
        worker([queue], connection=connection).work(burst=True, logging_level="ERROR")
        assert job.return_value() == 42
    tell("RQ job.refresh", job.refresh, connection)


def celery(url: str, ours: bool) -> None:
    if ours:
        import shoal.redis

        shoal.redis.install()
    from celery import Celery
    from celery.contrib.testing.worker import start_worker

    app = Celery("apps", broker=url, backend=url)
    app.conf.broker_connection_retry_on_startup = True

    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    with start_worker(app, pool="solo", perform_ping_check=False, loglevel="ERROR"):
        results = [add.delay(i, 1) for i in range(20)]
        assert [result.get(timeout=20) for result in results] == list(range(1, 21))
    backend = app.backend
    key = backend.get_key_for_task(results[0].id)
    tell("Celery backend get", lambda: backend.get(key), backend.client)


PROGRAMS = (django, django_redis, rq, celery)


def run_inside(name: str, url: str, ours: bool) -> None:
    {program.__name__: program for program in PROGRAMS}[name](url, ours)


def make_environment(folder: Path, shoal: str) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-r", str(HERE / "apps.txt")], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", shoal], check=True)
    subprocess.run([*pip, "cffi"], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description="the drop-in under programs")
    parser.add_argument("--folder", type=Path, help="of the virtual environment")
    parser.add_argument("--shoal", default=str(ROOT))
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        name, ours = options.inside
        run_inside(name, os.environ["SHOAL_TEST_URL"], ours == "ours")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        python = make_environment(folder, options.shoal)
        for program in PROGRAMS:
            for way in ("stock", "ours"):
                print(f"{program.__name__}, {way}:", flush=True)
                command = [str(WITH_REDIS), str(python)]
                command += [__file__, "--inside", program.__name__, way]
                failed += subprocess.run(command).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
