#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/report/report.py: pages of real results of every profile, read like a browser.

Exits with 77 where no server is installed, or no matplotlib.
"""

import json
import math
import re
import sys
import tempfile
import unittest
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

from tiny import measure, script, skip_without_server

VOID = {"meta", "br", "hr", "path", "use", "rect"}
LISTS = ("batch_histogram.", "flush_reasons.")


class Page(HTMLParser):
    """The elements, texts and figures of a page."""

    def __init__(self, text):
        super().__init__()
        self.text, self.problems, self.open = text, [], []
        self.elements, self.words, self.values, self.cells = [], [], set(), []
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), list(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), list(self.open)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]

    @property
    def figures(self):
        return {float(attributes["value"]) for attributes in self.named("data")}

    @property
    def plain(self):
        return " ".join("".join(self.words).split())


class Pages(unittest.TestCase):
    """One tiny run of each profile, measured once."""

    RUNS = {
        "plain": [
            "-n",
            40,
            "-c",
            3,
            "--rounds",
            2,
            "--against",
            "sync,pool,collector,explicit:4,raw:3,off/strict,fixed:50",
        ],
        "alone": ["-n", 40, "-c", 1],
        "open": ["-c", 4, "--rate", 400, "--against", "pool"],
        "demo": ["--profile", "demo", "-c", 4, "--rounds", 2],
        "sweep": [
            "--profile",
            "sweep",
            "--rounds",
            2,
            "--callers-list",
            "1,3,6",
            "--rtts",
            "0,300",
            "--flushes",
            "off,fixed:50,auto",
        ],
        "rate": [
            "--profile",
            "rate",
            "--rounds",
            1,
            "--rates",
            "400,900,2000",
            "--flushes",
            "off,auto",
        ],
        "latency": ["--profile", "latency", "--rounds", 1],
        "matrix": [
            "--profile",
            "matrix",
            "--rounds",
            1,
            "--callers-list",
            "2,3,6",
            "--batches",
            "1,4",
        ],
        "threads": [
            "--profile",
            "threads",
            "--rounds",
            2,
            "--callers-list",
            "1,3",
            "--rtts",
            0,
        ],
        "mixed": [
            "--profile",
            "mixed",
            "--rounds",
            1,
            "-c",
            2,
            "--beside-rate",
            500,
            "--duration",
            0.2,
        ],
        "ladder": [
            "--profile",
            "ladder",
            "--unix",
            "--rounds",
            1,
            "--callers-list",
            "1,3,1",
            "--duration",
            0.3,
        ],
        "step": ["--profile", "step", "--rounds", 1, "-c", 8, "--duration", 0.3],
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="shoal-bench-test.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = Path(cls.folder.name)
        cls.results, cls.pages = {}, {}
        for name, args in cls.RUNS.items():
            file = cls.path / f"{name}.json"
            measure(file, *args)
            cls.results[name] = json.loads(file.read_text())
            done = script("report.py", file)
            assert done.returncode == 0, f"{name}: {done.stderr}"
            cls.pages[name] = Page((cls.path / f"{name}.html").read_text())

    def draw(self, content):
        """The page of a file with this content."""
        file = self.path / "drawn.json"
        file.write_text(json.dumps(content))
        done = script("report.py", file, "-o", self.path / "drawn.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        return Page((self.path / "drawn.html").read_text())

    def test_every_element_is_closed_where_it_was_opened(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.assertEqual(page.problems, [])
                names = Counter(a["id"] for _, a, _ in page.elements if "id" in a)
                self.assertEqual(
                    [name for name, times in names.items() if times > 1], []
                )

    def test_the_page_needs_nothing_but_itself(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                names = {a["id"] for _, a, _ in page.elements if "id" in a}
                for tag, attributes, _ in page.elements:
                    self.assertNotIn(tag, ("script", "link", "img", "iframe", "object"))
                    self.assertEqual(
                        {"src", "srcset", "data"} & attributes.keys(), set()
                    )
                    if "href" in attributes:
                        self.assertIn(attributes["href"].removeprefix("#"), names)
                for pattern in ("http:", "https:", "@import", "url("):
                    self.assertEqual(page.text.count(pattern), 0, pattern)

    def test_every_figure_of_the_results_is_shown(self):
        from pages.results import figures

        for name, page in self.pages.items():
            with self.subTest(name):
                shown = page.figures
                for run in self.results[name]["runs"]:
                    for key, value in figures(run):
                        if value is None or (value == 0 and key.startswith(LISTS)):
                            continue
                        self.assertIn(float(f"{value:.12g}"), shown, key)

    def test_every_strategy_has_a_row_in_the_legend(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                rows = [
                    a
                    for tag, a, inside in page.elements
                    if tag == "li" and "ul" in inside and "section" in inside
                ]
                configs = [run["config"] for run in self.results[name]["runs"]]
                follows = name == "demo"  # raw is as deep as there are callers
                lines = {
                    (c["mode"].split(":")[0] if follows else c["mode"], c["flush"])
                    for c in configs
                }
                self.assertEqual(len(rows), len(lines))

    def test_every_chart_has_words_and_a_table(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                charts = [
                    a
                    for a in page.named("svg")
                    if "viewbox" in a and a.get("aria-hidden") != "true"
                ]
                self.assertGreater(len(charts), 2, name)
                for chart in charts:
                    self.assertEqual(chart["role"], "img")
                    self.assertGreater(len(chart["aria-label"]), 40)
                drawn = page.text.count("<details><summary>These figures in a table")
                self.assertEqual(drawn, len(charts))
                for part in page.text.split("<figure>")[1:]:
                    self.assertIn("<table", part.split("</figure>")[0])

    def test_the_words_of_a_chart_hold_its_figures(self):
        from pages.results import number

        (run,) = self.results["alone"]["runs"]
        labels = [
            a["aria-label"]
            for a in self.pages["alone"].named("svg")
            if "aria-label" in a
        ]
        for key in ("p50", "p90", "p99", "p99_9"):
            expected = f"{number(run['latency_us'][key])}\u00a0\u00b5s"
            self.assertTrue(any(expected in label for label in labels), key)

    def test_both_colour_schemes_define_every_colour(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                used = set(re.findall(r"var\(--([\w-]+)", page.text)) - {"h"}
                light, dark = page.text.split("prefers-color-scheme:dark", 1)
                for scheme in (light, dark.split("\n")[0]):
                    self.assertEqual(
                        used - set(re.findall(r"--([\w-]+):", scheme)), set()
                    )
                body = page.text.split("</style>", 1)[1]
                self.assertEqual(re.findall(r"#[0-9a-fA-F]{6}\b", body), [])
                self.assertEqual(page.text.count("name='viewport'"), 1)

    def test_findings_are_the_first_that_is_read(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                for finding in self.results[name]["findings"]:
                    self.assertIn(" ".join(finding["text"].split()), page.plain)
        failed = [f for f in self.results["matrix"]["findings"] if f["kind"] == "fails"]
        known = [
            f for f in self.results["matrix"]["findings"] if f["kind"] != "unknown"
        ]
        holds = f"{len(known) - len(failed)} of {len(known)} verdicts hold"
        self.assertIn(holds, self.pages["matrix"].plain)

    def test_the_facts_name_the_machine_and_the_load(self):
        config = self.results["demo"]["runs"][0]["config"]
        text = self.pages["demo"].plain
        for fact in (
            config["server_version"],
            config["machine"]["cpu"],
            config["machine"]["system"],
            "data of 16 bytes",
            "medians of 2",
            "50\u202f000 commands/s",
            "shoal " + config["versions"]["shoal"],
        ):
            self.assertIn(" ".join(fact.split()), text)
        self.assertIn("a single round", self.pages["latency"].plain)
        text = self.pages["threads"].plain
        self.assertIn("private, on a Unix socket, and on 127.0.0.1 by TCP", text)
        self.assertIn("closed loop, 1 and 3 callers, a Unix socket", text)
        self.assertIn("--profile threads --callers-list 1,3 --rtts 0", text)
        self.assertNotIn("--flushes auto --tcp", text)
        text = self.pages["ladder"].plain
        self.assertIn("3 callers, coming and going", text)
        self.assertIn("--callers-list 1,3,1 --rtts 0 --flushes auto --unix", text)

    def test_curves_appear_where_there_are_points_enough(self):
        for name, titles in {
            "sweep": (
                "Throughput over callers",
                "Latency against throughput",
                "Share of the best, 300 \u00b5s of round trip added",
            ),
            "rate": ("CPU per command over the rate", "Latency over the rate"),
        }.items():
            for title in titles:
                self.assertIn(title, self.pages[name].plain)

    def test_a_step_shows_how_soon_it_is_over(self):
        content = json.loads(json.dumps(self.results["step"]))
        for ms, run in enumerate(content["runs"], 30):
            for holder in (run, *run["rounds"]):
                holder["step_settled_ms_max"] = ms
        page = self.draw(content)
        self.assertIn("Back at the base, slowest of ten steps", page.plain)
        self.assertLess({30.0, 31.0}, page.figures)

    def test_the_way_to_measure_again_is_one_that_works(self):
        text = self.pages["sweep"].plain
        again = (
            "shoal-bench --profile sweep --callers-list 1,3,6 --rtts 0,300"
            " --flushes off,fixed:50,auto --duration 0.05 --warmup 0.02"
            " --rounds 2"
        )
        self.assertIn(again, text)
        others = ("callback+off/strict", "callback+fixed:50", "explicit:4", "raw:3")
        (command,) = re.findall(
            r"shoal-bench --no-pin --mode callback --flush auto"
            r" --against (\S+) -c 3 -n 40",
            self.pages["plain"].plain,
        )
        self.assertLess(set(others), set(command.split(",")))
        file = self.path / "again.json"
        measure(file, *again.split()[1:])
        runs = json.loads(file.read_text())["runs"]
        self.assertEqual(len(runs), len(self.results["sweep"]["runs"]))

    def test_hostile_strings_are_only_text(self):
        hostile = "<script>alert('x')</script>\"&amp;$\\frac{x}$\x00\x1b[31m\u2028"
        content = json.loads(json.dumps(self.results["sweep"]))
        content["tool"] = hostile
        content["findings"] = [
            {"kind": "note", "about": hostile, "text": hostile},
            {"kind": hostile, "about": "", "text": ""},
        ]
        for run in content["runs"]:
            run["strategy"] = run["first_error"] = hostile
            run["errors"] = 1
            run[hostile] = 4711
            run["config"].update(
                mode=hostile,
                command=hostile,
                server_version=hostile,
                link=hostile,
                url=hostile,
                private_server=False,
            )
            run["config"]["machine"]["cpu"] = hostile
        page = self.draw(content)
        self.assertEqual(page.problems, [])
        self.assertEqual(page.named("script"), [])
        self.assertIn("<script>alert('x')</script>\"&amp;$\\frac{x}$", page.plain)
        self.assertIn(4711.0, page.figures)
        self.assertFalse([c for c in page.text if ord(c) < 32 and c != "\n"])

    def test_what_was_not_measured_is_a_dash(self):
        content = json.loads(json.dumps(self.results["plain"]))
        for run in content["runs"]:
            run["server_cpu_us_per_op"] = run["latency_us"]["p99_99"] = None
            run["batch_histogram"] = run["flush_reasons"] = None
        page = self.draw(content)
        self.assertNotIn("nan", page.plain)
        self.assertIn("\u2013", page.plain)
        self.assertNotIn("Batches", page.plain)

    def test_a_run_that_went_wrong_says_so(self):
        content = json.loads(json.dumps(self.results["open"]))
        content["interrupted"] = True
        content["runs"][0].update(errors=3, first_error="ERR no", ops_per_s_spread=0.3)
        content["runs"][1]["ops_per_s"] = 100
        text = self.draw(content).plain
        for words in (
            "was interrupted",
            "3.00 commands of callback auto failed",
            "The first error: ERR no",
            "pool did 100 of 400",
            "differ by up to \u00b130%",
        ):
            self.assertIn(words, text)
        self.assertIn("Nothing was measured", self.draw({"runs": []}).plain)

    def test_files_that_cannot_be_read_or_written_are_said(self):
        broken = self.path / "broken.json"
        broken.write_text("{")
        done = script("report.py", broken)
        self.assertEqual(done.returncode, 2)
        self.assertIn("broken.json", done.stderr)
        good = self.path / "plain.json"
        done = script("report.py", good, "-o", self.path / "no" / "page.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file", done.stderr)

    def test_without_matplotlib_it_says_what_to_install(self):
        import report

        with (
            mock.patch("importlib.util.find_spec", return_value=None),
            mock.patch("report.SYSTEM_PYTHON", "/nowhere/python3"),
            mock.patch("sys.stderr") as stderr,
            self.assertRaises(SystemExit) as end,
        ):
            report.need_matplotlib()
        self.assertEqual(end.exception.code, 3)
        printed = "".join(str(call.args[0]) for call in stderr.write.call_args_list)
        self.assertIn("apt-get install python3-matplotlib", printed)


class Pieces(unittest.TestCase):
    def test_numbers_have_three_digits_that_matter(self):
        from pages.results import number

        for value, text in (
            (0, "0"),
            (0.0625, "0.0625"),
            (0.5, "0.50"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (697123, "697\u00a0k"),
            (9996, "10.0\u00a0k"),
            (999_600, "1.00\u00a0M"),
            (math.nan, "\u2013"),
            (math.inf, "never"),
        ):
            self.assertEqual(number(value), text)

    def test_names_of_curves_keep_their_distance_and_their_order(self):
        from pages.drawing import spaced

        for wanted in ([5.0], [0, 0, 0], [10, 11, 50, 51, 52, 199], [190, 195, 199]):
            places = spaced(wanted, 13, 0, 200)
            gaps = [b - a for a, b in zip(places, places[1:], strict=False)]
            self.assertTrue(all(gap >= 12.999 for gap in gaps), places)
            self.assertGreaterEqual(places[0], 0)
            self.assertLessEqual(places[-1], 200)
        self.assertEqual(spaced([20, 60], 13, 0, 200), [20, 60])

    def test_colours_stay_readable_on_both_pages(self):
        from pages.looks import PALETTE

        def luminance(color):
            parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [
                p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4
                for p in parts
            ]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

        def contrast(one, other):
            high, low = sorted((luminance(one), luminance(other)), reverse=True)
            return (high + 0.05) / (low + 0.05)

        for scheme in (0, 1):
            for text in ("ink", "soft", "auto", "good", "bad"):
                for below in ("page", "card", "note"):
                    pair = PALETTE[text][scheme], PALETTE[below][scheme]
                    self.assertGreaterEqual(contrast(*pair), 4.5, (text, below, scheme))
            for line in ("auto", "off", "pool", "raw", "fixed-2", "collector"):
                pair = PALETTE[line][scheme], PALETTE["page"][scheme]
                self.assertGreaterEqual(contrast(*pair), 3, (line, scheme))


if __name__ == "__main__":
    skip_without_server()
    import report

    try:
        report.need_matplotlib()
    except SystemExit:
        sys.exit(77)
    unittest.main(verbosity=1)
