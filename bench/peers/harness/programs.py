# SPDX-License-Identifier: MIT
"""The peers' programs: builds what can be built, and says why the rest cannot."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .rows import Row

PEERS = Path(__file__).resolve().parent.parent
ROOT = PEERS.parent.parent
PACKAGE_PARTS = (
    "pyproject.toml",
    "CMakeLists.txt",
    "bindings/python/CMakeLists.txt",
    "bindings/python/native",
    "bindings/python/src",
    "cmake",
    "include",
    "src",
    "tools/deps.txt",
    "tools/deps-libuv.txt",
)


class Unavailable(Exception):
    """The reason for which a row is skipped."""


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def call(command: Sequence[str], timeout: float = 900, log: Path | None = None) -> str:
    """Run a tool; its last line is the reason if it fails, and all goes to the log."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Unavailable(str(problem)) from None
    if done.returncode != 0:
        reason = f"{Path(command[0]).name}: {last_line(done.stderr)}"
        if log:
            log.write_text(done.stdout + done.stderr)
            reason += f"; see {log}"
        raise Unavailable(reason)
    return done.stdout


def digest_of(root: Path, parts: Iterable[str]) -> str:
    """Of the names and contents of some files and folders: other sources, another
    digest."""
    digest = hashlib.sha256()
    for part in parts:
        path = root / part
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(root)}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@dataclass
class Programs:
    """Finds the command line of a row, building its program on first use."""

    shoal: Path
    build: Path
    say: Callable[[str], None] = print
    _known: dict[str, Path | Unavailable] = field(default_factory=dict)

    def command(self, row: Row) -> list[str]:
        """The words before the options of the workload; Unavailable says why not."""
        kind, _, folder = row.program.partition(":")
        if kind == "shoal":
            return [
                str(self._once("shoal-bench", self._find_shoal)),
                *row.client.split(),
            ]
        if kind in ("hiredis", "libvalkey"):
            name = f"peer-{kind}"
            program = self._once(name, lambda: self._find_peer(name))
            return [str(program), "--client", row.client]
        if kind == "go":
            program = self._once(row.program, lambda: self._build_go(folder))
            return [str(program), "--client", row.client]
        python = self.python_with_shoal() if folder == "shoal" else self.python()
        command = [
            str(python),
            str(PEERS / "python" / "peer.py"),
            "--client",
            row.client,
        ]
        call([*command, "--check"])
        return command

    @property
    def pacer(self) -> Path:
        return self.shoal.parent / "peer-pacer"

    def need_pacer(self) -> None:
        if not os.access(self.pacer, os.X_OK):
            raise Unavailable("peer-pacer, which --rate needs, is not built")

    def python(self) -> Path:
        """The interpreter that has the Python peers."""
        return self._once("python", self._build_python)

    def python_with_shoal(self) -> Path:
        """The same, with the package that this checkout makes."""
        return self._once("shoal's Python package", self._install_shoal)

    def _once(self, name: str, make: Callable[[], Path]) -> Path:
        if name not in self._known:
            try:
                self._known[name] = make()
            except Unavailable as problem:
                self._known[name] = problem
        known = self._known[name]
        if isinstance(known, Unavailable):
            raise known
        return known

    def _find_shoal(self) -> Path:
        if not os.access(self.shoal, os.X_OK):
            raise Unavailable(
                f"{self.shoal.name} is not built; --shoal names another one"
            )
        return self.shoal

    def _find_peer(self, name: str) -> Path:
        program = self.shoal.parent / name
        if os.access(program, os.X_OK):
            return program
        if name == "peer-libvalkey":
            raise Unavailable("libvalkey was not installed when shoal-bench was built")
        raise Unavailable(f"{name} is not built beside shoal-bench")

    def _build_go(self, folder: str) -> Path:
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

    def _build_python(self) -> Path:
        """A virtual environment with what could be installed."""
        folder = self.build / "venv"
        wanted = (PEERS / "python" / "requirements.txt").read_text()
        stamp = folder / "installed.txt"
        if stamp.exists() and stamp.read_text() == wanted:
            return folder / "bin" / "python"
        self.say("installing the Python packages")
        call([sys.executable, "-m", "venv", str(folder)])
        for line in wanted.splitlines():
            if line and not line.startswith("#"):
                try:
                    call([*self._pip_install(), line])
                except Unavailable as problem:
                    self.say(f"{line} cannot be installed: {problem}")
        stamp.write_text(wanted)
        return folder / "bin" / "python"

    def _install_shoal(self) -> Path:
        """The package again whenever its sources are others."""
        python = self.python()
        stamp = self.build / "venv" / "shoal.txt"
        wanted = digest_of(ROOT, PACKAGE_PARTS)
        if stamp.exists() and stamp.read_text() == wanted:
            return python
        self.say("building and installing shoal's Python package")
        stamp.unlink(missing_ok=True)
        log = self.build / "shoal-python.log"
        call([*self._pip_install(), "--force-reinstall", str(ROOT)], log=log)
        stamp.write_text(wanted)
        return python

    def _pip_install(self) -> list[str]:
        python = str(self.build / "venv" / "bin" / "python")
        constraints = str(PEERS / "python" / "constraints.txt")
        options = ["--disable-pip-version-check", "-q", "-c", constraints]
        return [python, "-m", "pip", "install", *options]
