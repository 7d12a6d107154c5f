# SPDX-License-Identifier: MIT
"""Charts as SVG that belongs into a page: drawn by matplotlib, coloured by the page.

A chart is WIDTH units wide, which are pixels on a phone; labels are text of the page's
font.  Each colour becomes a variable of the page's style, so one drawing serves light
and dark pages.
"""

import io
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from pages.looks import PALETTE
from pages.results import Line, number

WIDTH = 380
ROW = 26  # the height of a row of bars
TEXT = 12
SMALL = 11
LOG_FROM = 8.0  # highest over lowest: beyond this a vertical axis is logarithmic
WIDE_FROM = 40.0  # and beyond this a horizontal one

matplotlib.use("svg")
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shoal",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT,
    "path.simplify": False,
}
NUMBERS = count(1)  # of charts: what they define has names of its own
VARIABLES = {light: name for name, (light, _) in PALETTE.items()}
assert len(VARIABLES) == len(PALETTE), "two colours are the same"


def paint(name: str) -> str:
    """The colour that the page's variable `name` will replace."""
    return PALETTE[name][0]


# From matplotlib's SVG to the page's


def variables(style: str) -> str:
    """A style of the page: variables for colours, and no font of its own."""
    style = re.sub(
        r"#[0-9a-f]{6}",
        lambda match: f"var(--{VARIABLES.get(match[0], 'ink')})",
        style,
    )
    return re.sub(
        r"font: (?:(\d+) )?([\d.]+px) [^;]*",
        lambda match: (
            f"font-size: {match[2]}"
            + (f"; font-weight: {match[1]}" if match[1] else "")
        ),
        style,
    )


def is_seen(element: ET.Element) -> bool:
    """False for a path without a line and without a filling."""
    style = element.get("style", "")
    return element.tag != "path" or "stroke" in style or "fill: none" not in style


def rounded(text: str) -> str:
    """Coordinates to a tenth of a pixel."""
    text = re.sub(r"-?\d+\.\d+", lambda match: f"{float(match[0]):.1f}", text)
    return " ".join(text.split())


def tidy(parent: ET.Element, prefix: str) -> None:
    """Take out what a page has no use for, and name what is left after the chart."""
    kept: list[ET.Element] = []
    for element in list(parent):
        tidy(element, prefix)
        element.tail = None
        if element.tag == "g":
            kept.extend(element)  # a group without a meaning
        elif element.tag in ("style", "clipPath") or not is_seen(element):
            continue
        elif element.tag != "defs" or len(element):
            kept.append(element)
        attributes = element.attrib
        attributes.pop("clip-path", None)  # nothing is drawn beyond the axes
        if "id" in attributes:
            attributes["id"] = prefix + attributes["id"]
        if "href" in attributes:
            attributes["href"] = f"#{prefix}{attributes['href'][1:]}"
        if attributes.get("transform", "").startswith("rotate(-0"):
            del attributes["transform"]
        if "style" in attributes:
            attributes["style"] = variables(attributes["style"])
        for key in ("d", "x", "y", "transform"):
            if key in attributes:
                attributes[key] = rounded(attributes[key])
    parent[:] = kept
    if parent.tag != "text":
        parent.text = None


def svg_of(figure: Figure, words: str) -> str:
    """The figure as an element of a page; `words` say what is to be seen."""
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    source = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", text.getvalue(), flags=re.S)
    source = source.replace("xlink:href", "href")
    source = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", source)
    source = re.sub(r"<metadata>.*?</metadata>", "", source, flags=re.S)
    root = ET.fromstring(source)
    box = root.get("viewBox", "")
    tidy(root, f"c{next(NUMBERS)}")
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "role": "img", "aria-label": words})
    return ET.tostring(root, encoding="unicode")


# Axes


@dataclass
class Row:
    """A strategy in a chart of rows: its parts, and the range of its rounds."""

    line: Line
    parts: list[float]
    low: float = math.nan
    high: float = math.nan


def known(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def make_axes(height: float, left: float, right: float, top: float) -> Axes:
    """Axes with margins in pixels, without frame and ticks."""
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
    bottom = 38
    axes: Axes = figure.add_axes(
        (
            left / WIDTH,
            bottom / height,
            1 - (left + right) / WIDTH,
            1 - (bottom + top) / height,
        )
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=5, labelsize=SMALL, labelcolor=paint("soft"))
    return axes


def show_numbers(axes: Axes, which: str, is_log: bool, bins: int = 4) -> None:
    """Ticks and grid of the axis that has values."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if is_log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
        decades = math.log10(high / low)
        subs: tuple[float, ...] = (1.0, 2.0, 5.0) if decades < 1.5 else (1.0, 3.0)
        subs = subs if decades < 2.9 else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=20))
    else:
        axis.set_major_locator(MaxNLocator(bins))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axes.grid(axis=which, color=paint("grid"), linewidth=1)


def tick(value: float) -> str:
    """20 k, 1.5 M: as short as a number of an axis can be."""
    for factor, unit in ((1e6, "\u00a0M"), (1e3, "\u00a0k")):
        if value >= factor:
            return f"{value / factor:.4g}{unit}"
    return f"{value:.4g}"


def text_width(text: str, size: float = TEXT) -> float:
    """About as wide as the text will be."""
    return len(text) * size * 0.6


def label_color(line: Line) -> str:
    return paint("auto" if line.is_strong else "ink")


def name_rows(axes: Axes, lines: Sequence[Line]) -> None:
    """The strategies' names, from the top to the bottom."""
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks(range(len(lines)))
    axes.set_yticklabels([line.label for line in lines], fontsize=TEXT)
    for label, line in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_color(label_color(line))
        label.set_fontweight("bold" if line.is_strong else "normal")


def left_margin(lines: Sequence[Line]) -> float:
    return min(max(text_width(line.label) for line in lines) + 12, 150)


def key(
    axes: Axes, names: Sequence[str], markers: Sequence[str], alphas: Sequence[float]
) -> None:
    """What parts of a row are, above the chart."""
    height = axes.figure.get_figheight() * 72
    x = axes.get_position().x0 * WIDTH
    for name, marker, alpha in zip(names, markers, alphas, strict=True):
        axes.plot(
            [x / WIDTH + 0.012],
            [1 - 8 / height],
            marker=marker,
            markersize=6,
            color=paint("soft"),
            alpha=alpha,
            markeredgewidth=0,
            clip_on=False,
            transform=axes.figure.transFigure,
            linestyle="none",
        )
        axes.text(
            (x + 11) / WIDTH,
            1 - 8 / height,
            name,
            fontsize=SMALL,
            color=paint("soft"),
            va="center_baseline",
            transform=axes.figure.transFigure,
        )
        x += 20 + text_width(name, SMALL)


# Charts


def bars(rows: Sequence[Row], names: Sequence[str], title: str, words: str) -> str:
    """A bar for each row, its parts behind each other; the rounds as a whisker."""
    lines = [row.line for row in rows]
    top = 4 if len(names) < 2 else 20
    axes = make_axes(ROW * len(rows) + 38 + top, left_margin(lines), 62, top)
    axes.axvline(0, color=paint("base"), linewidth=1)
    for place, row in enumerate(rows):
        begin = 0.0
        for part, value in enumerate(known(row.parts)):
            for color, alpha in (("page", 1), (row.line.color, 0.45 if part else 1)):
                axes.barh(
                    place,
                    value,
                    left=begin,
                    height=0.62,
                    color=paint(color),
                    alpha=alpha,
                    linewidth=0,
                    clip_on=False,
                )
            begin += value
        end = begin
        if row.high > row.low:
            for color, width in (("page", 3.6), ("ink", 1.4)):
                axes.plot(
                    [row.low, row.high],
                    [place, place],
                    color=paint(color),
                    linewidth=width,
                    clip_on=False,
                )
            end = max(end, row.high)
        axes.annotate(
            number(begin),
            (end, place),
            (6, 0),
            textcoords="offset points",
            va="center_baseline",
            color=label_color(row.line),
            fontweight="bold" if row.line.is_strong else "normal",
        )
    highs = known([row.high for row in rows])
    axes.set_xlim(0, max([sum(known(row.parts)) for row in rows] + highs) or 1)
    name_rows(axes, lines)
    show_numbers(axes, "x", False)
    axes.set_xlabel(title, color=paint("soft"), fontsize=SMALL)
    if len(names) > 1:
        key(axes, names, ["s"] * len(names), [1, 0.45])
    return svg_of(axes.figure, words)


def ranges(rows: Sequence[Row], names: Sequence[str], title: str, words: str) -> str:
    """The parts of each row as marks on one logarithmic axis, with a line through."""
    lines = [row.line for row in rows]
    markers = ["o", "s", "D", "^"]
    axes = make_axes(ROW * len(rows) + 58, left_margin(lines), 14, 20)
    for place, row in enumerate(rows):
        parts = known(row.parts)
        axes.plot(
            [min(parts), max(parts)],
            [place, place],
            color=paint(row.line.color),
            linewidth=2,
            alpha=0.5,
            clip_on=False,
        )
        for value, marker in zip(row.parts, markers, strict=False):
            if math.isfinite(value):
                axes.plot(
                    [value],
                    [place],
                    marker=marker,
                    color=paint(row.line.color),
                    markersize=8 if marker == "o" else 6.5,
                    clip_on=False,
                    markeredgecolor=paint("page"),
                    markeredgewidth=1,
                )
    values = [value for row in rows for value in known(row.parts) if value > 0]
    axes.set_xlim(min(values) / 1.15, max(values) * 1.15)
    name_rows(axes, lines)
    show_numbers(axes, "x", True)
    axes.set_xlabel(title, color=paint("soft"), fontsize=SMALL)
    key(axes, names, markers[: len(names)], [1] * len(names))
    return svg_of(axes.figure, words)


@dataclass
class Curve:
    """One strategy: where it is, and the ranges of its rounds."""

    line: Line
    x: list[float]
    y: list[float]
    lows: list[float]
    highs: list[float]


@dataclass
class Plot:
    """Curves over an axis of places (with names) or of numbers (without)."""

    x_title: str
    y_title: str
    words: str
    x_names: list[str] | None = None
    y_range: tuple[float, float] | None = None  # shared with other plots
    is_log: bool | None = None  # the vertical axis; None: as the values ask for


def plot(curves: Sequence[Curve], how: Plot) -> str:
    """Lines with marks, each named at its end."""
    right = max(text_width(c.line.label) for c in curves) + 18
    axes = make_axes(252, 46, min(right, 130), 22)
    for curve in sorted(curves, key=lambda curve: curve.line.is_strong):
        draw_curve(axes, curve)
    values = [value for curve in curves for value in known(curve.y) if value > 0]
    low, high = how.y_range or (min(values), max(values))
    is_log = how.is_log if how.is_log is not None else high > low * LOG_FROM
    axes.set_ylim((low / 1.12, high * 1.12) if is_log else (0, high * 1.06))
    show_numbers(axes, "y", is_log)
    if how.x_names is None:
        xs = [x for curve in curves for x in known(curve.x)]
        is_far = max(xs) > WIDE_FROM * max(min(xs), 1)
        axes.set_xlim(
            min(xs) / 1.2 if is_far else 0, max(xs) * (1.2 if is_far else 1.03)
        )
        show_numbers(axes, "x", is_far)
    else:
        axes.set_xlim(-0.15, len(how.x_names) - 0.85)
        axes.set_xticks(range(len(how.x_names)))
        axes.set_xticklabels(how.x_names)
    axes.axhline(axes.get_ylim()[0], color=paint("base"), linewidth=1, clip_on=False)
    axes.set_xlabel(how.x_title, color=paint("soft"), fontsize=SMALL)
    axes.text(
        2 / WIDTH,
        1 - 8 / 252,
        how.y_title,
        fontsize=SMALL,
        color=paint("soft"),
        va="center_baseline",
        transform=axes.figure.transFigure,
    )
    name_curves(axes, curves)
    return svg_of(axes.figure, how.words)


def draw_curve(axes: Axes, curve: Curve) -> None:
    line = curve.line
    color = paint(line.color)
    for x, low, high in zip(curve.x, curve.lows, curve.highs, strict=True):
        if high > low > 0:
            axes.plot([x, x], [low, high], color=color, linewidth=1.2, alpha=0.5)
    axes.plot(
        curve.x,
        curve.y,
        color=color,
        linewidth=2.8 if line.is_strong else 1.6,
        linestyle=(0, (4, 2.5)) if line.is_dashed else "solid",
        clip_on=False,
    )
    axes.plot(
        curve.x,
        curve.y,
        linestyle="none",
        marker=line.marker,
        color=color,
        markersize=7 if line.is_strong else 5.5,
        clip_on=False,
        markeredgecolor=paint("page"),
        markeredgewidth=0.8,
    )


def name_curves(axes: Axes, curves: Sequence[Curve]) -> None:
    """Names at the right, as near to the ends of the curves as they have room."""
    to_pixels: Callable[[tuple[float, float]], tuple[float, float]]
    to_pixels = axes.transData.transform
    ends = []
    for curve in curves:
        seen = [
            (x, y)
            for x, y in zip(curve.x, curve.y, strict=True)
            if math.isfinite(x) and math.isfinite(y)
        ]
        if seen:
            ends.append((to_pixels(max(seen)), curve.line))
    ends.sort(key=lambda end: end[0][1])
    box = axes.get_window_extent()
    places = spaced([end[0][1] for end in ends], 13, box.y0 + 2, box.y1 + 12)
    for ((x, y), line), place in zip(ends, places, strict=True):
        axes.plot(
            [x + 5, box.x1 + 9],
            [y, place],
            color=paint(line.color),
            linewidth=1,
            alpha=0.6,
            transform=None,
            clip_on=False,
        )
        axes.text(
            box.x1 + 12,
            place,
            line.label,
            fontsize=SMALL,
            va="center_baseline",
            transform=None,
            color=label_color(line),
            fontweight="bold" if line.is_strong else "normal",
        )


def spaced(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending places, `gap` apart, as near to the ascending wanted ones as can be."""

    def begin(block: list[float]) -> float:
        extent = (len(block) - 1) * gap
        middle = sum(block) / len(block)
        return max(min(middle - extent / 2, high - extent), low)

    blocks: list[list[float]] = []
    for place in wanted:
        blocks.append([place])
        while len(blocks) > 1 and (
            begin(blocks[-2]) + len(blocks[-2]) * gap > begin(blocks[-1])
        ):
            last = blocks.pop()
            blocks[-1] += last
    return [begin(block) + i * gap for block in blocks for i in range(len(block))]
