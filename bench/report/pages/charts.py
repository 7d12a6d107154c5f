# SPDX-License-Identifier: MIT
"""Which charts a study has: bars and marks for few points, curves for many."""

import math
from dataclasses import dataclass

from pages import drawing
from pages.parts import cell, figure, line_row, panels, rounds_of, section, table
from pages.results import Group, Line, Point, Study, number, value_of

PERCENTILES = (
    ("p50", "50"),
    ("p90", "90"),
    ("p95", "95"),
    ("p99", "99"),
    ("p99_9", "99.9"),
    ("p99_99", "99.99"),
    ("p100", "max"),
)
FEW_POINTS = 3  # of a group with curves that are looked at one by one


@dataclass
class Quantity:
    """A chart of rows, or a curve: its title, its figures, and what they count."""

    title: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    unit: str  # of an axis
    suffix: str = ""  # of a value in words


THROUGHPUT = Quantity(
    "Throughput", ("ops_per_s",), ("commands/s",), "commands per second"
)
CPU = Quantity(
    "CPU of both ends",
    ("client_cpu_us_per_op", "server_cpu_us_per_op"),
    ("client", "server"),
    "\u00b5s of CPU per command",
    "\u00a0\u00b5s",
)
LATENCY = Quantity(
    "Latency",
    tuple(f"latency_us.{p}" for p in ("p50", "p90", "p99", "p99_9")),
    ("p50", "p90", "p99", "p99.9"),
    "\u00b5s",
    "\u00a0\u00b5s",
)
BATCHING = Quantity(
    "Batching",
    ("commands_per_write",),
    ("commands per write",),
    "commands per write",
)
SETTLED = Quantity(
    "Back at the base, slowest of ten steps",
    ("step_settled_ms_max",),
    ("ms",),
    "ms after a step down",
    "\u00a0ms",
)
CLIENT_CPU = Quantity("Client", CPU.keys[:1], ("client CPU",), CPU.unit, CPU.suffix)
SERVER_CPU = Quantity("Server", CPU.keys[1:], ("server CPU",), CPU.unit, CPU.suffix)
MEDIAN = Quantity(
    "Median latency, p50", ("latency_us.p50",), ("p50",), "\u00b5s", "\u00a0\u00b5s"
)
TAIL = Quantity(
    "Latency, p99", ("latency_us.p99",), ("p99",), "\u00b5s", "\u00a0\u00b5s"
)

Measured = list[tuple[Line, dict[str, float], list[float]]]


def measured(study: Study, point: Point, keys: tuple[str, ...]) -> Measured:
    """The lines with a figure here: their figures, and the rounds of the first one."""
    found: Measured = []
    for index, line in enumerate(study.lines):
        run = point.runs.get(index)
        values = {key: value_of(run, key) for key in keys} if run else {}
        if run and any(math.isfinite(value) for value in values.values()):
            found.append((line, values, rounds_of(run, keys[0])))
    return found


def words_for(title: str, found: Measured, quantity: Quantity) -> str:
    """The chart in words, for those who cannot see it."""
    texts = []
    for line, values, _ in found:
        parts = [
            f"{name} {number(value)}{quantity.suffix}"
            for name, value in zip(quantity.names, values.values(), strict=True)
        ]
        texts.append(f"{line.label}: {', '.join(parts)}")
    return f"{title}. {'; '.join(texts)}"


def row_chart(study: Study, group: Group, point: Point, quantity: Quantity) -> str:
    """A chart with a row for each strategy; empty if nothing was measured."""
    found = measured(study, point, quantity.keys)
    if not found:
        return ""
    rows = []
    for line, values, rounds in found:
        row = drawing.Row(line, list(values.values()))
        if len(rounds) > 1 and quantity in (THROUGHPUT, SETTLED):
            row.low, row.high = min(rounds), max(rounds)
        rows.append(row)
    words = words_for(
        f"{quantity.title}, {study.point_name(group, point)}", found, quantity
    )
    draw = drawing.ranges if quantity is LATENCY else drawing.bars
    head = [
        "",
        *(
            f"{name}, \u00b5s" if "\u00b5" in quantity.suffix else name
            for name in quantity.names
        ),
    ]
    if quantity is THROUGHPUT:
        head += ["lowest", "highest"]
    below = [
        line_row(
            line,
            "".join(map(cell, values.values()))
            + (
                cell(min(rounds, default=math.nan))
                + cell(max(rounds, default=math.nan))
                if quantity is THROUGHPUT
                else ""
            ),
        )
        for line, values, rounds in found
    ]
    return figure(
        quantity.title,
        draw(rows, quantity.names, quantity.unit, words),
        table(head, below),
    )


def percentile_chart(study: Study, group: Group, point: Point, title: str) -> str:
    """The whole latency of a point, from the median to the slowest command."""
    keys = tuple(f"latency_us.{key}" for key, _ in PERCENTILES)
    names = [name for _, name in PERCENTILES]
    found = measured(study, point, keys)
    if not found:
        return ""
    nothing = [math.nan] * len(keys)
    curves = [
        drawing.Curve(
            line,
            list(map(float, range(len(keys)))),
            list(values.values()),
            nothing,
            nothing,
        )
        for line, values, _ in found
    ]
    quantity = Quantity(title, keys, tuple(names), "\u00b5s", "\u00a0\u00b5s")
    words = words_for(
        f"Latency by percentile, {study.point_name(group, point)}", found, quantity
    )
    plot = drawing.Plot(
        "percentile of the commands", "\u00b5s", words, names, is_log=True
    )
    below = [
        line_row(line, "".join(map(cell, values.values()))) for line, values, _ in found
    ]
    return figure(title, drawing.plot(curves, plot), table(["\u00b5s", *names], below))


CLOSED = (
    "Each caller waits for its reply before it sends its next command. More throughput,"
    " less CPU and less latency is better. The stroke at the end of a bar spans its"
    " rounds."
)
STEPS = (
    "One caller is always there; the others come for a while and go, ten times. What"
    " counts is how soon after each step down the caller that stays is as fast as"
    " before: the latency is that of this caller while it is alone. The stroke at the"
    " end of a bar spans its rounds."
)
OPEN = (
    "Commands come at this rate, however fast the replies are. Less CPU and less"
    " latency is better. Latency counts from the moment at which a command was meant to"
    " be sent. The more commands a write carries, the fewer system calls at both ends."
)
RARE = (
    " In the last chart, the further to the right, the rarer: one command in a thousand"
    " takes longer than the line says at 99.9."
)


def anchor(group: Group, point: Point) -> str:
    """The name of a point's section."""
    kind = "rate" if group.is_open else "callers"
    return f"{kind}-{point.value}-{group.rtt_us}-{group.transport}"


def points_of(study: Study) -> str:
    """The sections of points that are not on a curve; the first of a kind says how."""
    text = ""
    readings = {False: (STEPS if study.is_step else CLOSED) + RARE, True: OPEN}
    for group, point in study.all_points():
        if group.has_curves:
            continue
        first = BATCHING if group.is_open else THROUGHPUT
        first = SETTLED if study.is_step else first
        quantities = [first, CPU, LATENCY]
        charts = [row_chart(study, group, point, q) for q in quantities]
        title = "Latency, from the median to the slowest"
        charts.append(percentile_chart(study, group, point, title))
        text += section(
            anchor(group, point),
            study.point_name(group, point),
            readings.pop(group.is_open, ""),
            panels(charts, " broad"),
        )
    return text


# Curves


def curves_of(study: Study, group: Group, quantity: Quantity) -> list[drawing.Curve]:
    """The figure of each strategy over the group's axis."""
    (key,) = quantity.keys
    curves = []
    for index, line in enumerate(study.lines):
        y, lows, highs = [], [], []
        for point in group.points:
            run = point.runs.get(index, {})
            rounds = rounds_of(run, key)
            y.append(value_of(run, key))
            lows.append(min(rounds, default=math.nan))
            highs.append(max(rounds, default=math.nan))
        if any(map(math.isfinite, y)):
            x = list(map(float, range(len(y))))
            curves.append(drawing.Curve(line, x, y, lows, highs))
    return curves


def axis_names(group: Group) -> list[str]:
    if group.is_open:
        return [drawing.tick(point.value) for point in group.points]
    return [str(point.value) for point in group.points]


def curve_chart(
    study: Study, group: Group, quantity: Quantity, y_range: tuple[float, float]
) -> str:
    """One figure over the callers or the rate."""
    curves = curves_of(study, group, quantity)
    if not curves:
        return ""
    title = quantity.title + (f", {group.name}" if group.name else "")
    names = axis_names(group)
    axis = "commands per second" if group.is_open else "callers"
    words = f"{title}, over {axis}. " + "; ".join(
        f"{curve.line.label}: "
        + ", ".join(
            f"{name}: {number(y)}{quantity.suffix}"
            for name, y in zip(names, curve.y, strict=True)
            if y == y
        )
        for curve in curves
    )
    drawn = drawing.plot(
        curves, drawing.Plot(axis, quantity.unit, words, names, y_range)
    )
    below = [line_row(c.line, "".join(map(cell, c.y))) for c in curves]
    return figure(title, drawn, table([axis, *names], below))


def common_range(
    study: Study, groups: list[Group], quantities: list[Quantity]
) -> tuple[float, float] | None:
    """What all charts of a section cover, so that they compare."""
    values = [
        value
        for group in groups
        for quantity in quantities
        for curve in curves_of(study, group, quantity)
        for value in curve.y + curve.lows + curve.highs
        if math.isfinite(value) and value > 0
    ]
    return (min(values), max(values)) if values else None


def share_table(study: Study, group: Group) -> str:
    """Each throughput as a share of the best at the same point; raw is a limit."""
    rows = []
    contestants = [
        (index, line)
        for index, line in enumerate(study.lines)
        if line.mode.split(":")[0] != "raw"
    ]
    for index, line in contestants:
        cells = ""
        for point in group.points:
            best = max(
                (
                    value_of(point.runs.get(i, {}), "ops_per_s")
                    for i, _ in contestants
                    if i in point.runs
                ),
                default=math.nan,
            )
            share = value_of(point.runs.get(index, {}), "ops_per_s") / best
            heat = 0 if math.isnan(share) else 45 * share * share
            cells += cell(
                share * 100, f"{share:.0%}", f" class='heat' style='--h:{heat:.0f}'"
            )
        rows.append(line_row(line, cells))
    title = "Share of the best" + (f", {group.name}" if group.name else "")
    return (
        f"<figure>\n<figcaption>{title}</figcaption>\n"
        f"{table(['callers', *axis_names(group)], rows)}</figure>\n"
    )


def trade_chart(study: Study, group: Group) -> str:
    """Latency against throughput: a point of each curve for each number of callers."""
    curves = []
    for index, line in enumerate(study.lines):
        runs = [point.runs[index] for point in group.points if index in point.runs]
        x = [value_of(run, "ops_per_s") for run in runs]
        y = [value_of(run, "latency_us.p99") for run in runs]
        if runs:
            nothing = [math.nan] * len(runs)
            curves.append(drawing.Curve(line, x, y, nothing, nothing))
    title = "Latency against throughput" + (f", {group.name}" if group.name else "")
    words = f"{title}: p99 at the throughput of each number of callers. " + "; ".join(
        f"{c.line.label}: "
        + ", ".join(
            f"{number(y)}\u00a0\u00b5s at {number(x)}/s"
            for x, y in zip(c.x, c.y, strict=True)
        )
        for c in curves
    )
    drawn = drawing.plot(
        curves, drawing.Plot("commands per second", "p99, \u00b5s", words, is_log=True)
    )
    names = axis_names(group)
    head = [
        "callers",
        *(
            f"{name}: {what}"
            for name in names
            for what in ("commands/s", "p99, \u00b5s")
        ),
    ]
    below = []
    for index, line in enumerate(study.lines):
        cells = ""
        for point in group.points:
            run = point.runs.get(index, {})
            cells += cell(value_of(run, "ops_per_s"))
            cells += cell(value_of(run, "latency_us.p99"))
        below.append(line_row(line, cells))
    return figure(title, drawn, table(head, below))


def curve_section(
    study: Study,
    name: str,
    title: str,
    reading: str,
    is_open: bool,
    quantities: list[Quantity],
) -> str:
    groups = [g for g in study.groups if g.has_curves and g.is_open == is_open]
    y_range = common_range(study, groups, quantities)
    if y_range is None:
        return ""
    charts = []
    for group in groups:
        charts += [curve_chart(study, group, q, y_range) for q in quantities]
        if quantities == [THROUGHPUT]:
            charts.append(share_table(study, group))
    if len(quantities) > 1 or len(groups) > 1:
        reading += " The charts of this section share their scale."
    return section(name, title, reading, panels(charts, " broad"))


def trades_of(study: Study) -> str:
    """Latency against throughput, where callers vary."""
    groups = [g for g in study.groups if not g.is_open and len(g.points) > 1]
    if not groups or study.comes_and_goes:
        return ""
    return section(
        "trade",
        "Latency against throughput",
        "Further to the right is more throughput, further down is less latency: the"
        " best corner is the lower right one. Each mark is a number of callers, from"
        " few to many along the line. A strategy that gives latency away for throughput"
        " climbs to the right; one that is saturated climbs straight up.",
        panels([trade_chart(study, group) for group in groups], " broad"),
    )


def curves(study: Study) -> str:
    """All sections of groups with curves."""
    if study.is_step:
        return ""
    return (
        curve_section(
            study,
            "throughput",
            "Throughput over callers",
            "Higher is better. Each caller waits for its reply before it sends its next"
            " command. The vertical stroke at a mark spans its rounds: where strokes"
            " overlap, strategies do not differ. The table gives each throughput as a"
            " share of the best at the same number of callers, raw batches left out: a"
            " row that is dark all along suits every load.",
            False,
            [THROUGHPUT],
        )
        + curve_section(
            study,
            "cpu",
            "CPU per command over callers",
            "Lower is better: what one command costs the process of the client, the"
            " load included, and the server. Batches make both cheaper.",
            False,
            [CLIENT_CPU, SERVER_CPU],
        )
        + curve_section(
            study,
            "latency",
            "Latency over callers",
            "Lower is better. Half of the commands are answered within p50, all but one"
            " in a hundred within p99. A pause between flushes shows as a floor that no"
            " number of callers gets below.",
            False,
            [MEDIAN, TAIL],
        )
        + curve_section(
            study,
            "rate-cpu",
            "CPU per command over the rate",
            "Lower is better. Commands come at a given rate, however fast the replies"
            " are. Throughput is the same for all that keep up; what differs is the"
            " cost.",
            True,
            [CLIENT_CPU, SERVER_CPU],
        )
        + curve_section(
            study,
            "rate-latency",
            "Latency over the rate",
            "Lower is better. It counts from the moment at which a command was meant to"
            " be sent, so a stall is charged to all that it delays. A line that turns"
            " up steeply has reached its limit.",
            True,
            [MEDIAN, TAIL],
        )
    )


def chosen(group: Group) -> list[Point]:
    """The first, the middle and the last point of many; all of few."""
    if len(group.points) <= FEW_POINTS:
        return group.points
    return [group.points[i * (len(group.points) - 1) // 2] for i in range(FEW_POINTS)]


def percentiles(study: Study) -> str:
    """The whole latency at some points of each curve."""
    charts = [
        percentile_chart(study, group, point, study.point_name(group, point))
        for group in study.groups
        if group.has_curves
        for point in chosen(group)
    ]
    if not charts:
        return ""
    return section(
        "percentiles",
        "Latency, from the median to the slowest command",
        "Lower and flatter is better. The further to the right, the rarer: one command"
        " in a thousand takes longer than the line says at 99.9. The last marks rest on"
        " a handful of commands and vary from run to run.",
        panels(charts),
    )
