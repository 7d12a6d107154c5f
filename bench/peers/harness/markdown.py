# SPDX-License-Identifier: MIT
"""Numbers and tables as Markdown that is easy to read as it is."""

from collections.abc import Sequence


def number(value: float | None, digits: int = 0) -> str:
    """A number with thousands apart; "-" for none."""
    return "-" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def percent(share: float | None) -> str:
    return "" if share is None else f" +-{share * 100:.0f} %"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """The lines of a table whose first `left` columns are texts."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]

    def form(line: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * width if i < left else "-" * (width - 1) + ":"
        for i, width in enumerate(widths)
    ]
    return [form(head), form(rule), *map(form, rows)]
