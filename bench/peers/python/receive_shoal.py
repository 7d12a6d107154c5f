# SPDX-License-Identifier: MIT
"""shoal's own two faces. Marks say where messages are missing; their numbers say so
here."""

import asyncio
import functools

import receive_tasks
import receive_threads
import shoal
import shoal.aio
from client_shoal import place_of
from workload import STOPPING

DISTRIBUTIONS = {"shoal-python": "shoal"}
TAKE = 1000


async def iterate(options, channels, receipts):
    async with (
        shoal.aio.Client(**place_of(options)) as client,
        client.subscribe(*channels) as subscription,
    ):
        receipts.confirmed()
        async for item in subscription:
            if isinstance(item, shoal.Message):
                receipts.note(item.data)


async def take(options, channels, receipts):
    async with (
        shoal.aio.Client(**place_of(options)) as client,
        client.subscribe(*channels, marks=False) as subscription,
    ):
        receipts.confirmed()
        while messages := await subscription.take(TAKE):
            receipts.note_all([message.data for message in messages])


async def call_back(options, channels, receipts):
    def on_message(item):
        if isinstance(item, shoal.Message):
            receipts.note(item.data)

    async with (
        shoal.aio.Client(**place_of(options)) as client,
        client.subscribe(*channels, on_message=on_message),
    ):
        receipts.confirmed()
        await asyncio.Event().wait()


def iterate_in_thread(options, channels, receipts):
    with (
        shoal.Client(**place_of(options)) as client,
        client.subscribe(*channels) as subscription,
    ):
        receipts.confirmed()
        for item in subscription:
            if isinstance(item, shoal.Message):
                receipts.note(item.data)
            if receipts.phase == STOPPING:
                return


def take_in_thread(options, channels, receipts):
    with (
        shoal.Client(**place_of(options)) as client,
        client.subscribe(*channels, marks=False) as subscription,
    ):
        receipts.confirmed()
        while receipts.phase != STOPPING:
            if messages := subscription.take(TAKE, timeout=0.1):
                receipts.note_all([message.data for message in messages])


CLIENTS = {
    "shoal-iterate": functools.partial(receive_tasks.run, receive=iterate),
    "shoal-take": functools.partial(receive_tasks.run, receive=take),
    "shoal-on-message": functools.partial(receive_tasks.run, receive=call_back),
    "shoal-iterate-thread": functools.partial(
        receive_threads.run, receive=iterate_in_thread
    ),
    "shoal-take-thread": functools.partial(receive_threads.run, receive=take_in_thread),
}
