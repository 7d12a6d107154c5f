# SPDX-License-Identifier: MIT
import unittest

from harness.figures import summarize
from must_show.figures import CPU, P50, RATE, Bar, Figure
from must_show.verdict import judge, value_of

from tests.results import one_round

PEERS = ("slow", "fast")
FIGURE = Figure("f", "a figure", "asyncio", "turns", 2, "ours", PEERS)


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = {
            "ours": summarize([one_round(ops, 2.0, 50) for ops in (800, 1000, 700)]),
            "slow": summarize([one_round(50, 8.0, 100)] * 3),
            "fast": summarize([one_round(ops, 10.0, 200) for ops in (100, 80, 140)]),
        }

    def test_the_fastest_peer_counts(self):
        cases = [
            (Bar(RATE, 8, PEERS), 8.0, 5.0, 12.5, True),
            (Bar(RATE, 8.1, PEERS), 8.0, 5.0, 12.5, False),
            (Bar(CPU, 0.2, PEERS), 0.2, 0.2, 0.2, True),
            (Bar(P50, 0.2, PEERS), 0.25, 0.25, 0.25, False),
        ]
        for bar, ratio, low, high, is_met in cases:
            with self.subTest(bar):
                verdict = judge(FIGURE, bar, self.results)
                self.assertEqual((verdict.peer, verdict.missing), ("fast", ()))
                self.assertAlmostEqual(verdict.ratio, ratio)
                self.assertAlmostEqual(verdict.low, low)
                self.assertAlmostEqual(verdict.high, high)
                self.assertEqual(verdict.is_met, is_met)

    def test_only_those_it_is_against(self):
        verdict = judge(FIGURE, Bar(RATE, 8, ("slow",)), self.results)
        self.assertEqual((verdict.peer, verdict.ratio), ("slow", 16))

    def test_a_peer_that_is_missing_is_named(self):
        del self.results["fast"]
        verdict = judge(FIGURE, Bar(RATE, 8, PEERS), self.results)
        self.assertEqual((verdict.peer, verdict.missing), ("slow", ("fast",)))

    def test_nothing_to_compare(self):
        for absent in (["ours"], ["slow", "fast"]):
            left = {k: v for k, v in self.results.items() if k not in absent}
            self.assertIsNone(judge(FIGURE, Bar(RATE, 8, PEERS), left))

    def test_unknown_quantity(self):
        with self.assertRaises(ValueError):
            value_of("size", self.results["ours"])
