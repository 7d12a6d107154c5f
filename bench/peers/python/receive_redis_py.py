# SPDX-License-Identifier: MIT
"""redis-py's PubSub; and whatever has its names."""

import functools

import receive_tasks
import receive_threads
import redis
import redis.asyncio
from client_redis_py import make_pool
from workload import STOPPING

DISTRIBUTIONS = {"redis-py": "redis", "hiredis-py": "hiredis"}


async def listen(options, channels, receipts, module=redis.asyncio):
    client = module.Redis(connection_pool=make_pool(module, options, None))
    async with client.pubsub() as pubsub:
        await pubsub.subscribe(*channels)
        confirmed = 0
        async for message in pubsub.listen():
            if message["type"] == "message":
                receipts.note(message["data"])
                continue
            confirmed += 1
            if confirmed == len(channels):
                receipts.confirmed()


def get_message(options, channels, receipts, module=redis):
    client = module.Redis(connection_pool=make_pool(module, options, None))
    with client.pubsub() as pubsub:
        pubsub.subscribe(*channels)
        confirmed = 0
        while receipts.phase != STOPPING:
            message = pubsub.get_message(timeout=0.1)
            if message is None:
                continue
            if message["type"] == "message":
                receipts.note(message["data"])
                continue
            confirmed += 1
            if confirmed == len(channels):
                receipts.confirmed()


CLIENTS = {
    "redis-py-listen": functools.partial(receive_tasks.run, receive=listen),
    "redis-py-get-message": functools.partial(receive_threads.run, receive=get_message),
}
