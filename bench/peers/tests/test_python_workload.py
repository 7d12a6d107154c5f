# SPDX-License-Identifier: MIT
import contextlib
import io
import sys
import time
import unittest
from types import SimpleNamespace

from harness.programs import PEERS

sys.path.insert(0, str(PEERS / "python"))

from workload import Measurement, Schedule, parse_options, summarize  # noqa: E402


def options(**others):
    defaults = {
        "client": "x",
        "callers": 2,
        "rate": 0,
        "value_bytes": 16,
        "duration": 1,
        "warmup": 0,
    }
    return SimpleNamespace(**{**defaults, **others})


class Workload(unittest.TestCase):
    def test_quantiles(self):
        summary = summarize([range(1000, 51000, 1000), range(51000, 101000, 1000)])
        self.assertEqual(summary["p0"], 1)
        self.assertEqual(summary["p50"], 51)
        self.assertEqual(summary["p100"], 100)
        self.assertEqual(summary["mean"], 50.5)
        self.assertIsNone(summarize([[], []])["p99"])

    def test_schedule_releases_each_command_once(self):
        start_ns = time.perf_counter_ns() - 1_500_000
        schedule = Schedule(1000, start_ns)
        skipped = schedule.released
        self.assertGreaterEqual(skipped, 2)
        schedule.start_ns -= 10_000_000
        due = schedule.take_due()
        self.assertGreaterEqual(len(due), 10)
        self.assertEqual(
            due[:3], [schedule.start_ns + (skipped + i) * 1_000_000 for i in range(3)]
        )
        self.assertEqual(schedule.released, skipped + len(due))
        schedule.start_ns += 3_600_000_000_000
        self.assertEqual(schedule.take_due(), [])

    def test_schedule_that_has_not_begun(self):
        schedule = Schedule(1000, time.perf_counter_ns() + 3_600_000_000_000)
        self.assertEqual((schedule.released, schedule.take_due()), (0, []))

    def test_only_the_window_counts(self):
        measurement = Measurement(options())
        first, second = measurement.recorders
        first.ops = 100
        with contextlib.redirect_stderr(io.StringIO()) as said:
            measurement.begin()
            first.ops += 3
            second.ops += 4
            second.note_error(ValueError("no"))
            measurement.end()
        first.ops += 50
        result = measurement.result({"python": "3"})
        self.assertEqual(said.getvalue(), "measuring\nmeasured\n")
        self.assertEqual(result["commands"], 7)
        self.assertEqual(result["errors"], 1)
        self.assertEqual(result["first_error"], "ValueError: no")

    def test_nothing_finished(self):
        measurement = Measurement(options())
        with contextlib.redirect_stderr(io.StringIO()):
            measurement.begin()
            measurement.end()
        with self.assertRaisesRegex(RuntimeError, "no command finished"):
            measurement.result({})

    def test_sampling(self):
        self.assertEqual(Measurement(options(callers=64)).sampling, 1)
        self.assertEqual(Measurement(options(callers=65)).sampling, 8)
        self.assertEqual(Measurement(options(callers=65, rate=9)).sampling, 1)

    def test_options(self):
        parsed = parse_options(["--client", "a", "--value-bytes", "3"], ["a"])
        self.assertEqual((parsed.value, parsed.callers, parsed.rate), ("xxx", 128, 0))
        wrong = (
            ["--client", "b"],
            ["--client", "a", "--no-command"],
            ["--client", "a", "--callers", "0"],
        )
        for arguments in wrong:
            with (
                self.subTest(arguments),
                self.assertRaises(SystemExit),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                parse_options(arguments, ["a"])
