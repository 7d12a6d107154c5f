# SPDX-License-Identifier: MIT
import unittest

from harness.cli import loads_of, parse
from harness.machine import plan_cpus
from harness.programs import PEERS
from harness.rows import CLUSTERS, ROWS, select


class Rows(unittest.TestCase):
    def test_names_are_unique(self):
        names = [row.name for row in ROWS]
        self.assertEqual(len(set(names)), len(names))

    def test_every_program_is_there(self):
        for row in ROWS:
            with self.subTest(row.name):
                kind, _, folder = row.program.partition(":")
                self.assertIn(kind, {"shoal", "hiredis", "libvalkey", "go", "python"})
                self.assertIn(row.setting, {"default", "tuned"})
                if kind == "go":
                    source = (PEERS / "go" / folder / "main.go").read_text()
                    self.assertIn(f'"{row.client}":', source)
                if kind == "python":
                    source = (PEERS / "python" / "peer.py").read_text()
                    self.assertIn(f'"{row.client}":', source)

    def test_select(self):
        def names(only, skip, is_paced=False, is_cluster=False):
            rows = select(ROWS, only, skip, is_paced, is_cluster)
            return [row.name for row in rows]

        self.assertEqual(names(["shoal/*"], []), ["shoal/callback", "shoal/sync"])
        self.assertEqual(len(names(["shoal/*"], [], True)), 4)
        self.assertEqual(
            names(["c/hiredis-*"], ["*collector"]),
            ["c/hiredis-pool", "c/hiredis-async"],
        )
        self.assertEqual(names(["nothing"], []), [])
        self.assertNotIn("go/rueidis", names([], ["go/*"]))
        self.assertEqual(names(["c/*"], [], is_cluster=True), ["c/libvalkey-async"])
        self.assertEqual(len(names(["shoal/*"], [], is_cluster=True)), 2)
        self.assertEqual(CLUSTERS - {row.name for row in ROWS}, set())

    def test_loads(self):
        def loads(*arguments):
            return [(load.callers, load.rate) for load in loads_of(parse(arguments))]

        self.assertEqual(loads(), [(1, 0), (128, 0), (1024, 0)])
        self.assertEqual(loads("--cluster"), [(128, 0), (1024, 0)])
        self.assertEqual(loads("--callers", "2,4"), [(2, 0), (4, 0)])
        self.assertEqual(loads("--rate", "1000,5000"), [(128, 1000), (128, 5000)])
        self.assertEqual(loads("--rate", "10", "--callers", "8"), [(8, 10)])

    def test_plan_cpus(self):
        cases = [
            ({0}, 1, (set(), set())),
            ({0, 1}, 1, ({0}, {1})),
            ({2, 5, 7}, 1, ({2}, {7})),
            ({0, 1, 2, 3}, 3, ({0, 1, 2}, {3})),
            ({0, 1}, 2, (set(), set())),
        ]
        for allowed, count, expected in cases:
            with self.subTest(allowed=allowed, count=count):
                self.assertEqual(plan_cpus(allowed, count), expected)
