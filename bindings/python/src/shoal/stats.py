# SPDX-License-Identifier: MIT
"""Counters of a client."""

from __future__ import annotations

from typing import Any

from ._core import Core
from ._native import ffi, lib
from ._outcomes import error_of

_STAGES = {
    "queued": lib.SHOAL_STAGE_QUEUED,
    "batched": lib.SHOAL_STAGE_BATCHED,
    "wire": lib.SHOAL_STAGE_WIRE,
    "total": lib.SHOAL_STAGE_TOTAL,
}
_REASONS = 9
_SCALARS = [
    name
    for name, field in ffi.typeof("shoal_stats_t").fields
    if field.type.kind == "primitive" and name != "size"
]


class Stats:
    """A snapshot of the counters of a client, or of one of its connections.

    Attributes are integers, for example `commands`, `writes`, `flushes`; dir() has all,
    docs/PYTHON.md what they mean. `batch_histogram[b]` counts flushes of
    2^b to 2^(b+1) - 1 commands, `flush_reasons` why they left.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self.batch_histogram: list[int] = list(native.batch_histogram)
        self.flush_reasons: dict[str, int] = {
            ffi.string(lib.shoal_flush_reason_name(i)).decode(): native.flush_reasons[i]
            for i in range(_REASONS)
        }

    def __getattr__(self, name: str) -> int:
        if name in _SCALARS:
            return int(getattr(self._native, name))
        raise AttributeError(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_SCALARS]

    def as_dict(self) -> dict[str, int]:
        """All counters that are single numbers."""
        return {name: int(getattr(self._native, name)) for name in _SCALARS}

    def latency_us(self, permille: int, stage: str = "total") -> int:
        """The latency in microseconds below which `permille` thousandths of the
        commands stayed; `stage`: queued, batched, wire or total."""
        if stage not in _STAGES:
            raise ValueError(f"stage must be one of {', '.join(_STAGES)}")
        return int(
            lib.shoal_stats_latency_us(
                ffi.addressof(self._native[0]), _STAGES[stage], permille
            )
        )

    def __repr__(self) -> str:
        return f"Stats({', '.join(f'{k}={v}' for k, v in self.as_dict().items())})"


def take(core: Core, connection: int | None = None) -> Stats:
    """A snapshot, now: of all connections, or of the one with that number."""
    native = ffi.new("shoal_stats_t *")
    if connection is None:
        status = lib.shoalpy_core_stats(core.handle, native)
    elif 0 < connection < 1 << 64:
        status = lib.shoalpy_core_connection_stats(core.handle, connection, native)
    else:
        status = lib.SHOAL_ENOENT
    if status == lib.SHOAL_ENOENT:
        raise ValueError(f"there is no connection {connection}")
    if status < 0:
        raise error_of(status)
    return Stats(native)
