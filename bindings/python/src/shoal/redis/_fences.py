# SPDX-License-Identifier: MIT
"""Names that a PubSub subscribes to for their confirmation alone (_subscriber.py)."""

import itertools
import os

from shoal._native import lib

#: A name, behind C's kind.
Key = tuple[int, bytes]


class Fences:
    """Of all PubSubs of a pool: names that no other process has."""

    __slots__ = ("_numbers", "_prefix", "are_refused")

    def __init__(self) -> None:
        self._prefix = b"__shoal:" + os.urandom(8).hex().encode() + b":%d"
        self._numbers = itertools.count(1)
        self.are_refused = False

    def next(self, beside: bytes | None = None) -> Key:
        """Another one, to be answered by the server that has the name `beside`."""
        return int(lib.SHOAL_NAME_CHANNEL), self._prefix % next(self._numbers)


class ClusterFences(Fences):
    """Of all PubSubs of a cluster's client: each is in the slot of a name."""

    __slots__ = ()

    def next(self, beside: bytes | None = None) -> Key:
        """Another one; in any slot if no tag stands for the name's."""
        kind, fence = super().next()
        tag = _tag_of(beside or b"")
        return kind, fence + b"{%b}" % tag if tag else fence


def _tag_of(name: bytes) -> bytes:
    """What a name with this tag shares a slot with; empty: there is none."""
    before, _, behind = name.partition(b"{")
    tag, closes, _ = behind.partition(b"}")
    if closes and tag:
        return tag
    return b"" if b"}" in name else name
