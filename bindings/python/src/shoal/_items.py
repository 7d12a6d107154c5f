# SPDX-License-Identifier: MIT
"""What subscriptions receive: messages and marks, and how C's lists become them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ._native import lib
from ._replies import Decoding

#: In the order of C's.
_NAME_KINDS = ("channel", "pattern", "shard", "keyspace")
#: Marks that a program gets unless it says otherwise.
_USUAL = (lib.SHOAL_ITEM_GAP, lib.SHOAL_ITEM_DROPPED, lib.SHOAL_ITEM_REJECTED)
_GAP_REASONS = ("", "lost", "moved", "probe", "node")


class Message(NamedTuple):
    """Somebody published this."""

    channel: Any  #: bytes, or str where decoding was asked for and it is UTF-8
    data: Any  #: likewise
    pattern: Any = None  #: of the subscription; None: by the channel's own name


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages of a name may be missing here. What the server processes later arrives:
    who reads the state of things now misses no change."""

    #: lost (the connection was), moved (another node has the name), probe (the server
    #: delivered nothing of what was published), node (one that has events was added)
    reason: str
    name: Any  #: bytes or str
    kind: str  #: channel, pattern, shard or keyspace
    detail: str  #: what happened
    epoch: int  #: number of the connection that has the name now


@dataclass(frozen=True, slots=True)
class Dropped:
    """Messages that stood here were dropped, because the program read too slowly."""

    count: int


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The server has confirmed a name: what it processes from now on arrives."""

    name: Any  #: bytes or str
    kind: str  #: channel, pattern, shard or keyspace
    epoch: int  #: number of the connection


@dataclass(frozen=True, slots=True)
class Suspended:
    """The connection is gone; the library connects anew, and Gap follows."""

    detail: str  #: what happened
    epoch: int  #: number of the connection that is gone


@dataclass(frozen=True, slots=True)
class Rejected:
    """The server refuses a name, which the subscription does not have any more."""

    name: Any  #: bytes or str
    kind: str  #: channel, pattern, shard or keyspace
    detail: str  #: the server's error


Item = Message | Gap | Dropped | Subscribed | Suspended | Rejected

#: Message(*item), without a call of Python's for each.
_as_message: Callable[[Iterable[Any]], Message] = partial(tuple.__new__, Message)


class Reading:
    """How one subscription's items become Python's; counts what is missing.

    `marks`: False: messages alone; True: also what says that messages are missing, and
    Rejected; "all": every mark.
    """

    def __init__(self, decoding: Decoding | None, marks: object) -> None:
        if marks not in (True, False, "all"):
            raise ValueError(f'marks must be True, False or "all", not {marks!r}')
        #: C decodes UTF-8.
        self.as_text = decoding is not None and decoding.is_utf8
        self._decoding = None if self.as_text else decoding
        self._marks = marks
        self.gaps = 0
        self.dropped = 0
        #: What servers said of names that they refuse, by kind and name.
        self.rejected: dict[tuple[int, bytes], str] = {}
        #: Why nothing follows; None: something may.
        self.end: str | None = None

    def items(self, taken: list[Any], has_marks: bool) -> list[Item]:
        """C's list, as the program gets it."""
        if self._decoding is not None:
            taken = [self._decoded(item) for item in taken]
        if not has_marks:
            return list(map(_as_message, taken))
        items: list[Item] = []
        for item in taken:
            if len(item) > 3:
                self._read_mark(*item, items=items)
            elif type(item[2]) is int:  # of a shard
                items.append(Message(*item[:2]))
            else:
                items.append(_as_message(item))
        return items

    def _decoded(self, item: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(self._text, item)) if len(item) == 3 else item

    def _text(self, data: Any) -> Any:
        if self._decoding is None or type(data) is not bytes:
            return data
        try:
            return self._decoding.decode(data)
        except UnicodeDecodeError:
            return data

    def _read_mark(
        self,
        what: int,
        kind: int,
        name: Any,
        count: int,
        reason: int,
        detail: bytes,
        epoch: int,
        *,
        items: list[Item],
    ) -> None:
        text = detail.decode("utf-8", "replace")
        key = kind, name.encode() if type(name) is str else name  # C decodes UTF-8
        name = self._text(name)
        mark: Item
        if what == lib.SHOAL_ITEM_GAP:
            self.gaps += 1
            mark = Gap(_GAP_REASONS[reason], name, _NAME_KINDS[kind], text, epoch)
        elif what == lib.SHOAL_ITEM_DROPPED:
            self.dropped += count
            mark = Dropped(count)
        elif what == lib.SHOAL_ITEM_REJECTED:
            self.rejected[key] = text
            mark = Rejected(name, _NAME_KINDS[kind], text)
        elif what == lib.SHOAL_ITEM_SUBSCRIBED:
            self.rejected.pop(key, None)
            mark = Subscribed(name, _NAME_KINDS[kind], epoch)
        elif what == lib.SHOAL_ITEM_SUSPENDED:
            mark = Suspended(text, epoch)
        else:  # a kind of later versions says nothing here
            if what == lib.SHOAL_ITEM_ENDED:
                self.end = text
            return
        if self._marks == "all" or (self._marks and what in _USUAL):
            items.append(mark)
