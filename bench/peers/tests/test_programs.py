# SPDX-License-Identifier: MIT
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from harness.programs import Programs, Unavailable, call, last_line
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
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(Unavailable, "Go is not installed"):
                self.programs.command(GO)

    def test_a_tool_that_fails(self):
        with self.assertRaisesRegex(Unavailable, "the reason"):
            call([sys.executable, "-c", "import sys; sys.exit('first\\nthe reason')"])
        with self.assertRaises(Unavailable):
            call([str(self.folder / "absent")])

    def test_last_line(self):
        self.assertEqual(last_line("a\n b \n\n"), "b")
        self.assertEqual(last_line(" \n"), "it said nothing")
