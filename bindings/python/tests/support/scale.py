# SPDX-License-Identifier: MIT
"""Sizes: SHOAL_TEST_SCALE=1 is for CI, more is for long runs."""

import os

SCALE = int(os.environ.get("SHOAL_TEST_SCALE", "1"))


def scaled(count: int, most: int | None = None) -> int:
    """`count` at CI's size, in proportion otherwise, `most` at most."""
    return min(count * SCALE, most) if most is not None else count * SCALE
