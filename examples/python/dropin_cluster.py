# SPDX-License-Identifier: MIT
"""dropin_cluster.py [url]: code for redis-py's RedisCluster, with one changed line.

The URL names a node, as with redis-py. Needs redis-py: pip install shoal[redis].
"""

import os
import sys
import threading

from shoal.redis import RedisCluster  # was: from redis import RedisCluster

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:7000")
USERS = 30
THREADS = 8
VISITS = 100


def add_users(r: RedisCluster) -> None:
    """What belongs to a user has a common tag, and so one slot; users have many."""
    with r.pipeline() as pipe:
        for number in range(USERS):
            user = f"{{user{number}}}"
            pipe.hset(user, mapping={"name": f"user-{number}"})
            pipe.delete(f"{user}:visits")
            pipe.delete(f"{user}:log")
        pipe.execute()


def visit(r: RedisCluster, first: int) -> None:
    for number in range(first, first + VISITS):
        user = f"{{user{number % USERS}}}"
        with r.pipeline(transaction=True) as pipe:  # MULTI ... EXEC, at the user's node
            pipe.incr(f"{user}:visits").rpush(f"{user}:log", number)
            pipe.execute()


def main(url: str) -> None:
    with RedisCluster.from_url(url, decode_responses=True) as r:
        add_users(r)
        threads = [
            threading.Thread(target=visit, args=(r, first)) for first in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        # Keys of several slots: each node gets its part.
        counts = r.mget_nonatomic([f"{{user{i}}}:visits" for i in range(USERS)])
        assert sum(map(int, counts)) == THREADS * VISITS
        print(f"{THREADS} threads made {sum(map(int, counts))} visits")
        print("the first one of user 0:", r.blpop(["{user0}:log"], timeout=5))
        with r.lock("{user0}:lock", timeout=5):
            print("user 0 is", r.hgetall("{user0}")["name"])
        if r.shoal_client:  # None: over redis-py's own connections; shoal_bypass
            stats = r.shoal_client.stats()
            print(f"{stats.commands} commands in {stats.writes} writes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_URL)
