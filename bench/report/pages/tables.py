# SPDX-License-Identifier: MIT
"""Sections without charts: batches, all figures, and how to measure again."""

import math
import re
import shlex
from html import escape
from typing import Any

from pages.charts import chosen
from pages.parts import cell, line_row, rounds_of, section, strong, table
from pages.results import (
    SHOAL_MODES,
    Group,
    Point,
    Study,
    figures,
    number,
    value_of,
)

HEADS = {
    "ops_per_s": "commands per second",
    "ops_per_s_spread": "rounds differ by \u00b1, as a share",
    "commands": "commands of a round",
    "seconds": "seconds of a round",
    "client_cpu_us_per_op": "client CPU per command, \u00b5s",
    "client_cpu_percent": "client CPU, % of one",
    "server_cpu_us_per_op": "server CPU per command, \u00b5s",
    "server_cpu_percent": "server CPU, % of one",
    "cpu_us_per_op": "CPU of both ends per command, \u00b5s",
    "voluntary_switches": "times a client thread went to sleep, per command",
    "involuntary_switches": "times a client thread lost its CPU, per command",
    "commands_per_write": "commands per write",
    "commands_per_server_read": "commands per read of the server",
    "writes": "writes per command",
    "reads": "reads per command",
    "wakeups": "wake-ups of the loop per command",
    "caller_wakeups": "wake-ups of callers per command",
    "direct_calls": "direct calls per command",
    "handovers": "handovers of the loop per command",
    "step_base_us": "median latency before the step, \u00b5s",
    "step_settled_ms": "settled after the step, ms",
    "step_settled_ms_max": "settled after the step, slowest, ms",
    "beside_per_s": "callbacks per second, beside",
    "large_per_s": "large values per second, beside",
    "peak_rss_bytes": "peak memory, bytes",
    "allocations_per_op": "allocations per command",
    "lost_messages": "messages lost",
    "errors": "errors",
}
GROUPS = {
    "latency_us": "latency",
    "service_latency_us": "latency from submission",
    "beside_latency_us": "latency of the callbacks beside",
}
STEPS = {
    "ladder_ops_per_s": "calls per second after step",
    "ladder_reached_ms": "ms until there, median, step",
    "ladder_reached_ms_max": "ms until there, slowest, step",
    "ladder_late": "times later than 100 ms, step",
    "ladder_stall_ms": "longest ms without the end of a call, step",
}
PERCENTILE = {"p0": "fastest", "p100": "slowest"}


def head_of(key: str) -> str:
    """How the row of a figure is headed; an unknown one by its key."""
    group, _, name = key.partition(".")
    if group in GROUPS:
        return (
            f"{GROUPS[group]}, {PERCENTILE.get(name, name.replace('_', '.'))}, \u00b5s"
        )
    if group in STEPS:
        return f"{STEPS[group]} {name}"
    if group == "batch_histogram":
        low = 2 ** int(name)
        return f"flushes of {low} to {2 * low - 1}" if low > 1 else "flushes of 1"
    if group == "flush_reasons":
        return f"flushes, {name}"
    return HEADS.get(key, key)


def point_table(study: Study, point: Point) -> str:
    """Every figure of a point that is not nothing in all columns."""
    keys = list(
        dict.fromkeys(k for run in point.runs.values() for k, _ in figures(run))
    )
    lines = [study.lines[index] for index in point.runs]
    rows = []
    for key in keys:
        values = [value_of_key(run, key) for run in point.runs.values()]
        is_count = key.startswith(("batch_histogram", "flush_reasons"))
        if all(math.isnan(value) or (is_count and value == 0) for value in values):
            continue
        cells = ""
        for run, line, value in zip(point.runs.values(), lines, values, strict=True):
            rounds = rounds_of(run, key)
            title = (
                f" title='rounds: {', '.join(map(number, rounds))}'" if rounds else ""
            )
            text = f"{value:.0f}" if is_count and value == value else ""
            cells += cell(value, text, strong(line) + title)
        rows.append(f"<tr><th scope='row'>{escape(head_of(key))}</th>{cells}</tr>\n")
    return table(["", *(line.label for line in lines)], rows)


def value_of_key(run: dict[str, Any], key: str) -> float:
    """Like value_of(), also for an element of a list."""
    group, _, place = key.partition(".")
    if isinstance(run.get(group), list):
        return float(run[group][int(place)]) if place else math.nan
    return value_of(run, key)


def all_figures(study: Study) -> str:
    content = ""
    for group, point in study.all_points():
        content += f"<h3>{escape(study.point_name(group, point))}</h3>\n"
        content += point_table(study, point)
    return section(
        "figures",
        "All figures",
        "Medians of the rounds; the counts of flushes are sums. Point at a figure for"
        " its rounds. A dash: not measured in that mode.",
        f"<details><summary>Show {len(study.runs)} columns of figures</summary>\n"
        f"{content}</details>\n",
    )


# Batches

REASONS = {
    "lone": "the only command there was",
    "full": "a bound of bytes or commands",
    "complete": "nobody was left to wait for",
    "gate": "enough for those in flight",
    "budget": "the pause or the latency budget was spent",
    "turn": "the policy is off",
    "urgent": "a command asked for it",
    "deadline": "a command\u2019s time was nearly over",
    "stagger": "the second half of a batch that was split",
}


def shares(study: Study, point: Point, key: str) -> dict[int, dict[str, float]]:
    """Of each line that counted its flushes: the share of each size, or reason."""
    found = {}
    for index, run in point.runs.items():
        counts = run.get(key)
        if isinstance(counts, list):
            counts = {str(2**place): count for place, count in enumerate(counts)}
        if not isinstance(counts, dict):
            continue
        total = sum(counts.values())
        if total:
            found[index] = {name: count / total for name, count in counts.items()}
    return found


def share_figure(
    study: Study, title: str, found: dict[int, dict[str, float]], corner: str
) -> str:
    """A table of shares, the more the darker."""
    names = [
        name
        for name in next(iter(found.values()))
        if any(row.get(name, 0) > 0 for row in found.values())
    ]
    rows = []
    for index, row in found.items():
        cells = "".join(
            cell(
                row.get(name, 0) * 100,
                percent(row.get(name, 0)),
                f" class='heat' style='--h:{45 * math.sqrt(row.get(name, 0)):.0f}'",
            )
            for name in names
        )
        rows.append(line_row(study.lines[index], cells))
    return (
        f"<figure>\n<figcaption>{escape(title)}</figcaption>\n"
        f"{table([corner, *names], rows)}</figure>\n"
    )


def percent(share: float) -> str:
    """Whole percents; what is less than one is not nothing."""
    if share == 0:
        return "\u00b7"
    return f"{share * 100:.0f}" if share >= 0.01 else "<1"


def has_batches(study: Study, group: Group, point: Point) -> bool:
    is_alone = not group.is_open and point.value == 1
    return not is_alone and bool(shares(study, point, "batch_histogram"))


def batches(study: Study) -> str:
    """How large batches were, and why they left, at some points of each group."""
    content = ""
    for group in study.groups:
        for point in chosen(group):
            if not has_batches(study, group, point):
                continue
            sizes = shares(study, point, "batch_histogram")
            reasons = shares(study, point, "flush_reasons")
            content += f"<h3>{escape(study.point_name(group, point))}</h3>\n"
            content += "<div class='panels broad'>\n"
            content += share_figure(
                study, "Commands per flush, % of the flushes", sizes, "from"
            )
            if reasons:
                content += share_figure(
                    study, "Why flushes happened, % of the flushes", reasons, "reason"
                )
            content += "</div>\n"
    if not content:
        return ""
    words = "; ".join(f"<i>{name}</i>: {text}" for name, text in REASONS.items())
    return section(
        "batches",
        "Batches",
        "A flush is one batch that leaves. On the left: how many of a strategy\u2019s"
        " flushes carried from so many commands to the next column\u2019s. The further"
        " to the right, the fewer system calls per command. On the right: what made"
        f" them leave. {words}.",
        content,
    )


# Measure it again


def option(name: str, value: Any, default: Any) -> list[str]:
    return [] if value in (default, None, "") else [name, f"{value}"]


def point_command(study: Study, point: Point) -> str:
    """One point by itself, its options in full."""
    runs = list(point.runs.values())
    config = runs[0]["config"]
    words = ["shoal-bench"]
    if not config.get("private_server", True):
        words += ["-u", str(config.get("url", ""))]
    elif "127.0.0.1" in str(config.get("url", "")):
        words.append("--tcp")
    if config.get("client_cpu") is None and config.get("server_cpu") is None:
        words.append("--no-pin")
    words += option("--resp", config.get("resp"), 3)
    words += option("--rtt", config.get("rtt_us"), 0)
    words += option("--link", config.get("link"), "")
    words += ["--mode", str(config.get("mode"))]
    words += option("--flush", config.get("flush"), "")
    others = [
        f"{run['config'].get('mode')}+{run['config'].get('flush')}".rstrip("+")
        for run in runs[1:]
    ]
    words += option("--against", ",".join(others), "")
    words += ["-c", str(config.get("callers"))]
    words += option("--rate", config.get("rate"), 0)
    words += option("--beside-rate", config.get("beside_rate"), 0)
    words += option("--pushes", config.get("pushes"), 0)
    words += option("--large", config.get("large_bytes"), 0)
    if config.get("rate"):
        words += option("--arrivals", config.get("arrivals"), "even")
    words += option("-t", shared(runs, "threads", ("queue", "explicit", "raw")), 1)
    words += option(
        "--connections",
        shared(runs, "connections", (*SHOAL_MODES, "explicit")),
        1,
    )
    words += option("--budget", config.get("budget_us"), 0)
    words += option("-n", config.get("requests"), 0)
    if not config.get("requests"):
        words += option("--duration", config.get("duration_s"), None)
    words += option("--warmup", config.get("warmup_s"), None)
    words += option("--rounds", config.get("rounds"), None)
    if config.get("value_bytes_max", 0) > config.get("value_bytes", 0):
        low, high = config["value_bytes"], config["value_bytes_max"]
        words += ["--data-range", f"{low}-{high}"]
    else:
        words += option("-d", config.get("value_bytes"), 16)
    words += option("-r", config.get("keyspace"), 0)
    words += option("--key-pattern", config.get("key_pattern"), "uniform")
    if config.get("sets", 0) + config.get("gets", 0) > 0:
        words += ["--ratio", f"{config['sets']}:{config['gets']}"]
    words += option("--seed", config.get("seed"), 1)
    if config.get("verify"):
        words.append("--verify")
    if config.get("rate") or not config.get("pushes"):
        words += ["--", *str(config.get("command", "")).split(" ")]
    return shlex.join(words)


def shared(runs: list[dict[str, Any]], key: str, modes: tuple[str, ...]) -> int:
    """What an option was, seen in the runs of the modes that it is for; else 1."""
    values = [
        int(run["config"].get(key, 1))
        for run in runs
        if str(run["config"].get("mode", "")).split(":")[0] in modes
    ]
    return min(values, default=1)


def profile_command(study: Study) -> str:
    """The profile, with the points that were measured."""

    def whole(numbers: set[int]) -> str:
        return ",".join(map(str, sorted(numbers)))

    groups = study.groups
    points = [(group, point) for group, point in study.all_points()]
    callers = whole({p.value for g, p in points if not g.is_open})
    rates = whole({p.value for g, p in points if g.is_open})
    rtts = whole({group.rtt_us for group in groups})
    flushes = ",".join(dict.fromkeys(line.flush for line in study.lines if line.flush))
    depths = whole(
        {
            int(m[1])
            for line in study.lines
            if (m := re.fullmatch(r"explicit:(\d+)", line.mode))
        }
    )
    config = study.runs[0]["config"]
    rungs = ",".join(map(str, config.get("ladder", [])))
    beside = str(config.get("beside_rate", 0))
    words = ["shoal-bench", "--profile", study.profile]
    parts = {
        "sweep": ["--callers-list", callers, "--rtts", rtts, "--flushes", flushes],
        "rate": ["--rates", rates, "--flushes", flushes],
        "latency": ["--rtts", rtts],
        "matrix": ["--callers-list", callers, "--batches", depths],
        "step": ["-c", callers, "--flushes", flushes],
        "mixed": ["-c", callers, "--rtts", rtts, "--beside-rate", beside],
        "ladder": ["--callers-list", rungs, "--rtts", rtts, "--flushes", flushes],
        "threads": ["--callers-list", callers, "--rtts", rtts, "--flushes", flushes],
    }
    words += parts.get(study.profile, [])
    transports = {group.transport for group in groups}
    if study.profile in ("threads", "mixed", "ladder") and len(transports) == 1:
        words += [f"--{transport}" for transport in transports]
    if study.profile in parts:
        for name, key in (
            ("--duration", "duration_s"),
            ("--warmup", "warmup_s"),
            ("--rounds", "rounds"),
        ):
            words += option(name, config.get(key), None)
    return shlex.join(words)


def reproduce(study: Study) -> str:
    content = ""
    if study.profile != "plain":
        content += (
            f"<p>The whole set:</p>\n<pre>{escape(profile_command(study))}</pre>\n"
        )
    # What these profiles measure has no options of its own.
    if study.profile not in ("step", "matrix", "ladder"):
        commands = [point_command(study, point) for _, point in study.all_points()]
        text = escape("\n".join(commands))
        if len(commands) > 3:
            content += (
                "<details><summary>Each point by itself, its options in"
                f" full</summary>\n<pre>{text}</pre></details>\n"
            )
        else:
            content += f"<p>Each point, its options in full:</p>\n<pre>{text}</pre>\n"
    content += (
        "<p class='reading'>Credentials, if there were any, are left out."
        " <code>bench/report/compare.py OLD.json NEW.json</code> says which differences"
        " between two runs are beyond the noise.</p>\n"
    )
    return section(
        "again",
        "Measure it again",
        "Do not trust these figures for your case: measure your server"
        " (<code>-u</code>), your command, your callers.",
        content,
    )
