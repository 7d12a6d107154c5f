# SPDX-License-Identifier: MIT
"""Which future gets which result, without a server: in turn, in parts, out of turn."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from shoal._native import lib
from shoal._replies import Conversion
from shoal.aio._owed import Owed, Taken
from shoal.exceptions import ResponseError

PLAIN = Conversion(None)
OTHER = Conversion(None, is_classic=True)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def owed(loop: asyncio.AbstractEventLoop) -> Owed:
    return Owed(loop, PLAIN)


Batch = Callable[..., list[Any]]


@pytest.fixture
def batch(loop: asyncio.AbstractEventLoop, owed: Owed) -> Batch:
    """Registers futures by numbers from `first`."""

    def register(first: int, count: int, conversion: Conversion = PLAIN) -> list[Any]:
        futures = [loop.create_future() for _ in range(count)]
        assert owed.register(first, futures, conversion)
        return futures

    return register


def complete(owed: Owed, items: list[Any]) -> None:
    taken: list[Taken] = []
    try:
        owed.take(items, taken)
    finally:
        owed.resolve(taken, is_now=False)


def results(futures: list[Any]) -> list[Any]:
    return [future.result() if future.done() else None for future in futures]


@pytest.mark.parametrize("conversion", [PLAIN, OTHER])
@pytest.mark.parametrize(
    "items",
    [
        [10, [0, 1, 2, 3, 4, 5]],  # two batches at once
        [10, [0, 1, 2], 13, [3, 4, 5]],
        [10, [0], 11, [1, 2, 3, 4], 15, [5]],  # over the end of a batch
        [13, [3, 4, 5], 10, [0, 1, 2]],
        [14, [4], 11, [1, 2, 3], 15, [5], 10, [0]],  # from the middle of a batch
        [12, [2, 3], 10, [0, 1], 14, [4, 5]],
    ],
)
def test_every_future_gets_its_own(
    owed: Owed, batch: Batch, items: list[Any], conversion: Conversion
) -> None:
    futures = batch(10, 3) + batch(13, 3, conversion)
    due = 6
    for first, replies in zip(items[::2], items[1::2], strict=True):
        complete(owed, [first, replies])
        due -= len(replies)
        assert len(owed) == due == len(owed.futures()) == len(owed.numbers(None))
    assert results(futures) == [0, 1, 2, 3, 4, 5]


def test_one_by_one(owed: Owed, batch: Batch) -> None:
    """Out of long runs."""
    futures = batch(0, 50_000) + batch(50_000, 50_000, OTHER)
    for number in range(100_000):
        complete(owed, [number, [number]])
    assert results(futures) == list(range(100_000))
    assert len(owed) == 0 and not owed.futures()


def test_the_callers_list_is_not_ours(
    loop: asyncio.AbstractEventLoop, owed: Owed
) -> None:
    futures = [loop.create_future() for _ in range(3)]
    assert owed.register(0, futures, PLAIN)
    complete(owed, [0, [b"a", b"b"]])
    complete(owed, [2, [b"c"]])
    assert results(futures) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("items", [[9, [0]], [12, [0, 1]], [13, [0]], [10, [0] * 4]])
def test_a_number_of_nobody(owed: Owed, batch: Batch, items: list[Any]) -> None:
    futures = batch(10, 3)
    with pytest.raises(KeyError):
        complete(owed, items)
    # No future has gone astray: each one fails.
    owed.fail_all(lambda: ConnectionError("gone"))
    assert [type(future.exception()) for future in futures] == [ConnectionError] * 3
    assert len(owed) == 0 and not owed.futures()


def test_a_number_that_is_taken(owed: Owed, batch: Batch) -> None:
    futures = batch(10, 3)
    assert not owed.register(10, batch(20, 1), PLAIN)
    batch(30, 3)
    complete(owed, [31, [b"x"]])
    assert not owed.register(30, futures, PLAIN)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_another_future_takes_its_place(
    loop: asyncio.AbstractEventLoop, owed: Owed, batch: Batch, at: int
) -> None:
    futures = batch(10, 3)
    late = loop.create_future()
    futures[at].cancel()
    assert owed.pass_on(futures[at], late) == [10 + at]
    assert len(owed) == 3 and owed.numbers({id(late)}) == [10 + at]
    complete(owed, [10, [0, 1, 2]])
    futures[at] = late
    assert results(futures) == [0, 1, 2]


def test_what_was_cancelled_just_before(
    loop: asyncio.AbstractEventLoop, owed: Owed, batch: Batch
) -> None:
    futures = batch(10, 3)
    futures[1].cancel()
    complete(owed, [10, [0, 1, 2]])
    assert futures[0].result() == 0 and futures[2].result() == 2
    late = loop.create_future()
    assert owed.pass_on(futures[1], late) == [] and late.result() == 1


def test_the_loop_was_closed(
    loop: asyncio.AbstractEventLoop, owed: Owed, batch: Batch
) -> None:
    """Nobody can be told, and all get their results: none waits for ever."""
    futures = batch(0, 3) + batch(3, 2, OTHER) + batch(5, 2)
    for future in futures:
        future.add_done_callback(lambda future: None)
    futures[1].cancel()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        complete(owed, [0, [0, 1, 2], 3, [3], 4, (lib.SHOALPY_ERROR, b"ERR no")])
    with pytest.raises(RuntimeError, match="closed"):
        complete(owed, [5, [5, 6]])
    assert futures[1].cancelled() and isinstance(futures[4].exception(), ResponseError)
    del futures[4], futures[1]
    assert results(futures) == [0, 2, 3, 5, 6]
