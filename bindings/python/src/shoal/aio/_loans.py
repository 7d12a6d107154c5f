# SPDX-License-Identifier: MIT
"""Arguments that C sends from Python's memory: kept until C needs them no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import freed_last
from .._native import ffi, lib
from .._requests import native_buffers

#: A stream of this size may have a large argument in it.
LARGE: int = lib.SHOAL_REFERENCE_BYTES_MIN


class Loan:
    """What one submission lends: its stream, and arguments that are not in it."""

    __slots__ = ("_kept", "_memory", "native")

    def __init__(self, stream: bytes, large: Sequence[bytes]) -> None:
        native = lib.shoalpy_loan_new()
        if native == ffi.NULL:
            raise MemoryError
        self.native: Any = native
        self._kept = (stream, large)

    def __del__(self) -> None:
        if hasattr(self, "native"):
            self._memory = freed_last(self.native, lib.shoalpy_loan_free)

    def lend(self, port: Any) -> None:
        """For the next submission of the port."""
        large = self._kept[1]
        buffers = native_buffers(large)
        if lib.shoalpy_port_lend(port, self.native, buffers, len(large)) < 0:
            raise MemoryError

    def is_out(self) -> bool:
        """Does C need it yet?"""
        return not lib.shoalpy_loan_is_back(self.native)


def take_back(loans: set[Loan]) -> None:
    """Drop those that C needs no more. Loops of other threads may be here, too."""
    for loan in loans.copy():
        if not loan.is_out():
            loans.discard(loan)
