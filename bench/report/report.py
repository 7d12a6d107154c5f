#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw the results of shoal-bench --json as one HTML file that needs no other.

Exit codes: 0; 1: the page cannot be written; 2: the results cannot be read;
3: matplotlib is not installed.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

UNWRITABLE, UNREADABLE, NO_MATPLOTLIB = 1, 2, 3
SYSTEM_PYTHON = "/usr/bin/python3"  # what the system's package is installed for


def need_matplotlib() -> None:
    """Return if matplotlib is there; go on with the system's Python if it has it."""
    if importlib.util.find_spec("matplotlib"):
        return
    if os.path.exists(SYSTEM_PYTHON) and sys.executable != SYSTEM_PYTHON:
        probe = [SYSTEM_PYTHON, "-c", "import matplotlib"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            sys.stdout.flush()
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    print(
        "report.py: the report is drawn by matplotlib, which is not installed:\n"
        "    apt-get install python3-matplotlib     (Debian, Ubuntu)\n"
        f"    {sys.executable} -m pip install matplotlib",
        file=sys.stderr,
    )
    sys.exit(NO_MATPLOTLIB)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="a file of shoal-bench --json")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the page [RESULTS with .html for .json]",
    )
    arguments = parser.parse_args()
    output = arguments.output or arguments.results.with_suffix(".html")
    need_matplotlib()
    import matplotlib
    from pages.drawing import STYLE
    from pages.page import page
    from pages.results import Unreadable, read

    try:
        with matplotlib.rc_context(STYLE):
            text = page(read(arguments.results))
        output.write_text(text, encoding="utf-8")
    except Unreadable as problem:
        print(f"report.py: {problem}", file=sys.stderr)
        return UNREADABLE
    except OSError as error:
        print(f"report.py: {output}: {error.strerror}", file=sys.stderr)
        return UNWRITABLE
    print(f"report: {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
