#!/usr/bin/env python3
"""shoal-bench and shoal-demo-cluster with clusters, private ones and one that is named.

Nothing here asserts that something is fast.  Exits with 77 where no server is
installed.
"""

import os
import signal
import subprocess
import time
import unittest

from program import (
    BENCH,
    CERTIFICATES,
    DEMO_CLUSTER,
    SERVER,
    TINY,
    Connection,
    Program,
    bench,
    claim_port,
    cluster_nodes,
    main,
    wait_for_port,
)


class Clusters(Program):
    def test_a_private_cluster_is_measured_beside_one_server(self):
        both = ["off", "sync", "queue", "borrowed"]
        modes = ",".join([*both, "standalone", "sync+auto/standalone"])
        load = ["-c", 6, "-t", 2, "--verify", "--ratio", "1:1", "-n", 300]
        runs = self.measure("--cluster", *load, "--against", modes)
        self.assertEqual(len(runs), 7)
        for run in runs:
            with self.subTest(run["strategy"]):
                is_cluster = "standalone" not in run["strategy"]
                self.assertEqual(run["config"]["cluster"], is_cluster)
                self.assertEqual(run["config"]["nodes"], 3 if is_cluster else None)
                self.assertEqual(run["config"]["keyspace"], 100000)
                self.assertGreater(run["server_cpu_us_per_op"], 0)
                self.assertEqual(run["errors"], 0)
        done = bench(
            *[a for a in TINY if a != "-q"], "-n", 40, "--cluster", "--nodes", 2,
            "--replicas", 1, "--against", "standalone",
        )  # fmt: skip
        self.assertIn("private cluster of 2 primaries with 1 replica each", done.stdout)
        self.assertRegex(done.stdout, r"the cluster has [0-9.]+ of the throughput of")

    @unittest.skipUnless(CERTIFICATES.exists(), "a build without TLS")
    def test_a_private_cluster_speaks_tls(self):
        modes = "plain,standalone,sync"
        runs = self.measure(
            "--cluster", "--tls", "--replicas", 1, "-c", 6, "--verify", "-n", 300,
            "--against", modes,
        )  # fmt: skip
        self.assertEqual(len(runs), 4)
        for run in runs:
            with self.subTest(run["strategy"]):
                config = run["config"]
                self.assertEqual(config["tls"], "plain" not in run["strategy"])
                self.assertEqual(config["cluster"], "standalone" not in run["strategy"])
                self.assertEqual(run["errors"], 0)
        self.assertEqual(list(self.path.glob("shoal-bench.*")), [])

    def test_a_named_cluster_is_measured_by_one_of_its_nodes(self):
        places = [(claim_port(self), claim_port(self)) for _ in range(2)]
        for port, bus in places:
            words = [SERVER, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
            options = cluster_nodes("options", bus).stdout.splitlines()
            folder = self.path / str(port)
            folder.mkdir()
            node = subprocess.Popen(
                [*words, *options, "--dir", folder], stdout=subprocess.DEVNULL
            )
            self.addCleanup(node.wait)
            self.addCleanup(node.kill)
            wait_for_port(port, node)
        port = places[0][0]
        url = ["-u", f"redis+cluster://127.0.0.1:{port}"]
        done = bench(*TINY, "-n", 9, *url, code=1)
        self.assertIn("it is no cluster, or has no slots", done.stderr)
        nodes = [f"{port}:{bus}" for port, bus in places]
        cluster_nodes("join", 2, *nodes)
        again = cluster_nodes("join", 2, *nodes, code=1)
        self.assertIn("2 servers became no cluster", again.stderr)
        for names in (url, ["--cluster", "-h", "127.0.0.1", "-p", port]):
            (run,) = self.measure(*names, "-c", 4, "--verify", "GET", "key:__key__")
            self.assertEqual(run["errors"], 0)
            self.assertTrue(run["config"]["cluster"])
            self.assertIsNone(run["config"]["nodes"])

    def test_what_makes_nodes_a_cluster_names_its_usage(self):
        for args in ((), ("options",), ("join", 0, "1:2"), ("join", 1, "1"), ("x", 1)):
            with self.subTest(args):
                self.assertIn("usage", cluster_nodes(*args, code=2).stderr)

    def test_nothing_of_a_cluster_is_left_behind(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            process = subprocess.Popen(
                [BENCH, "--no-pin", "--cluster", "--duration", "60", "--warmup", "0",
                 "--against", "standalone"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "TMPDIR": self.folder.name},
            )  # fmt: skip
            process.stdout.readline()  # it is under way
            folders = list(self.path.glob("shoal-bench.*"))
            self.assertEqual(len(folders), 4)
            servers = [pid_of(folder / "socket") for folder in folders]
            process.send_signal(number)
            process.communicate(timeout=60)
            for pid in servers:
                await_end(pid)
            while list(self.path.glob("shoal-bench.*")):
                time.sleep(0.01)


class DemoCluster(Program):
    def demo(self, *args):
        return subprocess.run(
            [DEMO_CLUSTER, *args], capture_output=True, text=True, timeout=120,
            env={**os.environ, "TMPDIR": self.folder.name},
        )  # fmt: skip

    def test_a_cluster_changes_and_no_command_fails(self):
        done = self.demo("--no-pin", "--slots", "20", "--second", "0.1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        verdicts = [line for line in lines if line.startswith(("ok", "FAILS"))]
        self.assertEqual(len(verdicts), 4)
        scenes = ("[0-9]+ slots moved", "planned failover", "primary killed", "")
        for verdict, begin in zip(verdicts, scenes, strict=True):
            self.assertRegex(verdict, "^ok    " + begin)
            self.assertIn(" 0 failed, 0 wrong answers", verdict)
        self.assertRegex(done.stdout, "  A [0-9]+  b [0-9]+  c [0-9]+")
        self.assertEqual(list(self.path.iterdir()), [])

    def test_bad_options_are_told(self):
        for args in (["--slots"], ["--slots", "0"], ["--second", "x"], ["x"]):
            done = self.demo(*args)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: shoal-demo-cluster", done.stderr)


def pid_of(path):
    connection = Connection(path)
    lines = connection.ask("INFO", "server").splitlines()
    connection.file.close()
    connection.socket.close()
    (pid,) = [line.partition(":")[2] for line in lines if "process_id:" in line]
    return int(pid)


def await_end(pid):
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)


if __name__ == "__main__":
    main()
