# SPDX-License-Identifier: MIT
"""Callers that are threads in blocking calls."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter_ns

from workload import MEASURING, STOPPING, Measurement, Recorder

from must_show.contents import key_of_caller, value_of_key
from must_show.worker.clients import Calls
from must_show.worker.loads import Load, Work, insist


def run(
    measurement: Measurement, load: Load, opened: AbstractContextManager[Calls]
) -> None:
    """Measure over a client that `opened` gives."""
    count = len(measurement.recorders)
    with opened as calls:
        with threads(count, lambda number: prepare(number, load, calls)):
            pass
        with threads(count, lambda number: caller(measurement, number, load, calls)):
            time.sleep(measurement.options.warmup)
            measurement.begin()
            time.sleep(measurement.options.duration)
            measurement.end()


@contextmanager
def threads(count: int, work: Callable[[int], None]) -> Iterator[None]:
    """Numbered threads, which have ended at the end; raises what one of them did."""
    errors: list[BaseException] = []

    def run_one(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    started = [
        threading.Thread(target=run_one, args=(number,)) for number in range(count)
    ]
    for thread in started:
        thread.start()
    yield
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]


def prepare(number: int, load: Load, calls: Calls) -> None:
    """All callers at a time, so that a pool has its connections before the warm-up."""
    if load.make:
        load.make(calls).call()
    else:
        key = key_of_caller(number)
        calls.set(key, value_of_key(key))


def caller(measurement: Measurement, number: int, load: Load, calls: Calls) -> None:
    recorder = measurement.recorders[number]
    if load.make:
        repeat(measurement, recorder, load.commands, load.make(calls))
        return
    key = key_of_caller(number)
    value = value_of_key(key)
    is_timed = number % measurement.sampling == 0
    take_turns = time_turns if is_timed else count_turns
    reply = take_turns(measurement, recorder, calls, key, value)
    insist(reply == value, reply)


def count_turns(
    measurement: Measurement, recorder: Recorder, calls: Calls, key: str, value: bytes
) -> object:
    set_, get = calls.set, calls.get
    reply: object = value
    while measurement.phase != STOPPING:
        set_(key, value)
        reply = get(key)
        recorder.ops += 2
    return reply


def time_turns(
    measurement: Measurement, recorder: Recorder, calls: Calls, key: str, value: bytes
) -> object:
    """The same, with the latency of each command."""
    set_, get = calls.set, calls.get
    reply: object = value
    while measurement.phase != STOPPING:
        begin = perf_counter_ns()
        set_(key, value)
        middle = perf_counter_ns()
        reply = get(key)
        if measurement.phase == MEASURING:
            recorder.latency_ns.append(middle - begin)
            recorder.latency_ns.append(perf_counter_ns() - middle)
        recorder.ops += 2
    return reply


def repeat(
    measurement: Measurement, recorder: Recorder, commands: int, work: Work
) -> None:
    """One call after another; the latency is the call's."""
    call = work.call
    reply = call()
    while measurement.phase != STOPPING:
        begin = perf_counter_ns()
        reply = call()
        if measurement.phase == MEASURING:
            recorder.latency_ns.append(perf_counter_ns() - begin)
        recorder.ops += commands
    insist(work.is_right(reply), reply)
