# SPDX-License-Identifier: MIT
"""What one task awaits: a waiter of C's (native/interpreter/waiter.h), or a future of
the event loop. Whoever awaits, cancels or completes either does not see which it is."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from operator import length_hint
from typing import Any

from .. import _native
from .._replies import HAS_CONSTRUCTORS
from ._batch import Future
from ._loop import future_maker, is_usual


def _resolve_slowly(
    futures: list[Future],
    values: list[Any],
    setter: Callable[[Future, Any], None],
    is_error: bool,
    is_now: bool,
    missed: list[int],
) -> None:
    replies = iter(values)
    done = map(setter, futures, replies)
    failure: BaseException | None = None
    while True:
        try:
            deque(done, 0)
            break
        except asyncio.InvalidStateError:
            missed.append(len(values) - length_hint(replies) - 1)
        except BaseException as error:
            failure = error if failure is None else failure
    try:
        if failure is not None:
            raise failure
    finally:
        del failure


def _any_done_slowly(futures: list[Future], tester: Callable[[Future], bool]) -> bool:
    return True in map(tester, futures)


#: Gives each future its value, or its exception (`is_error`), by `setter` where it is
#: no waiter; the numbers of those that were done are appended to `missed`. `is_now`:
#: tasks that await waiters go on before it returns. After an exception it goes on with
#: the others, and raises the first one at the end.
resolve: Callable[
    [list[Future], list[Any], Callable[[Future, Any], None], bool, bool, list[int]],
    None,
] = _resolve_slowly
#: Is one of them done?
any_done: Callable[[list[Future], Callable[[Future], bool]], bool] = _any_done_slowly


class _NoLoop:
    """For a future that nobody waits for."""

    def get_debug(self) -> bool:
        return False


def _ready_future() -> Future:
    loop: Any = _NoLoop()
    future: Future = asyncio.Future(loop=loop)
    future.set_result(None)
    return future


if HAS_CONSTRUCTORS:
    _native.init_waiters(
        asyncio.InvalidStateError,
        asyncio.CancelledError,
        contextvars.copy_context,
        asyncio.Future,
        _ready_future(),
    )
    resolve = _native.resolve
    any_done = _native.any_done


def waiter_maker(loop: asyncio.AbstractEventLoop) -> Callable[[], Future]:
    """Makes what a task awaits. In debug mode that is a future, which knows where it
    was made, and whose task has a turn of its own, whose time the loop takes."""
    if HAS_CONSTRUCTORS and is_usual(loop) and not loop.get_debug():
        maker: Callable[[], Future] = _native.new_waiter_maker(loop)
        return maker
    return future_maker(loop)
