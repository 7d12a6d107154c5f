# SPDX-License-Identifier: MIT
"""Connections of one's own, and optimistic locking over them: the blocking face."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from ._closing import Closing
from ._commands import Commands
from ._flags import CONTIGUOUS
from ._into import Into
from ._lease import Handle, Held
from ._pipeline import without_exceptions
from ._requests import Argument, as_tuples
from ._seconds import microseconds
from ._transaction import ATTEMPTS, AttemptBase, Rounds
from ._words import S
from .exceptions import ConnectionError
from .monitor import Monitor
from .pipeline import Pipeline

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

    from .client import Client

_T = TypeVar("_T")


class Lease(Held, Commands[S], Closing):
    """A connection that its holder uses alone: WATCH, SELECT, MULTI one by one, CLIENT.

    Made by `Client.lease()`; close it, or use it as a context manager. If the
    connection is lost, so is what the server knew of it: further commands raise
    ConnectionError, not executed, and the holder closes the lease. One thread at a
    time, as a rule, because others' commands would come between.
    """

    def __init__(self, client: Client[Any]) -> None:
        self._client = client
        self._options = client._options
        self._handle = Handle(client._core or client._open())

    def execute(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> Any:
        """Send one command and wait for its reply; as `Client.execute`."""
        conversion = self._options.conversion(decode)
        with self._held() as handle:
            return self._client._value_of(args, timeout, conversion, handle)

    def _run(self, args: tuple[Any, ...]) -> Any:
        return self.execute(*args)

    def readinto(
        self, buffer: Buffer, *args: Argument, timeout: float | None = None
    ) -> int | None:
        """Let the string that a command answers with go into a buffer; as
        `Client.readinto`."""
        with self._held() as handle, Into(buffer) as into:
            count: int | None = self._client._value_of(args, timeout, into, handle)
            return count

    def execute_many(
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
        `Client.execute_many`. `contiguous`: MULTI ... EXEC among them is one unit, of
        which nothing is executed unless the server has all of it."""
        client = self._client
        with self._held() as handle:
            outcomes = client._execute_many(
                as_tuples(commands),
                CONTIGUOUS if contiguous else 0,
                0 if timeout is None else microseconds(timeout),
                self._options.conversion(decode),
                wait_for_room,
                handle,
            )
        return outcomes if return_exceptions else without_exceptions(outcomes)

    def close(self) -> None:
        """Give the connection back; does not wait. More calls do nothing. Commands that
        other threads have under way still get their results."""
        self._let_go()

    def _let_go(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def __enter__(self) -> Self:
        self._held()
        return self


class Attempt(AttemptBase):
    """One attempt of `Client.transaction(func, ...)`: what `func` gets.

    `add()` queues a command, for MULTI ... EXEC; `execute()` runs one at once.
    """

    def __init__(self, lease: Lease[Any]) -> None:
        super().__init__()
        self._lease = lease

    def execute(
        self,
        *args: Argument,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> Any:
        """Run a command at once, over the connection that watches; as
        `Client.execute`. For reads, and WATCH of more keys: another attempt runs it
        again."""
        return self._lease.execute(*args, timeout=timeout, decode=decode)


def transact(
    client: Client[Any],
    func: Callable[[Attempt], Any],
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
                    lease.execute("WATCH", *keys)
                value = func(attempt)
                unit = attempt.unit()
                if not unit:
                    return value if wants_value else []
                outcomes = lease.execute_many(
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
                lease.close()
                lease = client.lease()
            time.sleep(rounds.next_delay(loss))
    finally:
        lease.close()


class Leasing(Generic[S]):
    """The part of a client that needs leases."""

    @overload
    def transaction(self) -> Pipeline: ...

    @overload
    def transaction(
        self,
        func: Callable[[Attempt], _T],
        *keys: Argument,
        attempts: int = ...,
        decode: bool | None = ...,
        value_from_callable: Literal[True],
    ) -> _T: ...

    @overload
    def transaction(
        self,
        func: Callable[[Attempt], Any],
        *keys: Argument,
        attempts: int = ...,
        decode: bool | None = ...,
        value_from_callable: Literal[False] = ...,
    ) -> list[Any]: ...

    def transaction(
        self,
        func: Callable[[Attempt], Any] | None = None,
        *keys: Argument,
        attempts: int = ATTEMPTS,
        decode: bool | None = None,
        value_from_callable: bool = False,
    ) -> Any:
        """Commands to be gathered, and sent as one atomic unit, MULTI ... EXEC; `run()`
        gives EXEC's list.

        With `func`: optimistic locking. Watches `keys` over a lease, and calls `func`
        with an `Attempt`: `execute()` reads at once, `add()` queues a command. Then
        sends what was queued as one unit. If a key changed meanwhile, or the connection
        was lost before the unit was complete, nothing was executed, and all of it
        happens again after 1 to 32 ms, `attempts` times at most; then raises
        WatchError, or the ConnectionError. Returns EXEC's list; `value_from_callable`:
        what `func` returned.
        """
        client: Any = self
        if func is None:
            return Pipeline(client, is_unit=True)
        return transact(client, func, keys, attempts, decode, value_from_callable)

    def lease(self) -> Lease[S]:
        """A connection of one's own, for WATCH, SELECT and the like; a context manager.
        It connects at its first command. FullError: too many exist."""
        client: Any = self
        return Lease(client)

    def monitor(
        self, *, timeout: float | None = None, decode: bool | None = None
    ) -> Monitor:
        """Every command that the server executes, for any client: MONITOR, over a
        connection of its own; a context manager, and an iterator of lines.
        `timeout`: for the server's answer; None: the client's. `decode`: str instead
        of bytes."""
        client: Any = self
        return Monitor(client, timeout, decode)
