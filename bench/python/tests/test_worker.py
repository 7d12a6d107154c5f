# SPDX-License-Identifier: MIT
import asyncio
import contextlib
import io
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from must_show.contents import BIG, HASH_FIELDS, LIST_ITEMS, ZSET_MEMBERS
from must_show.worker import (
    over_floor,
    over_redis_py,
    over_shoal,
    run_tasks,
    run_threads,
)
from must_show.worker.__main__ import parse
from must_show.worker.clients import Calls, Target
from must_show.worker.loads import LOADS
from workload import Measurement


class Store:
    """A client in memory; `wrong` is what GET says instead."""

    def __init__(self, wrong=None):
        self.values = {}
        self.wrong = wrong

    def set(self, key, value):
        self.values[key] = value
        return b"OK"

    def get(self, key):
        return self.wrong or self.values[key]

    def many(self, pairs):
        return [
            reply for pair in pairs for reply in (self.set(*pair), self.get(pair[0]))
        ]

    def calls(self):
        return Calls(self.set, self.get, self.many)

    def asynchronous(self):
        """The same, which lets other tasks run at every SET."""

        async def set_(key, value):
            await asyncio.sleep(0)
            return self.set(key, value)

        async def get(key):
            return self.get(key)

        async def many(pairs):
            await asyncio.sleep(0)
            return self.many(pairs)

        return Calls(set_, get, many)


def measurement_of(callers):
    return Measurement(
        SimpleNamespace(
            client="x", callers=callers, rate=0, value_bytes=16, duration=0.02, warmup=0
        )
    )


def run_asyncio(store, load="turns", callers=3):
    @contextlib.asynccontextmanager
    async def opened():
        yield store.asynchronous()

    measurement = measurement_of(callers)
    with contextlib.redirect_stderr(io.StringIO()):
        run_tasks.run(measurement, LOADS[load], opened(), "asyncio")
    return measurement


def run_blocking(store, load="turns", callers=3):
    """Time goes on when every thread has done something more."""
    measurement = measurement_of(callers)

    def sleep(_):
        before = [recorder.ops for recorder in measurement.recorders]
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up and any(
            recorder.ops <= ops
            for recorder, ops in zip(measurement.recorders, before, strict=True)
        ):
            time.sleep(0.001)

    with (
        contextlib.redirect_stderr(io.StringIO()),
        mock.patch("must_show.worker.run_threads.time", SimpleNamespace(sleep=sleep)),
    ):
        run_threads.run(measurement, LOADS[load], contextlib.nullcontext(store.calls()))
    return measurement


class Runs(unittest.TestCase):
    def test_every_caller_has_a_key_and_counts(self):
        for run in (run_asyncio, run_blocking):
            with self.subTest(run.__name__):
                store = Store()
                measurement = run(store)
                result = measurement.result({})
                self.assertEqual(len(store.values), 3)
                self.assertEqual(result["commands"] % 2, 0)
                self.assertGreater(min(r.ops for r in measurement.recorders), 0)
                self.assertGreater(result["latency_us"]["p50"], 0)
                self.assertEqual(result["config"]["latency_sampling"], 1)

    def test_of_many_callers_one_in_eight_is_timed(self):
        measurement = run_asyncio(Store(), callers=72)
        timed = [bool(recorder.latency_ns) for recorder in measurement.recorders]
        self.assertEqual(timed, [number % 8 == 0 for number in range(72)])

    def test_the_floor_answers_every_caller(self):
        measurement = measurement_of(3)
        with contextlib.redirect_stderr(io.StringIO()):
            run_tasks.run(
                measurement,
                LOADS["turns"],
                over_floor.asynchronous(Target("/s", None, 3)),
                "asyncio",
            )
        self.assertGreater(min(r.ops for r in measurement.recorders), 0)

    def test_a_batch_counts_its_commands(self):
        for run in (run_asyncio, run_blocking):
            with self.subTest(run.__name__):
                result = run(Store(), "many", 1).result({})
                self.assertEqual(result["commands"] % 100, 0)

    def test_a_wrong_reply_is_no_result(self):
        for run in (run_asyncio, run_blocking):
            for load in ("turns", "many"):
                with (
                    self.subTest(run.__name__, load=load),
                    self.assertRaisesRegex(RuntimeError, "not what was stored"),
                ):
                    run(Store(wrong=b"other"), load, 1)

    def test_an_error_of_one_caller_is_raised(self):
        class Failing(Store):
            gets = 0

            def get(self, key):
                self.gets += 1
                if self.gets == 20:
                    raise ConnectionError("gone")
                return super().get(key)

        with self.assertRaisesRegex(ConnectionError, "gone"):
            run_asyncio(Failing(), callers=2)

        def work(number):
            if number == 1:
                raise ConnectionError("gone")

        with (
            self.assertRaisesRegex(ConnectionError, "gone"),
            run_threads.threads(3, work),
        ):
            pass


class Works(unittest.TestCase):
    def test_replies_are_looked_at(self):
        keys = [f"key:{number:012d}" for number in range(1000)]
        values = [f"val:{number:012d}".encode() for number in range(1000)]
        calls = Calls(
            set=lambda key, value: b"OK",
            get=lambda key: BIG,
            mget=lambda asked: values if asked == keys else [],
            lrange=lambda key: list(LIST_ITEMS),
            hgetall=lambda key: dict(HASH_FIELDS),
            zrange=lambda key: [tuple(pair) for pair in ZSET_MEMBERS],
        )
        wrong = {
            "mget": values[::-1],
            "lrange": LIST_ITEMS[1:],
            "hgetall": {**HASH_FIELDS, b"": b""},
            "zrange": ZSET_MEMBERS[::-1],
            "get-100k": BIG[1:],
        }
        for load in (*wrong, "set-100k"):
            with self.subTest(load):
                work = LOADS[load].make(calls)
                self.assertTrue(work.is_right(work.call()))
                self.assertFalse(work.is_right(wrong.get(load)))

    def test_what_a_client_is_not_asked_for(self):
        with self.assertRaisesRegex(RuntimeError, "not asked"):
            Calls(set=print, get=print).many([])


class Adapters(unittest.TestCase):
    pairs = [("a", b"1"), ("b", b"2")]

    def test_shoal(self):
        asked = []
        client = SimpleNamespace(
            execute=lambda *words: asked.append(words), execute_many=lambda rows: rows
        )
        calls = over_shoal.calls_of(client)
        calls.set("a", b"1")
        calls.get("a")
        calls.mget(["a", "b"])
        calls.lrange("l")
        calls.hgetall("h")
        calls.zrange("z")
        self.assertEqual(
            asked,
            [
                ("SET", "a", b"1"),
                ("GET", "a"),
                ("MGET", "a", "b"),
                ("LRANGE", "l", 0, -1),
                ("HGETALL", "h"),
                ("ZRANGE", "z", 0, -1, "WITHSCORES"),
            ],
        )
        self.assertEqual(
            calls.many(self.pairs),
            [("SET", "a", b"1"), ("GET", "a"), ("SET", "b", b"2"), ("GET", "b")],
        )

    def test_redis_py(self):
        pipeline = mock.Mock()
        client = mock.Mock()
        client.pipeline.return_value = pipeline
        over_redis_py.calls_of(client).many(self.pairs)
        client.pipeline.assert_called_once_with(transaction=False)
        self.assertEqual(
            pipeline.method_calls,
            [
                mock.call.set("a", b"1"),
                mock.call.get("a"),
                mock.call.set("b", b"2"),
                mock.call.get("b"),
                mock.call.execute(),
            ],
        )

    def test_redis_py_without_hiredis_or_drop_in_that_is_passed_by(self):
        cases = [
            (True, None, None),
            (False, None, "without hiredis"),
            (True, "a cluster", "a cluster"),
        ]
        for has_hiredis, bypass, problem in cases:
            utils = SimpleNamespace(HIREDIS_AVAILABLE=has_hiredis)
            with (
                self.subTest(problem),
                mock.patch("must_show.worker.over_redis_py.import_module") as imported,
            ):
                imported.return_value = utils
                client = SimpleNamespace(shoal_bypass=bypass)
                if problem is None:
                    over_redis_py.insist(client)
                else:
                    with self.assertRaisesRegex(RuntimeError, problem):
                        over_redis_py.insist(client)

    def test_pools(self):
        module = mock.Mock()
        over_redis_py.make_pool(module, Target(None, 5, 128), None)
        module.ConnectionPool.assert_called_once_with(
            max_connections=129, host="127.0.0.1", port=5
        )
        over_redis_py.make_pool(module, Target("/s", None, 128), 16)
        module.BlockingConnectionPool.assert_called_once_with(
            max_connections=16,
            timeout=None,
            path="/s",
            connection_class=module.UnixDomainSocketConnection,
        )


class Options(unittest.TestCase):
    words = ["--client", "shoal", "--face", "asyncio", "--load", "get-100k"]

    def test_options(self):
        options = parse([*self.words, "--socket", "s"])
        self.assertEqual((options.value_bytes, options.rate), (102_400, 0))

    def test_wrong_options(self):
        for more in (
            [],
            ["--socket", "s", "--port", "1"],
            ["--port", "1", "--callers", "0"],
        ):
            with (
                self.subTest(more),
                contextlib.redirect_stderr(io.StringIO()),
                self.assertRaises(SystemExit),
            ):
                parse([*self.words, *more])
