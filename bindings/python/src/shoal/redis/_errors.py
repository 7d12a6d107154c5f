# SPDX-License-Identifier: MIT
# mypy: disable-error-code="no-untyped-call"
"""Our exceptions in redis-py's classes."""

from typing import Final

import redis.exceptions as theirs
from redis._parsers import BaseParser

from shoal import exceptions as ours


class NoConnectionError(theirs.ConnectionError, theirs.TimeoutError):
    """The command's deadline passed while there was no connection."""


# The first that fits; redis-py's words for the same thing.
_CLASSES: tuple[tuple[type[ours.RedisError], type[theirs.RedisError]], ...] = (
    (ours.NoConnectionError, NoConnectionError),
    (ours.AuthenticationError, theirs.AuthenticationError),
    (ours.ConnectionError, theirs.ConnectionError),
    (ours.TimeoutError, theirs.TimeoutError),
    (ours.FullError, theirs.MaxConnectionsError),
    (ours.DataError, theirs.DataError),
)


# What a command over the core can raise: our exceptions, and for error replies
# redis-py's, which the core makes by error_reply().
FAILURES: Final = (ours.RedisError, theirs.RedisError)


def error_reply(text: str) -> Exception:
    """redis-py's exception for an error reply, whose whole line is `text`."""
    error: Exception = BaseParser.parse_error(text)
    error.fate = ours.Fate.REPLIED  # type: ignore[attr-defined]
    return error


def translate(error: Exception) -> Exception:
    """The exception that redis-py's users expect, with our `fate` as an attribute.

    What failed on the way keeps our exception as its cause.  Threads: any.
    """
    if not isinstance(error, ours.RedisError):
        return error
    kind = next(
        (their for our, their in _CLASSES if isinstance(error, our)),
        theirs.RedisError,
    )
    translated = kind(*error.args)
    translated.fate = error.fate  # type: ignore[attr-defined]
    translated.__cause__ = error
    return translated


def may_have_run(error: BaseException) -> bool:
    """Whether the failed command may have been executed, its reply being unknown."""
    fate = getattr(error, "fate", ours.Fate.REPLIED)
    return fate in (ours.Fate.UNKNOWN, ours.Fate.REPLY_LOST)


def ends_watch(error: BaseException) -> bool:
    """Whether what was watched is lost, or may be."""
    return may_have_run(error) or isinstance(error, theirs.ConnectionError)


def tell_fate(lost: theirs.WatchError) -> None:
    """redis-py's own gets the `fate` of the failure that made it raise this."""
    failure = lost.__context__
    if not hasattr(lost, "fate") and hasattr(failure, "fate"):
        lost.fate = failure.fate  # type: ignore[attr-defined,union-attr]


def tell_unchanged(error: theirs.WatchError) -> None:
    """EXEC was answered by nil: redis-py's words for it get a `fate`."""
    error.fate = ours.Fate.NOT_EXECUTED  # type: ignore[attr-defined]


def is_parents(error: BaseException) -> bool:
    """Whether a forked child used a connection whose state is the parent's: a command
    must not be repeated without that state."""
    return isinstance(error.__cause__, ours.ForkError)


def watch_lost(error: BaseException) -> Exception:
    """What redis-py raises when a connection that watches keys fails."""
    lost = theirs.WatchError(
        f"A {type(error).__name__} occurred while watching one or more keys"
    )
    lost.fate = getattr(error, "fate", ours.Fate.REPLIED)  # type: ignore[attr-defined]
    return lost
