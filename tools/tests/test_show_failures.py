#!/usr/bin/env python3
"""What CI shows of a failed stage: the failing tests' own words, and little else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent / "show_failures.py"

CMOCKA = """\
[==========] poison: Running 2 test(s).
[ RUN      ] test_quiet
[       OK ] test_quiet
[ RUN      ] test_loud
[  ERROR   ] --- 0x1 != 0
[   LINE   ] --- tests/fault/test_poison.c:12: error: Failure!
[  FAILED  ] test_loud
[==========] poison: 2 test(s) run.
"""

RACE = (
    "==================\nWARNING: ThreadSanitizer: data race (pid=7)\n"
    + "".join(f"  frame {number}\n" for number in range(80))
    + "SUMMARY: ThreadSanitizer: data race x.c:1\n==================\n"
)

PYTEST = """\
============================= test session starts ==============================
collected 2 items

=================================== FAILURES ===================================
______________________________ test_naps[asyncio] ______________________________

    def test_naps():
>       assert 1 == 2
E       assert 1 == 2

bindings/python/tests/test_naps.py:9: AssertionError
=========================== short test summary info ============================
FAILED bindings/python/tests/test_naps.py::test_naps - assert 1 == 2
========================= 1 failed, 1 passed in 2.00s ==========================
"""


def ctest(*tests: tuple[str, str, str]) -> str:
    """The log of a run: name, result and output of each test that failed."""
    log = "      Start 1: unit/good\n1/9 Test #1: unit/good ....   Passed    0.10 sec\n"
    for name, result, output in tests:
        log += f"2/9 Test #2: {name} ....{result}    0.10 sec\n{output}\n"
        log += "      Start 3: unit/good\n3/9 Test #3: unit/good ....   Passed 1 sec\n"
    return log + "\n50% tests passed, 1 tests failed out of 9\n" + "Label Time\n" * 90


class TestShown(unittest.TestCase):
    def show(self, log: str, *lines: str) -> str:
        """What the program prints."""
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write(log)
            file.flush()
            done = subprocess.run(
                [sys.executable, TOOL, file.name, *lines],
                capture_output=True,
                text=True,
                check=True,
            )
        return done.stdout

    def test_cmocka(self) -> None:
        shown = self.show(ctest(("fault/poison", "***Failed", CMOCKA)))
        self.assertEqual(
            shown.splitlines(),
            [
                "",
                "--- fault/poison Failed    0.10 sec",
                "[ RUN      ] test_loud",
                "[  ERROR   ] --- 0x1 != 0",
                "[   LINE   ] --- tests/fault/test_poison.c:12: error: Failure!",
                "[  FAILED  ] test_loud",
            ],
        )

    def test_a_report_is_cut_and_what_follows_is_not(self) -> None:
        shown = self.show(ctest(("fault/room", "***Failed", RACE + CMOCKA)))
        self.assertIn("data race (pid=7)", shown)
        self.assertIn("frame 38\n", shown)
        self.assertNotIn("frame 39\n", shown)
        self.assertIn("test_poison.c:12", shown)

    def test_it_begins_where_something_went_wrong(self) -> None:
        chat = "".join(f"chat {number}\n" for number in range(200))
        shown = self.show(ctest(("sim/x", "***Timeout", chat + CMOCKA + chat)))
        self.assertIn("test_poison.c:12", shown)
        self.assertIn("chat 199\n", shown)
        self.assertLess(len(shown.splitlines()), 65)

    def test_many_failures_share_the_lines(self) -> None:
        failed = [(f"unit/n{at}", "***Exception: SegFault", RACE) for at in range(40)]
        shown = self.show(ctest(*failed))
        self.assertIn("--- unit/n0 Exception: SegFault", shown)
        self.assertRegex(shown, "--- unit/n39 Exception: SegFault .*: see the log")
        self.assertLess(len(shown.splitlines()), 60 + len(failed))

    def test_skipped_and_disabled_tests_did_not_fail(self) -> None:
        skipped = [("a/b", "***Skipped", ""), ("a/c", "***Not Run (Disabled)", "")]
        shown = self.show(ctest(*skipped, ("a/d", "***Failed", "why\n")))
        self.assertNotIn("a/b", shown)
        self.assertNotIn("a/c", shown)
        self.assertIn("why\n", shown)

    def test_pytest(self) -> None:
        shown = self.show(PYTEST)
        self.assertIn("--- test_naps[asyncio]\n", shown)
        self.assertIn("E       assert 1 == 2\n", shown)
        self.assertNotIn("collected", shown)

    def test_a_log_without_tests_is_shown_by_its_end(self) -> None:
        log = "".join(f"line {number}\n" for number in range(99))
        shown = self.show(log, "10").splitlines()
        self.assertEqual(shown, [f"line {number}" for number in range(89, 99)])


if __name__ == "__main__":
    unittest.main()
