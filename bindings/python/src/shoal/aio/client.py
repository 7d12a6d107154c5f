# SPDX-License-Identifier: MIT
"""The asyncio client."""

from __future__ import annotations

import asyncio
import contextlib
import time
from asyncio import _get_running_loop
from collections.abc import Iterable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, overload

from .. import _topology, stats
from .._commands import AsyncCommands
from .._core import ConnectionInfo
from .._events import Event
from .._flags import flags_of
from .._into import Into
from .._lease import Handle
from .._native import lib
from .._options import DEFAULT_URL, ClientOptions, Options, UndecodedOptions
from .._outcomes import error_of, tell
from .._pipeline import without_exceptions
from .._requests import Argument, are_plain, as_tuples, blocks
from .._scan import Scanning
from .._script import Scripting
from .._seconds import microseconds
from .._shown import shown_as
from .._targets import RouteLike, route_of
from .._topology import Topology
from .._words import S
from ..exceptions import ClosedError, RedisError
from ..stats import Stats
from ._batch import Extras, Future
from ._loop import running_loop
from ._port import BATCH_MAX, Port
from ._ports import NAP, Ports
from .lease import Leasing
from .pipeline import Pipeline
from .scan import Scan
from .script import Script
from .subscription import Subscribing

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self, Unpack

    from ..client import Client as SyncClient

_CancelledError = asyncio.CancelledError


class Client(
    Leasing[S],
    Scanning[Scan],
    Scripting[Script],
    Subscribing,
    AsyncCommands[S],
    Ports,
):
    """A client for asyncio and uvloop, with the methods of `shoal.Client`.

    Commands of all tasks that run in one tick of the event loop leave in one write. The
    connection is made at the first command. Close the client, or use it as an
    asynchronous context manager.

    Several event loops, each in a thread of its own, may share a client. By default
    each loop drives a connection of its own, which costs no thread and no hand-over;
    with `thread=True` a thread of the library drives one connection for all of them,
    which goes on while a loop is held up.

    `url` and the other options are those of `shoal.Client`.
    """

    @overload
    def __init__(
        self: Client[str],
        url: str = ...,
        *,
        thread: bool = ...,
        decode_responses: Literal[True],
        **options: Unpack[UndecodedOptions],
    ) -> None: ...

    @overload
    def __init__(
        self,
        url: str = ...,
        *,
        thread: bool = ...,
        **options: Unpack[ClientOptions],
    ) -> None: ...

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        thread: bool = False,
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(Options(url, options), is_threaded=thread)

    @overload
    @classmethod
    def from_url(  # type: ignore[overload-overlap]
        cls,
        url: str,
        *,
        thread: bool = ...,
        decode_responses: Literal[True],
        **options: Unpack[UndecodedOptions],
    ) -> Client[str]: ...

    @overload
    @classmethod
    def from_url(
        cls, url: str, *, thread: bool = ..., **options: Unpack[ClientOptions]
    ) -> Self: ...

    @classmethod
    def from_url(cls, url: str, *, thread: bool = False, **options: Any) -> Any:
        """The same as the constructor, under the name that redis-py has."""
        return cls(url, thread=thread, **options)

    @classmethod
    def _over(cls, shared: SyncClient[S]) -> Self:
        """The face of a blocking client's connection."""
        client = cls.__new__(cls)
        Ports.__init__(client, shared._options, is_threaded=True, shared=shared)
        return client

    # ---- commands ----

    async def _execute_with(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
        may_block: bool = False,
        bulk: bool = False,
        replica: bool | None = None,
        split: bool = False,
        route: RouteLike | None = None,
    ) -> Any:
        """Send one command and wait for its reply; as `shoal.Client.execute`.

        If the task is cancelled, a command that was not written yet is never sent, and
        the reply to one that was is dropped. A bytearray or memoryview among the
        arguments must not change before the reply is there.
        """
        flags = flags_of(may_block, bulk, replica, split)
        future = self._submit_one(args, timeout, decode, flags, True, route)
        try:
            return await future
        except _CancelledError as error:
            await self._cancelled(error, args, future)
            raise
        except GeneratorExit:
            self._forsake([future])
            raise

    @shown_as(_execute_with)
    async def execute(self, *args: Argument, **options: Any) -> Any:
        if options:
            return await self._execute_with(*args, **options)
        port = self._port
        future = None if port is None else port.ask(args)
        if future is None:
            future = self._ask(args)
        try:
            return await future
        except _CancelledError as error:
            await self._cancelled(error, args, future)
            raise
        except GeneratorExit:
            self._forsake([future])
            raise

    async def _run(self, args: tuple[Any, ...]) -> Any:
        """What `execute(*args)` does, for the methods of commands."""
        port = self._port
        future = None if port is None else port.ask(args)
        if future is None:
            future = self._ask(args)
        try:
            return await future
        except _CancelledError as error:
            await self._cancelled(error, args, future)
            raise
        except GeneratorExit:
            self._forsake([future])
            raise

    def _ask(self, args: tuple[Any, ...]) -> Future:
        """The first command, or another loop was here last."""
        future = self._find_port().ask(args)
        assert future is not None
        return future

    def _forsake(self, futures: list[Future]) -> None:
        """Give up what a coroutine waited for that was closed: nobody goes on with it,
        and perhaps not with its event loop either."""
        with contextlib.suppress(RuntimeError):
            for future in futures:
                future.cancel()
            self._give_up(futures)

    async def _cancelled(
        self, error: BaseException, args: tuple[Argument, ...], future: Future
    ) -> None:
        """Give up a command whose task was cancelled. If it blocks on the server, see
        what becomes of it, for it may have taken an element: `error` says so."""
        if future.done() and not future.cancelled():  # just before
            tell(error, future.exception() or future.result())
            return
        tell(error, RedisError())  # nothing is known yet
        port = self._port_of(future) if blocks(args) else None
        late = None if port is None else port.give_up_late(future)
        if late is None:
            self._give_up([future])
            if port is not None:  # C never had it
                tell(error, error_of(lib.SHOAL_ECANCELLED))
            return
        try:
            tell(error, await late)
        except RedisError as outcome:
            tell(error, outcome)
        except _CancelledError as again:
            tell(again, RedisError())
            raise

    async def readinto(
        self, buffer: Buffer, *args: Argument, timeout: float | None = None
    ) -> int | None:
        """Let the string that a command answers with go into a buffer; as
        `shoal.Client.readinto`. If the task is cancelled, nothing writes to the buffer
        any more."""
        timeout_us = 0 if timeout is None else microseconds(timeout)
        with Into(buffer) as into:
            return await self._readinto(self._find_port(), args, timeout_us, into, None)

    async def _readinto(
        self,
        port: Port,
        args: tuple[Argument, ...],
        timeout_us: int,
        into: Into,
        lease: Handle | None,
    ) -> int | None:
        extras = (0, timeout_us, into, lease)
        future = port.submit_one(args, extras, is_awaited=True)
        try:
            count: int | None = await future
        except _CancelledError as error:
            into.release()
            await self._cancelled(error, args, future)
            raise
        except GeneratorExit:
            into.release()
            self._forsake([future])
            raise
        return count

    def _submit_with(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
        may_block: bool = False,
        bulk: bool = False,
        replica: bool | None = None,
        split: bool = False,
        route: RouteLike | None = None,
    ) -> Future:
        """Send one command and return the future of its reply, without a coroutine. If
        the future is cancelled in the same tick, the command is not sent; later, its
        reply is dropped."""
        flags = flags_of(may_block, bulk, replica, split)
        return self._submit_one(args, timeout, decode, flags, False, route)

    @shown_as(_submit_with)
    def submit(self, *args: Argument, **options: Any) -> Future:
        if options:
            return self._submit_with(*args, **options)
        port = self._port
        if port is None or (
            port.loop._thread_id != get_ident()  # type: ignore[attr-defined]
            if port.knows_thread
            else port.loop is not _get_running_loop()
        ):
            port = self._find_port()
        future = port.create_future()
        queued = port.queued
        queued += (args, future)
        if not port.is_scheduled:
            port.schedule()  # the caller may go on, and submit more
        elif len(queued) == port.early:
            port.flush_early()
        return future

    def _submit_awaited(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
        may_block: bool = False,
        bulk: bool = False,
    ) -> Future:
        """As submit(), for a caller who awaits it next: it may leave at once."""
        if timeout is not None or decode is not None or may_block or bulk:
            flags = flags_of(may_block, bulk, None)
            return self._submit_one(args, timeout, decode, flags, True)
        return self._begin(args)

    def _begin(self, args: tuple[Any, ...]) -> Future:
        """The same for a command without options."""
        port = self._port
        future = None if port is None else port.ask(args)
        if future is None:
            future = self._ask(args)
        return future

    def _submit_one(
        self,
        args: tuple[Argument, ...],
        timeout: float | None,
        decode: bool | None,
        flags: int,
        is_awaited: bool,
        route: RouteLike | None = None,
    ) -> Future:
        extras = (
            flags,
            0 if timeout is None else microseconds(timeout),
            self._options.conversion(decode),
            route_of(route),
        )
        return self._find_port().submit_one(args, extras, is_awaited=is_awaited)

    async def execute_many(
        self,
        commands: Iterable[Sequence[Argument]],
        *,
        timeout: float | None = None,
        decode: bool | None = None,
        contiguous: bool = False,
        return_exceptions: bool = False,
        may_block: bool = False,
        bulk: bool = False,
        replica: bool | None = None,
        split: bool = False,
        route: RouteLike | None = None,
        wait_for_room: bool = True,
    ) -> list[Any]:
        """Send many commands together and wait for all their replies, in order; as
        `shoal.Client.execute_many`. Without room for all, a part of commands that are
        not `contiguous` may be queued first."""
        rows: list[Sequence[Any]] = as_tuples(commands)
        if not rows:
            return []
        outcomes = await self._execute_many(
            self._find_port(),
            rows,
            (
                flags_of(may_block, bulk, replica, split, contiguous),
                0 if timeout is None else microseconds(timeout),
                self._options.conversion(decode),
                route_of(route),
            ),
            wait_for_room,
        )
        return outcomes if return_exceptions else without_exceptions(outcomes)

    async def _execute_many(
        self,
        port: Port,
        rows: list[Sequence[Any]],
        extras: Extras,
        wait_for_room: bool,
    ) -> list[Any]:
        """The outcomes of many commands, over the shared connection or a lease."""
        if len(rows) > BATCH_MAX and not are_plain(rows):
            rows = [self._options.encoded(row) for row in rows]
        futures = port.submit(rows, extras, waits_for_room=wait_for_room)
        try:
            # The last one first: the others are done then, as a rule.
            for future in reversed(futures):
                if not future.done():
                    await _ended(future)
        except (_CancelledError, GeneratorExit):
            self._forsake(futures)
            raise
        return [future.exception() or future.result() for future in futures]

    def pipeline(self) -> Pipeline:
        """Commands to be gathered, and sent together by `run()`."""
        return Pipeline(self, is_unit=False)

    def _scan(self, *plan: Any) -> Scan:
        return Scan(self, *plan)

    def _script(self, text: str | bytes, read_only: bool) -> Script:
        return Script(self, text, read_only)

    def _give_up(self, futures: list[Future]) -> None:
        port = self._port_of(futures[0])
        if port is not None:
            port.give_up(futures)

    # ---- the connection ----

    async def wait_ready(self, timeout: float | None = None) -> None:
        """Connect, and wait until commands can flow: `timeout` seconds at most, None:
        the client's timeout. Raises NoConnectionError, which is a TimeoutError, or
        AuthenticationError; the text says why."""
        core = self._find_port().core
        wait_us = self._options.timeout_us if timeout is None else microseconds(timeout)
        until = time.monotonic() + wait_us / 1e6
        while (status := lib.shoalpy_core_is_ready(core.handle)) != 0:
            if core.is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            if status != lib.SHOAL_ETIMEOUT or time.monotonic() >= until:
                raise core.not_ready(status)
            await asyncio.sleep(NAP)

    def stats(self, connection: int | None = None) -> Stats:
        """A snapshot of the running loop's counters, or of those of one of its
        connections: its number is `Event.connection`. ValueError: there is none."""
        return stats.take(self._find_port().core, connection)

    def connection(self, number: int = 1) -> ConnectionInfo:
        """State, protocol and server of a connection of the running loop, which has
        number 1. ValueError: there is none of that number."""
        return self._find_port().core.connection(number)

    def topology(self) -> Topology:
        """The servers that the running loop's client knows, now; as
        `shoal.Client.topology`."""
        return _topology.take(self._find_port().core)

    def reconnect(self) -> None:
        """Connect anew, now, in the running loop; as `shoal.Client.reconnect`."""
        port = self._find_port()
        port.core.reconnect()
        port.loop.call_soon(port.read)  # its loop drives it

    def set_credentials(self, user: str | None, password: str) -> None:
        """Authenticate with these from now on, in all loops; as
        `shoal.Client.set_credentials`."""
        if self._shared is not None and not self._is_closed:
            self._shared.set_credentials(user, password)
            for hub in list(self._hubs.values()):
                hub.set_credentials(user, password)
            return
        with self._lock:  # other loops may be opening, with the former ones
            if self._is_closed:
                raise error_of(lib.SHOAL_ECLOSED)
            self._options.set_credentials(user, password)
            ports = list(self._ports.values())
            cores = {port.core for port in ports}
            if self._core is not None:
                cores.add(self._core)
            hubs = list(self._hubs.values())
        for hub in hubs:
            hub.set_credentials(user, password)
        for core in cores:
            try:
                core.set_credentials(user, password)
            except ClosedError:  # its loop's next one takes the new ones
                continue
        for port in ports:
            with contextlib.suppress(RuntimeError):  # its loop was closed meanwhile
                port.loop.call_soon_threadsafe(port.read)  # it drives the connection

    def reload_tls(self) -> None:
        """Read the files of TLS again, now, for the running loop's connections to come;
        as `shoal.Client.reload_tls`."""
        self._options.check_tls()
        self._find_port().core.reload_tls()

    def events(self) -> list[Event]:
        """What happened to the running loop's connection since the last call; the last
        128 are kept. None yet, or none any more: an empty list."""
        port = self._ports.get(running_loop())
        return [] if port is None else port.core.events()


async def _ended(future: Future) -> None:
    """Wait until the future is done. A cancellation of this task is not held up."""
    await asyncio.wait([future])
