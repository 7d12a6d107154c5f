# SPDX-License-Identifier: MIT
"""The Markdown document: the bars first, then everything that was measured."""

from harness.markdown import grid, number, percent

from must_show.figures import CPU, QUANTITIES, RATE, Bar, Figure
from must_show.study import Study
from must_show.verdict import Summary, Verdict, value_of

BARS_HEAD = (
    "figure",
    "what",
    "ours",
    "the best peer's",
    "peer",
    "ratio",
    "of single rounds",
    "bar",
    "result",
)
CLIENTS_HEAD = (
    "figure",
    "client",
    "commands/s",
    "ours / its",
    "p50 us",
    "p99 us",
    "client CPU us/command",
    "ours / its",
    "client CPU %",
    "server CPU us/command",
    "commands per read",
    "connections",
)


def shown(bar: Bar, value: float) -> str:
    if bar.quantity == RATE:
        return f"{number(value)}/s"
    return f"{number(value, 2 if bar.quantity == CPU else 1)} us"


def result_of(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not measured"
    result = "met" if verdict.is_met else "MISSED"
    if verdict.missing:
        result += f", without {', '.join(verdict.missing)}"
    return result


def bar_cells(figure: Figure, bar: Bar, verdict: Verdict | None) -> list[str]:
    found = ["-"] * 5
    if verdict is not None:
        found = [
            shown(bar, verdict.ours),
            shown(bar, verdict.theirs),
            verdict.peer,
            f"{verdict.ratio:.3f}",
            f"{verdict.low:.3f} - {verdict.high:.3f}",
        ]
    what = QUANTITIES[bar.quantity]
    return [figure.about, what, *found, bar.text(), result_of(verdict)]


def times(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}x"


def client_cells(
    figure: Figure, client: str, result: Summary, ours: Summary | None
) -> list[str]:
    rate = value_of(RATE, result)
    cpu = value_of(CPU, result)
    is_compared = ours is not None and client != figure.subject
    return [
        figure.name,
        client,
        number(rate) + percent(result["ops_per_s_spread"]),
        times(value_of(RATE, ours), rate) if ours and is_compared else "",
        number(result["latency_us"]["p50"], 1),
        number(result["latency_us"]["p99"], 1),
        number(cpu, 2),
        times(value_of(CPU, ours), cpu) if ours and is_compared else "",
        number(result["client_cpu_percent"]),
        number(result["server_cpu_us_per_op"], 2),
        number(result["commands_per_server_read"], 1),
        number(result["connections"]),
    ]


def document(study: Study) -> str:
    """The whole document."""
    lines = ["# What the Python package must show", ""]
    lines += [f"- {name}: {value}" for name, value in study.conditions.items()]
    versions = ", ".join(f"{name} {one}" for name, one in study.versions().items())
    lines.append(f"- versions: {versions}")
    bars = [
        bar_cells(figure, bar, verdict)
        for figure, verdicts in study.verdicts()
        for bar, verdict in zip(figure.bars, verdicts, strict=True)
    ]
    if bars:
        lines += ["", "## Bars", "", *grid(BARS_HEAD, bars, 2)]
    clients = [
        client_cells(figure, client, result, results.get(figure.subject))
        for figure in study.figures
        for results in [study.results.get(figure.name, {})]
        for client, result in results.items()
    ]
    if clients:
        lines += ["", "## Everything", "", *grid(CLIENTS_HEAD, clients, 2)]
    if study.problems:
        lines += ["", "## Not measured", ""]
        lines += [f"- {name}: {reason}" for name, reason in study.problems.items()]
    return "\n".join(lines) + "\n"
