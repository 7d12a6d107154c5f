#!/usr/bin/env python3
"""The profiles of shoal-bench, with a private redis-server: tiny rounds of everything.

Nothing here asserts that something is fast; only lower bounds of times hold on a busy
machine.  Exits with 77 where no server is installed.
"""

import json

from program import TINY, Program, bench, has_redis_plus_plus, main


class Profiles(Program):
    def check(self, profile, points, *args):
        file = self.path / "result.json"
        done = bench(
            *TINY, "--rounds", 1, "--profile", profile, *args, "--json", file
        )  # fmt: skip
        result = json.loads(file.read_text())
        self.assertEqual(result["profile"], profile)
        self.assertEqual(len(result["runs"]), points)
        # What is printed as a finding is in the file, word by word.
        printed = " ".join(done.stdout.split())
        for finding in result["findings"]:
            self.assertIn(" ".join(finding["text"].split()), printed)
        self.findings = result["findings"]
        return done.stdout, result["runs"]

    def test_sweep(self):
        text, runs = self.check(
            "sweep", 2 * 2 * 3, "--callers-list", "1,4", "--rtts", "0,300",
            "--flushes", "off,fixed:50,auto",
        )  # fmt: skip
        self.assertEqual(text.count("throughput: callback auto"), 4)
        self.assertEqual(text.count("p50: callback auto"), 2)
        judged = [f for f in self.findings if f["about"].startswith("1 caller, ")]
        self.assertEqual(len(judged), 4)
        self.assertEqual({r["config"]["rtt_us"] for r in runs}, {0, 300})
        self.assertEqual({r["config"]["callers"] for r in runs}, {1, 4})

    def test_sweep_of_blocking_callers(self):
        text, _ = self.check(
            "sweep", 7, "--mode", "sync", "--callers-list", 2, "--rtts", 0
        )
        self.assertIn("sync fixed:1000", text)

    def test_rate(self):
        text, _ = self.check("rate", 6, "--rates", "500,1000", "--flushes",
                             "off,fixed:50,auto", "-v")  # fmt: skip
        self.assertEqual(text.count("CPU of both ends"), 2)
        self.assertIn("flushes by reason", text)

    def test_latency(self):
        text, _ = self.check("latency", 5)
        self.assertEqual(text.count("of plain hiredis"), 3)

    def test_matrix(self):
        text, runs = self.check(
            "matrix", 2 * 3, "--callers-list", "2,8", "--batches", "1,4"
        )
        self.assertEqual(text.count("throughput: callback auto"), 2)
        explicit = [r for r in runs if r["strategy"] == "explicit:4"]
        self.assertEqual([r["config"]["connections"] for r in explicit], [2, 8])

    def test_step(self):
        text, runs = self.check("step", 2, "-c", 16, "--duration", 0.3)
        self.assertIn("each step down", text)
        for run in runs:
            self.assertGreater(run["step_base_us"], 0)

    def test_threads(self):
        modes = ["pool", "mutex", "sync"] + ["redispp"] * has_redis_plus_plus()
        text, runs = self.check(
            "threads",
            2 * 2 * 2 * len(modes),
            "--callers-list",
            "1,2",
            "--rtts",
            "0,300",
        )
        for transport in ("unix", "tcp"):
            for rtt_us in (0, 300):
                ours = [
                    r for r in runs
                    if r["config"]["transport"] == transport
                    and r["config"]["rtt_us"] == rtt_us
                ]  # fmt: skip
                with self.subTest(transport, rtt_us=rtt_us):
                    self.assertEqual(
                        [(r["config"]["mode"], r["config"]["callers"]) for r in ours],
                        [(m, n) for n in (1, 2) for m in modes],
                    )
                    # Each went where its point says, over a proxy of its own.
                    scheme = {"unix": "unix://", "tcp": "redis://127.0.0.1"}[transport]
                    for run in ours:
                        self.assertTrue(run["config"]["url"].startswith(scheme))
                        least_us = max(rtt_us * 0.999, 0.001)
                        self.assertGreaterEqual(run["latency_us"]["p0"], least_us)
        self.assertEqual(text.count("p50: sync auto"), 4)
        self.assertEqual(text.count("CPU of both ends: sync auto"), 4)
        self.assertEqual(text.count("sync auto    throughput to mutex"), 4)
        self.assertEqual("redis-plus-plus was not installed" in text, len(modes) == 3)

    def test_threads_over_one_kind_of_socket(self):
        points = 4 + has_redis_plus_plus()
        for option in ("--unix", "--tcp"):
            _, runs = self.check(
                "threads", points, option, "-c", 2, "--rtts", 0, "--flushes", "auto,off"
            )
            wanted = {option.removeprefix("--")}
            self.assertEqual({r["config"]["transport"] for r in runs}, wanted)
            flushes = [r["config"]["flush"] for r in runs]
            self.assertEqual(flushes[:4], ["", "", "auto", "off"])

    def test_mixed(self):
        args = ["-c", 2, "--beside-rate", 500, "--connections", 2, "--duration", 0.2]
        _, runs = self.check("mixed", 2 * 3, *args)
        for run in runs:
            mode, transport = run["config"]["mode"], run["config"]["transport"]
            with self.subTest(mode, transport=transport):
                self.assertEqual(run["config"]["beside_rate"], 500)
                self.assertEqual(run["errors"], 0)
                self.assertGreater(run["client_cpu_us_per_op"], 0)
                has_threads, has_callbacks = mode != "callback", mode != "sync"
                for name, is_there in (
                    ("ops_per_s", has_threads), ("beside_per_s", has_callbacks)
                ):  # fmt: skip
                    self.assertEqual(run[name] is not None, is_there, name)
                for name, is_there in (
                    ("latency_us", has_threads), ("beside_latency_us", has_callbacks)
                ):  # fmt: skip
                    self.assertEqual(run[name]["p50"] is not None, is_there, name)
        self.assertEqual(len(self.findings), 2 * 5)

    def test_cluster(self):
        args = ["--callers-list", "1,5", "--flushes", "auto,off", "--nodes", 2]
        for mode in ("callback", "sync"):
            text, runs = self.check("cluster", 2 * 4, *args, "--mode", mode)
            clusters = [r["config"]["cluster"] for r in runs]
            self.assertEqual(clusters, 4 * [True, False])
            self.assertEqual({r["config"]["mode"] for r in runs}, {mode})
            self.assertEqual(text.count("CPU of the client"), 4)
            self.assertEqual(len(self.findings), 2 * 4)

    def test_ladder(self):
        args = ["--callers-list", "1,3,1", "--flushes", "auto,off", "--duration", 0.5]
        text, runs = self.check("ladder", 2 * 3, *args)
        for run in runs:
            with self.subTest(run["strategy"], transport=run["config"]["transport"]):
                self.assertEqual(run["config"]["callers"], 3)
                self.assertEqual(run["config"]["ladder"], [1, 3, 1])
                self.assertEqual(run["errors"], 0)
                for step in ("1", "2"):
                    self.assertGreater(run["ladder_stall_ms"][step], 0)
                    self.assertLessEqual(run["ladder_late"][step], 10)
                    # null: never, on a busy machine
                    if run["ladder_reached_ms"][step] is not None:
                        self.assertGreaterEqual(run["ladder_reached_ms"][step], 5)
                for step in ("3", "4"):
                    self.assertIsNone(run["ladder_ops_per_s"][step])
        self.assertEqual(len(self.findings), 2 * 2 * 2 * 2)
        self.assertEqual(text.count("3 to 1 threads: sync off"), 4)

    def test_a_ladder_lets_as_many_through_as_it_says(self):
        # Over a round trip of 20 ms the calls of one thread end at most once in a slice of
        # 5 ms, and 210 times in all, whatever the machine does; 31 threads need not do much
        # to do more.
        args = ["--callers-list", "1,31,1", "--rtt", 20000, "--unix", "--duration", 4.2]
        _, runs = self.check("ladder", 2, *args)
        for run in runs:
            with self.subTest(run["strategy"]):
                self.assertLessEqual(run["ladder_ops_per_s"]["2"], 200)
                self.assertGreater(run["commands"], 225)

    def test_demo(self):
        text, _ = self.check("demo", 14, "-c", 4)
        self.assertIn("What it means", text)
        self.assertTrue(all(f["kind"] == "note" for f in self.findings))
        self.assertIn("4 callers on one connection", self.findings[0]["text"])

    def test_strict_makes_a_failed_verdict_an_exit_code(self):
        # A round trip of 20 ms leaves shoal's 4 callers 200 commands a second at most,
        # on any machine; those that send 128 at once need one round trip for 512.
        args = ["--profile", "matrix", "--callers-list", 4, "--batches", 128,
                "--rounds", 1, "--rtt", 20000]  # fmt: skip
        done = bench(*TINY, *args, "--strict", "--duration", 0.5, code=1)
        self.assertIn("FAILS", done.stdout)
        self.assertIn("verdicts failed", done.stderr)

    def test_large_values_beside_commands_at_a_rate(self):
        runs = self.measure(
            "--rate", 500, "--large", 200000, "--flush", "off/shapes/lane", "-r", 10,
            "--against", "nolane,sync+fixed:50/lane,pool", "GET", "key:__key__",
        )  # fmt: skip
        flushes = [run["config"]["flush"] for run in runs]
        wanted = ["off/shapes/lane", "off/shapes/nolane", "fixed:50/shapes/lane", ""]
        self.assertEqual(flushes, wanted)
        for run in runs:
            with self.subTest(run["strategy"]):
                self.assertEqual(run["config"]["large_bytes"], 200000)
                self.assertGreater(run["large_per_s"], 0)
                self.assertEqual(run["errors"], 0)


if __name__ == "__main__":
    main()
