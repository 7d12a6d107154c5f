# SPDX-License-Identifier: MIT
"""Python's own allocations fail, one at a time. For CPython, whose tests are there."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest


def need_hooks() -> None:
    """Skip the test if there are none; for one that cannot be skipped later."""
    pytest.importorskip("_testcapi", reason="of CPython's own tests")


@contextlib.contextmanager
def lacking(first: int, last: int) -> Iterator[None]:
    """Allocations number `first` to before `last` fail; 0: all from the first."""
    _testcapi = pytest.importorskip("_testcapi", reason="of CPython's own tests")
    _testcapi.set_nomemory(first, last)
    try:
        yield
    finally:
        _testcapi.remove_mem_hooks()


def try_each(call: Callable[[], Any], *, is_lasting: bool) -> int:
    """Let each allocation fail, and all from it on. How many there are."""
    for first in range(10_000):
        try:
            with lacking(first, 0 if is_lasting else first + 1):
                call()
        except MemoryError:
            continue
        return first
    raise AssertionError("it lacks memory for ever")
