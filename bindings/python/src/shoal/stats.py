# SPDX-License-Identifier: MIT
"""Counters of a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ._core import Core
from ._native import ffi, lib
from ._outcomes import error_of

if TYPE_CHECKING:
    from ._feed import Hub

_STAGES = {
    "queued": lib.SHOAL_STAGE_QUEUED,
    "batched": lib.SHOAL_STAGE_BATCHED,
    "wire": lib.SHOAL_STAGE_WIRE,
    "total": lib.SHOAL_STAGE_TOTAL,
}
_REASONS = 9


def _fields_of(of: str) -> list[str]:
    """The fields of one of C's structures that are single numbers."""
    return [
        name
        for name, field in ffi.typeof(of).fields
        if field.type.kind == "primitive" and name != "size"
    ]


class Counters:
    """A snapshot of single numbers."""

    _numbers: ClassVar[list[str]]

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getattr__(self, name: str) -> int:
        if name in self._numbers:
            return int(getattr(self._native, name))
        raise AttributeError(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._numbers]

    def as_dict(self) -> dict[str, int]:
        """All counters that are single numbers."""
        return {name: int(getattr(self._native, name)) for name in self._numbers}

    def __repr__(self) -> str:
        counters = ", ".join(f"{k}={v}" for k, v in self.as_dict().items())
        return f"{type(self).__name__}({counters})"


class Stats(Counters):
    """A snapshot of the counters of a client, or of one of its connections.

    Attributes are integers, for example `commands`, `writes`, `flushes`; dir() has all,
    docs/PYTHON.md what they mean. `batch_histogram[b]` counts flushes of
    2^b to 2^(b+1) - 1 commands, `flush_reasons` why they left.
    """

    _numbers = _fields_of("shoal_stats_t")

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self.batch_histogram: list[int] = list(native.batch_histogram)
        self.flush_reasons: dict[str, int] = {
            ffi.string(lib.shoal_flush_reason_name(i)).decode(): native.flush_reasons[i]
            for i in range(_REASONS)
        }

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


class SubscriptionStats(Counters):
    """A snapshot of the counters of a client's subscriptions, which share a connection.

    Attributes are integers, for example `messages`, `gaps`, `losses`; dir() has all,
    docs/PYTHON.md what they mean.
    """

    _numbers = _fields_of("shoal_pubsub_stats_t")


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


def take_subscriptions(hub: Hub | None) -> SubscriptionStats:
    """The same of subscriptions; None: there was none yet."""
    native = ffi.new("shoal_pubsub_stats_t *")
    status = 0 if hub is None else lib.shoalpy_hub_stats(hub.native, native)
    if status < 0:
        raise error_of(status)
    return SubscriptionStats(native)
