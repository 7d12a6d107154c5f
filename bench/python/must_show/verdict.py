# SPDX-License-Identifier: MIT
"""Ratios of medians, and whether they meet the bars."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from must_show.figures import CPU, P50, RATE, Bar, Figure

Summary = Mapping[str, Any]  # of one client: medians, and its rounds


@dataclass(frozen=True)
class Verdict:
    """One bar of one figure.

    peer: the best of those it is against
    low, high: the least and the greatest ratio of a single round
    missing: peers that were not measured
    """

    figure: str
    bar: Bar
    peer: str
    ours: float
    theirs: float
    low: float
    high: float
    missing: tuple[str, ...]

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def is_met(self) -> bool:
        return self.bar.is_met(self.ratio)


def value_of(quantity: str, result: Summary) -> float:
    """A figure of one round, or the median of it over the rounds."""
    if quantity == RATE:
        return float(result["ops_per_s"])
    if quantity == CPU:
        return float(result["client_cpu_us_per_op"])
    if quantity == P50:
        return float(result["latency_us"]["p50"])
    raise ValueError(f"no such quantity: {quantity}")


def best_of(clients: tuple[str, ...], results: Mapping[str, Summary]) -> str | None:
    """The client with the highest throughput, of those that were measured."""
    measured = [client for client in clients if client in results]
    return max(measured, key=lambda c: value_of(RATE, results[c]), default=None)


def judge(figure: Figure, bar: Bar, results: Mapping[str, Summary]) -> Verdict | None:
    """None: ours or all of theirs were not measured."""
    peer = best_of(bar.against, results)
    if peer is None or figure.subject not in results:
        return None
    ours, theirs = results[figure.subject], results[peer]
    ratios = [
        value_of(bar.quantity, one) / value_of(bar.quantity, other)
        for one, other in zip(ours["rounds"], theirs["rounds"], strict=False)
    ]
    return Verdict(
        figure.name,
        bar,
        peer,
        value_of(bar.quantity, ours),
        value_of(bar.quantity, theirs),
        min(ratios),
        max(ratios),
        tuple(client for client in bar.against if client not in results),
    )
