#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare two runs of shoal-bench --json: old, new, and what is beyond the noise.

Runs belong together if their configurations are the same.  A change is beyond the
noise if the medians differ by more than the rounds of the two files differ among
themselves (highest less lowest, both added up) and by more than 2 %.  With a single
round the noise is not known.

Exit codes: 0; 1 with --strict if something is worse; 2 if the files cannot be compared.
"""

import argparse
import math
import sys
from collections import Counter
from typing import Any

from pages.parts import rounds_of
from pages.results import Unreadable, read, value_of

WORSE, UNREADABLE = 1, 2
NOISE_FLOOR = 0.02

FIGURES = (  # key, name, whether more is better
    ("ops_per_s", "commands/s", True),
    ("latency_us.p50", "p50, us", False),
    ("latency_us.p99", "p99, us", False),
    ("client_cpu_us_per_op", "client CPU, us", False),
    ("server_cpu_us_per_op", "server CPU, us", False),
)
# What makes two runs the same measurement.
SAME = (
    "mode",
    "flush",
    "callers",
    "threads",
    "connections",
    "budget_us",
    "command",
    "value_bytes",
    "value_bytes_max",
    "keyspace",
    "key_pattern",
    "sets",
    "gets",
    "verify",
    "resp",
    "rate",
    "ladder",
    "beside_rate",
    "pushes",
    "large_bytes",
    "arrivals",
    "rtt_us",
    "link",
    "transport",
    "requests",
    "private_server",
)
WORDS = {
    "unknown": "? one round",
    "same": "within the noise",
    "better": "BETTER",
    "worse": "WORSE",
}


def is_same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two configurations agree in what both say: an older file knows less."""
    return all(old[key] == new[key] for key in SAME if key in old and key in new)


def judge(
    old: float,
    new: float,
    old_rounds: list[float],
    new_rounds: list[float],
    more_is_better: bool,
) -> str:
    """unknown, same, better or worse."""
    if len(old_rounds) < 2 or len(new_rounds) < 2:
        return "unknown"
    noise = sum(max(rounds) - min(rounds) for rounds in (old_rounds, new_rounds))
    if abs(new - old) <= max(noise, NOISE_FLOOR * abs(old)):
        return "same"
    return "better" if (new > old) == more_is_better else "worse"


def short(value: float) -> str:
    """Four characters that matter, as in the tables of shoal-bench."""
    for limit, factor, digits, unit in (
        (9.995e6, 1e6, 1, "M"),
        (999500, 1e6, 2, "M"),
        (99950, 1e3, 0, "k"),
        (9995, 1e3, 1, "k"),
        (99.95, 1, 0, ""),
        (9.995, 1, 1, ""),
    ):
        if value >= limit:
            return f"{value / factor:.{digits}f}{unit}"
    return f"{value:.2f}"


def compare_run(old: dict[str, Any], new: dict[str, Any]) -> Counter[str]:
    """Print one run's figures; how many verdicts of each kind there were."""
    config = new["config"]
    line = f"{new.get('strategy', '?')}, {config.get('callers', 0)} callers"
    if config.get("rate"):
        line += f", {config['rate']}/s"
    if config.get("rtt_us"):
        line += f", {config['rtt_us']} us of added round trip"
    if config.get("transport") == "tcp":
        line += ", TCP"
    print(f"{line}; {config.get('command', '?')}")

    verdicts: Counter[str] = Counter()
    for key, name, more_is_better in FIGURES:
        before, after = value_of(old, key), value_of(new, key)
        if math.isnan(before) or math.isnan(after):
            continue
        verdict = judge(
            before, after, rounds_of(old, key), rounds_of(new, key), more_is_better
        )
        verdicts[verdict] += 1
        change = after / before - 1 if before else math.nan
        print(
            f"  {name:<16} {short(before):>8} {short(after):>8}  {change * 100:+7.1f} %"
            f"  {WORDS[verdict]}"
        )
    return verdicts


def compare(old: dict[str, Any], new: dict[str, Any]) -> Counter[str] | None:
    """Print all runs of the one that are in the other; None if there are none."""
    verdicts: Counter[str] = Counter()
    pairs = 0
    print(f"{'':<18} {'old':>8} {'new':>8}  {'change':>9}")
    for run in new["runs"]:
        former = next(
            (r for r in old["runs"] if is_same(r["config"], run["config"])), None
        )
        if former is not None:
            pairs += 1
            verdicts += compare_run(former, run)
    if pairs < max(len(old["runs"]), len(new["runs"])):
        print(
            f"{pairs} of {len(old['runs'])} old and {len(new['runs'])} new runs belong"
            " together"
        )
    print(
        f"{verdicts['better']} better, {verdicts['worse']} worse beyond the noise: the"
        " medians differ by more than\nthe rounds of both files do among themselves,"
        f" and by more than {NOISE_FLOOR:.0%}"
    )
    return verdicts if pairs else None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", help="a file of shoal-bench --json")
    parser.add_argument("new", help="another one, of the same configuration")
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 if something is worse"
    )
    arguments = parser.parse_args()
    try:
        verdicts = compare(read(arguments.old), read(arguments.new))
    except Unreadable as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return UNREADABLE
    if verdicts is None:
        print("compare.py: no run of the one file is in the other", file=sys.stderr)
        return UNREADABLE
    return WORSE if arguments.strict and verdicts["worse"] else 0


if __name__ == "__main__":
    sys.exit(main())
