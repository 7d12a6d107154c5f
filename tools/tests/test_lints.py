#!/usr/bin/env python3
"""Each rule of the lints is broken once, in a copy of the tree: its lint must fail and
name the place.  Without that the lint must pass."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = "src include bench examples tests tools bindings".split()
LEFT_OUT = shutil.ignore_patterns("build", "__pycache__", "*.so", ".*")
SKIPPED = 77

LAYERS = ("tools/check_layers.py",)
MIRROR = ("tools/check_mirror.py",)
BUILT = ("tools/check_built.py", "build")
CORPUS = ("tools/check_corpus.py",)
MUTANTS = ("tools/run_mutants.py", "--check")
DOCS = ("tools/check_header_docs.py",)
TABLE = ("tools/gen_command_table.py", "--check")
CDEF = ("bindings/python/tools/check_cdef.py",)
LINTS = [LAYERS, MIRROR, BUILT, CORPUS, MUTANTS, DOCS, TABLE, CDEF]

NO_ROUTE = "nothing above route/ may"


def include(*names: str) -> str:
    """The directives."""
    return "".join(
        f"#include {name}\n" if name[0] == "<" else f'#include "{name}"\n'
        for name in names
    )


def mutant(*lines: str) -> str:
    """An entry of the list, behind all others."""
    return "\n".join(["", "of-the-lints-test: a bug", *lines, ""])


@dataclass
class Break:
    """What is added to files of the tree, old or new, and what the lint then says."""

    rule: str
    lint: tuple[str, ...]
    added: dict[str, str]
    says: tuple[str, ...]


BREAKS = [
    # ---- floors ----
    Break(
        "core does not include net", LAYERS,
        {"src/core/backoff.c": include("net/clock.h")},
        ("src/core/backoff.c: core/ may not include net/clock.h",),
    ),
    Break(
        "a room of core does not include route", LAYERS,
        {"src/core/flush/flush_auto.c": include("route/route.h")},
        ("src/core/flush/flush_auto.c: core/ may not include route/route.h",),
    ),
    Break(
        "base does not include resp", LAYERS,
        {"src/base/new.h": include("resp/reply.h")},
        ("src/base/new.h: base/ may not include resp/reply.h",),
    ),
    Break(
        "route does not include client", LAYERS,
        {"src/route/config.c": include("client/client.h")},
        ("src/route/config.c: route/ may not include client/client.h",),
    ),
    Break(
        "an include names its floor", LAYERS,
        {"src/core/new.c": include("backoff.h")},
        ('src/core/new.c: "backoff.h" does not name its floor',),
    ),
    Break(
        "libuv is net's", LAYERS,
        {"src/client/turn.c": include("<uv.h>")},
        ("src/client/turn.c: <uv.h> belongs to",),
    ),
    Break(
        "OpenSSL is TLS's", LAYERS,
        {"src/net/stream_tls.c": include("<openssl/ssl.h>")},
        ("src/net/stream_tls.c: <openssl/ssl.h> belongs to",),
    ),
    Break(
        "hiredis is resp's", LAYERS,
        {"src/core/new.c": include("<hiredis/read.h>")},
        ("src/core/new.c: <hiredis/read.h> belongs to",),
    ),
    # ---- above route ----
    Break(
        "client does not include net/conn.h", LAYERS,
        {"src/client/turn.c": include("net/conn.h")},
        (f"src/client/turn.c: {NO_ROUTE} include net/conn.h",),
    ),
    Break(
        "api includes no stream", LAYERS,
        {"src/api/client.c": include("net/stream.h")},
        (f"src/api/client.c: {NO_ROUTE} include net/stream.h",),
    ),
    Break(
        "api includes no resolver", LAYERS,
        {"src/api/client.c": include("net/resolver.h")},
        (f"src/api/client.c: {NO_ROUTE} include net/resolver.h",),
    ),
    Break(
        "client includes nothing of the pipe", LAYERS,
        {"src/client/new.h": include("core/pipe/deadlines.h")},
        (f"src/client/new.h: {NO_ROUTE} include core/pipe/deadlines.h",),
    ),
    Break(
        "api names no type of the pipe", LAYERS,
        {"src/api/new.c": "/* One\n * two */\nextern shoal__pipe_t *pipe_of(void);\n"},
        (f"src/api/new.c:3: {NO_ROUTE} name shoal__pipe_t",),
    ),
    Break(
        "client calls no function of a connection", LAYERS,
        {"src/client/new.c": "shoal__conn_close(it, now_us);\n"},
        (f"src/client/new.c:1: {NO_ROUTE} name shoal__conn_close",),
    ),
    Break(
        "client names no state of a connection", LAYERS,
        {"src/client/new.c": "case SHOAL__CONN_READY:\n"},
        (f"src/client/new.c:1: {NO_ROUTE} name SHOAL__CONN_READY",),
    ),
    Break(
        "client reaches for no field of a connection", LAYERS,
        {"src/client/new.c": 'say("a"); x = route->conn;\ny = &own.conn.id;\n'},
        (
            f"src/client/new.c:1: {NO_ROUTE} name ->conn",
            f"src/client/new.c:2: {NO_ROUTE} name .conn",
        ),
    ),
    Break(
        "api reaches for no field of a pipe", LAYERS,
        {"src/api/new.c": "x = it->pipe;\ny = it. pipe.ring;\n"},
        (
            f"src/api/new.c:1: {NO_ROUTE} name ->pipe",
            f"src/api/new.c:2: {NO_ROUTE} name . pipe",
        ),
    ),
    # ---- circles ----
    Break(
        "no circle of headers in client", LAYERS,
        {
            "src/client/one.h": include("client/two.h"),
            "src/client/two.h": include("client/three.h"),
            "src/client/three.h": include("client/one.h"),
        },
        (
            "a circle of includes: src/client/",
            "src/client/one -> src/client/two",
            "src/client/two -> src/client/three",
            "src/client/three -> src/client/one",
        ),
    ),
    Break(
        "no circle through a source", LAYERS,
        {
            "src/client/one.c": include("client/two.h"),
            "src/client/two.h": include("client/one.h"),
        },
        ("src/client/one -> src/client/two", "src/client/two -> src/client/one"),
    ),
    Break(
        "no circle of rooms in core", LAYERS,
        {
            "src/core/flush/one.h": include("core/pipe/two.h"),
            "src/core/pipe/two.h": include("core/flush/one.h"),
        },
        ("src/core/flush/one -> src/core/pipe/two",),
    ),
    # ---- public headers ----
    Break(
        "public headers name each other in angles", LAYERS,
        {"include/shoal/stats.h": include("shoal/reply.h")},
        ("shoal/stats.h: include <shoal/reply.h>",),
    ),
    Break(
        "public headers include few standard headers", LAYERS,
        {"include/shoal/stats.h": include("<stdio.h>")},
        ("shoal/stats.h: public headers may not include <stdio.h>",),
    ),
    Break(
        "no public header brings libuv", LAYERS,
        {"include/shoal/shoal.h": include("<shoal/uv.h>")},
        ("shoal/shoal.h: shoal/uv.h is for its users to include",),
    ),
    Break(
        "public functions are documented", DOCS,
        {"include/shoal/stats.h": "SHOAL_EXTERN int shoal_stats_new(void);\n"},
        ("shoal/stats.h:", "shoal_stats_new has no /** comment"),
    ),
    Break(
        "public functions name their threads and errors", DOCS,
        {"include/shoal/stats.h": "/** One. */\nSHOAL_EXTERN int shoal_new(void);\n"},
        (
            "shoal_new lacks a Threads: line",
            "shoal_new lacks a Since: line",
            "shoal_new returns int and lacks an Errors: line",
        ),
    ),
    # ---- tests ----
    Break(
        "a unit has a test", MIRROR,
        {"src/core/pipe/new.c": ""},
        ("src/core/pipe/new.c has no unit test",),
    ),
    Break(
        "a unit test is registered", MIRROR,
        {"tests/unit/core/test_backoff.new.c": ""},
        ("tests/unit/core/test_backoff.new.c is not in tests/unit/units.cmake",),
    ),
    Break(
        "a unit test has a unit", MIRROR,
        {"tests/unit/core/test_new.c": ""},
        ("tests/unit/core/test_new.c tests nothing",),
    ),
    Break(
        "no header holds test cases", MIRROR,
        {"tests/unit/core/new.h": "static void test_one(void **state)\n"},
        ("tests/unit/core/new.h holds test cases",),
    ),
    Break(
        "a source is built by a target", BUILT,
        {"tests/fault/deep/new.c": ""},
        ("tests/fault/deep/new.c is built by no target",),
    ),
    # ---- corpora ----
    Break(
        "the corpora are small", CORPUS,
        {f"tests/fuzz/corpus/pipe/seed_new_{i}": "" for i in range(201)},
        ("the corpora have", "files, more than 200"),
    ),
    Break(
        "an input is small", CORPUS,
        {"tests/fuzz/corpus/pipe/seed_new": "x" * 67585},
        ("corpus/pipe/seed_new has more than 67584 bytes",),
    ),
    Break(
        "an input says why it is there", CORPUS,
        {"tests/fuzz/corpus/pipe/0a1b2c3d": ""},
        ("corpus/pipe/0a1b2c3d is no seed_<what>",),
    ),
    Break(
        "an input has a target", CORPUS,
        {"tests/fuzz/corpus/new/seed_one": ""},
        ("corpus/new/seed_one belongs to no fuzz target",),
    ),
    # ---- mutants ----
    Break(
        "the lines of an edit are there", MUTANTS,
        {"tests/sim/mutants.txt": mutant("@ src/core/backoff.c", "-no such line")},
        ("tests/sim/mutants.txt:", "occur 0 times in src/core/backoff.c"),
    ),
    Break(
        "the lines of an edit are there once", MUTANTS,
        {
            "src/core/new.c": "int one;\nint one;\n",
            "tests/sim/mutants.txt": mutant("@ src/core/new.c", "-int one;"),
        },
        ("tests/sim/mutants.txt:", "occur 2 times in src/core/new.c"),
    ),
    Break(
        "an edit names a source", MUTANTS,
        {"tests/sim/mutants.txt": mutant("@ src/core/gone.c", "-int one;")},
        ("tests/sim/mutants.txt:", "there is no source src/core/gone.c"),
    ),
    Break(
        "an edit changes something", MUTANTS,
        {
            "src/core/new.c": "int one;\n",
            "tests/sim/mutants.txt": mutant("@ src/core/new.c", " int one;"),
        },
        ("tests/sim/mutants.txt:", "the edit changes nothing"),
    ),
    Break(
        "a mutant has an edit", MUTANTS,
        {"tests/sim/mutants.txt": mutant()},
        ("of-the-lints-test has no edit",),
    ),
    Break(
        "a mutant has a name of its own", MUTANTS,
        {"tests/sim/mutants.txt": mutant() + mutant()},
        ("tests/sim/mutants.txt: no bugs, or two of one name",),
    ),
    Break(
        "src knows of no mutants", MUTANTS,
        {"src/core/new.h": "#ifdef MUTANT\n"},
        ("src/core/new.h knows of mutants",),
    ),
    # ---- what is said twice ----
    Break(
        "nobody edits the command table by hand", TABLE,
        {"src/resp/command_table.inc": "/* one more */\n"},
        ("command_table.inc",),
    ),
    Break(
        "cffi is told what the headers say", CDEF,
        {"bindings/python/native/native.cdef.h": "int shoal_new(void);\n"},
        ("shoal_new",),
    ),
]  # fmt: skip

#: Looks like a break, and is none.
ALLOWED = {
    "words in comments": {"src/api/new.c": "/* client->conn, shoal__pipe_t */\n"},
    "words in texts": {"src/api/new.c": 'say("it\\"s .pipe, not ->conn", \'"\');\n'},
    "the word connection": {"src/client/new.c": "x = it->connection + it.pipes;\n"},
    "a request's type": {"src/client/new.h": include("core/request.h")},
    "a source includes its header": {
        "src/client/new.c": include("client/new.h"), "src/client/new.h": "",
    },
    "route names both": {
        "src/route/new.c": include("net/conn.h", "core/pipe/pipe.h")
        + "shoal__pipe_t *pipe = &it->conn.pipe;\n"
    },
}  # fmt: skip


class Lints(unittest.TestCase):
    """On one copy of the tree, which is mended after each break."""

    tree: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="shoal-lints.")
        cls.addClassCleanup(folder.cleanup)
        cls.tree = Path(folder.name).resolve()
        for name in FOLDERS:
            shutil.copytree(ROOT / name, cls.tree / name, ignore=LEFT_OUT)
        cls.pretend_to_build()

    @classmethod
    def pretend_to_build(cls) -> None:
        """Say, as a build would, that each source is built."""
        sources = cls.tree.rglob("*.c")
        commands = [{"directory": str(cls.tree), "file": str(p)} for p in sources]
        (cls.tree / "build").mkdir()
        (cls.tree / "build/compile_commands.json").write_text(json.dumps(commands))

    @contextmanager
    def with_added(self, added: dict[str, str]) -> Iterator[None]:
        """The tree with these texts at the ends of these files."""
        before = {}
        for name, text in added.items():
            path = self.tree / name
            before[path] = path.read_bytes() if path.exists() else None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((before[path] or b"") + text.encode())
        try:
            yield
        finally:
            for path, content in before.items():
                if content is None:
                    path.unlink()
                else:
                    path.write_bytes(content)

    def run_lint(self, lint: tuple[str, ...]) -> tuple[int, str]:
        """Return its exit status and all that it said."""
        done = subprocess.run(
            [sys.executable, *lint],
            cwd=self.tree,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def test_each_rule_is_seen_to_fail(self) -> None:
        skipped = set()
        for lint in LINTS:
            with self.subTest(lint[0]):
                status, says = self.run_lint(lint)
                self.assertIn(status, (0, SKIPPED), says)
                skipped.update([lint] if status == SKIPPED else [])
        for one in BREAKS:
            if one.lint in skipped:
                continue
            with self.subTest(one.rule), self.with_added(one.added):
                status, says = self.run_lint(one.lint)
                self.assertEqual(status, 1, says)
                for words in one.says:
                    self.assertIn(words, says)
        for lint in LINTS:  # the copy is whole again: each break was seen alone
            status, says = self.run_lint(lint)
            self.assertEqual(status, SKIPPED if lint in skipped else 0, says)

    def test_what_is_allowed_passes(self) -> None:
        for name, added in ALLOWED.items():
            with self.subTest(name), self.with_added(added):
                status, says = self.run_lint(LAYERS)
                self.assertEqual(status, 0, says)

    def test_each_lint_has_a_break(self) -> None:
        self.assertEqual({one.lint for one in BREAKS}, set(LINTS))


if __name__ == "__main__":
    unittest.main()
