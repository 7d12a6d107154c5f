# SPDX-License-Identifier: MIT
"""The JSON of shoal-bench, read for charts: strategies, points, and groups of points.

A point is one load: a number of callers, or a rate.  Points that differ in nothing else
are a group, whose axis they share.  A line is one strategy at all points.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOAL_MODES = ("callback", "sync", "borrowed", "queue", "lease", "beside", "mixed")
TRANSPORT_WORDS = {"unix": "a Unix socket", "tcp": "TCP"}
CURVE_POINTS = 3  # fewer points are bars, not curves


class Unreadable(Exception):
    """A file is not what shoal-bench --json writes."""


def cleaned(value: Any) -> Any:
    """`value` without control characters in its texts: they mean nothing on a page."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() else "\ufffd" for c in value)
    if isinstance(value, list):
        return [cleaned(element) for element in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(element) for key, element in value.items()}
    return value


def read(path: str | Path) -> dict[str, Any]:
    """The file's content; raises Unreadable with a sentence that names the file."""
    try:
        content = json.loads(Path(path).read_text("utf-8", errors="replace"))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Unreadable(f"{path}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("runs"), list):
        raise Unreadable(f"{path}: is not a file of shoal-bench --json")
    runs = content["runs"]
    if not all(isinstance(r, dict) and isinstance(r.get("config"), dict) for r in runs):
        raise Unreadable(f"{path}: a run has no configuration")
    result: dict[str, Any] = cleaned(content)
    return result


def figures(holder: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Each figure of a run or a round: its key, with dots between, and its value."""
    for key, value in holder.items():
        if key in ("config", "rounds", "strategy", "first_error"):
            continue
        if isinstance(value, dict):
            for name, inner in figures(value):
                yield f"{key}.{name}", inner
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                yield f"{key}.{number}", inner
        elif value is None or isinstance(value, int | float):
            yield key, value


def value_of(holder: dict[str, Any], key: str) -> float:
    """A figure by its key; NaN if it was not measured."""
    value: Any = holder
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) else math.nan


def is_shoal(mode: str) -> bool:
    """Whether the mode uses the library."""
    return mode.split(":")[0] in SHOAL_MODES


@dataclass
class Line:
    """One strategy at all points."""

    mode: str  # without a depth that follows the callers
    flush: str
    label: str = ""
    color: str = ""  # its name in the palette
    marker: str = "o"
    is_strong: bool = False
    is_dashed: bool = False


@dataclass
class Point:
    """One load, and its runs by line."""

    value: int  # callers, or the rate
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Group:
    """Points that share an axis, in its order."""

    is_open: bool
    rtt_us: int
    callers: int  # of an open loop
    transport: str = ""  # unix, tcp; "": an older file
    points: list[Point] = field(default_factory=list)
    name: str = ""  # what sets it apart from the other groups

    @property
    def has_curves(self) -> bool:
        return len(self.points) >= CURVE_POINTS


class Study:
    """All of one file."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.runs: list[dict[str, Any]] = content["runs"]
        self.profile = str(content.get("profile", "plain"))
        self.is_step = self.profile == "step"
        self.comes_and_goes = self.is_step or self.profile == "ladder"
        self.findings: list[dict[str, str]] = content.get("findings", [])
        self.lines: list[Line] = []
        self.groups: list[Group] = []
        self._collect()
        self._name_groups()

    @property
    def spread(self) -> float:
        """The greatest spread of a throughput between rounds, as a share."""
        spreads = [value_of(run, "ops_per_s_spread") for run in self.runs]
        return max((s for s in spreads if not math.isnan(s)), default=0.0)

    def point_name(self, group: Group, point: Point) -> str:
        """128 callers, 50 k commands/s; with the group's name if there is one."""
        if group.is_open:
            text = f"{point.value:,} commands/s".replace(",", "\u202f")
        else:
            text = f"{point.value} caller{'' if point.value == 1 else 's'}"
            text += ", coming and going" if self.comes_and_goes else ""
        return f"{text}, {group.name}" if group.name else text

    def all_points(self) -> Iterator[tuple[Group, Point]]:
        for group in self.groups:
            for point in group.points:
                yield group, point

    def _collect(self) -> None:
        following = self._modes_that_follow_callers()
        for run in self.runs:
            config = run["config"]
            mode = str(config.get("mode", "?"))
            if mode.split(":")[0] in following:
                mode = mode.split(":")[0]
            line = self._line(mode, str(config.get("flush", "")))
            self._point(config).runs[line] = run
        for group in self.groups:
            group.points.sort(key=lambda point: point.value)

    def _modes_that_follow_callers(self) -> set[str]:
        """Modes whose depth is the number of callers, at points with different ones."""
        depths: dict[str, set[tuple[str, int]]] = {}
        for run in self.runs:
            mode, _, depth = str(run["config"].get("mode", "?")).partition(":")
            if depth:
                callers = run["config"].get("callers", 0)
                depths.setdefault(mode, set()).add((depth, callers))
        return {
            mode
            for mode, pairs in depths.items()
            if len(pairs) > 1 and all(depth == str(callers) for depth, callers in pairs)
        }

    def _line(self, mode: str, flush: str) -> int:
        for number, line in enumerate(self.lines):
            if (line.mode, line.flush) == (mode, flush):
                return number
        self.lines.append(Line(mode, flush))
        return len(self.lines) - 1

    def _point(self, config: dict[str, Any]) -> Point:
        rate = int(config.get("rate", 0))
        callers = int(config.get("callers", 0))
        key = (
            rate > 0,
            int(config.get("rtt_us", 0)),
            callers if rate else 0,
            str(config.get("transport", "")),
        )
        for group in self.groups:
            if (group.is_open, group.rtt_us, group.callers, group.transport) == key:
                break
        else:
            group = Group(*key)
            self.groups.append(group)
        for point in group.points:
            if point.value == (rate or callers):
                return point
        group.points.append(Point(rate or callers))
        return group.points[-1]

    def _name_groups(self) -> None:
        has_rtt = any(group.rtt_us for group in self.groups)
        limits = {group.callers for group in self.groups if group.is_open}
        transports = {group.transport for group in self.groups}
        for group in self.groups:
            parts = []
            if len(transports) > 1:
                parts.append(TRANSPORT_WORDS.get(group.transport, group.transport))
            if has_rtt and group.rtt_us:
                parts.append(f"{duration(group.rtt_us)} of round trip added")
            elif has_rtt:
                parts.append("no round trip added")
            if group.is_open and len(limits) > 1:
                parts.append(f"up to {group.callers} callers")
            group.name = ", ".join(parts)


def duration(us: float) -> str:
    """200 µs, 5 ms, 1 s."""
    if us >= 1e6:
        return f"{us / 1e6:g}\u00a0s"
    if us >= 1000:
        return f"{us / 1000:g}\u00a0ms"
    return f"{us:g}\u00a0\u00b5s"


def moment(us: float) -> str:
    """148 µs, 1.41 ms: a latency with its unit."""
    if us >= 999.5:
        return f"{three_digits(us / 1000)}\u00a0ms"
    return f"{number(us)}\u00a0\u00b5s"


def number(value: float) -> str:
    """1.25 M, 697 k, 15.3, 0.063: three digits that matter; a dash for NaN."""
    if math.isnan(value):
        return "\u2013"
    if math.isinf(value):
        return "never"
    for limit, factor, unit in ((999_500, 1e6, "\u00a0M"), (9995, 1e3, "\u00a0k")):
        if abs(value) >= limit:
            return f"{three_digits(value / factor)}{unit}"
    return three_digits(value)


def three_digits(value: float) -> str:
    """Three digits that matter, and no exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.0995 else f"{value:.3g}"
