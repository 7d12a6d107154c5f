# SPDX-License-Identifier: MIT
"""What can go wrong. Names are redis-py's where they mean the same.

Every exception has a `fate`: what is known about the command's execution. Only
`Fate.NOT_EXECUTED` proves that the command did not run and never will.
"""

from __future__ import annotations

import builtins
import enum


class Fate(enum.IntEnum):
    """What is known about the execution of a command on the server."""

    REPLIED = 0  #: the server answered, perhaps with an error
    NOT_EXECUTED = 1  #: proved: it was not executed and never will be; safe to retry
    UNKNOWN = 2  #: it was sent and no reply came; it may have been executed
    REPLY_LOST = 3  #: it was processed; its reply is lost


class RedisError(Exception):
    """The root of all errors of this package."""

    #: What is known about the command's execution.
    fate: Fate = Fate.UNKNOWN
    #: The C library's code, a number below 0; 0: it has none.
    status: int = 0


class ConnectionError(RedisError, builtins.ConnectionError):
    """The connection could not be made, or was lost before the reply came."""


class AuthenticationError(ConnectionError):
    """The server rejected the credentials."""


class TLSError(ConnectionError):
    """TLS failed: the server's certificate, its protocol, or a file of the options."""


class DesyncError(ConnectionError):
    """The server broke the protocol; the connection was given up."""


class ClosedError(ConnectionError):
    """The client is closed, or was closed before the reply came."""


class ForkError(ConnectionError):
    """The command belongs to the parent process of this one."""


class TimeoutError(RedisError, builtins.TimeoutError):
    """The command's deadline passed; `fate` says whether it was sent."""


class NoConnectionError(ConnectionError, TimeoutError):
    """There was no connection by the command's deadline; the text says why."""


class FullError(RedisError):
    """A bound of outstanding commands or bytes is reached."""


class DataError(RedisError):
    """An argument cannot be sent: nothing was."""

    fate = Fate.NOT_EXECUTED


class RefusedError(DataError):
    """The command would break a connection that others share: it was not sent."""


class BufferTooSmallError(RedisError, ValueError):
    """The command was executed, but its reply does not fit into the buffer that
    `readinto()` was given. `needed`: its bytes."""

    fate = Fate.REPLIED

    def __init__(self, text: str = "", needed: int = 0) -> None:
        super().__init__(text)
        self.needed = needed


class ResponseError(RedisError):
    """The server answered with an error.

    `text` is the server's whole line, `code` its first word.
    """

    fate = Fate.REPLIED

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.code = text.split(" ", 1)[0]


class WrongTypeError(ResponseError):
    """WRONGTYPE: the key holds another kind of value."""


class NoScriptError(ResponseError):
    """NOSCRIPT: the script is not in the server's cache."""


class ExecAbortError(ResponseError):
    """EXECABORT: a command of the transaction was rejected; none ran."""


class ReadOnlyError(ResponseError):
    """READONLY: the server is a replica."""


class NoPermissionError(ResponseError):
    """NOPERM: the user may not do that."""


class OutOfMemoryError(ResponseError):
    """OOM: the server's memory limit is reached."""


class BusyLoadingError(ResponseError, ConnectionError):
    """LOADING: the server reads its data set, and did so at each attempt."""


class AuthenticationRequiredError(ResponseError, AuthenticationError):
    """NOAUTH or WRONGPASS: the server wants other credentials."""


class BusyScriptError(ResponseError):
    """BUSY: a script runs for too long."""


class BusyGroupError(ResponseError):
    """BUSYGROUP: the consumer group exists."""


class MisconfiguredError(ResponseError):
    """MISCONF: the server cannot persist its data and refuses writes."""


class WatchError(RedisError):
    """The watched keys changed during each attempt of a transaction: none ran."""

    fate = Fate.NOT_EXECUTED


class NoNodeError(RedisError):
    """The call's `route` names a node that the cluster does not have."""

    fate = Fate.NOT_EXECUTED


class ClusterError(ResponseError):
    """The server is part of a cluster and cannot do that here."""


class MovedError(ClusterError):
    """MOVED: another node has the slot."""


class AskError(ClusterError):
    """ASK: the slot is on its way to another node."""


class TryAgainError(ClusterError):
    """TRYAGAIN: keys are on their way between nodes."""


class ClusterDownError(ClusterError):
    """CLUSTERDOWN: the cluster cannot serve the slot."""


class ClusterCrossSlotError(ClusterError):
    """CROSSSLOT: the keys are in different slots."""


_BY_CODE: dict[str, type[ResponseError]] = {
    "WRONGTYPE": WrongTypeError,
    "NOSCRIPT": NoScriptError,
    "EXECABORT": ExecAbortError,
    "READONLY": ReadOnlyError,
    "NOPERM": NoPermissionError,
    "OOM": OutOfMemoryError,
    "LOADING": BusyLoadingError,
    "NOAUTH": AuthenticationRequiredError,
    "WRONGPASS": AuthenticationRequiredError,
    "BUSY": BusyScriptError,
    "BUSYGROUP": BusyGroupError,
    "MISCONF": MisconfiguredError,
    "MOVED": MovedError,
    "ASK": AskError,
    "TRYAGAIN": TryAgainError,
    "CLUSTERDOWN": ClusterDownError,
    "CROSSSLOT": ClusterCrossSlotError,
}


def from_reply(text: str) -> ResponseError:
    """The exception for an error reply, by its first word."""
    code = text.split(" ", 1)[0]
    return _BY_CODE.get(code, ResponseError)(text)


__all__ = [
    "AskError",
    "AuthenticationError",
    "AuthenticationRequiredError",
    "BufferTooSmallError",
    "BusyGroupError",
    "BusyLoadingError",
    "BusyScriptError",
    "ClosedError",
    "ClusterCrossSlotError",
    "ClusterDownError",
    "ClusterError",
    "ConnectionError",
    "DataError",
    "DesyncError",
    "ExecAbortError",
    "Fate",
    "ForkError",
    "FullError",
    "MisconfiguredError",
    "MovedError",
    "NoConnectionError",
    "NoNodeError",
    "NoPermissionError",
    "NoScriptError",
    "OutOfMemoryError",
    "ReadOnlyError",
    "RedisError",
    "RefusedError",
    "ResponseError",
    "TLSError",
    "TimeoutError",
    "TryAgainError",
    "WatchError",
    "WrongTypeError",
    "from_reply",
]
