# SPDX-License-Identifier: MIT
"""job_stream.py [url [name]]: one of many workers that share a stream of jobs.

The server hands each job to one worker of the group, and keeps it until the worker
acknowledges it, which happens together with recording the result.  A job that its
worker does not acknowledge in time, because it died or the job failed, goes to another
worker; after three deliveries it goes to a stream of its own, for people to look at.  A
job may be done twice; its result is recorded once.  SIGTERM ends the worker.

    XADD jobs * text "one two three"
"""

import asyncio
import os
import signal
import sys

import shoal
import shoal.aio

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
JOBS, DEAD, GROUP = "{jobs}", "{jobs}:dead", "workers"  # one slot of a cluster
RESULTS = "{jobs}:results"
DELIVERIES = 3
IDLE_MS = 1000  # longer than a job takes
BLOCK_MS = 200
AT_ONCE = 10

Entry = tuple[str, list[str]]  # its ID; names and values, one after the other


class Worker:
    """Of the group, under a name that no other worker has."""

    def __init__(self, client: shoal.aio.Client[str], name: str) -> None:
        self.client = client
        self.name = name

    async def join(self) -> None:
        try:
            await self.client.execute("XGROUP", "CREATE", JOBS, GROUP, 0, "MKSTREAM")
        except shoal.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):  # the group is there already
                raise

    async def abandoned(self) -> list[Entry]:
        """A job that nobody acknowledged in time is this worker's now.  It is done
        alone: it may have ended its worker, and would be the end of others, too."""
        _, entries, *_ = await self.client.execute(
            "XAUTOCLAIM", JOBS, GROUP, self.name, IDLE_MS, 0, "COUNT", 1
        )
        return [entry for entry in entries if not await self.put_aside(*entry)]

    async def put_aside(self, number: str, fields: list[str]) -> bool:
        """If the job was delivered too often."""
        pending = await self.client.execute("XPENDING", JOBS, GROUP, number, number, 1)
        if not pending or pending[0][3] <= DELIVERIES:
            return False
        unit = self.client.transaction()
        unit.add("XADD", DEAD, "*", *fields, "job", number)
        await self.remove(unit, number)
        return True

    async def fresh(self) -> list[Entry]:
        """Jobs that nobody had yet; waits for them a while."""
        command = (
            f"XREADGROUP GROUP {GROUP} {self.name} COUNT {AT_ONCE} BLOCK {BLOCK_MS}"
        )
        streams = await self.client.execute(*command.split(), "STREAMS", JOBS, ">")
        return next(iter(dict(streams).values())) if streams else []

    async def finish(self, entry: Entry) -> None:
        number, fields = entry
        try:
            result = await do(dict(zip(fields[::2], fields[1::2], strict=True)))
        except Exception as error:  # it comes again, to this worker or to another
            print(f"{number}: {error!r}", file=sys.stderr, flush=True)
            return
        unit = self.client.transaction()
        unit.add("HSETNX", RESULTS, number, result)
        await self.remove(unit, number)

    async def remove(self, unit: shoal.aio.Pipeline, number: str) -> None:
        """Acknowledges it, in one step with what the unit has."""
        await unit.add("XACK", JOBS, GROUP, number).add("XDEL", JOBS, number).run()


async def do(job: dict[str, str]) -> int:
    """A job counts the words of a text."""
    await asyncio.sleep(0.001)
    return len(job["text"].split())


async def main(url: str = DEFAULT_URL, name: str = "") -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    async with shoal.aio.Client[str](url, decode_responses=True) as client:
        worker = Worker(client, name or f"worker-{os.getpid()}")
        is_member = False
        while not stopping.is_set():
            try:
                if not is_member:
                    await worker.join()
                    is_member = True
                entries = await worker.abandoned() or await worker.fresh()
                await asyncio.gather(*(worker.finish(entry) for entry in entries))
            except shoal.RedisError as error:
                # Nothing is lost: what was delivered and not acknowledged comes again.
                is_member = False  # another server may not know the group
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
