# SPDX-License-Identifier: MIT
"""Pieces of HTML that sections are made of.  What comes from a file is escaped here."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from pages.looks import words_of
from pages.results import Line, Study, number, value_of


def cell(value: float, text: str = "", attributes: str = "") -> str:
    """A figure as people read it, with its exact value for whoever copies it."""
    if math.isnan(value):
        return f"<td{attributes}>\u2013</td>"
    return (
        f"<td{attributes}><data value='{value:.12g}'>{escape(text or number(value))}"
        "</data></td>"
    )


def strong(line: Line) -> str:
    return " class='strong'" if line.is_strong else ""


def table(head: Sequence[str], rows: Sequence[str], kind: str = "") -> str:
    """A table that scrolls by itself where it is too wide; `rows` are HTML."""
    cells = "".join(f"<th scope='col'>{escape(text)}</th>" for text in head)
    css = f" class='{kind}'" if kind else ""
    return (
        f"<div class='wide'><table{css}><thead><tr>{cells}</tr></thead>\n"
        f"<tbody>{''.join(rows)}</tbody></table></div>\n"
    )


def line_row(line: Line, cells: str) -> str:
    return f"<tr{strong(line)}><th scope='row'>{escape(line.label)}</th>{cells}</tr>\n"


def figure(title: str, drawing: str, below: str) -> str:
    """A chart with its figures in a table under it."""
    return (
        f"<figure>\n<figcaption>{escape(title)}</figcaption>\n{drawing}\n"
        f"<details><summary>These figures in a table</summary>\n{below}</details>\n"
        "</figure>\n"
    )


def panels(figures: Sequence[str], kind: str = "") -> str:
    return f"<div class='panels{kind}'>\n{''.join(figures)}</div>\n"


def section(name: str, title: str, reading: str, content: str) -> str:
    """A section with an anchor; `reading` is HTML that says how to read it."""
    if reading:
        content = f"<p class='reading'>{reading}</p>\n{content}"
    return f"<section id='{name}'>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def rounds_of(run: dict[str, Any], key: str) -> list[float]:
    """The figure in each round that has it."""
    values = [value_of(round_, key) for round_ in run.get("rounds", [])]
    return [value for value in values if not math.isnan(value)]


MARKS = {
    "o": "M3,0A3.6,3.6 0 1,1 -4.2,0A3.6,3.6 0 1,1 3,0z",
    "s": "M-3.4,-3.4h6.8v6.8h-6.8z",
    "D": "M0,-4.6L4.6,0L0,4.6L-4.6,0z",
    "^": "M0,-4.4L4.4,3.6H-4.4z",
    "v": "M0,4.4L4.4,-3.6H-4.4z",
    "<": "M-4.4,0L3.6,4.4V-4.4z",
    ">": "M4.4,0L-3.6,4.4V-4.4z",
}


def swatch(line: Line) -> str:
    """The line and the mark that stand for a strategy."""
    dashes = " stroke-dasharray='5 3'" if line.is_dashed else ""
    color = f"var(--{line.color})"
    return (
        "<svg viewBox='0 0 28 12' aria-hidden='true'>"
        f"<path d='M1 6H27' style='stroke:{color};stroke-width:2;fill:none'{dashes}/>"
        f"<path transform='translate(14,6)' d='{MARKS.get(line.marker, MARKS['o'])}'"
        f" style='fill:{color};stroke:var(--page)'/></svg>"
    )


def legend(study: Study) -> str:
    """What is compared, in words."""
    items = [
        f"<li{strong(line)}>{swatch(line)}<b>{escape(line.label)}</b>"
        f" <span class='soft'>{escape(words_of(line))}</span></li>\n"
        for line in study.lines
    ]
    return (
        "<section id='compared'>\n<h2>What is compared</h2>\n"
        f"<ul class='legend'>\n{''.join(items)}</ul>\n</section>\n"
    )
