#!/usr/bin/env python3
"""Make the bugs of tests/sim/mutants.txt, one at a time; a simulation or test must find each.

The bugs are made in a copy of the sources, in the build folder: the tree stays as it
is.  Each bug costs one compilation and one link.  The simulation then runs 10 blocks of
1.5 million steps with seeds of their own, until it has found the bug in 9 of them.  Without a
bug it must pass.  Printed is which oracle found each bug, and after how many steps.  A
test runs once, until its first failure.

--share N takes one of N parts of the bugs, another one with each commit.
--check only looks whether each edit can be made, and whether src/ knows of mutants.
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "sim" / "mutants.txt"
COPIED = "CMakeLists.txt bench bindings cmake include src tests tools".split()
STEPS = 1_500_000  # as many as the tests of the simulations
BLOCKS = 10
SECONDS_MAX = 120  # of a block; a bug may also make it hang
PROCESSES = min(2, os.cpu_count() or 2)
TESTS = 2 * PROCESSES  # at once: most of them wait
NONE = "none"  # the run without a bug
FIRST = "pipe_sim"  # the simulation, until the list names another
SHRUNK = "once-resent"  # a history of this one is shrunk


class Refusal(Exception):
    """The list, the build or the simulation is not as it must be."""


@dataclass
class Edit:
    path: str
    line: int  # of the list
    before: str = ""
    after: str = ""

    def apply(self, text: str) -> str:
        """Return the text with the edit made: whole lines, which occur once."""
        place = f"{LIST.relative_to(ROOT)}:{self.line}"
        count = len(re.findall(f"^(?={re.escape(self.before)})", text, re.MULTILINE))
        if not self.before or count != 1:
            raise Refusal(f"{place}: the lines occur {count} times in {self.path}")
        if self.before == self.after:
            raise Refusal(f"{place}: the edit changes nothing")
        at = ("\n" + text).index("\n" + self.before)
        return text[:at] + self.after + text[at + len(self.before) :]


@dataclass
class Mutant:
    name: str
    says: str
    program: str = FIRST
    edits: list[Edit] = field(default_factory=list)

    def sources(self) -> dict[str, str]:
        """Return the files that the bug changes, by path."""
        changed: dict[str, str] = {}
        for edit in self.edits:
            text = changed.get(edit.path) or (ROOT / edit.path).read_text()
            changed[edit.path] = edit.apply(text)
        return changed

    @property
    def is_for_test(self) -> bool:
        return "/" in self.program

    @property
    def target(self) -> str:
        """Return the target, and the name of the file, of the program."""
        kind, _, name = self.program.partition("/")
        if not name:
            return f"sim_{self.program}"
        prefix = "test" if kind == "unit" else kind
        return f"{prefix}_{name.replace('/', '_')}"

    def built(self, objects: Path) -> Path:
        kind = self.program.partition("/")[0] if self.is_for_test else "sim"
        return objects / "tests" / kind / self.target


def read_list() -> list[Mutant]:
    mutants: list[Mutant] = []
    edit, program = None, FIRST
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        place = f"{LIST.relative_to(ROOT)}:{number}"
        title = re.fullmatch(r"([a-z][a-z0-9-]*): (.+)", line)
        if not line or line.startswith("#"):
            edit = None
        elif title:
            mutants.append(Mutant(title[1], title[2], program))
        elif re.fullmatch(r"= [a-z_/.]+", line):
            edit, program = None, line[2:]
        elif line.startswith("@ ") and mutants:
            edit = Edit(line[2:].strip(), number)
            if not edit.path.endswith(".c") or not (ROOT / edit.path).is_file():
                raise Refusal(f"{place}: there is no source {edit.path}")
            mutants[-1].edits.append(edit)
        elif edit and line[0] in " -+":
            edit.before += "" if line[0] == "+" else line[1:] + "\n"
            edit.after += "" if line[0] == "-" else line[1:] + "\n"
        else:
            raise Refusal(f"{place}: what does '{line}' mean here?")
    names = [mutant.name for mutant in mutants]
    if not names or len(set(names)) != len(names):
        raise Refusal(f"{LIST.relative_to(ROOT)}: no bugs, or two of one name")
    return mutants


def share_of(mutants: list[Mutant], parts: int) -> list[Mutant]:
    """Return a part of them, which the commit chooses: so many in a row have all."""
    head = subprocess.run(
        ["git", "-C", ROOT, "rev-list", "--count", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    turn = int(head.strip() or 0) % parts
    return [m for m in mutants if zlib.crc32(m.name.encode()) % parts == turn]


def check(mutants: list[Mutant]) -> None:
    for mutant in mutants:
        if not mutant.sources():
            raise Refusal(f"{mutant.name} has no edit")
    for source in sorted((ROOT / "src").rglob("*.[ch]")):
        if re.search("mutant", source.read_text(), re.IGNORECASE):
            raise Refusal(f"{source.relative_to(ROOT)} knows of mutants")


def copy_tree(tree: Path) -> None:
    """Bring the copy up to date.  What is the same is not touched, so not compiled."""
    wanted = set()
    for name in COPIED:
        top = ROOT / name
        for source in [top] if top.is_file() else top.rglob("*"):
            path = source.relative_to(ROOT)
            if not source.is_file() or path.is_relative_to("tests/fuzz/corpus"):
                continue
            wanted.add(tree / path)
            if not (tree / path).exists() or not filecmp.cmp(
                source, tree / path, shallow=False
            ):
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, tree / path)
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if path not in wanted:
            path.unlink()


def run(*words: object) -> None:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()[-40:]
        raise Refusal("\n".join([*lines, f"{words[0]} failed"]))


def configure(tree: Path, objects: Path) -> None:
    is_new = not (objects / "CMakeCache.txt").exists()
    generator = ["-G", "Ninja"] if is_new and shutil.which("ninja") else []
    options = "BUILD_BENCH=OFF BUILD_EXAMPLES=OFF WERROR=OFF".split()
    run(
        *("cmake", "-C", tree / "cmake" / "developer.cmake", "-Wno-dev"),
        *("-S", tree, "-B", objects, *generator),
        *("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1"),
        *(f"-DSHOAL_{option}" for option in options),
    )


def healthy(mutants: list[Mutant]) -> list[Mutant]:
    """Return one without a bug for each simulation and test."""
    programs = sorted({mutant.program for mutant in mutants})
    return [
        Mutant(f"{NONE} ({program.replace('/', ' ')})", "", program)
        for program in programs
    ]


def build_each(mutants: list[Mutant], build: Path) -> Iterator[Mutant]:
    """Leave a program in bin/ for each of them, and say so when it is there."""
    tree, objects = build / "tree", build / "objects"
    shutil.rmtree(build / "bin", ignore_errors=True)
    (build / "bin").mkdir(parents=True)
    copy_tree(tree)
    configure(tree, objects)

    changed: set[str] = set()
    for mutant in mutants:
        for path in changed:
            shutil.copy(ROOT / path, tree / path)
        sources = mutant.sources()
        for path, text in sources.items():
            (tree / path).write_text(text)
        changed = set(sources)
        try:
            run(
                *("cmake", "--build", objects, "-j", PROCESSES),
                *("--target", mutant.target),
            )
        except Refusal as refusal:
            raise Refusal(f"{refusal}\n{mutant.name} does not compile") from refusal
        shutil.copy(mutant.built(objects), build / "bin" / mutant.name)
        yield mutant


def simulate(
    program: Path, timeout: float | None = None, **options: object
) -> tuple[bool, str]:
    """Return whether it passed, and what it said."""
    environment = {f"SHOAL_SIM_{key}": str(value) for key, value in options.items()}
    try:
        done = subprocess.run(
            [program],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, ""
    return done.returncode == 0, done.stdout.decode(errors="replace")


@dataclass
class Finding:
    oracle: str
    steps: str


def run_block(program: Path, block: int) -> Finding | None:
    """Return what was found; None: it passed."""
    passed, says = simulate(
        program, SECONDS_MAX, SEED=block * STEPS + 1, STEPS=STEPS, SHRINK=0
    )
    if passed:
        return None
    oracle = re.search(r"^seed \d+.*: (?:(O\d+)|it (crashed))", says, re.MULTILINE)
    steps = re.search(r"^found after (\d+) steps", says, re.MULTILINE)
    return Finding(
        (oracle[1] or oracle[2]) if oracle else "hangs", steps[1] if steps else "-"
    )


def run_blocks(program: Path, blocks: int, required: int) -> list[Finding | None]:
    """Return what each block found, until it is known whether enough of them will."""
    done: list[Finding | None] = []
    found = 0
    while found < required and found + blocks - len(done) >= required:
        done.append(run_block(program, len(done)))
        found += done[-1] is not None
    return done


def run_test(mutant: Mutant, program: Path) -> Finding | None:
    """Return what was found; None: it passed."""
    server = [ROOT / "tests" / "support" / "with_redis.sh"]
    if not mutant.program.startswith("integration/"):
        server = []
    test = subprocess.Popen(
        ["timeout", str(SECONDS_MAX), *server, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert test.stdout
    for line in test.stdout:
        if line.startswith("[  FAILED  ] test_"):
            test.terminate()  # those behind it may wait for long
            test.communicate()
            return Finding("test", "-")
    return Finding("crash", "-") if test.wait() else None


def run_one(mutant: Mutant, build: Path, blocks: int, required: int) -> bool:
    """Print what became of the bug; return whether it was found as often as it must be."""
    program = build / "bin" / mutant.name
    if mutant.is_for_test:
        required = 1
        done = [run_test(mutant, program)]
    else:
        done = run_blocks(program, blocks, required)
    seen = [each for each in done if each]
    is_found = len(seen) >= required
    print(
        f"{mutant.name:28} {seen[0].oracle if seen else '-':8}"
        f" {done[0].steps if done[0] else '-':>12} {len(seen):>5}/{len(done)}"
        f"{'' if is_found else ' SURVIVED' if mutant.edits else ' passed'}",
        flush=True,
    )
    return is_found


def run_all(
    mutants: list[Mutant], build: Path, required: int, unharmed_blocks: int
) -> int:
    """Run each as soon as it is built; return how many bugs were not found."""
    unharmed = healthy(mutants)
    mutants = sorted(mutants, key=lambda m: m.edits[0].path)
    print(f"{'mutant':28} {'found by':8} {'after steps':>12} {'blocks':>8}")
    with ThreadPoolExecutor(PROCESSES) as sims, ThreadPoolExecutor(TESTS) as tests:
        runs = {
            mutant.name: (tests if mutant.is_for_test else sims).submit(
                *(run_one, mutant, build),
                # Without a bug, one finding in any block is one too many.
                *((BLOCKS, required) if mutant.edits else (unharmed_blocks, 1)),
            )
            for mutant in build_each([*unharmed, *mutants], build)
        }
    if any(runs[mutant.name].result() for mutant in unharmed):
        raise Refusal("a simulation or a test fails without any mutant")
    return sum(not runs[mutant.name].result() for mutant in mutants)


def check_shrinking(program: Path) -> None:
    """From a seed that fails to a short history that fails in the same way, also when
    it is replayed from its line."""
    says = simulate(program, SEED=1)[1]
    words = dict(re.findall(r"SHOAL_SIM_(STEPS|SEED|KEEP|OFF)=(\S*)", says))
    shrunk = re.search(r"it still fails: (.*)", says)
    replayed = re.search(r"^seed .* us: (.*)", simulate(program, **words)[1], re.M)
    print("\n".join(re.findall(r"^shrunk.*", says, re.MULTILINE)))
    if not shrunk or not replayed or shrunk[1] != replayed[1]:
        raise Refusal(f"the history of {program.name} was not shrunk: {replayed}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", nargs="?", default="build/mutants", type=Path)
    parser.add_argument(
        "--quick", action="store_true", help="find it in 1 of 10 blocks"
    )
    parser.add_argument("--share", type=int, metavar="N", help="a part of this commit")
    parser.add_argument("--check", action="store_true", help="look at the list only")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="these bugs alone")
    wanted = parser.parse_args()

    mutants = read_list()
    check(mutants)
    if wanted.check:
        print(f"{len(mutants)} mutants ok")
        return
    if wanted.share:
        mutants = share_of(mutants, wanted.share)
    if wanted.only:
        mutants = [mutant for mutant in mutants if mutant.name in wanted.only]
        if len(mutants) != len(wanted.only):
            raise Refusal("there is no such bug")
    build = (ROOT / wanted.build).resolve()
    required, unharmed_blocks = (1, 3) if wanted.quick else (9, BLOCKS)
    survivors = run_all(mutants, build, required, unharmed_blocks)
    print(f"{len(mutants)} mutants, {survivors} survived")
    if survivors:
        raise Refusal("not every bug was found")
    if SHRUNK in (mutant.name for mutant in mutants):
        check_shrinking(build / "bin" / SHRUNK)


if __name__ == "__main__":
    try:
        main()
    except Refusal as refusal:
        sys.exit(f"run_mutants: {refusal}")
