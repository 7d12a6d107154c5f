# SPDX-License-Identifier: MIT
"""A lease where redis-py's code expects a connection of its own.

For what changes its connection: WATCH and what follows, SELECT, CLIENT, clients with
`single_connection_client`.  A lease is opened when the first command comes, and given
back by disconnect(); the next command opens another one, as a connection of redis-py's
connects again.  A lease whose connection was lost refuses all commands until then:
nobody goes on without what the server knew.
"""

import asyncio
import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import redis.exceptions as theirs

from shoal._requests import blocks
from shoal.exceptions import ConnectionError, FullError, RedisError, RefusedError

from ._connection import BATCH_MAX, AsyncCoreRetry, Face, insist, insist_async
from ._lane import AsyncLane, BlockingLane, Lane, Place, async_lane, blocking_lane
from ._routes import Command, extras, spelled, wire_form

_AnyStanding = TypeVar("_AnyStanding", "Standing", "AsyncStanding")


class Leased(Face):
    """What both faces have in common.

    has_state  a command may have changed the connection since the lease was opened
    in_use     held by the call that uses it, if several callers share it
    """

    is_connected = False  # for redis-py's HIMPORT, which leases do not carry

    _find_lane: Callable[[Any], Lane]

    def __init__(self, pool: Any, lane: Lane, repeats_unknown: bool):
        super().__init__(pool, lane, repeats_unknown)
        self._pool = weakref.ref(pool)  # whose lane may hold this
        self._lane = lane
        self._lease: Any = None
        self._place: Place | None = None
        self.has_state = False
        self.in_use = threading.Lock()
        self._sets_state = False

    def _open(self) -> Any:
        """The lease, which is opened if there is none."""
        if self._lease is None:
            pool = self._pool()
            if pool is not None:
                self._lane = type(self)._find_lane(pool)
            if self._lane.core is None:
                raise RefusedError("this pool's commands go over its own connections")
            self._place = self._lane.take_place()
            try:
                self._lease = self._lane.core.lease()
            except FullError as error:
                raise RefusedError(str(error)) from error
            finally:
                if self._lease is None:
                    self._place = None
        return self._lease

    def let_go(self) -> None:
        """Give the lease back, and forget the rest of the batch.  Threads: any."""
        lease, self._lease = self._lease, None
        self.has_state = False
        self._replies.clear()
        if lease is not None:
            lease._let_go()
        self._place = None

    def __del__(self) -> None:
        if getattr(self, "_lease", None) is not None:
            self.let_go()

    def _remember(self, args: Command) -> None:
        self._single = self._spelled(args)
        self._sets_state = wire_form(args) is None and not blocks(self._single)

    def _spelled(self, args: Command) -> Command:
        form = spelled(args)
        if form is None:
            raise RefusedError(f"{args[0]} needs a connection of redis-py's own")
        return form

    def _may_look_again(self) -> bool:
        return not self.has_state

    def _judge(self, error: RedisError) -> None:
        if isinstance(error, RefusedError):
            self._sets_state = False
        try:
            super()._judge(error)
        finally:
            if isinstance(error, ConnectionError):
                self.let_go()  # the next attempt, or command, opens another lease

    def _is_done(self, outcome: object) -> bool:
        is_done = super()._is_done(outcome)
        if not is_done:
            self.let_go()
        return is_done

    def _options(self, command: Command, disable_decoding: bool) -> dict[str, Any]:
        return {
            "decode": False if disable_decoding else None,
            "timeout": (
                self._own_timeout(command)
                if blocks(command)
                else extras(command).get("timeout")
            ),
        }

    def _note_state(self) -> None:
        """The command ended, in whatever way."""
        self.has_state |= self._sets_state and self._lease is not None


class LeaseConnection(Leased):
    """For `redis.Redis` and its pipelines."""

    _find_lane = staticmethod(blocking_lane)

    def connect(self) -> None:
        """RefusedError: there is no connection."""
        self.send_command("PING")
        with contextlib.suppress(theirs.ResponseError):  # of a user with few rights
            self.read_response()

    def send_command(self, *args: Any, **options: Any) -> None:
        """Remember the one command; read_response() runs it."""
        self._remember(args)

    def send_packed_command(
        self, commands: list[Command], decode: bool | None = None
    ) -> None:
        """Run the batch; MULTI ... EXEC is one unit, unless it is a very long one."""
        forms = [self._spelled(args) for args in commands]
        outcomes = insist(
            self,
            lambda: self._open().execute_many(
                forms,
                decode=decode,
                contiguous=len(forms) <= BATCH_MAX,
                return_exceptions=True,
            ),
        )
        self._replies = deque(outcomes)

    def read_response(self, disable_decoding: bool = False) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        single = self._recall()
        if single is None:
            return self._take()
        options = self._options(single, disable_decoding)
        try:
            return insist(self, lambda: self._open().execute(*single, **options))
        finally:
            self._note_state()

    def disconnect(self, *args: Any, **options: Any) -> None:
        """The next command gets another connection."""
        self.let_go()


class AsyncLeaseConnection(Leased):
    """For `redis.asyncio.Redis` and its pipelines."""

    _find_lane = staticmethod(async_lane)
    _retry_kind = AsyncCoreRetry

    async def connect(self) -> None:
        """RefusedError: there is no connection."""
        await self.send_command("PING")
        with contextlib.suppress(theirs.ResponseError):  # of a user with few rights
            await self.read_response()

    async def send_command(self, *args: Any, **options: Any) -> None:
        """Remember the one command; read_response() runs it."""
        self._remember(args)

    async def send_packed_command(
        self, commands: list[Command], decode: bool | None = None
    ) -> None:
        """Run the batch; MULTI ... EXEC is one unit, unless it is a very long one."""
        forms = [self._spelled(args) for args in commands]
        outcomes = await insist_async(
            self,
            lambda: self._open().execute_many(
                forms,
                decode=decode,
                contiguous=len(forms) <= BATCH_MAX,
                return_exceptions=True,
            ),
        )
        self._replies = deque(outcomes)

    async def read_response(self, disable_decoding: bool = False) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        single = self._recall()
        if single is None:
            return self._take()
        options = self._options(single, disable_decoding)
        try:
            return await insist_async(
                self, lambda: self._open().execute(*single, **options)
            )
        finally:
            self._note_state()

    async def disconnect(self, *args: Any, **options: Any) -> None:
        """The next command gets another connection."""
        self.let_go()

    def _close(self) -> None:
        """For a client that nobody closed."""
        self.let_go()


class Standing(LeaseConnection):
    """For single commands that change their connection: all take the same one, as a
    thread gets the same connection of redis-py's pool again and again.

    As the pool does, it replaces a connection that was lost meanwhile.
    """

    def _may_look_again(self) -> bool:
        return True


class AsyncStanding(AsyncLeaseConnection):
    """The same for asyncio."""

    def _may_look_again(self) -> bool:
        return True


@contextlib.contextmanager
def standing(
    pool: Any, lane: BlockingLane, repeats_unknown: bool
) -> Iterator[LeaseConnection]:
    """For the time of a command: the standing lease.  While another command uses it,
    another lease: no command waits for a thread."""
    lane.after_fork()
    found = lane.standing.get(None)
    if found is None:  # another thread may be here, too
        one = Standing(pool, lane, repeats_unknown)
        found = lane.standing.setdefault(None, one)
    with _unused(found, pool, lane, repeats_unknown) as unused:
        yield unused


@contextlib.contextmanager
def async_standing(
    pool: Any, lane: AsyncLane, repeats_unknown: bool
) -> Iterator[AsyncLeaseConnection]:
    """The same, for each event loop."""
    lane.after_fork()
    by_loop: dict[asyncio.AbstractEventLoop, AsyncStanding] = lane.standing
    for other in list(by_loop):
        if other.is_closed() and (gone := by_loop.pop(other, None)) is not None:
            gone.let_go()
    loop = asyncio.get_running_loop()
    found = by_loop.get(loop)
    if found is None:
        found = by_loop[loop] = AsyncStanding(pool, lane, repeats_unknown)
    with _unused(found, pool, lane, repeats_unknown) as unused:
        yield unused


@contextlib.contextmanager
def _unused(
    first: _AnyStanding, pool: Any, lane: Lane, repeats_unknown: bool
) -> Iterator[_AnyStanding]:
    """This one, if no other command uses it; else another one."""
    if first.in_use.acquire(blocking=False):
        try:
            first.choose_retry(pool, lane, repeats_unknown)
            yield first
        finally:
            first.in_use.release()
        return
    another = type(first)(pool, lane, repeats_unknown)
    try:
        yield another
    finally:
        another.let_go()
