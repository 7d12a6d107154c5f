# SPDX-License-Identifier: MIT
"""valkey-glide on asyncio: a message at a time."""

import functools

import glide
import receive_tasks

DISTRIBUTIONS = {"valkey-glide": "valkey-glide"}


async def get(options, channels, receipts):
    kinds = glide.GlideClientConfiguration
    client = await glide.GlideClient.create(
        kinds(
            [glide.NodeAddress(options.host, options.port)],
            pubsub_subscriptions=kinds.PubSubSubscriptions(
                {kinds.PubSubChannelModes.Exact: set(channels)}, None, None
            ),
        )
    )
    receipts.confirmed()  # glide subscribes while it connects
    try:
        while True:
            message = await client.get_pubsub_message()
            receipts.note(message.message)
    finally:
        await client.close()


CLIENTS = {
    "valkey-glide-get": functools.partial(receive_tasks.run, receive=get),
}
