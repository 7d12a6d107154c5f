# SPDX-License-Identifier: MIT
import unittest

from harness.markdown import grid, number, percent
from harness.measure import Load
from harness.report import Report
from harness.rows import SHOAL_CALLBACK, Row
from harness.table import HEAD, document, table, times

ROWS = [
    Row(SHOAL_CALLBACK, "shoal", "--mode callback", "callback", "default", "a"),
    Row("c/other", "hiredis", "async", "callback", "default", "b"),
    Row("c/absent", "hiredis", "absent", "thread", "default", "c"),
]


CLOSED = Load(128, 0, 16, 1, 0)
PACED = Load(128, 1000, 16, 1, 0)


def result(ops, **others):
    return {
        "ops_per_s": ops,
        "ops_per_s_spread": 0.04,
        "latency_us": {"p50": 100.4, "p99": 200, "p99_9": None},
        "client_cpu_us_per_op": 0.5,
        "server_cpu_us_per_op": 0.25,
        "commands_per_server_read": 12.34,
        "connections": 1,
        "errors": 0,
        "config": {"versions": {"hiredis": "1.5.0", "a": 2}},
        **others,
    }


class Table(unittest.TestCase):
    def setUp(self):
        self.results = {
            "c/other": result(500000),
            SHOAL_CALLBACK: result(1000000, generator_cpu_us_per_op=0.125),
        }

    def test_formats(self):
        self.assertEqual(number(1234567.6), "1 234 568")
        self.assertEqual(number(0.456, 2), "0.46")
        self.assertEqual(number(None), "-")
        self.assertEqual(percent(0.036), " +-4 %")
        self.assertEqual(percent(None), "")
        self.assertEqual(times(1.234), "1.23x")
        self.assertEqual(times(None), "-")

    def test_grid(self):
        self.assertEqual(
            grid(["a", "bc"], [["def", "1"]], 1),
            ["| a   | bc |", "| --- | -: |", "| def |  1 |"],
        )

    def test_rows_are_sorted_and_compared(self):
        lines = table(CLOSED, ROWS, self.results)
        cells = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in lines
        ]
        self.assertEqual(cells[0], HEAD)
        self.assertEqual([line[0] for line in cells[2:]], [SHOAL_CALLBACK, "c/other"])
        fastest, other = (dict(zip(HEAD, line, strict=True)) for line in cells[2:])
        self.assertEqual(fastest["client CPU us/op"], "0.50 (0.12)")
        self.assertEqual(other["commands/s"], "500 000 +-4 %")
        self.assertEqual(other["of shoal/callback"], "0.50x")
        self.assertEqual(other["of shoal/sync"], "-")
        self.assertEqual(other["p99.9 us"], "-")
        self.assertEqual(other["commands per read"], "12.3")

    def test_at_a_rate_the_cheapest_that_keeps_it_is_first(self):
        results = {
            SHOAL_CALLBACK: result(700),
            "c/other": result(990),
            "c/absent": result(1001, client_cpu_us_per_op=0.4),
        }
        names = [line.split()[1] for line in table(PACED, ROWS, results)[2:]]
        self.assertEqual(names, ["c/absent", "c/other", SHOAL_CALLBACK])

    def test_columns_line_up(self):
        self.assertEqual(
            len({len(line) for line in table(CLOSED, ROWS, self.results)}), 1
        )

    def test_document_and_json(self):
        report = Report(ROWS, {"kernel": "Linux 6"})
        load = Load(128, 50000, 16, 1, 0)
        report.results.append((load, self.results))
        report.skip("c/absent", "it is not built")
        report.skip("c/absent", "a later reason")
        text = document(report)
        self.assertIn("- kernel: Linux 6\n", text)
        self.assertIn("## 50000 commands/s, 128 callers\n", text)
        self.assertIn("- versions: a 2, hiredis 1.5.0\n", text)
        self.assertIn("in brackets", text)
        self.assertIn("- c/absent: it is not built\n", text)
        runs = report.as_json()["runs"]
        self.assertEqual({run["name"] for run in runs}, {SHOAL_CALLBACK, "c/other"})
        self.assertEqual(runs[0]["load"]["rate"], 50000)

    def test_titles(self):
        self.assertEqual(Load(1, 0, 16, 1, 0).title(), "1 caller")
        self.assertEqual(Load(8, 0, 16, 1, 0).title(), "8 callers")
