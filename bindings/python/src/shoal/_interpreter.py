# SPDX-License-Identifier: MIT
"""Which interpreter of the process is this, and has it a GIL?

The library's thread, its at-exit and at-fork hooks belong to the main interpreter: a
second one would close or lose connections of the first.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters: Any = importlib.import_module(name)
        except ImportError:
            continue
        current, main = interpreters.get_current(), interpreters.get_main()
        # Newer versions give a pair of the number and where it comes from.
        return bool(current == main)
    return True  # an interpreter without others


#: Does one thread at a time run Python code? An extension may turn the GIL on later.
HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()

if not _is_main():
    raise ImportError("shoal works in the main interpreter of a process only")
