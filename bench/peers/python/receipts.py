# SPDX-License-Identifier: MIT
"""What every receiver of messages shares: it counts them, looks whether their
numbers agree, times them, and tells the publisher. See shoal-bench's receipts.h."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from workload import MEASURING, Measurement

CREDIT = 1024  # messages for which the publisher is told once
LOOK = 8  # messages for one whose number is looked at, and that is timed at a rate
TIMED_SHARE = 64  # in a closed loop one in so many is
OUT_OF_ORDER = "messages came twice, or behind later ones"


def channels_of(options: Any) -> list[str]:
    return [f"channel:{number}" for number in range(options.channels)]


class Receipts(Measurement):
    """One thread or loop at a time notes messages. Most of them are only counted, so
    that the bench costs little beside a receiver."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.sampling = LOOK if options.rate else TIMED_SHARE
        self.lost = 0
        self._due = CREDIT - 1
        self._recorder = self.recorders[0]
        #: Takes one message.
        self.note = self._make_note()

    def confirmed(self) -> None:
        """Every channel is: the publisher may begin."""
        print("subscribed", file=sys.stderr, flush=True)

    def _make_note(self) -> Callable[[bytes | str], None]:
        recorder, look = self._recorder, self._look

        def note(payload: bytes | str) -> None:
            recorder.ops = count = recorder.ops + 1
            if count % LOOK == 0:
                look(payload, count)

        return note

    def note_all(self, payloads: Sequence[bytes | str]) -> None:
        """Takes messages that came in one piece."""
        self._recorder.ops += len(payloads)
        self._look(payloads[-1], self._recorder.ops)
        if self.options.rate and self.phase == MEASURING:
            for payload in payloads[:-1:LOOK]:
                self._time(payload)

    def _look(self, payload: bytes | str, count: int) -> None:
        """So many have come with this one."""
        number = int(payload[:8], 16)
        lost = number + 1 - count
        if lost < self.lost:
            self._recorder.note_error(ValueError(OUT_OF_ORDER))
        self.lost = lost
        if self.phase == MEASURING and (
            self.options.rate or count % TIMED_SHARE < LOOK
        ):
            self._time(payload)
        if number >= self._due:
            self._tell(number)

    def _time(self, payload: bytes | str) -> None:
        us = time.monotonic_ns() // 1000 - int(payload[8:16], 16) & 0xFFFFFFFF
        self._recorder.latency_ns.append(us * 1000)

    def _tell(self, number: int) -> None:
        due = (number - self._due) // CREDIT + 1
        self._due += due * CREDIT
        os.write(self.options.credits, bytes(due))

    def result(self, versions: dict[str, str | None]) -> dict[str, Any]:
        return {**super().result(versions), "lost_messages": self.lost}
