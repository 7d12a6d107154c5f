# SPDX-License-Identifier: MIT
"""What a server would tell a connection that one PubSub has for itself.

Many PubSubs share a connection, and the server answers to that.  Each has one of
these, which makes of the items of its subscription the replies that redis-py's code
expects: the messages, and confirmations with counts of its own.  It knows neither
socket nor thread.

Some answers must stand in the server's order although the shared connection has nothing
to ask for: that of PING, and of the end of a subscription that others still have.  The
subscriber then asks for a name that nobody else has (a *fence*): when the server has
confirmed it, everything that it sent before has been read.  A user whom the server
forbids the name is answered at once.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import redis.exceptions as theirs

from shoal._items import Dropped, Gap
from shoal._native import lib

from ._errors import error_reply
from ._fences import Fences, Key

_CHANNEL: Final = int(lib.SHOAL_NAME_CHANNEL)
_PATTERN: Final = int(lib.SHOAL_NAME_PATTERN)
_SHARD: Final = int(lib.SHOAL_NAME_SHARD)

_REASONS: Final = ("", "lost", "moved", "probe", "node")
_KINDS: Final = ("channel", "pattern", "shard", "keyspace")
# Of the holes, the latest ones are kept.
GAPS_MAX: Final = 64

# C's kind, and whether names are added.
_COMMANDS: Final = {
    "SUBSCRIBE": (_CHANNEL, True),
    "PSUBSCRIBE": (_PATTERN, True),
    "SSUBSCRIBE": (_SHARD, True),
    "UNSUBSCRIBE": (_CHANNEL, False),
    "PUNSUBSCRIBE": (_PATTERN, False),
    "SUNSUBSCRIBE": (_SHARD, False),
}

# Of a fence: what is told when the server has answered.
Answer = Callable[[], None]


class Words(NamedTuple):
    """redis-py's words, as bytes or str; the first three by C's kind."""

    subscribe: tuple[Any, ...]
    unsubscribe: tuple[Any, ...]
    message: tuple[Any, ...]
    pong: Any


_BYTES: Final = Words(
    (b"subscribe", b"psubscribe", b"ssubscribe"),
    (b"unsubscribe", b"punsubscribe", b"sunsubscribe"),
    (b"message", b"pmessage", b"smessage"),
    b"pong",
)
_TEXT: Final = Words(
    ("subscribe", "psubscribe", "ssubscribe"),
    ("unsubscribe", "punsubscribe", "sunsubscribe"),
    ("message", "pmessage", "smessage"),
    "pong",
)


class Change(NamedTuple):
    """What a command means for the subscription."""

    removed: list[Key]
    added: list[Key]


class Fenced(NamedTuple):
    """What a fence stands for: what is told, and the names that were given up."""

    answers: list[Answer]
    removed: list[Key]


class Subscriber:
    """The names of one PubSub, and the replies that it has not read.

    ready        lists, as redis-py's parser makes them, and exceptions to be raised
    gaps         the latest holes among the messages: shoal.Gap, shoal.Dropped
    names        each with the confirmations that are owed; 0: the server confirmed it
    tells_holes  whether a hole is an exception, or else confirmations once more
    """

    __slots__ = (
        "_confirmed", "_decode", "_fenced", "_fences", "_left", "_shards", "_words",
        "gaps", "names", "ready", "tells_holes",
    )  # fmt: skip

    def __init__(
        self,
        decode: Callable[[bytes], Any] | None,
        fences: Fences,
        tells_holes: Callable[[], bool],
    ) -> None:
        self._decode = decode
        self._words = _BYTES if decode is None else _TEXT
        self._fences = fences
        self.tells_holes = tells_holes
        self.ready: list[Any] = []  # a deque is larger than all the rest
        self.gaps: tuple[Gap | Dropped, ...] = ()
        self.names: dict[Key, int] = {}
        # What is told when the server has confirmed a fence, in the order of commands;
        # and the names that are given up, each with its fence.
        self._fenced: dict[Key, Fenced] = {}
        self._left: dict[Key, Key] = {}
        # The server counts channels of shards apart.
        self._confirmed: set[Key] = set()
        self._shards = 0

    def is_owed(self) -> bool:
        """Has the server still to answer something?"""
        return bool(self._fenced) or len(self._confirmed) < len(self.names)

    def forget(self) -> None:
        """The connection is gone: names, and what was not read."""
        self.ready.clear()
        self.names.clear()
        self._fenced.clear()
        self._left.clear()
        self._unconfirm()

    # ---- commands ----

    def ask(self, command: str, names: list[bytes]) -> Change:
        """Take a command, and say what is to be changed.  redis-py's DataError: none
        that a PubSub sends."""
        command = command.upper()
        if command == "PING":
            return Change([], self._fence([self._pong(names)], []))
        if command not in _COMMANDS:
            raise theirs.DataError(f"a PubSub does not send {command}")
        kind, is_added = _COMMANDS[command]
        if is_added:
            return self._subscribe([(kind, name) for name in names])
        return self._unsubscribe(kind, [(kind, name) for name in names])

    def _subscribe(self, keys: list[Key]) -> Change:
        change = Change([], [])
        for key in keys:
            owed = self.names.get(key)
            if owed == 0:  # confirmed before
                change.added.extend(self._fence([self._confirmation(key)], [], key[1]))
                continue
            self.names[key] = (owed or 0) + 1
            if owed is None:
                change.added.append(key)
        return change

    def _unsubscribe(self, kind: int, keys: list[Key]) -> Change:
        removed: list[Key] = []
        answers: list[Answer] = []
        for key in keys or [key for key in self.names if key[0] == kind]:
            answers += self._give_up(key, removed)
        if not answers:
            answers.append(self._farewell((kind, None)))
        return Change(removed, self._fence(answers, removed))

    def _give_up(self, key: Key, removed: list[Key]) -> list[Answer]:
        """What is to be told of the end of a name."""
        owed = self.names.pop(key, None)
        if owed is not None:
            removed.append(key)
        # The server would have confirmed what was asked for before.
        return [*[self._confirmation(key)] * (owed or 0), self._farewell(key)]

    def _fence(
        self, answers: list[Answer], removed: list[Key], beside: bytes | None = None
    ) -> list[Key]:
        if self._fences.are_refused:
            for answer in answers:
                answer()
            return []
        fence = self._fences.next(beside)
        self._fenced[fence] = Fenced(answers, removed)
        self._left.update(dict.fromkeys(removed, fence))
        return [fence]

    # ---- replies ----

    def _tell(self, word: Any, kind: int, name: bytes | None) -> None:
        shown = name if self._decode is None or name is None else self._decode(name)
        count = self._shards
        if kind != _SHARD:
            count = len(self._confirmed) - self._shards
        self.ready.append([word, shown, count])

    def _shown(self, text: bytes) -> Any:
        return text if self._decode is None else self._decode(text)

    def _confirmation(self, key: Key) -> Answer:
        def answer() -> None:
            if key not in self._confirmed:
                self._confirmed.add(key)
                self._shards += key[0] == _SHARD
            self._tell(self._words.subscribe[key[0]], *key)

        return answer

    def _farewell(self, key: tuple[int, bytes | None]) -> Answer:
        def answer() -> None:
            if key in self._confirmed:
                self._confirmed.remove(key)
                self._shards -= key[0] == _SHARD
            self._tell(self._words.unsubscribe[key[0]], *key)

        return answer

    def _pong(self, texts: list[bytes]) -> Answer:
        text = self._shown(texts[0] if texts else b"")
        return lambda: self.ready.append([self._words.pong, text])

    # ---- items ----

    def read(self, items: Iterable[Any], has_marks: bool) -> list[Key]:
        """Take what C's feed gave; returns fences that have served."""
        plain, by_pattern, by_shard = self._words.message
        if not has_marks:
            self.ready.extend(
                [
                    [plain, channel, data]
                    if pattern is None
                    else [by_pattern, pattern, channel, data]
                    for channel, data, pattern in items
                ]
            )
            return []
        served: list[Key] = []
        for item in items:
            if len(item) > 3:
                self._read_mark(*item, served=served)
                continue
            channel, data, pattern = item
            if pattern is None:
                self.ready.append([plain, channel, data])
            elif pattern == _SHARD:
                self.ready.append([by_shard, channel, data])
            else:
                self.ready.append([by_pattern, pattern, channel, data])
        return served

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
        served: list[Key],
    ) -> None:
        text = detail.decode("utf-8", "replace")
        key = (kind, name.encode() if isinstance(name, str) else name)
        if key in self._fenced:
            self._fences.are_refused |= what == lib.SHOAL_ITEM_REJECTED
            self._answer(key)
            for left in self._fenced.pop(key).removed:
                if self._left.get(left) == key:
                    del self._left[left]
            served.append(key)
        elif what == lib.SHOAL_ITEM_SUBSCRIBED:
            if self.names.get(key):  # else it was given up and wanted again meanwhile
                self._confirm(key)
        elif what == lib.SHOAL_ITEM_GAP:
            shown = self._shown(key[1])
            self._remember(Gap(_REASONS[reason], shown, _KINDS[kind], text, epoch))
            self._confirm(key)
        elif what == lib.SHOAL_ITEM_SUSPENDED:
            self._suspend()
            self._break(f"Connection lost: {text}")
        elif what == lib.SHOAL_ITEM_DROPPED:
            self._remember(Dropped(count))
            confirmed = list(self._confirmed)
            self._unconfirm()
            if not self._break(f"{count} messages dropped: they were read too slowly"):
                for key in confirmed:
                    self._confirm(key)
        elif what == lib.SHOAL_ITEM_REJECTED:
            self._reject(key, text)
        elif what == lib.SHOAL_ITEM_ENDED:
            self.ready.append(theirs.ConnectionError("Connection closed"))

    def _answer(self, fence: Key) -> None:
        """The server has answered, and everything before, too."""
        for key, fenced in self._fenced.items():
            for answer in fenced.answers:
                answer()
            fenced.answers.clear()
            if key == fence:
                break

    def _confirm(self, key: Key) -> None:
        """The server did; if it was for a name that was given up, nobody asks."""
        owed = self.names.get(key)
        if owed is None:
            return
        fence = self._left.pop(key, None)
        if fence in self._fenced:  # it was given up, and is wanted again
            self._answer(fence)
        for _ in range(owed or 1):
            self._confirmation(key)()
        self.names[key] = 0

    def _reject(self, key: Key, text: str) -> None:
        if self.names.pop(key, None) is not None:
            self.ready.append(error_reply(text))

    def _suspend(self) -> None:
        """The connection is gone."""
        self._unconfirm()

    def _unconfirm(self) -> None:
        """The server knows none of the names now."""
        for key in self._confirmed:
            if key in self.names:
                self.names[key] = 1
        self._confirmed.clear()
        self._shards = 0

    def _break(self, text: str) -> bool:
        """Does a connection that breaks here raise an exception?"""
        is_told = self.tells_holes()
        if is_told:
            self.ready.append(theirs.ConnectionError(text))
        return is_told

    def _remember(self, hole: Gap | Dropped) -> None:
        self.gaps = (*self.gaps[1 - GAPS_MAX :], hole)
