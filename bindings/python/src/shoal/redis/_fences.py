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

    def next(self) -> Key:
        """Another one."""
        return int(lib.SHOAL_NAME_CHANNEL), self._prefix % next(self._numbers)
