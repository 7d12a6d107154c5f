# SPDX-License-Identifier: MIT
import os
import sys
import tempfile
import unittest
from pathlib import Path

from harness import messages
from harness.cli import loads_of, parse
from harness.measure import Failed, Load, Place
from harness.programs import PEERS
from harness.table import table

sys.path.insert(0, str(PEERS / "python"))

from .test_measure import FakeServer, fake_peer  # noqa: E402

LOAD = Load(1, 0, 16, 0.1, 0, 2, 4096)
RECEIVER = """
import json, os, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
def say(*lines):
    for line in lines:
        print(line, file=sys.stderr, flush=True)
say("subscribed")
os.write(int(words["--credits"]), b"abc")
say("measuring", "measured")
print(json.dumps({"ops_per_s": 3, "channels": words["--channels"]}))
"""
# Writes its own words and what the receiver has said.
PUBLISHER = """
import os, sys, time
words = " ".join(sys.argv[2:])
credits = os.read(0, 3).decode()
with open(sys.argv[1] + ".new", "w") as file:
    file.write(credits + " " + words)
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
"""


class Rows(unittest.TestCase):
    def test_every_program_is_there(self):
        names = [row.name for row in messages.ROWS]
        self.assertEqual(len(set(names)), len(names))
        for row in messages.ROWS:
            with self.subTest(row.name):
                kind, _, folder = row.program.partition(":")
                if kind == "go":
                    source = PEERS / "go" / folder / "main.go"
                elif kind == "python":
                    source = PEERS / "python" / "peer.py"
                else:
                    self.assertEqual(kind, "shoal")
                    continue
                self.assertIn(f'"{row.client}":', source.read_text())

    def test_loads(self):
        loads = loads_of(parse(["--messages", "--rate", "5,6", "--channels", "7"]))
        self.assertEqual(
            [(load.rate, load.channels) for load in loads], [(5, 7), (6, 7)]
        )
        titles = [load.title() for load in loads_of(parse(["--messages"]))]
        self.assertEqual(
            titles,
            [
                "8192 messages on their way, 1 channel, 16 bytes",
                "8192 messages on their way, 100 channels, 16 bytes",
            ],
        )
        self.assertEqual(loads[0].title(), "5 messages/s, 7 channels, 16 bytes")


class Measuring(unittest.TestCase):
    def test_the_publisher_of_shoal_bench(self):
        place = Place(FakeServer(), {0}, "", {1})
        self.assertEqual(
            messages.shoal_options(LOAD, place),
            ["-r", "2", "--window", "4096", "--publisher-cpu", "1"],
        )
        at_a_rate = Load(1, 9, 16, 1, 0, 2, 4096)
        words = messages.publisher_command(["bench"], at_a_rate, place)
        self.assertEqual(words[-4:], ["--window", "0", "--rate", "9"])
        self.assertEqual(
            messages.shoal_options(at_a_rate, Place(FakeServer(), set())), ["-r", "2"]
        )

    def test_a_receiver_and_its_publisher(self):
        with tempfile.TemporaryDirectory() as folder:
            said = Path(folder) / "said"
            place = Place(FakeServer(), set())
            slow = RECEIVER.replace(
                'say("measuring"',
                f'while not os.path.exists({str(said)!r}): pass\nsay("measuring"',
            )
            result = messages.measure_receiver(
                fake_peer(slow), [*fake_peer(PUBLISHER), str(said)], LOAD, place
            )
            text = said.read_text()
        self.assertTrue(text.startswith("abc -q --mode publish"), text)
        self.assertIn("--window 4096", text)
        self.assertEqual(result["channels"], "2")
        self.assertIn("server_cpu_us_per_op", result)

    def test_one_that_fails(self):
        with self.assertRaisesRegex(Failed, "no such channel"):
            messages.measure_receiver(
                fake_peer("sys.exit('no such channel')"),
                ["true"],
                LOAD,
                Place(FakeServer(), set()),
            )


class Table(unittest.TestCase):
    def test_lines(self):
        def result(rate, cpu):
            return {
                "ops_per_s": rate,
                "ops_per_s_spread": None,
                "client_cpu_us_per_op": cpu,
                "server_cpu_us_per_op": 1,
                "latency_us": {"p50": 1, "p99": 2},
                "lost_messages": 4,
                "errors": 0,
            }

        rows = [row for row in messages.ROWS if row.name.startswith(("c/", "go/"))]
        results = {"c/hiredis": result(50, 2.0), "go/rueidis-hooks": result(100, 3.0)}
        lines = messages.table(LOAD, rows, results)
        self.assertIn("| go/rueidis-hooks ", lines[2])
        self.assertIn("2.00x", lines[2])
        self.assertIn("1.50x", lines[2])
        at_a_rate = messages.table(Load(1, 9, 16, 1, 0, 2), rows, results)
        self.assertIn("| c/hiredis ", at_a_rate[2])


class Options:
    client, callers, rate, value_bytes, duration, warmup = "x", 1, 0, 16, 1, 0
    channels, credits = 3, -1


class Receiving(unittest.TestCase):
    def setUp(self):
        from receipts import Receipts, channels_of

        self.assertEqual(channels_of(Options)[2], "channel:2")
        self.reading, Options.credits = os.pipe()
        os.set_blocking(self.reading, False)
        self.addCleanup(os.close, self.reading)
        self.addCleanup(os.close, Options.credits)
        self.receipts = Receipts(Options)

    @staticmethod
    def message(number):
        return f"{number:08x}{0:08x}".encode()

    def told(self):
        try:
            return len(os.read(self.reading, 4096))
        except BlockingIOError:
            return 0

    def receive(self, numbers):
        for number in numbers:
            self.receipts.note(self.message(number))

    def test_numbers(self):
        recorder = self.receipts.recorders[0]
        self.receive(range(16))
        self.assertEqual((recorder.ops, self.receipts.lost), (16, 0))
        self.receive(range(19, 27))
        self.assertEqual((self.receipts.lost, recorder.errors), (3, 0))
        self.receive(range(26, 34))  # 26 comes twice
        self.assertEqual(recorder.errors, 1)
        self.assertEqual(self.told(), 0)
        self.receive([3 * 1024 - 1] * 8)
        self.assertEqual(self.told(), 3)

    def test_many_at_once(self):
        recorder, note_all = self.receipts.recorders[0], self.receipts.note_all
        note_all([self.message(number) for number in range(1024)])
        self.assertEqual((self.receipts.lost, self.told()), (0, 1))
        note_all([self.message(number) for number in range(1030, 1032)])
        self.assertEqual(self.receipts.lost, 6)
        note_all([self.message(number) for number in (1032, 1034)])
        self.assertEqual((self.receipts.lost, recorder.errors), (7, 0))
        note_all([self.message(1034)])
        self.assertEqual((recorder.ops, recorder.errors), (1029, 1))

    def test_times(self):
        from workload import MEASURING

        for rate, times in ((0, (2, 2)), (1000, (16, 18))):
            Options.rate = rate
            self.setUp()
            recorder = self.receipts.recorders[0]
            self.receipts.phase = MEASURING
            self.receive(range(128))
            self.assertEqual(len(recorder.latency_ns), times[0])
            self.receipts.note_all([self.message(n) for n in range(128, 137)])
            self.assertEqual(len(recorder.latency_ns), times[1])
            Options.rate = 0


class Tables(unittest.TestCase):
    def test_commands_have_theirs(self):
        self.assertIn("commands/s", table(Load(1, 0, 16, 1, 0), [], {})[0])
