# SPDX-License-Identifier: MIT
import unittest

from harness.figures import combine, ratio, spread, summarize


class Figures(unittest.TestCase):
    def test_combine(self):
        cases = [
            ("median of an odd number", [3, 1, 2], 2),
            ("median of an even number", [1, 2, 3, 6], 2.5),
            ("a round without the figure", [None, 4, 6], 5),
            ("no round has it", [None, None], None),
            ("texts are not numbers", ["a", "b"], "a"),
            ("truth is not a number", [True, False], True),
            (
                "objects key by key",
                [{"p50": 1, "p99": None}, {"p50": 3, "p99": 7}],
                {"p50": 2, "p99": 7},
            ),
            ("a key that one lacks", [{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ]
        for name, values, expected in cases:
            with self.subTest(name):
                self.assertEqual(combine(values), expected)

    def test_spread(self):
        cases = [([5], None), ([90, 100, 110], 0.1), ([4, 4], 0), ([0, 0], None)]
        for values, expected in cases:
            with self.subTest(values):
                self.assertEqual(spread(values), expected)

    def test_summarize(self):
        rounds = [
            {"ops_per_s": 100, "errors": 2, "config": {"callers": 8}},
            {"ops_per_s": 140, "errors": 0, "config": {"callers": 8}},
            {"ops_per_s": 120, "errors": 1, "config": {"callers": 8}},
        ]
        result = summarize(rounds)
        self.assertEqual(result["ops_per_s"], 120)
        self.assertAlmostEqual(result["ops_per_s_spread"], 20 / 120)
        self.assertEqual(result["errors"], 3)
        self.assertEqual(result["config"], {"callers": 8})
        self.assertEqual(result["rounds"], rounds)

    def test_ratio(self):
        self.assertEqual(ratio({"ops_per_s": 50}, {"ops_per_s": 200}), 0.25)
        self.assertIsNone(ratio({"ops_per_s": 50}, None))
        self.assertIsNone(ratio({"ops_per_s": 50}, {"ops_per_s": 0}))
