# SPDX-License-Identifier: MIT
"""The clock of a promise about time: a thread that only takes naps of 1 ms.

A busy machine keeps every thread waiting, and this one as well. So the time that the
library may take is counted in naps, which are as long as the machine makes them.
"""

import bisect
import threading
import time
from types import TracebackType

_NAP_S = 0.001


class Naps:
    """Naps while the `with` lasts."""

    def __enter__(self) -> "Naps":
        self._ends: list[float] = []
        self._is_over = False
        self._thread = threading.Thread(target=self._sleep)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        self._thread.join()

    def _sleep(self) -> None:
        while not self._is_over:
            time.sleep(_NAP_S)
            self._ends.append(time.monotonic())

    def is_prompt(self, due: float, then: float, late_s: float) -> bool:
        """It was due at `due` and happened at `then`: late by no more than `late_s`, by
        the clock or by naps."""
        naps = bisect.bisect(self._ends, then) - bisect.bisect(self._ends, due)
        return then - due <= late_s or naps <= late_s / _NAP_S
