# SPDX-License-Identifier: MIT
"""What those hear who give commands up."""

import sys
from typing import Any

from shoal import Fate

#: So long the library waits for the server to let a command go.
_GRACE_S = 1.0


def check_let_go(fate: Fate, seconds: float) -> None:
    """The fate of a command that blocked, and was given up so long before it was told:
    the server had nothing for it. One that stands still does not say so in time."""
    assert fate is Fate.NOT_EXECUTED or (
        fate is Fate.UNKNOWN and seconds >= _GRACE_S
    ), (fate, seconds)


def raised_inside(error: BaseException | None) -> Any:
    """The CancelledError of a task, which says what became of its command. Whoever
    awaits the task gets another one from CPython 3.10, whose context it is."""
    if sys.version_info < (3, 11):
        return error.__context__ if error is not None else None
    return error
