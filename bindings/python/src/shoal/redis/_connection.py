# SPDX-License-Identifier: MIT
"""What stands where redis-py's code expects a connection of its own.

redis-py's pipelines, retries, callbacks and measurements are written around a
connection: it packs commands, sends them and reads one reply after another.  These
objects answer to that and hand whole batches to the core, so that redis-py's own code
goes on doing the rest.  One object serves one call of one thread or task.

RefusedError and FullError pass through redis-py's code unchanged: nothing was sent, and
the caller takes one of redis-py's own connections.  So it does when the core has no
connection: redis-py then tries to connect at once, and says in its words why it fails.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from redis.retry import AbstractRetry

from shoal.exceptions import (
    AuthenticationError,
    ConnectionError,
    Fate,
    FullError,
    RedisError,
    RefusedError,
    TimeoutError,
)

from ._errors import may_have_run, translate
from ._lane import Lane, async_lane, blocking_lane
from ._routes import Command, extras, wire_form

_UNIT_ENDS: Final = (("MULTI",), ("EXEC",))

# A longer batch would hold up all others: it has a connection of its own.
_BATCH_MAX: Final = 16_384


# A core that has just lost its connection has the next one soon, as a rule.
_PAUSES_S: Final = (0.002, 0.008, 0.03, 0.06)


def is_offline(outcome: object) -> bool:
    """Whether a command failed before it was sent, for want of a connection, and has
    time left."""
    return (
        isinstance(outcome, ConnectionError)
        and not isinstance(outcome, TimeoutError)
        and outcome.fate is Fate.NOT_EXECUTED
    )


class CautiousRetry:
    """redis-py's Retry, that never repeats what may have been executed."""

    def __init__(self, retry: AbstractRetry[Any]):
        self._retry: Any = retry

    def call_with_retry(
        self,
        do: Callable[[], Any],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> Any:
        """As redis-py's; an awaitable where redis-py's is one."""

        def is_safe(error: Exception) -> bool:
            return not may_have_run(error) and (
                is_retryable is None or is_retryable(error)
            )

        return self._retry.call_with_retry(do, fail, is_safe, with_failure_count)

    def get_retries(self) -> int:
        """How often it repeats."""
        retries: int = self._retry.get_retries()
        return retries


class _Face:
    """What both faces have in common.

    failed  raised instead of the first reply: what happened before redis-py's code ran
    """

    def __init__(
        self,
        pool: Any,
        lane: Lane,
        repeats_unknown: bool,
        failed: Exception | None = None,
    ):
        retry = lane.retry(pool)
        self.retry: Any = retry if repeats_unknown else CautiousRetry(retry)
        self.host = getattr(lane.template, "host", None)
        self.port = getattr(lane.template, "port", None)
        self.db = lane.template.db
        self._pool = pool
        self._failed = failed
        self._may_have_run = failed is not None and may_have_run(failed)
        self._single: Command | None = None
        self._replies: deque[Any] = deque()

    def _told(self, error: Exception) -> Exception:
        """The error in redis-py's classes. If the command may have run in one attempt,
        a later attempt cannot disprove that."""
        translated = translate(error)
        if may_have_run(translated):
            self._may_have_run = True
        elif self._may_have_run:
            translated.fate = Fate.UNKNOWN  # type: ignore[attr-defined]
        return translated

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
            raise RefusedError(f"{args[0]} needs a connection of its own")

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
    if len(forms) > _BATCH_MAX:
        raise FullError(f"a batch of {len(forms)} commands")
    return forms


class CoreConnection(_Face):
    """For `redis.Redis` and its pipelines."""

    def send_command(self, *args: Any, **options: Any) -> None:
        """Remember the one command; read_response() runs it."""
        self._remember(args)

    def send_packed_command(self, commands: list[Command]) -> None:
        """Run the batch as one contiguous block."""
        forms = _wire_forms(commands)
        self._replies = deque(
            self._insist(
                lambda: blocking_lane(self._pool).execute_many(
                    forms, contiguous=True, return_exceptions=True, wait_for_room=False
                )
            )
        )

    def read_response(self, disable_decoding: bool = False) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        single = self._recall()
        if single is None:
            return self._take()
        decode = False if disable_decoding else None
        return self._insist(
            lambda: blocking_lane(self._pool).execute(
                *single, decode=decode, **extras(single)
            )
        )

    def _insist(self, attempt: Callable[[], Any]) -> Any:
        """Try again while there is no connection, for a moment."""
        for pause in _PAUSES_S:
            try:
                outcome = attempt()
            except (RefusedError, FullError):
                raise
            except RedisError as error:
                if not is_offline(error):
                    raise self._told(error) from error
                if isinstance(error, AuthenticationError):
                    break
            else:
                if not _is_all_offline(outcome):
                    return outcome
            time.sleep(pause)
        raise RefusedError("there is no connection")

    def disconnect(self, *args: Any, **options: Any) -> None:
        """Forget the rest of the batch; the shared connection stays."""
        self._replies.clear()


class AsyncCoreConnection(_Face):
    """For `redis.asyncio.Redis` and its pipelines."""

    async def send_command(self, *args: Any, **options: Any) -> None:
        """Remember the one command; read_response() runs it."""
        self._remember(args)

    async def send_packed_command(self, commands: list[Command]) -> None:
        """Run the batch as one contiguous block."""
        forms = _wire_forms(commands)
        self._replies = deque(
            await self._insist(
                lambda: async_lane(self._pool).execute_many(
                    forms, contiguous=True, return_exceptions=True, wait_for_room=False
                )
            )
        )

    async def read_response(self, disable_decoding: bool = False) -> Any:
        """The next reply; errors are raised in redis-py's classes."""
        single = self._recall()
        if single is None:
            return self._take()
        decode = False if disable_decoding else None
        return await self._insist(
            lambda: async_lane(self._pool).submit(
                *single, decode=decode, **extras(single)
            )
        )

    async def _insist(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """Try again while there is no connection, for a moment."""
        for pause in _PAUSES_S:
            try:
                outcome = await attempt()
            except (RefusedError, FullError):
                raise
            except RedisError as error:
                if not is_offline(error):
                    raise self._told(error) from error
                if isinstance(error, AuthenticationError):
                    break
            else:
                if not _is_all_offline(outcome):
                    return outcome
            await asyncio.sleep(pause)
        raise RefusedError("there is no connection")

    async def disconnect(self, *args: Any, **options: Any) -> None:
        """Forget the rest of the batch; the shared connection stays."""
        self._replies.clear()


def _is_all_offline(outcome: object) -> bool:
    """Whether this is a batch of which nothing was sent."""
    return isinstance(outcome, list) and bool(outcome) and all(map(is_offline, outcome))
