#!/usr/bin/env python3
"""Print gcovr's summary of src/ as a table, and fail if too little is covered.

check_coverage.py SUMMARY LINES_MIN BRANCHES_MIN [FILE ...]: percentages of the whole;
each FILE, named below src/, must have every branch covered.
"""

import json
import sys
from pathlib import Path
from typing import Any


def percent(part: int, whole: int) -> float:
    return 100.0 if whole == 0 else 100.0 * part / whole


def row(name: str, entry: dict[str, Any]) -> str:
    cells = []
    for kind in ("line", "branch"):
        covered, total = entry[f"{kind}_covered"], entry[f"{kind}_total"]
        cells.append(f"{covered:5}/{total:<5}{percent(covered, total):6.1f} %")
    return f"{name:24} {cells[0]}  {cells[1]}"


def main() -> int:
    summary = json.loads(Path(sys.argv[1]).read_text())
    minima = {"line": float(sys.argv[2]), "branch": float(sys.argv[3])}
    files = {
        entry["filename"].removeprefix("src/"): entry for entry in summary["files"]
    }
    failures = []

    print(f"{'file':24} {'lines':>19}  {'branches':>19}")
    for name, entry in sorted(files.items()):
        print(row(name, entry))
    print(row("all", summary))

    for kind, least in minima.items():
        reached = percent(summary[f"{kind}_covered"], summary[f"{kind}_total"])
        if reached < least:
            failures.append(f"{kind} coverage is {reached:.1f} %, below {least:g} %")
    for name in sys.argv[4:]:
        if name not in files:
            failures.append(f"{name} was not measured")
        elif files[name]["branch_covered"] < files[name]["branch_total"]:
            missing = files[name]["branch_total"] - files[name]["branch_covered"]
            failures.append(f"{name}: {missing} branches are not covered")
    print("\n".join(failures) or "coverage ok")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
