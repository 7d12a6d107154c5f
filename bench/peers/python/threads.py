# SPDX-License-Identifier: MIT
"""Callers that are threads in blocking calls."""

import threading
import time
from queue import SimpleQueue

import pacer
from workload import MEASURING, STOPPING, Measurement, Schedule


def run(options, connect):
    """Measure. `connect(options)` returns a client; a client has set() and close()."""
    measurement = Measurement(options)
    client = connect(options)
    call = (lambda: None) if options.no_command else client.set
    due = SimpleQueue()
    work = call_when_due if options.rate else call_again
    threads = [
        threading.Thread(target=work, args=(measurement, recorder, call, due))
        for recorder in measurement.recorders
    ]
    if options.rate:
        threads.append(threading.Thread(target=release, args=(measurement, due)))
    for thread in threads:
        thread.start()
    time.sleep(options.warmup)
    measurement.begin()
    time.sleep(options.duration)
    measurement.end()
    for thread in threads:
        thread.join()
    client.close()
    return measurement


def call_again(measurement, recorder, call, _):
    """A caller of the closed loop."""
    count = 0
    while measurement.phase != STOPPING:
        is_timed = count % measurement.sampling == 0
        count += 1
        begin = time.perf_counter_ns() if is_timed else 0
        try:
            call()
        except Exception as error:  # whatever the client raises is an error reply
            recorder.note_error(error)
        if is_timed and measurement.phase == MEASURING:
            recorder.latency_ns.append(time.perf_counter_ns() - begin)
        recorder.ops += 1


def call_when_due(measurement, recorder, call, due):
    """A caller of the open loop."""
    while (intended := due.get()) is not None:
        if measurement.phase == STOPPING:
            continue
        begin = time.perf_counter_ns()
        try:
            call()
        except Exception as error:
            recorder.note_error(error)
        if measurement.phase == MEASURING:
            end = time.perf_counter_ns()
            recorder.latency_ns.append(end - intended)
            recorder.service_ns.append(end - begin)
        recorder.ops += 1


def release(measurement, due):
    """The generator of the open loop."""
    schedule = Schedule(measurement.options.rate, pacer.read_start())
    while measurement.phase != STOPPING:
        pacer.wait()
        for moment in schedule.take_due():
            due.put(moment)
    for _ in range(measurement.options.callers):
        due.put(None)
