# SPDX-License-Identifier: MIT
"""Connections of one's own, and optimistic locking over them: the asyncio face."""

from __future__ import annotations

import asyncio
import inspect
from asyncio import _get_running_loop
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from .._closing import AsyncClosing
from .._commands import AsyncCommands
from .._flags import CONTIGUOUS
from .._into import Into
from .._lease import Handle, Held
from .._native import lib
from .._outcomes import error_of
from .._pipeline import without_exceptions
from .._requests import Argument, as_tuples
from .._seconds import microseconds
from .._transaction import ATTEMPTS, AttemptBase, Rounds
from .._words import S
from ..exceptions import ConnectionError
from ._batch import Extras, Future
from .monitor import Monitor
from .pipeline import Pipeline

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

    from .client import Client

_T = TypeVar("_T")


class Lease(Held, AsyncCommands[S], AsyncClosing):
    """A connection that its holder uses alone; as `shoal.Lease`.

    It belongs to the event loop that it was made in. One task at a time, as a rule,
    because others' commands would come between.
    """

    def __init__(self, client: Client[Any]) -> None:
        self._client = client
        self._options = client._options
        self._port = client._find_port()
        self._handle = Handle(self._port.core)

    async def execute(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> Any:
        """Send one command and wait for its reply; as `Client.execute`."""
        future = self._submit(args, timeout, decode, is_awaited=True)
        try:
            return await future
        except asyncio.CancelledError as error:
            await self._client._cancelled(error, args, future)
            raise
        except GeneratorExit:
            self._client._forsake([future])
            raise

    def _run(self, args: tuple[Any, ...]) -> Any:
        return self.execute(*args)

    async def readinto(
        self, buffer: Buffer, *args: Argument, timeout: float | None = None
    ) -> int | None:
        """Let the string that a command answers with go into a buffer; as
        `Client.readinto`."""
        handle, (_, timeout_us, _, _) = self._held(), self._extras(0, timeout, None)
        with Into(buffer) as into:
            return await self._client._readinto(
                self._port, args, timeout_us, into, handle
            )

    def submit(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> Future:
        """Send one command and return the future of its reply; as `Client.submit`."""
        return self._submit(args, timeout, decode, is_awaited=False)

    def _submit(
        self,
        args: tuple[Argument, ...],
        timeout: float | None,
        decode: bool | None,
        *,
        is_awaited: bool,
    ) -> Future:
        extras = self._extras(0, timeout, decode)
        return self._port.submit_one(args, extras, is_awaited=is_awaited)

    def _extras(self, flags: int, timeout: float | None, decode: bool | None) -> Extras:
        handle = self._held()
        if handle.core.is_foreign():
            raise error_of(lib.SHOAL_EFORK)
        if self._port.loop is not _get_running_loop():
            raise RuntimeError(
                "a lease belongs to the event loop that it was made in: make another"
            )
        return (
            flags,
            0 if timeout is None else microseconds(timeout),
            self._options.conversion(decode),
            handle,
        )

    async def execute_many(
        self,
        commands: Iterable[Sequence[Argument]],
        *,
        timeout: float | None = None,
        decode: bool | None = None,
        contiguous: bool = False,
        return_exceptions: bool = False,
        wait_for_room: bool = True,
    ) -> list[Any]:
        """Send many commands together and wait for all their replies, in order; as
        `shoal.Lease.execute_many`."""
        extras = self._extras(CONTIGUOUS if contiguous else 0, timeout, decode)
        execute_many = self._client._execute_many
        rows = as_tuples(commands)
        outcomes = (
            await execute_many(self._port, rows, extras, wait_for_room) if rows else []
        )
        return outcomes if return_exceptions else without_exceptions(outcomes)

    async def close(self) -> None:
        """Give the connection back; does not wait for anything. More calls do nothing.
        Commands of other tasks still get their results."""
        self._let_go()

    def _let_go(self) -> None:
        """Any thread, once nobody uses it."""
        handle, self._handle = self._handle, None
        if handle is not None and not self._port.has_queued():
            handle.close()  # else it ends with what is queued

    async def __aenter__(self) -> Self:
        self._held()
        return self


class Attempt(AttemptBase):
    """One attempt of `Client.transaction(func, ...)`; as `shoal.Attempt`."""

    def __init__(self, lease: Lease[Any]) -> None:
        super().__init__()
        self._lease = lease

    async def execute(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> Any:
        """Run a command at once, over the connection that watches; as
        `shoal.Attempt.execute`."""
        return await self._lease.execute(*args, timeout=timeout, decode=decode)


async def transact(
    client: Client[Any],
    func: Callable[[Attempt], Awaitable[Any] | Any],
    keys: Sequence[Argument],
    attempts: int,
    decode: bool | None,
    wants_value: bool,
) -> Any:
    """EXEC's list of the attempt that succeeded, or what `func` returned there."""
    rounds = Rounds(func, attempts)
    lease = client.lease()
    try:
        while True:
            attempt = Attempt(lease)
            outcomes: list[Any] | None = None
            loss: ConnectionError | None = None
            try:
                if keys:
                    await lease.execute("WATCH", *keys)
                value = func(attempt)
                if inspect.isawaitable(value):
                    value = await value
                unit = attempt.unit()
                if not unit:
                    return value if wants_value else []
                outcomes = await lease.execute_many(
                    unit, decode=decode, contiguous=True, return_exceptions=True
                )
                replies = attempt.replies(outcomes)
                if replies is not None:
                    return value if wants_value else replies
            except ConnectionError as error:
                if not attempt.may_follow(error, was_sent=outcomes is not None):
                    raise
                loss = error
            if loss is not None:
                await lease.close()
                lease = client.lease()
            await asyncio.sleep(rounds.next_delay(loss))
    finally:
        await lease.close()


class Leasing(Generic[S]):
    """The part of a client that needs leases."""

    @overload
    def transaction(self) -> Pipeline: ...

    @overload
    def transaction(
        self,
        func: Callable[[Attempt], Awaitable[_T]],
        *keys: Argument,
        attempts: int = ...,
        decode: bool | None = ...,
        value_from_callable: Literal[True],
    ) -> Coroutine[Any, Any, _T]: ...

    @overload
    def transaction(
        self,
        func: Callable[[Attempt], Awaitable[Any] | Any],
        *keys: Argument,
        attempts: int = ...,
        decode: bool | None = ...,
        value_from_callable: Literal[False] = ...,
    ) -> Coroutine[Any, Any, list[Any]]: ...

    def transaction(
        self,
        func: Callable[[Attempt], Awaitable[Any] | Any] | None = None,
        *keys: Argument,
        attempts: int = ATTEMPTS,
        decode: bool | None = None,
        value_from_callable: bool = False,
    ) -> Any:
        """As `shoal.Client.transaction`: with `func`, a coroutine function or a plain
        one, a coroutine; without, the commands of a unit to be gathered."""
        client: Any = self
        if func is None:
            return Pipeline(client, is_unit=True)
        return transact(client, func, keys, attempts, decode, value_from_callable)

    def lease(self) -> Lease[S]:
        """A connection of one's own, for WATCH, SELECT and the like; an asynchronous
        context manager. It connects at its first command. FullError: too many exist."""
        client: Any = self
        return Lease(client)

    def monitor(
        self, *, timeout: float | None = None, decode: bool | None = None
    ) -> Monitor:
        """Every command that the server executes, for any client: MONITOR, over a
        connection of its own; an asynchronous context manager, and an iterator of
        lines. `timeout`: for the server's answer; None: the client's. `decode`: str
        instead of bytes."""
        client: Any = self
        return Monitor(client, timeout, decode)
