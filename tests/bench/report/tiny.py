# SPDX-License-Identifier: MIT
"""Real results of shoal-bench, as small as they can be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
REPORT = ROOT / "bench" / "report"
BENCH = os.environ.get("SHOAL_BENCH", "shoal-bench")
SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
TINY = ["-q", "--no-pin", "--duration", "0.05", "--warmup", "0.02"]

sys.path.insert(0, str(REPORT))


def measure(file, *args):
    """Run shoal-bench --json FILE, again where a short round passed without a command.

    That happens on a busy machine.
    """
    command = [BENCH, *TINY, "--json", str(file), *map(str, args)]
    for _ in range(4):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if "no command finished" not in done.stderr:
            break
    assert done.returncode == 0, f"{command}: {done.stderr}"


def script(name, *args):
    """Run bench/report/NAME; return the finished process."""
    return subprocess.run(
        [sys.executable, str(REPORT / name), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def skip_without_server():
    """Exit with 77 where there is nothing to measure."""
    if not SERVER:
        print("no redis-server and no valkey-server")
        sys.exit(77)
