# SPDX-License-Identifier: MIT
import contextlib
import io
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from must_show import cli
from must_show.contents import BIG, LIST_ITEMS, value_of_key
from must_show.figures import Figure
from must_show.measure import Pace, Place, fill, open_places, worker_command

FIGURE = Figure("f", "", "uvloop", "many", 3, "ours", (), is_pinned=False)


class FakeServer:
    """Notes what is asked of it."""

    port, socket = 7, "/a/socket"
    running = 0

    def __init__(self, cpus=()):
        self.cpus = cpus
        self.asked = []

    def __enter__(self):
        FakeServer.running += 1
        return self

    def __exit__(self, *_):
        FakeServer.running -= 1

    def flush(self):
        self.asked.append(("FLUSHALL",))

    def ask(self, *words):
        self.asked.append(words)


class Places(unittest.TestCase):
    def test_servers_start_when_they_are_asked_for(self):
        cpus = ({0}, {1})
        with (
            mock.patch("must_show.measure.Server", FakeServer),
            self.assertRaises(KeyboardInterrupt),
            open_places(cpus, False) as places,
        ):
            self.assertEqual(FakeServer.running, 0)
            pinned = places.place(True)
            self.assertEqual((pinned.cpus, pinned.server.cpus), cpus)
            self.assertIs(places.place(True), pinned)
            self.assertEqual(FakeServer.running, 1)
            free = places.place(False)
            self.assertEqual((free.cpus, free.server.cpus), (set(), set()))
            self.assertEqual(FakeServer.running, 2)
            raise KeyboardInterrupt
        self.assertEqual(FakeServer.running, 0)

    def test_transport(self):
        server = FakeServer()
        self.assertEqual(Place(server, set(), True).options(), ["--port", "7"])
        self.assertEqual(
            Place(server, set(), False).options(), ["--socket", "/a/socket"]
        )

    def test_worker_command(self):
        place = Place(FakeServer(), set(), False)
        words = worker_command(Path("py"), FIGURE, "shoal", place, Pace(1, 0.5, 0.25))
        asked = dict(zip(words[5::2], words[6::2], strict=True))
        self.assertEqual(words[2:5], ["py", "-m", "must_show.worker"])
        self.assertEqual(
            asked,
            {
                "--client": "shoal",
                "--face": "uvloop",
                "--load": "many",
                "--callers": "3",
                "--duration": "0.5",
                "--warmup": "0.25",
                "--socket": "/a/socket",
            },
        )


class Contents(unittest.TestCase):
    def test_values_differ_and_have_16_bytes(self):
        values = {value_of_key(f"key:{number:012d}") for number in range(1000)}
        self.assertEqual(len(values), 1000)
        self.assertEqual({len(value) for value in values}, {16})
        self.assertEqual({len(item) for item in LIST_ITEMS}, {16})

    def test_fill(self):
        sizes = {"turns": [1], "mget": [1, 2001], "lrange": [1, 10_002], "hgetall": [1, 2002], "zrange": [1, 2002]}
        for load, words in sizes.items():
            with self.subTest(load):
                server = FakeServer()
                fill(server, load)
                self.assertEqual([len(command) for command in server.asked], words)
        server = FakeServer()
        fill(server, "get-100k")
        self.assertEqual(server.asked[1:], [("SET", "big", BIG.decode())])
        self.assertEqual(len(BIG), 102_400)


class CommandLine(unittest.TestCase):
    def test_wrong_options(self):
        for words in (["--rounds", "0"], ["--seconds", "0"], ["--warmup", "-1"]):
            with (
                self.subTest(words),
                contextlib.redirect_stderr(io.StringIO()),
                self.assertRaises(SystemExit) as end,
            ):
                cli.parse(words)
            self.assertEqual(end.exception.code, 2)

    def test_no_figure_matches(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(cli.run(cli.parse(["--only", "nothing"])), 2)
        self.assertIn("no figure matches", said.getvalue())

    def test_list(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(
                cli.main(["--list", "--only", "threads-32,unpinned-*-1"]), 0
            )
        lines = said.getvalue().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("rate >= 2.5, rate >= 5", lines[0])
        self.assertIn("for information", lines[1])

    def test_conditions(self):
        places = SimpleNamespace(
            place=lambda _: SimpleNamespace(server=SimpleNamespace(version="redis 7"))
        )
        options = cli.parse(["--tcp", "--rounds", "3"])
        found = cli.conditions_of(options, places, ({0}, {1}))
        self.assertIn("redis 7, TCP on the loopback", found["server"])
        self.assertIn(
            "server on CPU 1, client with all its threads on CPU 0", found["pinning"]
        )
        self.assertIn("3 of 1.5 s", found["rounds"])
        free = cli.conditions_of(cli.parse([]), places, (set(), set()))
        self.assertIn("too few CPUs", free["pinning"])
        self.assertIn("a Unix socket", free["server"])
