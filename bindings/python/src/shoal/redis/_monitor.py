# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""redis-py's monitors, over leases.

What redis-py makes of a line is its own code; only the connection is ours.  If a lease
cannot carry MONITOR, redis-py's own connection does, as ever.
"""

from typing import Any

import redis.asyncio.client as their_aio
import redis.client as theirs
import redis.exceptions

from shoal.exceptions import FullError, RedisError, RefusedError

from ._connection import is_offline
from ._errors import translate
from ._lane import Lane, async_lane, blocking_lane


def _is_not_for_us(error: RedisError) -> bool:
    """Whether redis-py's connection is to try it: nothing was sent."""
    return isinstance(error, (RefusedError, FullError)) or is_offline(error)


def _silence(seconds: float) -> redis.exceptions.TimeoutError:
    return redis.exceptions.TimeoutError(f"no line came within {seconds:g} s")


class Lines:
    """Where a monitor expects a connection that has sent MONITOR.

    A silence of the socket's timeout is an error, as on a socket.
    """

    def __init__(self, lane: Lane):
        self._place = lane.take_place()
        self.timeout: float | None = lane.template.socket_timeout
        self.monitor: Any = lane.core.monitor(decode=True)

    def read_response(self) -> str:
        """The next line."""
        try:
            line: str | None = self.monitor.next_line(self.timeout or None)
        except RedisError as error:
            raise translate(error) from error
        if line is None:
            raise _silence(self.timeout or 0.0)
        return line


class AsyncLines(Lines):
    """The same for asyncio."""

    async def read_response(self) -> str:  # type: ignore[override]
        """The next line."""
        try:
            line: str | None = await self.monitor.next_line(self.timeout or None)
        except RedisError as error:
            raise translate(error) from error
        if line is None:
            raise _silence(self.timeout or 0.0)
        return line


class Monitor(theirs.Monitor):
    """For `redis.Redis`."""

    def __init__(self, connection_pool: Any):
        self.connection_pool = connection_pool
        self.connection: Any = None
        if blocking_lane(connection_pool).core is None:
            super().__init__(connection_pool)

    def _start_monitor(self) -> None:
        if self.connection is None:
            lines = None
            try:
                lines = Lines(blocking_lane(self.connection_pool))
                lines.monitor.__enter__()
            except RedisError as error:
                if not _is_not_for_us(error):
                    raise translate(error) from error
                super().__init__(self.connection_pool)
            else:
                self.connection = lines
                return
        super()._start_monitor()

    def __exit__(self, *args: Any) -> None:
        lines: Any = self.connection
        if isinstance(lines, Lines):
            self.connection = None
            lines.monitor.close()
        else:
            super().__exit__(*args)


class AsyncMonitor(their_aio.Monitor):
    """For `redis.asyncio.Redis`."""

    connection: Any

    async def __aenter__(self) -> "AsyncMonitor":
        lane = async_lane(self.connection_pool)
        if self.connection is None and lane.core is not None:
            try:
                lines = AsyncLines(lane)
                await lines.monitor.__aenter__()
            except RedisError as error:
                if not _is_not_for_us(error):
                    raise translate(error) from error
            else:
                self.connection = lines
                return self
        await super().__aenter__()
        return self

    async def __aexit__(self, *args: Any) -> None:
        lines = self.connection
        if isinstance(lines, Lines):
            self.connection = None
            await lines.monitor.close()
        else:
            await super().__aexit__(*args)
