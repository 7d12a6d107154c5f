#!/usr/bin/env python3
"""shoal-bench as a whole, against a private redis-server: tiny rounds of everything.

Nothing here asserts that something is fast; only lower bounds of times hold on a busy
machine.  Exits with 77 where no server is installed.
"""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from program import (
    BENCH,
    CERTIFICATES,
    SERVER,
    TINY,
    Connection,
    Program,
    bench,
    claim_port,
    has_redis_plus_plus,
    listens,
    main,
    wait_for_commands,
    wait_for_port,
)


RECEIVERS = ["--mode", "subscribe", "--against", "mailbox,listen"]


class Runs(Program):
    def test_every_mode_measures_without_errors(self):
        modes = (
            "sync,borrowed,queue,pool,collector,mutex,explicit:4,raw:4,off,fixed:100,"
            "sync:3"
        )
        runs = self.measure("-c", 4, "--against", modes, "--rounds", 2)
        self.assertEqual(len(runs), 12)
        for run in runs:
            with self.subTest(run["strategy"]):
                self.assertGreater(run["ops_per_s"], 0)
                self.assertGreater(run["latency_us"]["p50"], 0)
                self.assertEqual(run["errors"], 0)
                self.assertEqual(len(run["rounds"]), 2)
                self.assertGreater(run["cpu_us_per_op"], 0)
                for each in run["rounds"]:
                    both = each["client_cpu_us_per_op"] + each["server_cpu_us_per_op"]
                    self.assertAlmostEqual(each["cpu_us_per_op"] / both, 1, 3)
                self.assertGreaterEqual(run["voluntary_switches"], 0)
                self.assertGreaterEqual(run["involuntary_switches"], 0)

    def test_values_may_be_large(self):
        modes = "sync,borrowed,explicit:1"
        for run in self.measure("-c", 1, "-d", 1048576, "-r", 2, "--against", modes):
            with self.subTest(run["strategy"]):
                self.assertGreater(run["ops_per_s"], 0)
                self.assertEqual(run["errors"], 0)

    def test_shoal_explains_its_flushes(self):
        (run,) = self.measure("-c", 4)
        self.assertGreater(sum(run["flush_reasons"].values()), 0)
        for key in ("wakeups", "caller_wakeups", "direct_calls", "handovers"):
            self.assertGreaterEqual(run[key], 0)
        done = bench(*[a for a in TINY if a != "-q"], "-n", 40, "-c", 4)
        self.assertIn("flushes by reason", done.stdout)

    def test_replies_are_the_right_ones_in_a_mix(self):
        modes = "sync,borrowed,queue,pool,collector,mutex,explicit:4"
        mix = ["--verify", "--ratio", "1:3", "--data-range", "1-300", "-r", 500]
        for pattern in ("uniform", "sequential", "gaussian", "zipf"):
            with self.subTest(pattern):
                self.measure(
                    "-c", 6, *mix, "--key-pattern", pattern, "--against", modes
                )

    def test_connections_share_the_callers(self):
        runs = self.measure(
            "-c", 6, "--connections", 3, "-t", 2, "--verify", "-r", 100,
            "--against", "sync,borrowed,queue,explicit:2", "--resp", 2,
        )  # fmt: skip
        for run in runs:
            self.assertEqual(run["config"]["connections"], 3)
            self.assertEqual(run["errors"], 0)

    def test_open_loops_keep_their_configuration(self):
        runs = self.measure(
            "-c", 8, "--rate", 500, "--arrivals", "random", "--budget", 70,
            "--against", "sync,pool,collector,mutex",
        )  # fmt: skip
        for run in runs:
            self.assertEqual(run["config"]["rate"], 500)
            self.assertEqual(run["config"]["budget_us"], 70)
            self.assertGreater(run["service_latency_us"]["p50"], 0)

    def test_callers_wait_for_elements(self):
        for connections in (1, 2):
            runs = self.measure(
                "-c", 6, "--pushes", 500, "--connections", connections,
                "--against", "sync,lease,pool", "--rounds", 2,
            )  # fmt: skip
            for run in runs:
                with self.subTest(run["strategy"], connections=connections):
                    self.assertEqual(run["config"]["pushes"], 500)
                    self.assertEqual(run["config"]["command"].split()[0], "BLPOP")
                    self.assertGreaterEqual(run["commands"], 40)
                    self.assertGreater(run["latency_us"]["p0"], 0)
                    self.assertGreater(run["client_cpu_us_per_op"], 0)
                    self.assertEqual(run["errors"], 0)

    def test_messages_are_received_in_order(self):
        loads = [["-n", 20000], ["-r", 20, "-d", 1000], ["--rate", 5000, "--tcp"]]
        if CERTIFICATES.exists():
            loads.append(["--tls", "--resp", 2])
        for load in loads:
            runs = self.measure(*RECEIVERS, *load, "--rounds", 2)
            for run in runs:
                with self.subTest(run["strategy"], load=load):
                    self.assertEqual(run["errors"], 0)
                    self.assertEqual(run["lost_messages"], 0)
                    self.assertGreater(run["latency_us"]["p50"], 0)
                    self.assertEqual(run["config"]["command"].split()[0], "PUBLISH")

    def test_sleepers_cost_the_others_no_message(self):
        modes = ["--mode", "subscribe:3", "--against", "mailbox:1,subscribe"]
        runs = self.measure(*modes, "-n", 100000)
        self.assertEqual(
            [run["strategy"] for run in runs], ["subscribe:3", "mailbox:1", "subscribe"]
        )
        for run in runs:
            self.assertEqual((run["errors"], run["lost_messages"]), (0, 0))

    def test_publishing_alone(self):
        for load in ([], ["--rate", 2000]):
            (run,) = self.measure("--mode", "publish", "-r", 3, *load)
            self.assertGreaterEqual(run["commands"], 40)
            self.assertEqual(run["errors"], 0)
            self.assertIsNone(run["lost_messages"])

    def test_a_window_waits_for_receivers(self):
        # Ten credits and the window make 12 Ki messages; then comes one each 100 ms.
        file = self.path / "result.json"
        words = [BENCH, *TINY, "--mode", "publish", "--window", "2048", "--json", file]
        reading, writing = os.pipe()
        os.write(writing, bytes(10))
        done = subprocess.run([*words, "--duration", "0.3"], stdin=reading, timeout=120)
        os.close(writing)
        self.assertEqual(done.returncode, 0)
        (run,) = json.loads(file.read_text())["runs"]
        self.assertLess(run["commands"], 12 * 1024 + 100)
        done = subprocess.run(words, stdin=reading, timeout=120, capture_output=True)
        os.close(reading)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the receiver has ended", done.stderr)

    def test_threads_and_callbacks_share_a_client(self):
        runs = self.measure(
            "--mode", "mixed", "-c", 3, "--beside-rate", 2000, "-n", 100, "--verify",
            "-r", 50, "--against", "sync,callback,mixed+off", "GET", "key:__key__",
        )  # fmt: skip
        # -n is for each kind: both are measured, however busy the machine is.
        for run, kinds in zip(runs, ((1, 1), (1, 0), (0, 1), (1, 1))):
            with self.subTest(run["strategy"]):
                self.assertEqual(run["commands"] >= 100, bool(kinds[0]))
                self.assertEqual(run["ops_per_s"] is not None, bool(kinds[0]))
                self.assertEqual(run["beside_per_s"] is not None, bool(kinds[1]))
                if kinds[1]:
                    done = run["beside_per_s"] * run["seconds"]
                    self.assertGreaterEqual(round(done), 100)
                self.assertEqual(run["errors"], 0)

    def test_an_element_that_does_not_come_is_no_result(self):
        # With one element a second, most of 6 callers wait for longer than the 2 s that
        # a command takes.  An answer without a moment would count from the clock's 0.
        modes = ["--mode", "callback", "--against", "sync,pool"]
        for run in self.measure("-c", 6, "--pushes", 1, "-n", 3, *modes):
            with self.subTest(run["strategy"]):
                self.assertGreaterEqual(run["seconds"], 1)
                self.assertLess(run["latency_us"]["p100"], 600e6)
                self.assertEqual(run["errors"], 0)

    def test_commands_at_a_rate_have_callers_that_wait_beside_them(self):
        beside, alone = self.measure(
            "--mode", "beside", "--rate", 500, "--pushes", 500, "--against", "callback",
            "--connections", 2, "-r", 10, "-n", 400, "GET", "key:__key__",
        )  # fmt: skip
        self.assertGreater(beside["flush_reasons"]["urgent"], 0)
        self.assertEqual(alone["flush_reasons"]["urgent"], 0)
        for run in (beside, alone):
            self.assertEqual(run["config"]["command"], "GET key:__key__")
            self.assertGreater(run["service_latency_us"]["p50"], 0)
            self.assertEqual(run["errors"], 0)

    def test_leases_take_any_command(self):
        for server in ([], ["--cluster", "-r", 1]):
            (run,) = self.measure("--mode", "lease", "-c", 4, "--verify", *server)
            self.assertEqual(run["errors"], 0)

    def test_redis_plus_plus_is_measured_where_it_is_installed(self):
        args = ["--mode", "redispp", "-c", 3, "--verify", "-r", 50]
        mix = ["--ratio", "1:2", "--data-range", "1-300"]
        if not has_redis_plus_plus():
            done = bench(*TINY, *args, code=2)
            self.assertIn("redis-plus-plus was not installed", done.stderr)
            return
        for server in ([], ["--tcp", "--resp", 2]):
            for load in (mix, ["--rate", 500, "ECHO", "__data__"]):
                (run,) = self.measure(*args, *server, *load)
                self.assertEqual(run["errors"], 0)
                self.assertEqual(run["config"]["connections"], 3)
        file = self.path / "wrong.json"
        bench(*TINY, "-n", 9, "--json", file, *args[:4], "LPUSH", code=1)
        (run,) = json.loads(file.read_text())["runs"]
        self.assertIn("wrong number of arguments", run["first_error"])

    @unittest.skipUnless(CERTIFICATES.exists(), "a build without TLS")
    def test_every_mode_that_speaks_tls_does(self):
        modes = "sync,borrowed,queue,pool,collector,mutex,off,sync:3,plain"
        runs = self.measure("--tls", "-c", 4, "--verify", "--against", modes)
        self.assertEqual(len(runs), 10)
        for run in runs:
            with self.subTest(run["strategy"]):
                self.assertEqual(run["errors"], 0)
                self.assertEqual(run["config"]["transport"], "tcp")
                self.assertEqual(run["config"]["tls"], "plain" not in run["strategy"])
        (run,) = self.measure("--tls", "--rtt", 1000, "-c", 4)
        self.assertGreater(run["latency_us"]["p0"], 1000)
        (run,) = self.measure("-c", 4)
        self.assertFalse(run["config"]["tls"])

    @unittest.skipUnless(CERTIFICATES.exists(), "a build without TLS")
    def test_the_certificate_of_a_named_server_is_checked(self):
        subprocess.run([CERTIFICATES, self.folder.name], check=True)
        port = claim_port(self)
        server = subprocess.Popen(
            [
                SERVER, "--port", "0", "--tls-port", str(port), "--save", "",
                "--tls-cert-file", self.path / "server.crt",
                "--tls-key-file", self.path / "server.key",
                "--tls-ca-cert-file", self.path / "ca.crt", "--dir", self.path,
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        named = ["-u", f"rediss://127.0.0.1:{port}", "-c", 2, "-n", 40]
        ours = ["--cert", self.path / "client.crt", "--key", self.path / "client.key"]
        wait_for_port(port, server)
        for mode in ("sync", "pool"):
            good = [*TINY, *named, *ours, "--mode", mode, "--ca", self.path / "ca.crt"]
            bench(*good)
            bench(*good[:-1], self.path / "other_ca.crt", code=1)
        bench(*good, "--mode", "sync", "--tls-name", "other.example", code=1)

    def test_the_primary_that_a_sentinel_names(self):
        watch = "sentinel monitor main 127.0.0.1 %d 1"
        ports = []
        for name in ("server", "sentinel"):
            ports.append(claim_port(self))
            (self.path / name).write_text(
                f'port {ports[-1]}\nbind 127.0.0.1\ndir {self.path}\nsave ""\n'
                + ("" if name == "server" else watch % ports[0])
            )
            words = [SERVER, self.path / name, *(["--sentinel"] * (name != "server"))]
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            wait_for_port(ports[-1], process)
        named = ["--sentinel", "main", "-h", "127.0.0.1", "-p", ports[1], "-c", 2]
        for run in self.measure(*named, "--against", "sync,pool"):
            self.assertEqual(run["errors"], 0)
        bench(*TINY, "-n", 40, *named, "--sentinel", "other", code=1)
        bench(*TINY, "-n", 40, *named, "--rtt", 100, code=2)

    def test_the_distribution_is_written(self):
        file = self.path / "one.hgrm"
        bench(*TINY, "-n", 40, "-c", 2, "--hdr", file)
        self.assertIn("1/(1-Percentile)", file.read_text())
        bench(*TINY, "-n", 40, "-c", 2, "--against", "off", "--hdr", self.path / "two")
        for number in (1, 2):
            text = (self.path / f"two.{number}").read_text()
            self.assertRegex(text, r"#\[Max     = +[0-9.]+, Total count    = +[1-9]")

    def test_csv_is_written(self):
        done = bench(*TINY, "-n", 40, "-c", 2, "--csv")
        head, line = done.stdout.splitlines()
        self.assertEqual(len(head.split(",")), len(line.split(",")))


class RoundTrips(Program):
    def test_the_proxy_adds_at_least_what_is_asked(self):
        for server in ([], ["--tcp"]):
            for rtt_us in (1000, 20000):
                runs = self.measure(
                    "-c", 1, "--rtt", rtt_us, "--against", "pool,sync",
                    "--duration", 0.2, *server,
                )  # fmt: skip
                for run in runs:
                    with self.subTest(run["strategy"], rtt_us=rtt_us, server=server):
                        self.assertEqual(run["config"]["rtt_us"], rtt_us)
                        # the histogram is exact to a thousandth
                        self.assertGreaterEqual(run["latency_us"]["p0"], rtt_us * 0.999)

    def test_nothing_is_lost_or_mixed_up_on_the_way(self):
        self.measure(
            "-c", 100, "--rtt", 500, "--verify", "-r", 1000, "--data-range", "1-20000",
            "--duration", 0.3, "--against", "pool,explicit:16", "GET", "key:__key__",
        )  # fmt: skip

    def test_a_link_is_slow_and_loses_nothing(self):
        slow = "bytes_per_s=50000,jitter_us=300,chunk=7"
        for server in ([], ["--tcp"]):
            for rtt in ([], ["--rtt", 500]):
                runs = self.measure(
                    "-c", 4, "--link", slow, *rtt, *server, "--verify", "-r", 10,
                    "--duration", 0.2, "--against", "pool",
                )  # fmt: skip
                for run in runs:
                    with self.subTest(run["strategy"], rtt=rtt, server=server):
                        self.assertEqual(run["config"]["link"], slow)
                        self.assertEqual(run["errors"], 0)
                        # 59 bytes there and 5 back
                        self.assertGreaterEqual(
                            run["latency_us"]["p0"], 64 * 20 * 0.999
                        )


class Mistakes(Program):
    def test_bad_options_are_named(self):
        cases = [
            ["--nonsense"], ["-c", "0"], ["-c", "x"], ["-c"], ["--flush", "fixed:0"],
            ["--mode", "explicit"], ["--profile", "nothing"], ["--rtt", "-1"],
            ["--link", "flip=1"], ["--link", "speed=1"],
            ["--rates", "1,,2"], ["--rates", ""], ["--callers-list", "0"],
            ["--flushes", "auto,slow"], ["--data-range", "9-3"], ["--ratio", "0:0"],
            ["--ratio", "1"], ["--key-pattern", "odd"],
            ["--resp", "4"], ["--user", "u"], ["-a", "secret"], ["--arrivals", "odd"],
            ["--profile", "sweep", "--against", "off"], ["--profile", "rate", "-n", "5"],
            ["--profile", "rate", "--mode", "borrowed"],
            ["--profile", "sweep", "--mode", "pool"],
            ["--profile", "step", "--mode", "sync"],
            ["--rate", "10", "--mode", "raw:4"], ["--ratio", "1:1", "PING"],
            ["--data-range", "1-9", "SET", "k", "a__data__b"],
            ["--verify", "--mode", "raw:4"], ["--mode", "sync:9"], ["--mode", "pool:2"],
            ["--tls", "--unix"], ["--tls", "--mode", "raw:1"], ["--ca", "x"],
            ["--tls", "--ca", "x"], ["--flush", "plain"],
            ["--tls", "--rtt", "5", "--flush", "plain"],
            ["--unix", "--tcp"], ["--profile", "threads", "--against", "pool"],
            ["--profile", "ladder", "--callers-list", "1,8"],
            ["--profile", "ladder", "--callers-list", "1,8,4"],
            ["--profile", "ladder", "--callers-list", "1,2,3,4,5,1"],
            ["--mode", "mixed"], ["--mode", "pool", "--beside-rate", "9"],
            ["--mode", "mixed", "--beside-rate", "9", "--rate", "9"],
            ["--pushes", "0"], ["--pushes", "9", "PING"],
            ["--pushes", "9", "--mode", "borrowed"],
            ["--pushes", "9", "--rate", "9"], ["--mode", "beside", "--rate", "9"],
            ["--mode", "beside", "--pushes", "9"], ["--mode", "lease", "-c", "65"],
            ["--pushes", "9", "--profile", "sweep"],
            ["--large", "9"], ["--large", "0", "--rate", "9"],
            ["--large", "9", "--rate", "9", "--mode", "collector"],
            ["--cluster", "--mode", "pool"], ["--cluster", "--rtt", "9"],
            ["--cluster", "--unix"], ["--cluster", "-s", "x"],
            ["--cluster", "--tls", "--flush", "off/plain/standalone"],
            ["--cluster", "--mode", "lease", "-c", "2"], ["--cluster", "--pushes", "9"],
            ["--cluster", "--mode", "sync:2"],
            ["--nodes", "3"], ["--cluster", "-p", "1", "--replicas", "1"],
            ["--flush", "standalone"], ["--cluster", "--nodes", "0"],
            ["--cluster", "-p", "1", "--flush", "standalone"],
            ["--profile", "cluster", "--against", "off"],
            ["--flush", "lane/off"], ["--flush", "off/auto"], ["--flush", "off/"],
            ["--mode", "subscribe:0"], ["--mode", "listen:1"],
            ["--mode", "listen", "PING"], ["--mode", "listen", "-d", "15"],
            ["--mode", "listen", "--verify"], ["--mode", "listen", "-r", "100001"],
            ["--mode", "publish", "--against", "sync"], ["--against", "listen"],
            ["--mode", "listen", "--profile", "latency"],
            ["--mode", "listen", "--data-range", "16-20"],
        ]  # fmt: skip
        for args in cases:
            with self.subTest(" ".join(args)):
                done = bench(*args, code=2)
                self.assertTrue(done.stderr.startswith("shoal-bench: "), done.stderr)
                self.assertEqual(done.stdout, "")

    def test_no_server_is_said(self):
        for rtt in ([], ["--rtt", 100]):
            done = bench("-s", self.path / "nobody", *rtt, code=1)
            self.assertIn("no server at", done.stderr)

    def test_a_file_that_cannot_be_written_is_said(self):
        done = bench(*TINY, "-c", 1, "--json", self.path / "no" / "file", code=1)
        self.assertIn("No such file", done.stderr)

    def test_help_names_every_part(self):
        text = bench("--help").stdout
        for part in ("The server", "The load", "The commands", "Results", "--rtt US"):
            self.assertIn(part, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


class Interrupts(Program):
    def test_what_was_measured_is_shown_and_nothing_is_left_behind(self):
        environment = {**os.environ, "TMPDIR": self.folder.name}
        file = self.path / "result.json"
        process = subprocess.Popen(
            [BENCH, "--no-pin", "-c", "2", "--rtt", "200", "--duration", "60",
             "--warmup", "0", "--json", str(file)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment,
        )  # fmt: skip
        process.stdout.readline()  # it is under way
        sockets = list(self.path.glob("shoal-bench.*/socket"))
        self.assertEqual(len(sockets), 1)
        wait_for_commands(Connection(sockets[0]), 50)
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("callback auto", text)
        self.assertTrue(json.loads(file.read_text())["interrupted"])
        self.assertEqual(list(self.path.glob("shoal-bench.*")), [])


class Stalls(Program):
    """Coordinated omission: a server that stands still costs every command that was
    meant to be sent meanwhile, not one per caller."""

    def setUp(self):
        super().setUp()
        self.socket = self.path / "socket"
        server = subprocess.Popen(
            [SERVER, "--port", "0", "--unixsocket", str(self.socket), "--save", "",
             "--appendonly", "no", "--dir", self.folder.name,
             "--enable-debug-command", "yes"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while not listens(self.socket):
            self.assertIsNone(server.poll())

    def stall(self, *args):
        """Measure, and let the server sleep for 0.2 s meanwhile; return the runs."""
        connection = Connection(self.socket)
        connection.ask("CONFIG", "RESETSTAT")
        file = self.path / "result.json"
        process = subprocess.Popen(
            [BENCH, "-q", "--no-pin", "-s", str(self.socket), "--warmup", "0",
             "--json", str(file), *args],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for_commands(connection, 200)  # it is in the middle of it
        self.assertEqual(connection.ask("DEBUG", "SLEEP", "0.2"), "+OK")
        self.assertEqual(process.wait(timeout=60), 0)
        return json.loads(file.read_text())["runs"]

    def test_a_stall_shows_in_the_tail(self):
        load = ["-c", "4", "--rate", "1000", "--duration", "3"]
        for mode in ("callback", "sync", "pool", "collector", "mutex"):
            with self.subTest(mode):
                (run,) = self.stall(*load, "--mode", mode)
                # 200 of 3000 commands were due in the 200 ms that nobody answered: the
                # slowest percent of all waited for 170 ms or more.  Per caller there
                # was only one.
                self.assertGreater(run["latency_us"]["p99"], 100000)

    def test_a_stall_is_seen_while_threads_come_and_go(self):
        # It is longer than two stages of 95 ms, so it ends behind a step.
        ladder = ["--profile", "ladder", "--callers-list", "1,2,1", "--duration", "2"]
        pool, _ = self.stall(*ladder, "--rounds", "1")
        self.assertGreater(max(pool["ladder_stall_ms"][s] for s in "12"), 150)


class Many(unittest.TestCase):
    """shoal-bench-many; bench/many runs it beside a server."""

    def test_it_names_its_usage(self):
        program = Path(BENCH).parent / "shoal-bench-many"
        for args, code, said in (
            (["--help"], 0, "usage: shoal-bench-many SOCKET"),
            (["--socket", "x"], 2, "usage: shoal-bench-many SOCKET"),
            ([], 2, "usage: shoal-bench-many SOCKET"),
            (["/x", "1"], 2, "usage: shoal-bench-many SOCKET"),
            (["/nowhere/socket"], 1, "No such file"),
        ):
            with self.subTest(args):
                done = subprocess.run(
                    [program, *args], capture_output=True, text=True, timeout=60
                )
                self.assertEqual(done.returncode, code)
                self.assertIn(said, done.stdout + done.stderr)


if __name__ == "__main__":
    main()
