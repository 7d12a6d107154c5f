#!/usr/bin/env python3
"""Show what failed in the log of a CI stage: the failing tests' own words.

    tools/show_failures.py <log> [lines]

The log has the output of `ctest --output-on-failure` or of pytest.  Each failed test
gets its share of the lines.  Cases that passed are left out; of a sanitizer's report
the beginning is shown.  Of a log without a failed test the end is shown.
"""

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

LINES = 60  # in all
LINES_LEAST = 12  # of a test, if so many failed that they must share
REPORT_LINES = 40  # of a sanitizer

RESULT = re.compile(r"^ *(?:\d+/\d+)? *Test +#\d+: (\S+) \.*(.*)$")
START = re.compile(r"^ +Start +\d+: ")
TOTAL = re.compile(r"^\d+% tests passed")
NO_FAILURE = re.compile(r"Passed|\*\*\*Skipped|Not Run \(Disabled\)")

PYTEST_FAILURES = re.compile(r"^=+ (FAILURES|ERRORS) =+$")
PYTEST_TEST = re.compile(r"^_{3,} (.+?) _{3,}$")
PYTEST_END = re.compile(r"^=+ .+ =+$")

REPORT = re.compile(r"(WARNING|ERROR): (Thread|Address|Leak|Memory)Sanitizer")
REPORT_END = re.compile(r"^(SUMMARY: \w+Sanitizer|ThreadSanitizer: reported)")
NOISE = re.compile(r"^=*$|^\[=+\] |^\[ +(OK|PASSED|SKIPPED) +\] ")
BEGUN = re.compile(r"^\[ RUN +\] (\S+)")
MARK = re.compile(
    REPORT.pattern
    + r"|^\[ +(ERROR|FAILED) +\]|runtime error: |^Traceback |^E  |[Aa]ssertion.*failed"
    + r"|^\S+:\d+: "
)


@dataclass
class Failure:
    """A test, and what it said."""

    name: str
    lines: list[str] = field(default_factory=list)


def failures_of(log: Iterable[str]) -> list[Failure]:
    """Of ctest and of pytest, in the order of the log."""
    found: list[Failure] = []
    current: Failure | None = None
    in_pytest = False
    for line in log:
        result = RESULT.match(line)
        if result:
            current = None
            if not NO_FAILURE.search(result[2]):
                current = Failure(f"{result[1]} {result[2].strip(' *')}")
                found.append(current)
        elif START.match(line) or TOTAL.match(line):
            current = None
        elif PYTEST_FAILURES.match(line):
            in_pytest, current = True, None
        elif in_pytest and PYTEST_TEST.match(line):
            current = Failure(PYTEST_TEST.sub(r"\1", line))
            found.append(current)
        elif in_pytest and PYTEST_END.match(line):
            in_pytest, current = False, None
        elif current is not None:
            current.lines.append(line)
    return found


def without_noise(lines: list[str]) -> Iterator[str]:
    """Leave out the cases that passed, and the rest of each long report."""
    left = 0  # lines that the report under way may still have
    in_report = False
    for at, line in enumerate(lines):
        if REPORT.search(line):
            in_report, left = True, REPORT_LINES
        if in_report:
            left -= 1
            if left >= 0:
                yield line
            elif left == -1:
                yield "  ..."
            in_report = not REPORT_END.match(line)
            continue
        begun = BEGUN.match(line)
        if NOISE.match(line) or (begun and passes(begun[1], lines[at:])):
            continue
        yield line


def passes(case: str, lines: list[str]) -> bool:
    """Does the case of cmocka end well?"""
    return any(re.match(rf"\[ +OK +\] {re.escape(case)}$", line) for line in lines)


def shortened(lines: list[str], most: int) -> list[str]:
    """From the first line that says what is wrong, and the end."""
    kept = list(without_noise(lines))
    if len(kept) <= most:
        return kept
    first = next((at for at, line in enumerate(kept) if MARK.search(line)), len(kept))
    first = min(max(first - 1, 0), len(kept) - most)
    kept = kept[first:]
    if len(kept) <= most:
        return kept
    end = most // 4
    return [*kept[: most - end - 1], "  ...", *kept[-end:]]


def shown(path: Path, most: int) -> Iterator[str]:
    """What is printed for a log."""
    with path.open(errors="replace") as log:
        failures = failures_of(line.rstrip("\n") for line in log)
    if not failures:
        with path.open(errors="replace") as log:
            yield from (line.rstrip("\n") for line in deque(log, most))
        return
    share = max(most // len(failures) - 2, LINES_LEAST)
    fit = max(most // (share + 2), 1)
    for failure in islice(failures, fit):
        yield ""
        yield f"--- {failure.name}"
        yield from shortened(failure.lines, share)
    for failure in failures[fit:]:
        yield f"--- {failure.name}: see the log"


def main() -> int:
    """Print it."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    most = int(sys.argv[2]) if len(sys.argv) == 3 else LINES
    for line in shown(Path(sys.argv[1]), most):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
