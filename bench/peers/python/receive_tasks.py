# SPDX-License-Identifier: MIT
"""Receiving in a task of an asyncio loop."""

import asyncio

from receipts import Receipts, channels_of


def run(options, receive):
    """Measure. `receive(options, channels, receipts)` receives until it is cancelled.
    It calls receipts.confirmed() and gives receipts the messages."""
    return asyncio.run(measure(options, receive))


async def measure(options, receive):
    receipts = Receipts(options)
    ready = asyncio.Event()
    confirmed = receipts.confirmed

    def on_confirmed():
        confirmed()
        ready.set()

    receipts.confirmed = on_confirmed
    task = asyncio.create_task(receive(options, channels_of(options), receipts))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    if not ready.is_set():
        waiting.cancel()
        await task  # raises why
    await asyncio.sleep(options.warmup)
    receipts.begin()
    await asyncio.sleep(options.duration)
    receipts.end()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return receipts
