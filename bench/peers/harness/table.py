# SPDX-License-Identifier: MIT
"""The Markdown table of one load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import messages
from .figures import ratio
from .markdown import grid, number, percent, times
from .measure import Load, Result
from .rows import SHOAL_CALLBACK, SHOAL_SYNC, Row

if TYPE_CHECKING:
    from .report import Report


def cells(row: Row, result: Result, results: dict[str, Result]) -> list[str]:
    latency = result["latency_us"]
    client = number(result["client_cpu_us_per_op"], 2)
    if result.get("generator_cpu_us_per_op") is not None:
        client += f" ({number(result['generator_cpu_us_per_op'], 2)})"
    return [
        row.name,
        row.callers,
        number(result["ops_per_s"]) + percent(result["ops_per_s_spread"]),
        times(ratio(result, results.get(SHOAL_CALLBACK))),
        times(ratio(result, results.get(SHOAL_SYNC))),
        number(latency["p50"]),
        number(latency["p99"]),
        number(latency["p99_9"]),
        client,
        number(result["server_cpu_us_per_op"], 2),
        number(result["commands_per_server_read"], 1),
        number(result["connections"]),
        number(result["errors"]),
    ]


HEAD = [
    "client",
    "callers are",
    "commands/s",
    "of shoal/callback",
    "of shoal/sync",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "client CPU us/op",
    "server CPU us/op",
    "commands per read",
    "connections",
    "errors",
]
LEFT = 2  # columns of text
RATE_KEPT = 0.98  # of the rate: less is a client that cannot keep it


def order(load: Load, result: Result) -> tuple[int, float]:
    """The fastest row first. At a given rate: those that keep it, the cheapest first,
    then the others."""
    if not load.rate:
        return (0, -result["ops_per_s"])
    if result["ops_per_s"] >= RATE_KEPT * load.rate:
        return (0, result["client_cpu_us_per_op"])
    return (1, -result["ops_per_s"])


def table(load: Load, rows: list[Row], results: dict[str, Result]) -> list[str]:
    """The lines of the table."""
    measured = [row for row in rows if row.name in results]
    measured.sort(key=lambda row: order(load, results[row.name]))
    lines = [cells(row, results[row.name], results) for row in measured]
    return grid(HEAD, lines, LEFT)


def versions(report: Report) -> str:
    """Of everything that was measured."""
    found: dict[str, str] = {}
    for _, results in report.results:
        for result in results.values():
            found.update((result["config"] or {}).get("versions") or {})
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def document(report: Report) -> str:
    """The whole Markdown document."""
    lines = ["# shoal and its peers", ""]
    lines += [f"- {name}: {value}" for name, value in report.conditions.items()]
    if versions(report):
        lines.append(f"- versions: {versions(report)}")
    for load, results in report.results:
        make = messages.table if load.channels else table
        lines += ["", f"## {load.title()}", "", *make(load, report.rows, results)]
        if load.rate and not load.channels:
            lines += [
                "",
                "Client CPU includes the load generator, whose own cost per "
                "command is given in brackets; shoal-bench's spins, which "
                "it leaves out. Rows that keep the rate come first, the cheapest "
                "at the top.",
            ]
    if report.skipped:
        lines += ["", "## Not measured", ""]
        lines += [f"- {name}: {reason}" for name, reason in report.skipped.items()]
    return "\n".join(lines) + "\n"
