# SPDX-License-Identifier: MIT
"""Objects that must not be copied: a copy would use the same connection."""

from __future__ import annotations

import re
from typing import NoReturn


class Unique:
    """copy, deepcopy and pickle raise TypeError."""

    def _public_name(self) -> str:
        kind = type(self)
        module = re.sub(
            r"\.(client|lease|monitor|pipeline|script|subscription)$",
            "",
            kind.__module__,
        )
        return f"{module}.{kind.__qualname__}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {self._public_name()} cannot be copied or pickled: "
            "threads share one client, another process makes a client of its own"
        )
