# SPDX-License-Identifier: MIT
"""The blocking client."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _calls, _topology, stats
from ._closing import Closing
from ._commands import Commands
from ._core import ConnectionInfo, Core
from ._events import Event
from ._flags import CONTIGUOUS, flags_of
from ._fork import forget_in_child
from ._greenlets import warn_of_greenlets
from ._into import Into
from ._lease import Handle
from ._native import lib
from ._options import DEFAULT_URL, ClientOptions, Options, UndecodedOptions
from ._outcomes import NO_ROOM, error_of
from ._pipeline import without_exceptions
from ._replies import Conversion
from ._requests import Argument, are_plain, as_tuples, blocks
from ._scan import Scanning
from ._script import Scripting
from ._seconds import NEVER, drain_seconds, microseconds
from ._shown import shown_as
from ._targets import NO_TARGET, Route, RouteLike, route_of
from ._topology import Topology
from ._words import S
from .exceptions import DataError, RedisError
from .lease import Leasing
from .pipeline import Pipeline
from .scan import Scan
from .script import Script
from .stats import Stats
from .subscription import Subscribing

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self, Unpack

    from .aio import Client as AsyncClient

_call = _calls.call
#: A part of many commands may be accepted although the whole was not.
_OF_A_PART = (lib.SHOAL_ETOOBIG, lib.SHOAL_EREFUSED)
_ROOM_NAP = 0.001
#: So long a close may take beyond its drain time.
_CLOSE_SECONDS = 1.0
_SLICE_US = 100_000
#: Commands that cross into C together; more are cut into pieces.
_MANY = 8192


class Client(
    Leasing[S],
    Scanning[Scan],
    Scripting[Script],
    Subscribing,
    Commands[S],
    Closing,
):
    """A client for any number of threads, over one connection.

    Commands of different threads that come close together leave in one write. The
    connection is made in the background, at the first command, and again after a loss.
    Make one and share it. Close the client, or use it as a context manager.

    `url` is `redis://[[user]:password@]host[:port][/db][?key=value...]`, `valkey://...`
    or `unix://...`; see `ClientOptions` for the keyword options.

    A type checker knows a client as `Client[bytes]`, which is `Client`, or, with
    `decode_responses=True`, as `Client[str]`: so are the strings that methods return.
    """

    @overload
    def __init__(
        self: Client[str],
        url: str = ...,
        *,
        decode_responses: Literal[True],
        **options: Unpack[UndecodedOptions],
    ) -> None: ...

    @overload
    def __init__(self, url: str = ..., **options: Unpack[ClientOptions]) -> None: ...

    def __init__(
        self, url: str = DEFAULT_URL, **options: Unpack[ClientOptions]
    ) -> None:
        self._options = Options(url, options)
        self._core: Core | None = None
        self._lock = threading.RLock()  # a signal handler may interrupt its holder
        self._is_closed = False
        self._async: AsyncClient[S] | None = None
        forget_in_child(self)
        warn_of_greenlets()

    @overload
    @classmethod
    def from_url(  # type: ignore[overload-overlap]
        cls,
        url: str,
        *,
        decode_responses: Literal[True],
        **options: Unpack[UndecodedOptions],
    ) -> Client[str]: ...

    @overload
    @classmethod
    def from_url(cls, url: str, **options: Unpack[ClientOptions]) -> Self: ...

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Any:
        """The same as the constructor, under the name that redis-py has."""
        return cls(url, **options)

    # ---- commands ----

    def _execute_with(
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
        """Send one command and wait for its reply.

        `timeout`: seconds for this call, infinity for never; None: the client's.
        `decode`: str instead of bytes; None: the client's `decode_responses`.
        `may_block`: send a command that blocks on the server, such as BLPOP, over the
        shared connection, where all others wait behind it. Without it, such a command
        gets a connection of its own, and its own timeout is its deadline.
        `bulk`: send it over the bulk lane, if the client has one (`bulk_lane`).
        `replica`: True: if it only reads, a replica may execute it; False: the primary
        does; None: as the client's `read_from` says.
        `split`: in a cluster MGET, MSET, DEL, UNLINK, TOUCH and EXISTS may have keys of
        several slots, and are executed in parts.
        `route`: which nodes of a cluster execute it: "any" (one primary), "primaries",
        "nodes" (all, replicas too), the owner of a slot (its number), or one node: its
        name ("host:port"), its id, or a `Node` of `topology()`. The reply of several
        nodes is a dict of their names and replies. None: as the command says.

        If a bound of outstanding commands is reached, waits for room. Raises
        ResponseError for an error reply, DataError for what cannot be sent,
        TimeoutError, ConnectionError and FullError; `fate` says what is known.
        """
        core = self._core or self._open()
        options = self._options
        conversion = options.default if decode is None else options.conversion(decode)
        timeout_us = 0 if timeout is None else microseconds(timeout)
        flags = 0
        if may_block or bulk or split or replica is not None:
            flags = flags_of(may_block, bulk, replica, split)
        if route is not None:
            return self._value_of(args, timeout, conversion, route_of(route), flags)
        try:
            if options.encodes:
                raise _calls.Unpackable(0)
            kind, value = _call(core.handle, args, flags, timeout_us, conversion)
        except (_calls.Unpackable, _calls.Refused) as problem:
            kind, value = self._execute_otherwise(
                problem, args, flags, timeout_us, conversion
            )
        if kind == 0 and not conversion.mends_all:
            return value
        return conversion.value_of(kind, value)

    @shown_as(_execute_with)
    def execute(self, *args: Argument, **options: Any) -> Any:
        return self._execute_with(*args, **options) if options else self._run(args)

    def _run(self, args: tuple[Any, ...]) -> Any:
        """What `execute(*args)` does, for the methods of commands."""
        core = self._core or self._open()
        options = self._options
        conversion = options.default
        try:
            if options.encodes:
                raise _calls.Unpackable(0)
            kind, value = _call(core.handle, args, 0, 0, conversion)
        except (_calls.Unpackable, _calls.Refused) as problem:
            kind, value = self._execute_otherwise(problem, args, 0, 0, conversion)
        if kind == 0 and not conversion.mends_all:
            return value
        return conversion.value_of(kind, value)

    def readinto(
        self, buffer: Buffer, *args: Argument, timeout: float | None = None
    ) -> int | None:
        """Send one command, such as GET, whose reply is a string, and let the string go
        into `buffer`, which is writable. Returns the number of its bytes, None for nil.

        What is larger than 64 KiB is copied there while it arrives, once: out of the
        memory that the socket is read into. If this raises, the content of the buffer
        is undefined, but nothing writes to it any more. BufferTooSmallError: the string
        is longer than the buffer, which was left alone; the command was executed.
        """
        with Into(buffer) as into:
            count: int | None = self._value_of(args, timeout, into)
            return count

    def _value_of(
        self,
        args: tuple[Argument, ...],
        timeout: float | None,
        conversion: Conversion,
        target: Handle | Route | None = None,
        flags: int = 0,
    ) -> Any:
        """What one command answers, over the shared connections or a lease."""
        core = self._core_of(target)
        native = NO_TARGET if target is None else target.target
        timeout_us = 0 if timeout is None else microseconds(timeout)
        try:
            if self._options.encodes:
                raise _calls.Unpackable(0)
            kind, value = _call(
                core.handle, args, flags, timeout_us, conversion, native
            )
        except (_calls.Unpackable, _calls.Refused) as problem:
            kind, value = self._execute_otherwise(
                problem, args, flags, timeout_us, conversion, target
            )
        return conversion.value_of(kind, value)

    def _execute_otherwise(
        self,
        problem: Exception,
        args: tuple[Argument, ...],
        flags: int,
        timeout_us: int,
        conversion: Conversion,
        target: Handle | Route | None = None,
    ) -> tuple[int, Any]:
        """Go on after a command was not accepted."""

        native = NO_TARGET if target is None else target.target
        has_own_time = timeout_us == 0 and blocks(args)

        def attempt(core: Core, commands: list[Any], left_us: int) -> tuple[int, Any]:
            us = 0 if has_own_time else left_us
            return _call(core.handle, commands[0], flags, us, conversion, native)

        until = self._until(timeout_us)
        return self._insist(problem, attempt, [args], until, True, target)

    def execute_many(
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
        """Send many commands together and wait for all their replies, in order.

        `contiguous`: nothing of other callers comes between them; needed for commands
        that begin with MULTI and end with EXEC or DISCARD.
        `return_exceptions`: exceptions stand in the list; else the first one is raised
        after all are done. `wait_for_room`: else FullError, and nothing was queued.
        The other parameters are those of `execute`. An argument that cannot be sent
        raises DataError, and none of the commands are sent.
        """
        flags = flags_of(may_block, bulk, replica, split, contiguous)
        outcomes = self._execute_many(
            as_tuples(commands),
            flags,
            0 if timeout is None else microseconds(timeout),
            self._options.conversion(decode),
            wait_for_room,
            route_of(route),
        )
        return outcomes if return_exceptions else without_exceptions(outcomes)

    def _execute_many(
        self,
        rows: list[Any],
        flags: int,
        timeout_us: int,
        conversion: Conversion,
        wait_for_room: bool,
        target: Handle | Route | None = None,
    ) -> list[Any]:
        """The outcomes of many commands, over the shared connections or a lease."""
        contiguous = bool(flags & CONTIGUOUS)
        native = NO_TARGET if target is None else target.target
        outcomes: list[Any] = []

        until = self._until(timeout_us)

        def attempt(
            core: Core, commands: list[Any], left_us: int
        ) -> tuple[int, list[Any]]:
            if timeout_us == 0 and any(map(blocks, commands)):
                left_us = 0  # they have timeouts of their own
            return _calls.call_many(
                core.handle, commands, flags, left_us, conversion.flags, native
            )

        def send(piece: list[Any]) -> tuple[int, list[Any]]:
            try:
                if self._options.encodes:
                    raise _calls.Unpackable(0)
                left_us = _left_us(until) if outcomes else timeout_us
                return attempt(self._core_of(target), piece, left_us)
            except (_calls.Unpackable, _calls.Refused) as problem:
                if (
                    isinstance(problem, _calls.Refused)
                    and problem.status in _OF_A_PART
                    and len(piece) > 1
                ):
                    raise error_of(problem.status, problem.reason) from None
                return self._insist(
                    problem, attempt, piece, until, wait_for_room, target
                )

        size = max(1, len(rows)) if contiguous else _MANY
        if len(rows) > size and not are_plain(rows):
            rows = [self._options.encoded(row) for row in rows]
        pieces = [rows[at : at + size] for at in range(0, len(rows), size)]
        pieces.reverse()
        while pieces:
            piece = pieces.pop()
            try:
                first, items = send(piece)
                outcomes.extend(conversion.arrange(first, items, len(piece)))
            except RedisError as refusal:
                if not contiguous and len(piece) > 1 and _is_of_a_part(refusal):
                    middle = len(piece) // 2
                    pieces += [piece[middle:], piece[:middle]]
                elif not contiguous and (outcomes or _is_of_a_part(refusal)):
                    # Once something was sent, its outcomes must come back.
                    outcomes.extend([refusal] * len(piece))
                else:
                    raise
        return outcomes

    def pipeline(self) -> Pipeline:
        """Commands to be gathered, and sent together by `run()`."""
        return Pipeline(self, is_unit=False)

    def _scan(self, *plan: Any) -> Scan:
        return Scan(self, *plan)

    def _script(self, text: str | bytes, read_only: bool) -> Script:
        return Script(self, text, read_only)

    def _core_of(self, target: Handle | Route | None) -> Core:
        return (target and target.core) or self._core or self._open()

    def _until(self, timeout_us: int) -> float:
        """The deadline of a call that begins now, on the monotonic clock."""
        timeout_us = timeout_us or self._options.timeout_us
        return math.inf if timeout_us == NEVER else time.monotonic() + timeout_us / 1e6

    # ---- what goes wrong before anything is queued ----

    def _insist(
        self,
        problem: Exception,
        attempt: Callable[[Core, list[Any], int], tuple[int, Any]],
        commands: list[Any],
        until: float,
        waits_for_room: bool,
        target: Handle | Route | None = None,
    ) -> tuple[int, Any]:
        """Try again: other arguments, another connection, or when there is room."""
        is_encoded = False
        while True:
            if isinstance(problem, _calls.Refused):
                if problem.status != lib.SHOAL_EFULL or not waits_for_room:
                    raise error_of(problem.status, problem.reason) from None
                if time.monotonic() >= until:
                    text = f"{NO_ROOM}: {problem.reason}"
                    raise error_of(lib.SHOAL_ETIMEOUT, text) from None
                time.sleep(_ROOM_NAP)
            elif is_encoded:
                raise error_of(lib.SHOAL_EINVAL) from problem
            else:
                is_encoded = True
                commands = [self._options.encoded(command) for command in commands]
            try:
                return attempt(self._core_of(target), commands, _left_us(until))
            except (_calls.Unpackable, _calls.Refused) as again:
                problem = again

    # ---- the connection ----

    def _open(self) -> Core:
        with self._lock:
            if self._core is None and not self._is_closed:
                core = Core(self._options, borrowed=False)
                # A signal handler may have been here meanwhile.
                if self._core is None and not self._is_closed:
                    self._core = core
            if self._core is None:
                raise error_of(lib.SHOAL_ECLOSED)
            return self._core

    def _forget(self) -> None:
        """In the child of a fork: the connection is the parent's, and a thread that is
        not here may hold the lock."""
        if self._hub is not None:
            self._hub.forget()
        self._core = None
        self._hub = None
        self._lock = threading.RLock()

    def wait_ready(self, timeout: float | None = None) -> None:
        """Connect, and wait until commands can flow: `timeout` seconds at most, None:
        the client's timeout. Raises NoConnectionError, which is a TimeoutError, or
        AuthenticationError; the text says why."""
        core = self._core or self._open()
        wait_us = self._options.timeout_us if timeout is None else microseconds(timeout)
        until = time.monotonic() + wait_us / 1e6
        while True:
            left_us = max(0, round((until - time.monotonic()) * 1e6))
            status = lib.shoalpy_core_wait_ready(core.handle, min(left_us, _SLICE_US))
            if status == 0:
                return
            if status == lib.SHOAL_ECLOSED:
                raise error_of(status)
            if status != lib.SHOAL_ETIMEOUT or left_us == 0:
                raise core.not_ready(status)

    def stats(self, connection: int | None = None) -> Stats:
        """A snapshot of the client's counters, or of those of one connection: its
        number is `Event.connection`. ValueError: there is none. Any thread."""
        return stats.take(self._core or self._open(), connection)

    def connection(self, number: int = 1) -> ConnectionInfo:
        """State, protocol and server of a connection; a client of one server has number
        1. ValueError: there is none of that number. Any thread."""
        return (self._core or self._open()).connection(number)

    def topology(self) -> Topology:
        """The servers that the client knows, now: nodes, roles, and who owns which
        slots. No server is asked. Any thread."""
        return _topology.take(self._core or self._open())

    def reconnect(self) -> None:
        """Connect anew, now: at once while the client waits for its next attempt; a
        connection that is ready is replaced, once what was written has its answers, in
        a second at most. Does not wait. Any thread."""
        (self._core or self._open()).reconnect()

    def set_credentials(self, user: str | None, password: str) -> None:
        """Authenticate with these from now on; user None: the server's default user.
        Connections are renewed, that of subscriptions as well, and no command fails,
        unless the second is not enough in which the server may answer what was written.
        Does not wait. Any thread."""
        with self._lock:  # another thread may be opening, with the former ones
            self._options.set_credentials(user, password)
            core = self._core
            if core is None:
                self._open()
            else:
                core.set_credentials(user, password)
            if self._hub is not None:
                self._hub.set_credentials(user, password)

    def reload_tls(self) -> None:
        """Read the files of TLS again, now, for connections to come. If they cannot be
        used, nothing changes, and TLSError says why. ValueError: a client without TLS.
        Any thread."""
        self._options.check_tls()
        (self._core or self._open()).reload_tls()

    def events(self) -> list[Event]:
        """What happened to the connection since the last call, oldest first; the last
        128 are kept. Any thread; each event is told once."""
        core = self._core
        return core.events() if core is not None and not core.is_closed else []

    def aio(self) -> AsyncClient[S]:
        """The asyncio face of the same connection. It ends with this client."""
        from .aio import Client as AsyncClient

        with self._lock:
            if self._async is None or self._async._is_closed:
                self._async = AsyncClient._over(self)
            return self._async

    def close(self, drain: float = 0.0) -> None:
        """Close the connection; outstanding commands have `drain` seconds to finish,
        then they fail with ClosedError. Ctrl-C ends the wait: they fail then. More
        calls do nothing. `drain` is at most 86400."""
        drain = drain_seconds(drain)
        with self._lock:
            self._is_closed = True
            core, self._core = self._core, None
        self._close_hub()
        if core is None:
            return
        if _calls.is_in_call():  # it ends by itself, once the call has returned
            core.begin_close(round(drain * 1e6))
            return
        try:
            if drain > 0:
                core.drain(drain)
        finally:
            core.begin_close(0)
        core.close(_CLOSE_SECONDS)  # a thread in a call may be held up by a handler

    def _state(self) -> str:
        core = self._core
        if core is None:
            return "closed" if self._is_closed else "not connected"
        return core.state()


def _left_us(until: float) -> int:
    """What is left of a call's time, for C."""
    if until == math.inf:
        return NEVER
    return max(1, round((until - time.monotonic()) * 1e6))


def _is_of_a_part(refusal: RedisError) -> bool:
    """Was a command refused, or their number, so that others may be accepted?"""
    return isinstance(refusal, DataError) and refusal.status in _OF_A_PART
