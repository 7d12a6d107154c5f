# SPDX-License-Identifier: MIT
"""Flags of a call, as C has them."""

from __future__ import annotations

from ._native import lib

CONTIGUOUS: int = lib.SHOAL_CALL_CONTIGUOUS
_MAY_BLOCK: int = lib.SHOAL_CALL_MAY_BLOCK
_BULK: int = lib.SHOAL_CALL_BULK
_PRIMARY: int = lib.SHOAL_CALL_PRIMARY
_REPLICA: int = lib.SHOAL_CALL_REPLICA
_MAY_SPLIT: int = lib.SHOAL_CALL_MAY_SPLIT


def flags_of(
    may_block: bool,
    bulk: bool,
    replica: bool | None,
    split: bool = False,
    contiguous: bool = False,
) -> int:
    """Those that the keywords of a call stand for."""
    flags = (
        (_MAY_BLOCK if may_block else 0)
        | (_BULK if bulk else 0)
        | (_MAY_SPLIT if split else 0)
        | (CONTIGUOUS if contiguous else 0)
    )
    if replica is not None:
        flags |= _REPLICA if replica else _PRIMARY
    return flags
