# SPDX-License-Identifier: MIT
import unittest
from importlib import import_module

from must_show.figures import CPU, FIGURES, P50, RATE, Bar, select
from must_show.worker.clients import CLIENTS
from must_show.worker.loads import LOADS

BARS = {
    "asyncio-128": [(RATE, 0.6), (RATE, 10), (CPU, 0.125)],
    "uvloop-128": [(RATE, 0.45), (RATE, 10), (CPU, 0.125)],
    "asyncio-1024": [(RATE, 10), (CPU, 0.125)],
    "uvloop-1024": [(RATE, 10), (CPU, 0.125)],
    "asyncio-1": [(P50, 0.75)],
    "uvloop-1": [(P50, 0.75)],
    "threads-1": [(P50, 0.85)],
    "threads-32": [(RATE, 2.5), (RATE, 5)],
    "many-threads": [(RATE, 2)],
    "many-asyncio": [(RATE, 2)],
    "mget-threads": [(RATE, 1.2)],
    "mget-asyncio": [(RATE, 1.2)],
    "lrange-threads": [(RATE, 1.2)],
    "lrange-asyncio": [(RATE, 1.2)],
    "hgetall-threads": [(RATE, 1.2)],
    "hgetall-asyncio": [(RATE, 1.2)],
    "zrange-threads": [(RATE, 1.2)],
    "zrange-asyncio": [(RATE, 1.2)],
    "get-100k-threads": [(RATE, 1.1)],
    "get-100k-asyncio": [(RATE, 1.3)],
    "set-100k-threads": [(RATE, 1.1)],
    "set-100k-asyncio": [(RATE, 1.1)],
    "dropin-asyncio-128": [(RATE, 12)],
    "dropin-threads-32": [(RATE, 5)],
    "dropin-threads-1": [(P50, 0.75)],
    "unpinned-threads-32": [(RATE, 4)],
}


class Figures(unittest.TestCase):
    def test_bars(self):
        found = {
            figure.name: [(bar.quantity, bar.limit) for bar in figure.bars]
            for figure in FIGURES
            if figure.bars
        }
        self.assertEqual(found, BARS)

    def test_names_are_unique(self):
        names = [figure.name for figure in FIGURES]
        self.assertEqual(len(set(names)), len(names))

    def test_bars_are_against_peers_of_the_figure(self):
        for figure in FIGURES:
            self.assertNotIn(figure.subject, figure.peers)
            for bar in figure.bars:
                self.assertLessEqual({*bar.against}, {*figure.peers}, figure.name)

    def test_all_clients_and_loads_are_there(self):
        for figure in FIGURES:
            with self.subTest(figure.name):
                self.assertIn(figure.load, LOADS)
                self.assertIn(figure.face, ("asyncio", "uvloop", "threads"))
                for client in figure.clients:
                    name, _ = CLIENTS[client]
                    module = import_module(f"must_show.worker.{name}")
                    way = "blocking" if figure.face == "threads" else "asynchronous"
                    self.assertTrue(callable(getattr(module, way)))
                    self.assertTrue(module.DISTRIBUTIONS)

    def test_a_limit_itself_is_enough(self):
        cases = [
            (RATE, 8, 8.0, True),
            (RATE, 8, 7.99, False),
            (CPU, 0.125, 0.125, True),
            (CPU, 0.125, 0.126, False),
            (P50, 0.92, 0.5, True),
            (P50, 0.92, 0.93, False),
        ]
        for quantity, limit, ratio, is_met in cases:
            with self.subTest(quantity=quantity, ratio=ratio):
                self.assertEqual(Bar(quantity, limit, ()).is_met(ratio), is_met)

    def test_texts(self):
        self.assertEqual(Bar(RATE, 2.5, ()).text(), ">= 2.5")
        self.assertEqual(Bar(P50, 0.92, (), aim=0.85).text(), "<= 0.92 (aim 0.85)")

    def test_select(self):
        def names(only, skip):
            return [figure.name for figure in select(FIGURES, only, skip)]

        self.assertEqual(names(["threads-*"], []), ["threads-1", "threads-32"])
        self.assertEqual(names(["threads-*"], ["*-32"]), ["threads-1"])
        self.assertEqual(names(["nothing"], []), [])
        self.assertEqual(len(names([], [])), len(FIGURES))
