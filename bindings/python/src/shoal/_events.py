# SPDX-License-Identifier: MIT
"""What happened to connections, as C keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._native import ffi

#: In the order of C's.
_EVENT_KINDS = (
    *("connected", "ready", "lost", "retrying", "attempt_failed"),
    *("tls_files", "tls_unverified"),
    *("server_changed", "sentinels_lost", "credentials", "maintenance"),
    *("map_changed", "node_up", "node_down", "failover", "redirect_refused"),
    *("zone_unknown", "keyspace_off"),
)
_EVENTS_MAX = 128


class Event(NamedTuple):
    """What happened to a connection."""

    #: connected, ready, lost (it was ready), attempt_failed (it was not yet), retrying,
    #: tls_files (they cannot be used: those read before go on), tls_unverified (the
    #: server's certificate was not checked), server_changed (another primary),
    #: sentinels_lost (none answers; the server stays in use); credentials (a provider
    #: answered or failed, or AUTH was answered in place); maintenance (the server said
    #: what it is about to do, or that this is over); map_changed (slots of the cluster
    #: have other owners), node_up and node_down (of the cluster), failover (a replica
    #: owns slots of its primary), redirect_refused (a server led where the client does
    #: not go), zone_unknown (a server does not say in which zone it is),
    #: keyspace_off (a server does not send all events of keys that are subscribed); or
    #: dropped (events were)
    kind: str
    detail: str  #: address and cause, without credentials
    delay: float  #: of retrying: seconds until the next attempt
    epoch: int  #: how often this connection was dialed, this time included
    status: int  #: of what failed: the C library's code
    connection: int  #: number of the connection in its client, from 1; it stays
    server: str  #: "host:port", "[::1]:port", or the path of a Unix socket


def text_of(bytes_: Any) -> str:
    """A string of C's."""
    return str(ffi.string(bytes_).decode("utf-8", "replace"))


def take_events(take: Callable[..., int], handle: Any) -> list[Event]:
    """What happened since the last call; `take` is C's function for that."""
    taken = ffi.new("shoalpy_event_t[]", _EVENTS_MAX)
    lost = ffi.new("uint64_t *")
    count = take(handle, taken, _EVENTS_MAX, lost)
    events: list[Event] = []
    if lost[0]:
        events.append(Event("dropped", f"{lost[0]} events", 0.0, 0, 0, 0, ""))
    for i in range(count):
        event = taken[i]
        events.append(
            Event(
                _EVENT_KINDS[event.kind],
                text_of(event.detail),
                event.delay_us / 1e6,
                event.epoch,
                event.status,
                event.connection,
                text_of(event.server),
            )
        )
    return events
