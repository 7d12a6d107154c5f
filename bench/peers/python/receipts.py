# SPDX-License-Identifier: MIT
"""What every receiver of messages shares: it counts them, looks whether each is the one
that is due, times them, and tells the publisher. See shoal-bench's receipts.h."""

import os
import sys
import time
from array import array
from collections.abc import Sequence
from typing import Any

from workload import MEASURING, Measurement

CREDIT = 1024  # messages for which the publisher is told once
TIMED_SHARE = 64  # one message in so many is timed
TIMED_AT_A_RATE = 8  # the same, at a rate
OUT_OF_ORDER = "a message came twice, or behind a later one"


def channels_of(options: Any) -> list[str]:
    return [f"channel:{number}" for number in range(options.channels)]


class Receipts(Measurement):
    """One thread or loop at a time notes messages."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.sampling = TIMED_AT_A_RATE if options.rate else TIMED_SHARE
        self.lost = 0
        self._next = 0
        self._due = CREDIT - 1
        self._untimed = self.sampling - 1
        self._recorder = self.recorders[0]
        self._latency_ns: array[int] = self._recorder.latency_ns

    def confirmed(self) -> None:
        """Every channel is: the publisher may begin."""
        print("subscribed", file=sys.stderr, flush=True)

    def note(self, payload: bytes | str) -> None:
        number = int(payload[:8], 16)
        if number != self._next:
            self._jump(number)
        self._next = number + 1
        if number & self._untimed == 0 and self.phase == MEASURING:
            self._time(payload)
        if number >= self._due:
            self._tell(number)
        self._recorder.ops += 1

    def note_all(self, payloads: Sequence[bytes | str]) -> None:
        """Messages that came in one piece: looks at the numbers of the first and the
        last one."""
        first, last = int(payloads[0][:8], 16), int(payloads[-1][:8], 16)
        if first != self._next or last - first != len(payloads) - 1:
            self._jump(last - len(payloads) + 1)
        self._next = last + 1
        if self.phase == MEASURING:
            for payload in payloads[-first & self._untimed :: self.sampling]:
                self._time(payload)
        if last >= self._due:
            self._tell(last)
        self._recorder.ops += len(payloads)

    def _jump(self, number: int) -> None:
        if number > self._next:
            self.lost += number - self._next
        else:
            self._recorder.note_error(ValueError(OUT_OF_ORDER))

    def _time(self, payload: bytes | str) -> None:
        us = time.monotonic_ns() // 1000 - int(payload[8:16], 16) & 0xFFFFFFFF
        self._latency_ns.append(us * 1000)

    def _tell(self, number: int) -> None:
        due = (number - self._due) // CREDIT + 1
        self._due += due * CREDIT
        os.write(self.options.credits, bytes(due))

    def result(self, versions: dict[str, str | None]) -> dict[str, Any]:
        return {**super().result(versions), "lost_messages": self.lost}
