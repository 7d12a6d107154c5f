# SPDX-License-Identifier: MIT
"""Functions that show a signature which they do not have themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def shown_as(whole: _Function) -> Callable[[Callable[..., Any]], _Function]:
    """Give a function the signature and the documentation of another, which it calls if
    there are keyword arguments. Its own are `*args, **options`: each call looks up the
    default of each keyword-only parameter, and most calls have none of them."""

    def show(quick: Any) -> Any:
        # What complains of an argument names the function that was called.
        whole.__name__, whole.__qualname__ = quick.__name__, quick.__qualname__
        return functools.wraps(whole)(quick)

    return show
