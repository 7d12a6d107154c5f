# SPDX-License-Identifier: MIT
"""What a node would tell a connection that one PubSub of a cluster's client has for
itself (_subscriber.py), although the names are at several nodes.

A node answers in the order of the commands.  Here the nodes answer in any order, so an
answer waits for those of earlier commands, and no longer than until a message comes, or
is not to be had because a node is away.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ._fences import Fences, Key
from ._subscriber import Answer, Change, Subscriber


class ClusterSubscriber(Subscriber):
    """The names of one PubSub, and the replies that it has not read.

    is_cut  a node that had one of the names is lost, and others may have answered
    """

    __slots__ = ("_turns", "is_cut")

    def __init__(
        self,
        decode: Callable[[bytes], Any] | None,
        fences: Fences,
        tells_holes: Callable[[], bool],
    ) -> None:
        super().__init__(decode, fences, tells_holes)
        # Names and fences in the order of the commands; None: its node has not
        # answered.
        self._turns: dict[Key, list[Answer] | None] = {}
        self.is_cut = False

    def is_owed(self) -> bool:
        """Has a node still to answer something?"""
        return self.is_cut or super().is_owed()

    def forget(self) -> None:
        """The subscription is gone: names, and what was not read."""
        super().forget()
        self._turns.clear()
        self.is_cut = False

    def say_held(self) -> None:
        """Say all answers that are there, whatever stands before them."""
        for key, answers in list(self._turns.items()):
            if answers is not None:
                self._say(key, answers)

    # ---- commands ----

    def _subscribe(self, keys: list[Key]) -> Change:
        change = Change([], [])
        for key in keys:
            change.added.extend(super()._subscribe([key]).added)
            if self.names[key] > 0:
                self._turns.setdefault(key)
        return change

    def _unsubscribe(self, kind: int, keys: list[Key]) -> Change:
        """Each name has a fence of its own, at its node."""
        keys = keys or [key for key in self.names if key[0] == kind]
        if not keys:
            return super()._unsubscribe(kind, keys)
        change = Change([], [])
        for key in keys:
            answers = self._give_up(key, change.removed)
            # Its fence says what was held back, too: the name may be wanted again.
            answers = [*(self._turns.pop(key, None) or ()), *answers]
            change.added.extend(self._fence(answers, [key], key[1]))
        return change

    def _fence(
        self, answers: list[Answer], removed: list[Key], beside: bytes | None = None
    ) -> list[Key]:
        fences = super()._fence(answers, removed, beside)
        self._turns.update(dict.fromkeys(fences))
        return fences

    # ---- items ----

    def read(self, items: Iterable[Any], has_marks: bool) -> list[Key]:
        """Take what C's feed gave; returns fences that have served."""
        if not self._turns:
            return super().read(items, has_marks)
        served = []
        for item in items:
            if len(item) <= 3:  # a message: nothing that was confirmed follows it
                self.say_held()
            served += super().read([item], True)
        return served

    def _answer(self, fence: Key) -> None:
        self._take_turn(fence, self._fenced[fence].answers)

    def _confirm(self, key: Key) -> None:
        owed = self.names.get(key)
        if owed == 0:  # once more, because messages may be missing
            self._confirmation(key)()
        elif owed is not None:
            self.names[key] = 0
            self._take_turn(key, [self._confirmation(key)] * owed)

    def _reject(self, key: Key, text: str) -> None:
        super()._reject(key, text)
        self._turns.pop(key, None)
        self._go_on()

    def _suspend(self) -> None:
        """The names of other nodes go on."""
        self.is_cut = True

    # ---- turns ----

    def _take_turn(self, key: Key, answers: list[Answer]) -> None:
        self._turns[key] = answers
        self._go_on()

    def _go_on(self) -> None:
        """Say what has its turn now."""
        while self._turns:
            key, answers = next(iter(self._turns.items()))
            if answers is None:
                break
            self._say(key, answers)

    def _say(self, key: Key, answers: list[Answer]) -> None:
        del self._turns[key]
        for answer in answers:
            answer()
