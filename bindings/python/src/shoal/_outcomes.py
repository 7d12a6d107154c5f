# SPDX-License-Identifier: MIT
"""From the codes of the C library to exceptions."""

from __future__ import annotations

import contextlib
from typing import Any

from . import exceptions as errors
from ._native import ffi, lib
from .exceptions import Fate, RedisError

_BY_STATUS: dict[int, type[RedisError]] = {
    lib.SHOAL_EFULL: errors.FullError,
    lib.SHOAL_ETOOBIG: errors.DataError,
    lib.SHOAL_EINVAL: errors.DataError,
    lib.SHOAL_EREFUSED: errors.RefusedError,
    lib.SHOAL_ECROSSSLOT: errors.ClusterCrossSlotError,
    lib.SHOAL_ENOENT: errors.NoNodeError,
    lib.SHOAL_ECLOSED: errors.ClosedError,
    lib.SHOAL_ESHUTDOWN: errors.ClosedError,
    lib.SHOAL_ECANCELLED: errors.ClosedError,  # by the close of an asyncio face
    lib.SHOAL_EFORK: errors.ForkError,
    lib.SHOAL_ETIMEOUT: errors.TimeoutError,
    lib.SHOAL_ECONN: errors.ConnectionError,
    lib.SHOAL_EDESYNC: errors.DesyncError,
    lib.SHOAL_EAUTH: errors.AuthenticationError,
    lib.SHOAL_ETLS: errors.TLSError,
    lib.SHOAL_ESYSTEM: errors.ConnectionError,
    lib.SHOAL_EURL: ValueError,  # type: ignore[dict-item]
}

NO_ROOM = "the deadline passed before there was room"


def text_of(status: int) -> str:
    """One line of English for a code of the C library."""
    return str(ffi.string(lib.shoal_strerror(status)).decode())


def new_reason() -> Any:
    """A shoal_error_t, for a function of the C library that says why it refuses."""
    return ffi.new("shoal_error_t *", {"size": ffi.sizeof("shoal_error_t")})


def reason_of(error: Any) -> str:
    """The words in a shoal_error_t; empty if there are none."""
    return str(ffi.string(error.text).decode("utf-8", "replace"))


def error_of(status: int, detail: str = "") -> BaseException:
    """The exception for a code of the C library; nothing was sent."""
    if status == lib.SHOAL_ENOMEM:
        return MemoryError(text_of(status))
    error = _BY_STATUS.get(status, RedisError)(detail or text_of(status))
    if isinstance(error, RedisError):
        error.fate = Fate.NOT_EXECUTED
        error.status = status
    return error


def failure(
    status: int, fate: int, detail: bytes, attempts: int, is_offline: int = 0
) -> BaseException:
    """The exception for a command that the server did not answer."""
    text = detail.decode("utf-8", "replace") or text_of(status)
    error = error_of(status, text)
    if is_offline:
        error = errors.NoConnectionError(text)
        error.status = status
    if isinstance(error, RedisError):
        error.fate = Fate(fate)
        if attempts > 1:
            error.args = (f"{text} (attempt {attempts})",)
    return error


def tell(interrupt: BaseException, outcome: Any) -> None:
    """Say on the exception that ended a call what became of its command: `fate`, and
    the server's `reply` if there is one."""
    told: Any = interrupt
    with contextlib.suppress(AttributeError):  # not every exception has room for it
        if isinstance(outcome, BaseException):
            told.fate = getattr(outcome, "fate", Fate.REPLIED)
        else:
            told.fate = Fate.REPLIED
            told.reply = outcome
