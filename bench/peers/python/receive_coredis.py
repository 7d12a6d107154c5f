# SPDX-License-Identifier: MIT
"""coredis' PubSub, as an asynchronous iterator."""

import functools

import coredis
import receive_tasks

DISTRIBUTIONS = {"coredis": "coredis"}


async def iterate(options, channels, receipts):
    client = coredis.Redis(host=options.host, port=options.port)
    async with client, client.pubsub() as pubsub:
        await pubsub.subscribe(*channels)
        receipts.confirmed()
        async for message in pubsub:
            if message["type"] == "message":
                receipts.note(message["data"])


CLIENTS = {
    "coredis-iterate": functools.partial(receive_tasks.run, receive=iterate),
}
