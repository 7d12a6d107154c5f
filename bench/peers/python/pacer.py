# SPDX-License-Identifier: MIT
"""What peer-pacer says on the standard input: when the schedule of an open loop begins,
and whenever a command of it is due."""

import os
import sys

INPUT = 0
TICKS_MAX = 4096  # that one read takes


def read_start():
    """The begin, in nanoseconds of perf_counter."""
    data = os.read(INPUT, 8)
    if len(data) != 8:
        raise RuntimeError("--rate needs peer-pacer on the standard input")
    return int.from_bytes(data, sys.byteorder)


def wait():
    """Wait for the next moment."""
    if not os.read(INPUT, TICKS_MAX):
        raise RuntimeError("the pacer has ended")
