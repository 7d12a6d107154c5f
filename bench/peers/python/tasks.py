# SPDX-License-Identifier: MIT
"""Callers that are tasks of one asyncio loop."""

import asyncio
import time

import pacer
from workload import MEASURING, STOPPING, Measurement, Schedule


def run(options, connect, uses_uvloop=False):
    """Measure. `connect(options)` is an asynchronous context with a client, which has
    an asynchronous set()."""
    new_loop = None
    if uses_uvloop:
        import uvloop

        new_loop = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(measure(options, connect))


async def do_nothing():
    pass


async def measure(options, connect):
    measurement = Measurement(options)
    async with connect(options) as client:
        call = do_nothing if options.no_command else client.set
        work = call_when_due if options.rate else call_again
        due = asyncio.Queue()
        tasks = [
            asyncio.create_task(work(measurement, recorder, call, due))
            for recorder in measurement.recorders
        ]
        stop_releasing = release(measurement, due) if options.rate else lambda: None
        await asyncio.sleep(options.warmup)
        measurement.begin()
        await asyncio.sleep(options.duration)
        measurement.end()
        stop_releasing()
        await asyncio.gather(*tasks)
    return measurement


async def call_again(measurement, recorder, call, _):
    """A caller of the closed loop."""
    count = 0
    while measurement.phase != STOPPING:
        is_timed = count % measurement.sampling == 0
        count += 1
        begin = time.perf_counter_ns() if is_timed else 0
        try:
            await call()
        except Exception as error:  # whatever the client raises is an error reply
            recorder.note_error(error)
            await asyncio.sleep(0)  # a refusal at once must not stop the loop
        if is_timed and measurement.phase == MEASURING:
            recorder.latency_ns.append(time.perf_counter_ns() - begin)
        recorder.ops += 1


async def call_when_due(measurement, recorder, call, due):
    """A caller of the open loop."""
    while (intended := await due.get()) is not None:
        if measurement.phase == STOPPING:
            continue
        begin = time.perf_counter_ns()
        try:
            await call()
        except Exception as error:
            recorder.note_error(error)
        if measurement.phase == MEASURING:
            end = time.perf_counter_ns()
            recorder.latency_ns.append(end - intended)
            recorder.service_ns.append(end - begin)
        recorder.ops += 1


def release(measurement, due):
    """Start the generator of the open loop; return what stops it."""
    loop = asyncio.get_running_loop()
    schedule = Schedule(measurement.options.rate, pacer.read_start())

    def on_tick():
        pacer.wait()
        for moment in schedule.take_due():
            due.put_nowait(moment)

    def stop():
        loop.remove_reader(pacer.INPUT)
        for _ in measurement.recorders:
            due.put_nowait(None)

    loop.add_reader(pacer.INPUT, on_tick)
    return stop
