# SPDX-License-Identifier: MIT
"""Times that users give in seconds: checked in one place, in microseconds for C."""

from __future__ import annotations

import math
from numbers import Real

#: For C: there is no such time.
NEVER: int = (1 << 64) - 1
SECONDS_MAX = 86_400


def _number(seconds: object, name: str) -> float:
    kind = type(seconds)
    # Asking an abstract class takes its lock, where there is no GIL.
    if kind not in (float, int) and (
        isinstance(seconds, bool) or not isinstance(seconds, Real)
    ):
        raise TypeError(f"{name} must be a number of seconds, not {kind.__name__}")
    return seconds  # type: ignore[return-value]


def microseconds(seconds: float | None, name: str = "timeout") -> int:
    """A time limit. None and infinity mean that there is none."""
    if seconds is None:
        return NEVER
    number = _number(seconds, name)
    if number == math.inf:
        return NEVER
    if not 0 < number <= SECONDS_MAX:
        raise ValueError(
            f"{name} must be more than 0 and at most {SECONDS_MAX} seconds, "
            f"not {seconds!r}"
        )
    return max(1, round(float(number) * 1e6))


def drain_seconds(drain: float) -> float:
    """How long a close waits for what is outstanding; 0: it does not wait."""
    number = _number(drain, "drain")
    if not 0 <= number <= SECONDS_MAX:
        raise ValueError(
            f"drain must be at least 0 and at most {SECONDS_MAX} seconds, not {drain!r}"
        )
    return float(number)
