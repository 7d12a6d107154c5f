# SPDX-License-Identifier: MIT
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from harness.programs import (
    PACKAGE_PARTS,
    PEERS,
    ROOT,
    Programs,
    Unavailable,
    call,
    digest_of,
    last_line,
)
from harness.rows import Row

ASYNC = Row("c/x", "hiredis", "async", "callback", "default", "")
GO = Row("go/x", "go:rueidis", "one", "goroutine", "default", "")
POOL = Row("c/pool", "shoal", "--mode pool", "thread", "default", "")


class FoundPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.programs = Programs(
            self.folder / "shoal-bench", self.folder, lambda text: None
        )

    def make(self, name):
        path = self.folder / name
        path.write_text("")
        os.chmod(path, 0o755)

    def test_commands(self):
        self.make("shoal-bench")
        self.make("peer-hiredis")
        self.assertEqual(
            self.programs.command(POOL),
            [str(self.folder / "shoal-bench"), "--mode", "pool"],
        )
        self.assertEqual(
            self.programs.command(ASYNC),
            [str(self.folder / "peer-hiredis"), "--client", "async"],
        )

    def test_what_is_not_built(self):
        with self.assertRaisesRegex(Unavailable, "shoal-bench is not built"):
            self.programs.command(POOL)
        with self.assertRaisesRegex(Unavailable, "peer-hiredis is not built"):
            self.programs.command(ASYNC)

    def test_no_go(self):
        with (
            mock.patch("shutil.which", return_value=None),
            self.assertRaisesRegex(Unavailable, "Go is not installed"),
        ):
            self.programs.command(GO)

    def test_a_tool_that_fails(self):
        with self.assertRaisesRegex(Unavailable, "the reason"):
            call([sys.executable, "-c", "import sys; sys.exit('first\\nthe reason')"])
        with self.assertRaises(Unavailable):
            call([str(self.folder / "absent")])
        log = self.folder / "log"
        program = "import sys; print('all'); sys.exit('of it')"
        with self.assertRaisesRegex(Unavailable, f"of it; see {log}"):
            call([sys.executable, "-c", program], log=log)
        self.assertEqual(log.read_text(), "all\nof it\n")

    def test_shoal_is_installed_when_its_sources_are_others(self):
        row = Row("py/x", "python:shoal", "shoal-threads", "thread", "default", "")
        venv = self.folder / "venv"
        venv.mkdir()
        wanted = (PEERS / "python" / "requirements.txt").read_text()
        (venv / "installed.txt").write_text(wanted)
        calls = []
        cases = [
            (Unavailable("no compiler"), "1"),
            (None, "1"),
            (None, "1"),
            (None, "2"),
        ]
        for problem, digest in cases:
            programs = Programs(self.folder, self.folder, lambda text: None)
            with (
                mock.patch("harness.programs.call", side_effect=problem) as made,
                mock.patch("harness.programs.digest_of", return_value=digest),
            ):
                if problem:
                    with self.assertRaisesRegex(Unavailable, "no compiler"):
                        programs.command(row)
                else:
                    programs.command(row)
            calls.append(["install" in one.args[0] for one in made.call_args_list])
        self.assertEqual(calls, [[True], [True, False], [False], [True, False]])

    def test_digest(self):
        def digest():
            return digest_of(self.folder, ["a", "b.txt"])

        (self.folder / "a" / "__pycache__").mkdir(parents=True)
        (self.folder / "a" / "c.py").write_text("1")
        (self.folder / "b.txt").write_text("2")
        first = digest()
        (self.folder / "a" / "__pycache__" / "c.pyc").write_text("3")
        (self.folder / "elsewhere").write_text("4")
        self.assertEqual(digest(), first)
        (self.folder / "b.txt").write_text("5")
        second = digest()
        (self.folder / "a" / "c.py").rename(self.folder / "a" / "d.py")
        self.assertEqual(len({first, second, digest()}), 3)

    def test_the_package_is_all_here(self):
        for part in PACKAGE_PARTS:
            self.assertTrue((ROOT / part).exists(), part)

    def test_last_line(self):
        self.assertEqual(last_line("a\n b \n\n"), "b")
        self.assertEqual(last_line(" \n"), "it said nothing")
