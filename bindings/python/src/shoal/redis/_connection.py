# SPDX-License-Identifier: MIT
"""What stands where redis-py's code expects a connection of its own.

redis-py's pipelines, retries, callbacks and measurements are written around a
connection: it packs commands, sends them and reads one reply after another.  These
objects answer to that and hand whole batches to the core, so that redis-py's own code
goes on doing the rest.  One object serves one call of one thread or task.

RefusedError and FullError pass through redis-py's code unchanged: nothing was sent, and
the caller takes another way: a lease (_leased.py), or, for what not even a lease may
carry, one of redis-py's own connections.  Offline, when the core has no connection,
leads there at once: redis-py tries to connect, and says in its words why it fails.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ClassVar, Final

import redis.exceptions as theirs
from redis.retry import AbstractRetry

from shoal._requests import blocks
from shoal.exceptions import (
    AuthenticationError,
    ConnectionError,
    Fate,
    FullError,
    RedisError,
    RefusedError,
    TimeoutError,
    TLSError,
)

from ._errors import may_have_run, translate
from ._lane import AsyncLane, BlockingLane, Lane, async_lane, blocking_lane
from ._routes import Command, blocks_for_ever, extras, spelled, wire_form

_UNIT_ENDS: Final = (("MULTI",), ("EXEC",))

# A longer batch would hold up all others: it has a connection of its own.
BATCH_MAX: Final = 16_384
# A core that has just lost its connection has the next one soon, as a rule.
_PAUSES_S: Final = (0.002, 0.008, 0.03, 0.06)


class Offline(RefusedError):
    """There is no connection at the moment, and nothing was sent."""


def is_offline(outcome: object) -> bool:
    """Whether a command failed before it was sent, for want of a connection, and has
    time left."""
    return (
        isinstance(outcome, ConnectionError)
        and not isinstance(outcome, TimeoutError)
        and outcome.fate is Fate.NOT_EXECUTED
    )


class Attempts:
    """What all attempts of one call say of it together; entered for each of them.

    If the command may have run in one attempt, a later attempt cannot disprove that.
    """

    def __init__(self) -> None:
        self._may_have_run = False

    def __enter__(self) -> None:
        """An attempt begins."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if not isinstance(error, theirs.RedisError):
            return
        if may_have_run(error):
            self._may_have_run = True
        elif self._may_have_run and getattr(error, "fate", None) is Fate.NOT_EXECUTED:
            error.fate = Fate.UNKNOWN  # type: ignore[attr-defined]


class CoreRetry:
    """redis-py's Retry, over something of ours.

    Unless `repeats_unknown`, it never repeats what may have been executed.
    """

    def __init__(self, retry: AbstractRetry[Any], repeats_unknown: bool):
        self._retry: Any = retry
        self._repeats_unknown = repeats_unknown

    def call_with_retry(
        self,
        do: Callable[[], Any],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> Any:
        """As redis-py's; an awaitable where redis-py's is one."""

        def is_safe(error: Exception) -> bool:
            return (self._repeats_unknown or not may_have_run(error)) and (
                is_retryable is None or is_retryable(error)
            )

        return self._retry.call_with_retry(
            self._remembering(do), fail, is_safe, with_failure_count
        )

    def _remembering(self, do: Callable[[], Any]) -> Callable[[], Any]:
        """The same, whose errors say what is known of all attempts."""
        attempts = Attempts()

        def attempt() -> Any:
            with attempts:
                return do()

        return attempt

    def get_retries(self) -> int:
        """How often it repeats."""
        retries: int = self._retry.get_retries()
        return retries


class AsyncCoreRetry(CoreRetry):
    """The same for asyncio."""

    def _remembering(self, do: Callable[[], Any]) -> Callable[[], Any]:
        attempts = Attempts()

        async def attempt() -> Any:
            with attempts:
                return await do()

        return attempt


class Face:
    """What both faces have in common.

    failed  raised instead of the first reply: what happened before redis-py's code ran
    """

    _retry_kind: ClassVar[type[CoreRetry]] = CoreRetry

    def __init__(
        self,
        pool: Any,
        lane: Lane,
        repeats_unknown: bool,
        failed: Exception | None = None,
    ):
        self.retry: Any = None
        self.choose_retry(pool, lane, repeats_unknown)
        self.host = getattr(lane.template, "host", None)
        self.port = getattr(lane.template, "port", None)
        self.db = lane.template.db
        self.himport_registry = None  # redis-py asks each connection for it
        self.credential_provider = None  # and for this
        self._socket_timeout = lane.template.socket_timeout
        self._pool = pool
        self._failed = failed
        self._single: Command | None = None
        self._replies: deque[Any] = deque()

    def choose_retry(self, pool: Any, lane: Lane, repeats_unknown: bool) -> None:
        """The pool's Retry, which may have been changed."""
        self.retry = self._retry_kind(lane.retry(pool), repeats_unknown)

    def pack_commands(self, commands: Iterable[Command]) -> list[Command]:
        """Nothing is packed here: the core does that."""
        return list(commands)

    def should_reconnect(self) -> bool:
        """Never: the core looks after its connection."""
        return False

    def extract_connection_details(self) -> str:
        """For redis-py's debug log."""
        return f"shared connection to {self.host}:{self.port}, database {self.db}"

    def _remember(self, args: Command) -> None:
        self._single = wire_form(args)
        if self._single is None:
            form = spelled(args)
            if form is None or not blocks(form):
                raise RefusedError(f"{args[0]} needs a connection of its own")
            self._single = form

    def _recall(self) -> Command | None:
        """The single command, if there is one; raises what failed before."""
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        single, self._single = self._single, None
        return single

    def take_all(self) -> list[Any]:
        """The replies of the batch, errors among them."""
        replies, self._replies = list(self._replies), deque()
        return replies

    def _may_look_again(self) -> bool:
        """Whether a command that found no connection may look for another one."""
        return True

    def _judge(self, error: RedisError) -> None:
        """A command failed.  Returns if it may be tried again, in a moment."""
        if isinstance(error, (RefusedError, FullError)):
            raise error
        if not is_offline(error) or not self._may_look_again():
            raise translate(error) from error
        if isinstance(error, (AuthenticationError, TLSError)):
            raise Offline(str(error)) from error

    def _is_done(self, outcome: object) -> bool:
        """Whether this is an outcome, and not a batch that found no connection."""
        return not _is_all_offline(outcome) or not self._may_look_again()

    def _own_timeout(self, command: Command) -> float | None:
        """For the core: seconds for a command that blocks; None: its own ones.

        redis-py bounds one that blocks for ever by the timeout of its socket.
        """
        timeout: float | None = self._socket_timeout
        return timeout if blocks_for_ever(command) else None

    def _take(self) -> Any:
        """The next reply of the batch; raises it if it is an error."""
        reply = self._replies.popleft()
        if isinstance(reply, Exception):
            raise translate(reply)
        return reply


def _wire_forms(commands: Iterable[Command]) -> list[Command]:
    """The batch as it goes on the wire.

    RefusedError if a command may not share, FullError if it is too long to.
    """
    forms = []
    for args in commands:
        form = args if args in _UNIT_ENDS else wire_form(args)
        if form is None:
            raise RefusedError(f"{args[0]} needs a connection of its own")
        forms.append(form)
    if len(forms) > BATCH_MAX:
        raise FullError(f"a batch of {len(forms)} commands")
    return forms


def insist(face: Face, attempt: Callable[[], Any]) -> Any:
    """Try again while there is no connection, for a moment."""
    for pause in _PAUSES_S:
        try:
            outcome = attempt()
            if face._is_done(outcome):
                return outcome
        except RedisError as error:
            face._judge(error)
        time.sleep(pause)
    raise Offline("there is no connection")


async def insist_async(face: Face, attempt: Callable[[], Awaitable[Any]]) -> Any:
    """The same for asyncio."""
    for pause in _PAUSES_S:
        try:
            outcome = await attempt()
            if face._is_done(outcome):
                return outcome
        except RedisError as error:
            face._judge(error)
        await asyncio.sleep(pause)
    raise Offline("there is no connection")


class CoreConnection(Face):
    """For `redis.Redis` and its pipelines."""

    def _lane(self) -> BlockingLane:
        """Which may be another one after a disconnect of the pool."""
        return blocking_lane(self._pool)

    def send_command(self, *args: Any, **options: Any) -> None:
        """Remember the one command; read_response() runs it."""
        self._remember(args)

    def send_packed_command(
        self, commands: list[Command], decode: bool | None = None
    ) -> None:
        """Run the batch as one contiguous block."""
        forms = _wire_forms(commands)
        self._replies = deque(
            insist(
                self,
                lambda: self._lane().execute_many(
                    forms,
                    decode=decode,
                    contiguous=True,
                    return_exceptions=True,
                    wait_for_room=False,
                ),
            )
        )

    def read_response(self, disable_decoding: bool = False) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        single = self._recall()
        if single is None:
            return self._take()
        decode = False if disable_decoding else None
        if blocks(single):
            return insist(self, lambda: self._block(single, decode))
        return insist(
            self,
            lambda: self._lane().execute(*single, decode=decode, **extras(single)),
        )

    def _block(self, command: Command, decode: bool | None) -> Any:
        """The core gives it a connection of its own."""
        lane = self._lane()
        with lane.take_place():
            return lane.execute(
                *command, decode=decode, timeout=self._own_timeout(command)
            )

    def disconnect(self, *args: Any, **options: Any) -> None:
        """Forget the rest of the batch; the shared connection stays."""
        self._replies.clear()


class AsyncCoreConnection(Face):
    """For `redis.asyncio.Redis` and its pipelines."""

    _retry_kind = AsyncCoreRetry

    def _lane(self) -> AsyncLane:
        """Which may be another one after a disconnect of the pool."""
        return async_lane(self._pool)

    async def send_command(self, *args: Any, **options: Any) -> None:
        """Remember the one command; read_response() runs it."""
        self._remember(args)

    async def send_packed_command(
        self, commands: list[Command], decode: bool | None = None
    ) -> None:
        """Run the batch as one contiguous block."""
        forms = _wire_forms(commands)
        self._replies = deque(
            await insist_async(
                self,
                lambda: self._lane().execute_many(
                    forms,
                    decode=decode,
                    contiguous=True,
                    return_exceptions=True,
                    wait_for_room=False,
                ),
            )
        )

    async def read_response(self, disable_decoding: bool = False) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        single = self._recall()
        if single is None:
            return self._take()
        decode = False if disable_decoding else None
        if blocks(single):
            return await insist_async(self, lambda: self._block(single, decode))
        return await insist_async(
            self,
            lambda: self._lane().submit(*single, decode=decode, **extras(single)),
        )

    async def _block(self, command: Command, decode: bool | None) -> Any:
        """The core gives it a connection of its own; execute() loses nothing of what a
        cancelled one has taken."""
        lane = self._lane()
        with lane.take_place():
            return await lane.execute(
                *command, decode=decode, timeout=self._own_timeout(command)
            )

    async def disconnect(self, *args: Any, **options: Any) -> None:
        """Forget the rest of the batch; the shared connection stays."""
        self._replies.clear()

    def _close(self) -> None:
        """For a pipeline that nobody reset."""
        self._replies.clear()


def _is_all_offline(outcome: object) -> bool:
    """Whether this is a batch of which nothing was sent."""
    return isinstance(outcome, list) and bool(outcome) and all(map(is_offline, outcome))
