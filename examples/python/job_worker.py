# SPDX-License-Identifier: MIT
"""job_worker.py [url [name]]: a job queue's worker, which loses no job.

It moves a job from the list "jobs" to a list of its own, does it, records the result in
"results", and only then removes it.  So what stands in its list is to be done: after a
lost reply as after the death of the worker.  A job may be done twice; each needs a name
of its own.  What a worker leaves behind is done by the next one of its name; with
job_stream.py any other worker does it.  SIGTERM ends the worker.
"""

import os
import signal
import sys
import threading

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")


def finish(client: shoal.Client, mine: str, job: bytes) -> None:
    """Do a job: its result is its length.  Record that, and remove the job."""
    unit = client.transaction()
    unit.add("HSET", "results", job, len(job)).add("LREM", mine, 1, job)
    unit.run()


def work(url: str, mine: str, stopping: threading.Event) -> None:
    # BLMOVE holds up what is behind it, so it has a client of its own.
    with shoal.Client(url) as waiter, shoal.Client(url) as shared:
        while not stopping.is_set():
            try:
                # On the client of BLMOVE: one whose reply was lost ended before this.
                job = waiter.execute("LINDEX", mine, 0)
                if job is not None:
                    finish(shared, mine, job)
                else:
                    waiter.execute(
                        "BLMOVE", "jobs", mine, "LEFT", "RIGHT", 1, may_block=True
                    )
            except shoal.RedisError as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                stopping.wait(1)


def main(url: str = DEFAULT_URL, name: str = "worker") -> None:
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
    work(url, f"jobs:{name}", stopping)


if __name__ == "__main__":
    main(*sys.argv[1:3])
