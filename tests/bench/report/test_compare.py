#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/report/compare.py: which runs belong together, and what is beyond the noise."""

import json
import tempfile
import unittest
from pathlib import Path

from tiny import measure, script, skip_without_server


def result(ops, rounds=(0.999, 1, 1.001), **config):
    """A file of one run."""
    config = {
        "mode": "callback",
        "flush": "auto",
        "callers": 8,
        "command": "PING",
        **config,
    }
    run = {"strategy": "callback auto", "ops_per_s": ops, "config": config}
    return {
        "runs": [{**run, "rounds": [{"ops_per_s": ops * share} for share in rounds]}]
    }


class Comparisons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shoal-bench-test.")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def compare(self, *contents, strict=False, code=0):
        names = []
        for number, content in enumerate(contents):
            name = self.path / f"{number}.json"
            text = content if isinstance(content, str) else json.dumps(content)
            name.write_text(text)
            names.append(name)
        done = script("compare.py", *names, *(["--strict"] if strict else []))
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code == 2 else done.stdout

    def test_real_files_belong_together(self):
        files = [self.path / "a.json", self.path / "b.json"]
        for file in files:
            measure(file, "-n", 40, "-c", 2, "--rounds", 2, "--against", "off")
        done = script("compare.py", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("commands/s", "p50, us", "p99, us", "client CPU", "server CPU"):
            self.assertEqual(done.stdout.count(name), 2)
        self.assertNotIn("belong together", done.stdout)

    def test_sockets_of_two_kinds_are_two_measurements(self):
        one, other = result(90000, transport="unix"), result(90000, transport="tcp")
        self.compare(one, one)
        self.compare(one, other, code=2)

    def test_a_change_beyond_the_noise_has_a_direction(self):
        slow, fast = result(90000), result(100000)
        self.assertIn("-10.0 %  WORSE", self.compare(fast, slow))
        self.compare(fast, slow, strict=True, code=1)
        self.assertIn("BETTER", self.compare(slow, fast, strict=True))

    def test_a_change_that_the_rounds_explain_is_none(self):
        wide = result(100000, (0.9, 1, 1.06))
        self.assertIn(
            "within the noise", self.compare(wide, result(90000), strict=True)
        )
        # Rounds that agree exactly do not make 1 % a change.
        same = result(100000, (1, 1)), result(99000, (1, 1))
        self.assertIn("within the noise", self.compare(*same, strict=True))
        less = result(100000, (1, 1)), result(97900, (1, 1))
        self.compare(*less, strict=True, code=1)

    def test_a_single_round_says_nothing_of_the_noise(self):
        text = self.compare(result(100000, [1]), result(50000), strict=True)
        self.assertIn("? one round", text)

    def test_runs_of_other_configurations_are_left_out(self):
        both = result(100000)
        both["runs"] += result(50000, callers=9)["runs"]
        text = self.compare(both, result(90000))
        self.assertIn("1 of 2 old and 1 new runs belong together", text)
        self.assertIn("90.0k", text)

    def test_what_cannot_be_compared_is_said(self):
        good = result(100000)
        for other in (result(1, callers=9), "{", "[]", {"tool": "x"}, {"runs": [1]}):
            with self.subTest(other=other):
                self.assertTrue(self.compare(good, other, code=2))
        done = script("compare.py", self.path / "0.json", self.path / "missing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("missing: No such file", done.stderr)


if __name__ == "__main__":
    skip_without_server()
    unittest.main(verbosity=1)
