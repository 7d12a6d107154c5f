# SPDX-License-Identifier: MIT
"""When the commands of a tick leave, without a server or an event loop."""

from types import SimpleNamespace
from typing import Any

import pytest
from shoal.aio._batch import Batch
from shoal.aio._tick import Tick


class Loop:
    """What a tick needs of an event loop. `_ready`: what else runs in this tick."""

    def __init__(self, ready: list[Any] | None) -> None:
        self.later: list[Any] = []
        if ready is not None:
            self._ready = ready

    def call_soon(self, call: Any) -> None:
        self.later.append(call)

    def create_future(self) -> Any:
        return object()


class Recorded(Tick):
    """Says what left."""

    def __init__(self, loop: Any, outstanding: int) -> None:
        options: Any = SimpleNamespace(default=None)
        waiting: Any = dict.fromkeys(range(outstanding))
        super().__init__(loop, options, waiting)
        self.sent: list[tuple[list[Any], bool]] = []
        self.pumps = 0

    def _enqueue(self, batch: Batch, *, more_follow: bool = False) -> None:
        self.sent.append((list(batch.commands), more_follow))

    def _pump_soon(self) -> None:
        self.pumps += 1


def ticked(
    ready: list[Any] | None, outstanding: int = 0, *, busy: bool = False
) -> tuple[Recorded, Loop]:
    loop = Loop(ready)
    tick = Recorded(loop, outstanding)
    tick._is_busy = busy
    return tick, loop


@pytest.mark.parametrize(
    ("ready", "outstanding", "was_lone", "busy", "at_once"),
    [
        ([], 0, False, False, True),  # nobody else runs in this tick
        ([], 500, False, False, True),
        ([1], 0, True, False, False),
        ([], 0, True, True, False),  # C must not be called now
        # A loop that does not tell, as uvloop: the last tick had one command, and
        # nobody waits whose task could run next.
        (None, 0, True, False, True),
        (None, 0, False, False, False),
        (None, 1, True, False, False),
    ],
)
def test_a_command_that_is_awaited(
    ready: list[Any] | None, outstanding: int, was_lone: bool, busy: bool, at_once: bool
) -> None:
    tick, loop = ticked(ready, outstanding, busy=busy)
    tick._was_lone = was_lone
    tick.queued += (("GET", "k"), object())
    tick.begin()
    assert tick.sent == ([([("GET", "k")], False)] if at_once else [])
    assert loop.later == ([] if at_once else [tick.flush])
    assert tick.is_scheduled is not at_once


def test_it_is_scheduled_once() -> None:
    tick, loop = ticked([1])
    for number in range(3):
        tick.queued += ((number,), object())
        tick.schedule()
    assert loop.later == [tick.flush]
    tick.flush()
    assert tick.sent == [([(0,), (1,), (2,)], False)]
    assert not tick.queued and not tick.is_scheduled


def test_what_interrupts_the_schedule_does_not_stop_the_next_one() -> None:
    """Ctrl-C in between: the loop may run again, and its next command leaves."""
    tick, loop = ticked([1])

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop, "call_soon", interrupt)
        tick.schedule()
    tick.schedule()
    assert loop.later == [tick.flush]


def test_a_flush_while_c_is_busy_comes_later() -> None:
    tick, loop = ticked([], busy=True)
    tick.queued += (("GET", "k"), object())
    tick.flush()
    tick.flush_early()
    assert (tick.sent, loop.later) == ([], [tick.flush])


@pytest.mark.parametrize(
    ("outstanding", "early"), [(0, 0), (63, 0), (64, 64), (65, 64), (127, 126)]
)
def test_half_of_all_callers_leave_early(outstanding: int, early: int) -> None:
    """`early` counts entries of the queue: two for each command."""
    tick, _ = ticked([], outstanding)
    tick.flush()
    assert tick.early == early
    tick.queued += (("GET", "k"), object())
    tick.flush_early()
    assert tick.sent == [([("GET", "k")], False)]
    assert tick.early == 0  # once in a tick


def test_neighbours_with_the_same_extras_cross_together() -> None:
    tick, loop = ticked([1])
    some: Any = (1, 2, None, None)
    other: Any = (3, 4, None, None)
    for name, extras in (("a", some), ("b", some), ("c", other), ("d", None)):
        if extras is None:
            tick.queued += ((name,), object())
        else:
            tick.submit_one((name,), extras, is_awaited=False)
    tick.flush()
    assert tick.sent == [
        ([("a",), ("b",)], True),
        ([("c",)], True),
        ([("d",)], False),
    ]
    assert (tick.pumps, len(loop.later)) == (1, 1)


def test_plain_commands_after_one_with_extras() -> None:
    tick, _ = ticked([1])
    extras: Any = (1, 0, None, None)
    tick.queued += (("A",), object())
    tick.submit_one(("B",), extras, is_awaited=True)
    tick.flush()
    tick.queued += (("C",), object())
    tick.flush()
    assert [commands for commands, _ in tick.sent] == [[("A",)], [("B",)], [("C",)]]
