# SPDX-License-Identifier: MIT
"""Objects of which a copy would be another hand on the same connection."""

from __future__ import annotations

from typing import NoReturn


class Unique:
    """Neither copy, deepcopy nor pickle: each says so."""

    def __reduce__(self) -> NoReturn:
        kind = type(self)
        module = kind.__module__.removesuffix(".client")
        raise TypeError(
            f"a {module}.{kind.__qualname__} cannot be copied or pickled: "
            "threads share one client, another process makes a client of its own"
        )
