# SPDX-License-Identifier: MIT
"""Medians and spreads over the rounds."""

from collections.abc import Sequence
from statistics import median
from typing import Any


def combine(values: Sequence[Any]) -> Any:
    """One value out of the rounds': the median of numbers, key by key of objects, the
    first of anything else. A number that a round lacks is left out."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    if all(isinstance(value, dict) for value in present):
        keys = dict.fromkeys(key for value in present for key in value)
        return {key: combine([value.get(key) for value in present]) for key in keys}
    if all(is_number(value) for value in present):
        return median(present)
    return present[0]


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def spread(values: Sequence[float]) -> float | None:
    """Half of the range, as a share of the median; None for a single value."""
    if len(values) < 2 or not median(values):
        return None
    return (max(values) - min(values)) / 2 / median(values)


def summarize(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The result of a row: medians, the spread, the sum of the errors, the rounds."""
    result: dict[str, Any] = combine([{**one, "config": None} for one in rounds])
    result["config"] = rounds[0].get("config")
    result["ops_per_s_spread"] = spread([one["ops_per_s"] for one in rounds])
    for name in ("errors", "lost_messages"):
        result[name] = sum(one.get(name) or 0 for one in rounds)
    result["rounds"] = rounds
    return result


def ratio(
    result: dict[str, Any], reference: dict[str, Any] | None, name: str = "ops_per_s"
) -> float | None:
    """The throughput, or another figure, as a multiple of another row's; None if that
    was not measured."""
    if not reference or not reference[name]:
        return None
    return float(result[name] / reference[name])
