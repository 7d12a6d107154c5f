# SPDX-License-Identifier: MIT
"""Is this a process in which a blocking call holds up more than its own thread?"""

from __future__ import annotations

import sys
import warnings
from typing import Final

#: Packages with greenlets: the module that says what is patched, and its function.
_PATCHERS: Final = (
    ("gevent", "gevent.monkey", "is_module_patched"),
    ("eventlet", "eventlet.patcher", "is_monkey_patched"),
)
#: How a blocking call is made in a real thread.
_REAL_THREADS: Final = {
    "gevent": "gevent.get_hub().threadpool.apply()",
    "eventlet": "eventlet.tpool.execute()",
}


def patched_by() -> str | None:
    """The package that has replaced the sockets of the standard library, or None."""
    for package, module, function in _PATCHERS:
        patcher = sys.modules.get(module)
        if patcher is not None and getattr(patcher, function)("socket"):
            return package
    return None


def warn_of_greenlets() -> None:
    """For the constructor of a client: the warning names the line that calls it."""
    package = patched_by()
    if package is not None:
        warnings.warn(
            f"{package} has patched this process, and a call of shoal.Client holds up "
            f"all greenlets of its thread: call it by {_REAL_THREADS[package]}",
            RuntimeWarning,
            stacklevel=3,
        )
