# SPDX-License-Identifier: MIT
"""Keys and values, the same for whoever fills the server and whoever checks replies."""

BIG = b"x" * (100 * 1024)
BIG_KEY = "big"
LIST_KEY = "list"
LIST_ITEMS = [b"item:%011d" % number for number in range(10_000)]
MANY = 100  # commands of one batch


def key_of_caller(number: int) -> str:
    return f"key:{number:012d}"


def value_of_key(key: str) -> bytes:
    """16 bytes that no other key has."""
    return b"val:" + key.removeprefix("key:").encode()


MGET_KEYS = [key_of_caller(number) for number in range(1000)]
HASH_KEY = "hash"
HASH_FIELDS = {key.encode(): value_of_key(key) for key in MGET_KEYS}
ZSET_KEY = "zset"
ZSET_MEMBERS = [[key.encode(), 0.5 + number] for number, key in enumerate(MGET_KEYS)]
