# SPDX-License-Identifier: MIT
"""The exceptions of cancelled tasks."""

import sys
from typing import Any


def raised_inside(error: BaseException | None) -> Any:
    """The CancelledError of a task, which says what became of its command. Whoever
    awaits the task gets another one from CPython 3.10, whose context it is."""
    if sys.version_info < (3, 11):
        return error.__context__ if error is not None else None
    return error
