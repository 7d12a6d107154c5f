# SPDX-License-Identifier: MIT
"""The peers' programs: builds what can be built, and says why the rest cannot."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PEERS = Path(__file__).resolve().parent.parent


class Unavailable(Exception):
    """The reason for which a row is skipped."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def call(command, timeout=900, **options):
    """Run a tool; its last line is the reason if it fails."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            **options,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Unavailable(str(problem)) from None
    if done.returncode != 0:
        raise Unavailable(f"{Path(command[0]).name}: {last_line(done.stderr)}")
    return done.stdout


@dataclass
class Programs:
    """Finds the command line of a row, building its program on first use."""

    shoal: Path
    build: Path
    say: object = print
    _known: dict = field(default_factory=dict)

    def command(self, row):
        """The words before the options of the workload; Unavailable says why not."""
        kind, _, folder = row.program.partition(":")
        if kind == "shoal":
            return [
                str(self._once("shoal-bench", self._find_shoal)),
                *row.client.split(),
            ]
        if kind == "hiredis":
            program = self._once("peer-hiredis", self._find_hiredis)
            return [str(program), "--client", row.client]
        if kind == "go":
            program = self._once(row.program, lambda: self._build_go(folder))
            return [str(program), "--client", row.client]
        python = self._once("python", self._build_python)
        command = [
            str(python),
            str(PEERS / "python" / "peer.py"),
            "--client",
            row.client,
        ]
        call([*command, "--check"])
        return command

    @property
    def pacer(self):
        return self.shoal.parent / "peer-pacer"

    def need_pacer(self):
        if not os.access(self.pacer, os.X_OK):
            raise Unavailable("peer-pacer, which --rate needs, is not built")

    def _once(self, name, make):
        if name not in self._known:
            try:
                self._known[name] = make()
            except Unavailable as problem:
                self._known[name] = problem
        if isinstance(self._known[name], Unavailable):
            raise self._known[name]
        return self._known[name]

    def _find_shoal(self):
        if not os.access(self.shoal, os.X_OK):
            raise Unavailable(
                f"{self.shoal.name} is not built; --shoal names another one"
            )
        return self.shoal

    def _find_hiredis(self):
        program = self.shoal.parent / "peer-hiredis"
        if not os.access(program, os.X_OK):
            raise Unavailable("peer-hiredis is not built beside shoal-bench")
        return program

    def _build_go(self, folder):
        if not shutil.which("go"):
            raise Unavailable("Go is not installed")
        # A module of its own, if one of its packages is not to be had everywhere.
        module = PEERS / "go" / folder
        package = "."
        if not (module / "go.mod").exists():
            module, package = PEERS / "go", f"./{folder}"
        program = self.build / "bin" / f"peer-{folder}"
        self.say(f"building {program.name}")
        call(["go", "build", "-C", str(module), "-o", str(program), package])
        return program

    def _build_python(self):
        """A virtual environment with what could be installed."""
        folder = self.build / "venv"
        python = folder / "bin" / "python"
        wanted = (PEERS / "python" / "requirements.txt").read_text()
        stamp = folder / "installed.txt"
        if stamp.exists() and stamp.read_text() == wanted:
            return python
        self.say("installing the Python packages")
        call([sys.executable, "-m", "venv", str(folder)])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        for line in wanted.splitlines():
            if line and not line.startswith("#"):
                try:
                    call([*pip, "-c", str(PEERS / "python" / "constraints.txt"), line])
                except Unavailable as problem:
                    self.say(f"{line} cannot be installed: {problem}")
        stamp.write_text(wanted)
        return python
