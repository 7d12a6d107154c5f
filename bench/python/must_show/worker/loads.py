# SPDX-License-Identifier: MIT
"""What a caller does, again and again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from must_show.contents import (
    BIG,
    BIG_KEY,
    HASH_FIELDS,
    HASH_KEY,
    LIST_ITEMS,
    LIST_KEY,
    MANY,
    MGET_KEYS,
    ZSET_KEY,
    ZSET_MEMBERS,
    key_of_caller,
    value_of_key,
)
from must_show.worker.clients import Calls


@dataclass(frozen=True)
class Work:
    """One caller's: the call, and what its last reply has to be like. Replies are not
    looked at while it is measured; one that was shifted stays so."""

    call: Callable[[], Any]
    is_right: Callable[[Any], bool]


@dataclass(frozen=True)
class Load:
    """commands: that one call has; value_bytes: for the report

    make: a caller's work; None for SET and GET in turn of a key of the caller's own
    """

    commands: int
    value_bytes: int
    make: Callable[[Calls], Work] | None


def many(calls: Calls) -> Work:
    keys = [key_of_caller(number) for number in range(MANY // 2)]
    pairs = [(key, value_of_key(key)) for key in keys]
    values = [value for _, value in pairs]
    return Work(lambda: calls.many(pairs), lambda replies: replies[1::2] == values)


def mget(calls: Calls) -> Work:
    values = [value_of_key(key) for key in MGET_KEYS]
    return Work(lambda: calls.mget(MGET_KEYS), lambda reply: reply == values)


def lrange(calls: Calls) -> Work:
    return Work(lambda: calls.lrange(LIST_KEY), lambda reply: reply == LIST_ITEMS)


def hgetall(calls: Calls) -> Work:
    return Work(lambda: calls.hgetall(HASH_KEY), lambda reply: reply == HASH_FIELDS)


def zrange(calls: Calls) -> Work:
    def is_right(reply: Any) -> bool:  # of pairs, lists or tuples
        return [list(pair) for pair in reply] == ZSET_MEMBERS

    return Work(lambda: calls.zrange(ZSET_KEY), is_right)


def get_big(calls: Calls) -> Work:
    return Work(lambda: calls.get(BIG_KEY), lambda reply: reply == BIG)


def set_big(calls: Calls) -> Work:
    return Work(lambda: calls.set(BIG_KEY, BIG), bool)  # b"OK", "OK" or True


LOADS = {
    "turns": Load(2, 16, None),
    "many": Load(MANY, 16, many),
    "mget": Load(1, 16, mget),
    "lrange": Load(1, 16, lrange),
    "hgetall": Load(1, 16, hgetall),
    "zrange": Load(1, 16, zrange),
    "get-100k": Load(1, len(BIG), get_big),
    "set-100k": Load(1, len(BIG), set_big),
}


def insist(is_right: bool, reply: Any) -> None:
    """A result with a wrong reply is none."""
    if not is_right:
        raise RuntimeError(f"a reply is not what was stored: {str(reply)[:80]}")
