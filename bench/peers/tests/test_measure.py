# SPDX-License-Identifier: MIT
import io
import os
import sys
import tempfile
import unittest

from harness.cluster import total
from harness.measure import (
    Failed,
    Load,
    Place,
    measure_peer,
    peer_options,
    read_result,
    server_figures,
    shoal_options,
)
from harness.resp import parse_info, read_reply
from harness.server import ServerCounters, counters_of

INFO = (
    "# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:0.25\r\n"
    "# Stats\r\ntotal_commands_processed:1000\r\ntotal_reads_processed:50\r\n"
    "# Clients\r\nconnected_clients:5\r\n# Server\r\nexecutable:/usr/bin/a:b\r\n"
)


class FakeServer:
    """Counts 100 commands, 10 reads and 200 us between two questions."""

    port = 1
    ca = ""
    is_cluster = False

    def __init__(self):
        self.asked = 0

    def counters(self):
        self.asked += 1
        return ServerCounters(
            200.0 * self.asked, 100 * self.asked, 10 * self.asked, self.asked
        )


def fake_peer(program):
    return [sys.executable, "-c", f"import sys\n{program}"]


class Info(unittest.TestCase):
    def test_counters(self):
        info = parse_info(INFO)
        self.assertEqual(info["executable"], "/usr/bin/a:b")
        self.assertEqual(counters_of(info), ServerCounters(1750000.0, 1000, 50, 4))

    def test_server_without_reads(self):
        text = INFO.replace("total_reads_processed:50\r\n", "")
        self.assertEqual(counters_of(parse_info(text)).reads, 0)

    def test_figures(self):
        begin, end = ServerCounters(0, 10, 1, 1), ServerCounters(500, 1010, 101, 1)
        self.assertEqual(
            server_figures(begin, end),
            {"server_cpu_us_per_op": 0.5, "commands_per_server_read": 10},
        )
        no_reads = ServerCounters(500, 1010, 1, 1)
        self.assertIsNone(server_figures(begin, no_reads)["commands_per_server_read"])

    def test_the_sum_of_nodes(self):
        nodes = [ServerCounters(1, 2, 3, 4), ServerCounters(10, 20, 30, 40)]
        self.assertEqual(total(nodes), ServerCounters(11, 22, 33, 44))

    def test_replies(self):
        self.assertEqual(read_reply(io.BytesIO(b"+OK\r\n")), "OK")
        self.assertEqual(read_reply(io.BytesIO(b"$5\r\na\r\nbc\r\n")), "a\r\nbc")
        self.assertEqual(read_reply(io.BytesIO(b":12\r\n")), "12")
        for reply in (b"-ERR no\r\n", b"", b"*1\r\n"):
            with self.subTest(reply), self.assertRaises(RuntimeError):
                read_reply(io.BytesIO(reply))


class Peers(unittest.TestCase):
    load = Load(callers=3, rate=0, value_bytes=16, duration=1, warmup=0)

    def test_options(self):
        options = peer_options(self.load, 5, True)
        self.assertEqual(options[options.index("--port") + 1], "5")
        self.assertEqual(options[-1], "--no-command")
        self.assertNotIn("--rate", shoal_options(self.load, 5, "f"))
        paced = Load(3, 100, 16, 1, 0)
        self.assertEqual(shoal_options(paced, 5, "f")[-2:], ["--rate", "100"])
        self.assertEqual(peer_options(self.load, 5, ca="c")[-2:], ["--ca", "c"])
        self.assertIn("--tls", shoal_options(self.load, 5, "f", "c"))
        self.assertEqual(peer_options(self.load, 5, is_cluster=True)[-1], "--cluster")
        options = shoal_options(self.load, 5, "f", is_cluster=True)
        self.assertEqual(options[-1], "--cluster")

    def test_results(self):
        self.assertEqual(read_result('{"ops_per_s": 1}'), {"ops_per_s": 1})
        for output in ("", "[1]", "{}", "not JSON"):
            with self.subTest(output), self.assertRaises(Failed):
                read_result(output)

    def test_server_is_asked_at_the_ends_of_the_window(self):
        server = FakeServer()
        command = fake_peer(
            'for word in ("measuring", "noise", "measured"):\n'
            "    print(word, file=sys.stderr)\n"
            "print('{\"ops_per_s\": 7}')"
        )
        result = measure_peer(command, self.load, Place(server, set()))
        self.assertEqual(server.asked, 2)
        self.assertEqual(
            result,
            {
                "ops_per_s": 7,
                "connections": 1,
                "server_cpu_us_per_op": 2.0,
                "commands_per_server_read": 10,
            },
        )

    def test_failures_are_explained(self):
        cases = [
            ("sys.exit('no server')", "no server"),
            ("print('{\"ops_per_s\": 7}')", "window"),
            ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ]
        for program, reason in cases:
            with self.subTest(reason), self.assertRaisesRegex(Failed, reason):
                measure_peer(fake_peer(program), self.load, Place(FakeServer(), set()))

    def test_an_open_loop_reads_the_pacer(self):
        load = Load(callers=1, rate=7, value_bytes=16, duration=1, warmup=0)
        with tempfile.TemporaryDirectory() as folder:
            pacer = os.path.join(folder, "pacer")
            with open(pacer, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\necho "at $1"\n')
            os.chmod(pacer, 0o755)
            command = fake_peer(
                'print("measuring\\nmeasured", file=sys.stderr)\n'
                'print(\'{"ops_per_s": 1, "read": "%s"}\' % input())'
            )
            result = measure_peer(command, load, Place(FakeServer(), set(), pacer))
        self.assertEqual(result["read"], "at 7")
