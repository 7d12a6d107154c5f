# SPDX-License-Identifier: MIT
"""Callers that are tasks of one event loop."""

import asyncio
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from time import perf_counter_ns

from workload import MEASURING, STOPPING, Measurement, Recorder

from must_show.contents import key_of_caller, value_of_key
from must_show.worker.clients import Calls
from must_show.worker.loads import Load, Work, insist


def run(
    measurement: Measurement,
    load: Load,
    opened: AbstractAsyncContextManager[Calls],
    face: str,
) -> None:
    """Measure over a client that `opened` gives, on asyncio or uvloop."""
    if face == "uvloop":
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(measure(measurement, load, opened))
    finally:
        loop.close()


async def measure(
    measurement: Measurement, load: Load, opened: AbstractAsyncContextManager[Calls]
) -> None:
    async with opened as calls:
        callers = range(len(measurement.recorders))
        await asyncio.gather(*(prepare(number, load, calls) for number in callers))
        tasks = [
            asyncio.create_task(caller(measurement, number, load, calls))
            for number in callers
        ]
        await asyncio.sleep(measurement.options.warmup)
        measurement.begin()
        await asyncio.sleep(measurement.options.duration)
        measurement.end()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome


async def prepare(number: int, load: Load, calls: Calls) -> None:
    """All callers at a time, so that a pool has its connections before the warm-up."""
    if load.make:
        await load.make(calls).call()
    else:
        key = key_of_caller(number)
        await calls.set(key, value_of_key(key))


async def caller(
    measurement: Measurement, number: int, load: Load, calls: Calls
) -> None:
    recorder = measurement.recorders[number]
    if load.make:
        await repeat(measurement, recorder, load.commands, load.make(calls))
        return
    key = key_of_caller(number)
    value = value_of_key(key)
    is_timed = number % measurement.sampling == 0
    take_turns = time_turns if is_timed else count_turns
    reply = await take_turns(measurement, recorder, calls, key, value)
    insist(reply == value, reply)


async def count_turns(
    measurement: Measurement, recorder: Recorder, calls: Calls, key: str, value: bytes
) -> object:
    set_, get = calls.set, calls.get
    reply: object = value
    while measurement.phase != STOPPING:
        await set_(key, value)
        reply = await get(key)
        recorder.ops += 2
    return reply


async def time_turns(
    measurement: Measurement, recorder: Recorder, calls: Calls, key: str, value: bytes
) -> object:
    """The same, with the latency of each command."""
    set_, get = calls.set, calls.get
    reply: object = value
    while measurement.phase != STOPPING:
        begin = perf_counter_ns()
        await set_(key, value)
        middle = perf_counter_ns()
        reply = await get(key)
        if measurement.phase == MEASURING:
            recorder.latency_ns.append(middle - begin)
            recorder.latency_ns.append(perf_counter_ns() - middle)
        recorder.ops += 2
    return reply


async def repeat(
    measurement: Measurement, recorder: Recorder, commands: int, work: Work
) -> None:
    """One call after another; the latency is the call's."""
    call = work.call
    reply = await call()
    while measurement.phase != STOPPING:
        begin = perf_counter_ns()
        reply = await call()
        if measurement.phase == MEASURING:
            recorder.latency_ns.append(perf_counter_ns() - begin)
        recorder.ops += commands
    insist(work.is_right(reply), reply)
