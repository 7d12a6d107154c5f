# SPDX-License-Identifier: MIT
import json
import unittest

from harness.measure import Failed
from must_show.figures import CPU, RATE, Bar, Figure
from must_show.study import Study
from must_show.table import document

from tests.results import one_round

FIGURE = Figure(
    "f",
    "a figure",
    "asyncio",
    "turns",
    2,
    "ours",
    ("a", "b"),
    (Bar(RATE, 8, ("a", "b")), Bar(CPU, 0.5, ("b",))),
)
FACT = Figure("fact", "a fact", "threads", "turns", 1, "ours", ("a",))
OPS = {"ours": 12345, "a": 1000, "b": 500}


def measure(_, client):
    return one_round(OPS[client], cpu=2.5 if client == "ours" else 10.0)


def silent(_):
    pass


class Rounds(unittest.TestCase):
    def setUp(self):
        self.study = Study([FIGURE, FACT], {"kernel": "Linux 6"})

    def test_clients_take_turns(self):
        order = []

        def note(figure, client):
            order.append(client)
            return measure(figure, client)

        self.study.take_rounds(FIGURE, 2, note, silent)
        self.assertEqual(order, ["ours", "a", "b", "ours", "a", "b"])
        self.assertEqual(self.study.results["f"]["a"]["ops_per_s"], 1000)
        self.assertEqual(len(self.study.results["f"]["a"]["rounds"]), 2)

    def test_one_that_fails_is_left_out(self):
        order = []

        def fail(figure, client):
            order.append(client)
            if client == "a":
                raise Failed("no such package")
            return measure(figure, client)

        self.study.take_rounds(FIGURE, 2, fail, silent)
        self.assertEqual(order, ["ours", "a", "b", "ours", "b"])
        self.assertEqual(self.study.problems, {"f, a": "no such package"})
        self.assertEqual(set(self.study.results["f"]), {"ours", "b"})
        self.study.take_rounds(FACT, 1, measure, silent)
        self.assertFalse(self.study.are_all_met(), "a peer is missing")
        self.assertIn("met, without a", document(self.study))
        self.assertIn("- f, a: no such package\n", document(self.study))

    def test_what_was_measured_before_an_interruption_counts(self):
        calls = []

        def stop(figure, client):
            calls.append(client)
            if len(calls) == 5:
                raise KeyboardInterrupt
            return measure(figure, client)

        with self.assertRaises(KeyboardInterrupt):
            self.study.take_rounds(FIGURE, 3, stop, silent)
        results = self.study.results["f"]
        counts = {name: len(result["rounds"]) for name, result in results.items()}
        self.assertEqual(counts, {"ours": 2, "a": 1, "b": 1})
        self.assertFalse(self.study.are_all_met(), "a figure was not begun")

    def test_all_met(self):
        self.assertFalse(self.study.are_all_met())
        self.study.take_rounds(FIGURE, 1, measure, silent)
        self.assertFalse(self.study.are_all_met())
        self.study.take_rounds(FACT, 1, measure, silent)
        self.assertTrue(self.study.are_all_met())

    def test_one_missed(self):
        def slower(figure, client):
            return {
                **measure(figure, client),
                "ops_per_s": 7999 if client == "ours" else 1000,
            }

        self.study.take_rounds(FACT, 1, measure, silent)
        self.study.take_rounds(FIGURE, 1, slower, silent)
        self.assertFalse(self.study.are_all_met())
        self.assertIn("MISSED", document(self.study))

    def test_nothing_measured(self):
        def fail(figure, client):
            raise Failed("no server")

        self.study.take_rounds(FIGURE, 1, fail, silent)
        self.assertIn("not measured", document(self.study))
        self.assertFalse(self.study.are_all_met())


class Reports(unittest.TestCase):
    def setUp(self):
        self.study = Study([FIGURE, FACT], {"kernel": "Linux 6"})
        for figure in (FIGURE, FACT):
            self.study.take_rounds(figure, 2, measure, silent)

    def rows(self, head):
        """The cells of the table whose first line begins with these words."""
        lines = document(self.study).splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith(head))
        rows = []
        for line in lines[begin:]:
            if not line:
                break
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        return rows[2:]

    def test_bars(self):
        rate, cpu = self.rows("| figure   | what")
        self.assertEqual(
            rate,
            [
                "a figure",
                "throughput",
                "12 345/s",
                "1 000/s",
                "a",
                "12.345",
                "12.345 - 12.345",
                ">= 8",
                "met",
            ],
        )
        self.assertEqual(
            cpu[1:6], ["client CPU per command", "2.50 us", "10.00 us", "b", "0.250"]
        )

    def test_clients(self):
        rows = self.rows("| figure | client")
        self.assertEqual([row[1] for row in rows], ["ours", "a", "b", "ours", "a"])
        self.assertEqual(rows[0][3], "")
        self.assertEqual(rows[1][3], "12.35x")
        self.assertEqual(rows[1][7], "0.25x")

    def test_conditions_and_versions(self):
        text = document(self.study)
        self.assertIn("- kernel: Linux 6\n", text)
        self.assertIn("- versions: python 3.11\n", text)

    def test_json(self):
        read = json.loads(json.dumps(self.study.as_json()))
        figure, fact = read["figures"]
        self.assertEqual([one["is_met"] for one in figure["verdicts"]], [True, True])
        self.assertEqual(figure["verdicts"][0]["ratio"], 12.345)
        self.assertEqual(len(figure["clients"]["a"]["rounds"]), 2)
        self.assertEqual(fact["verdicts"], [])
        self.assertEqual(read["versions"], {"python": "3.11"})
