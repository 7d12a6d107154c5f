# SPDX-License-Identifier: MIT
"""Is this a process in which a blocking call holds up more than its own thread?"""

from __future__ import annotations

import sys
import warnings


def is_gevent_patched() -> bool:
    """Has gevent replaced the sockets of the standard library?"""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("socket"))


def warn_of_greenlets() -> None:
    """For the constructor of a client: the warning names the line that calls it."""
    if is_gevent_patched():
        warnings.warn(
            "gevent has patched this process, and a call of shoal.Client holds up all "
            "greenlets of its thread: call it by gevent.get_hub().threadpool.apply()",
            RuntimeWarning,
            stacklevel=3,
        )
