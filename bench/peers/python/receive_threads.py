# SPDX-License-Identifier: MIT
"""Receiving in a thread."""

import threading
import time

from receipts import Receipts, channels_of


def run(options, receive):
    """Measure. `receive(options, channels, receipts)` receives until receipts.phase is
    STOPPING; it calls receipts.confirmed() and gives receipts the messages."""
    receipts = Receipts(options)
    ready = threading.Event()
    confirmed = receipts.confirmed
    problems = []

    def on_confirmed():
        confirmed()
        ready.set()

    def work():
        try:
            receive(options, channels_of(options), receipts)
        except Exception as problem:
            problems.append(problem)
        ready.set()

    receipts.confirmed = on_confirmed
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait()
    time.sleep(options.warmup)
    receipts.begin()
    time.sleep(options.duration)
    receipts.end()
    thread.join(10)
    if problems:
        raise problems[0]
    return receipts
