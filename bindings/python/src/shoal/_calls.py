# SPDX-License-Identifier: MIT
"""Blocking calls: each thread has a caller of its own in C."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from typing import Any

from ._interpreter import HAS_GIL
from ._native import ffi, lib
from ._outcomes import reason_of, tell
from ._replies import Conversion, new_reader
from ._requests import Packer, Taker, native_buffers, new_packer, new_taker
from ._targets import NO_TARGET
from .exceptions import Fate, ForkError

EAGAIN: int = lib.SHOAL_EAGAIN
_EFORK: int = lib.SHOAL_EFORK

_NULL = ffi.NULL
_call = lib.shoalpy_caller_call
_call_many = lib.shoalpy_caller_call_many
_resume = lib.shoalpy_caller_resume
_give_up = lib.shoalpy_caller_give_up

# Threads take the GIL in turn, if there is one.
if HAS_GIL:
    lib.shoalpy_callers_init()
    os.register_at_fork(after_in_child=lib.shoalpy_callers_init)


class Unpackable(Exception):
    """C does not accept an argument; `at` is the number of its command."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Refused(Exception):
    """Nothing was queued; `status` is the C library's code, `reason` its words."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


def _lend(native: Any, large: Sequence[bytes]) -> None:
    """The caller's command holds them until its call has ended."""
    if lib.shoalpy_caller_lend(native, native_buffers(large), len(large)) < 0:
        raise MemoryError


class _Caller:
    """What one thread needs for one call at a time."""

    __slots__ = ("native", "pack", "read", "take")

    def __init__(self) -> None:
        self.native: Any = ffi.gc(lib.shoalpy_caller_new(), lib.shoalpy_caller_free)
        if self.native == ffi.NULL:
            raise MemoryError
        self.read = new_reader(self.native)
        self.take: Taker = new_taker(lib.shoalpy_caller_requests(self.native))
        self.pack: Packer = new_packer(functools.partial(_lend, self.native))


class _Thread(threading.local):
    """The caller of each thread; None while it is in a call. A signal handler may
    interrupt a call and begin another: that one gets a caller of its own."""

    caller: _Caller | None = None
    has_called = False


_thread = _Thread()


def _new_caller() -> tuple[_Caller, _Caller | None]:
    """A caller for a thread that has none at hand; and the caller that the thread keeps
    after the call: this one, or None if an interrupted call has the thread's own."""
    caller = _Caller()
    kept = None if _thread.has_called else caller
    _thread.has_called = True
    return caller, kept


def _forked() -> ForkError:
    """This is the child of a process that forked in a signal handler, during a call."""
    _thread.has_called = False  # the caller is lost with the call
    error = ForkError("the command belongs to the parent process")
    error.fate = Fate.UNKNOWN
    return error


def is_in_call() -> bool:
    """Does this thread run a signal handler that interrupted a call of its own?"""
    return _thread.caller is None and _thread.has_called


def _refuse(native: Any, status: int) -> Exception:
    if status == lib.SHOAL_EINVAL:
        return Unpackable(native.refused_at)
    return Refused(status, reason_of(native.error))


def call(
    core: Any,
    command: Sequence[Any],
    call_flags: int,
    timeout_us: int,
    conversion: Conversion,
    target: Any = NO_TARGET,
) -> tuple[int, Any]:
    """One command: the kind of its result, and the value. Raises Unpackable or
    Refused. What else ends it, as KeyboardInterrupt, says what became of it."""
    caller = kept = _thread.caller
    if caller is None:
        caller, kept = _new_caller()
    _thread.caller = None
    native = caller.native
    try:
        stream, size = _NULL, 0  # C takes the command itself
        try:
            if not caller.take(command):
                stream = caller.pack(command)
                size = len(stream)
        except MemoryError:
            raise
        except Exception as error:
            raise Unpackable(0) from error
        status = _call(
            native,
            core,
            stream,
            size,
            call_flags,
            timeout_us,
            conversion.flags,
            target,
            conversion.into,
        )
        if status == EAGAIN:
            while status == EAGAIN:
                status = _resume(native)
            if status == _EFORK:
                kept = None
                raise _forked()
        if status < 0:
            raise _refuse(native, status)
        return status & 7, caller.read(status >> 3)
    except BaseException as error:
        status = _give_up(native)
        if status >= 0:
            what = caller.read(status >> 3)
            tell(error, conversion.outcome(status & 7, what))
        raise
    finally:
        _thread.caller = kept


def call_many(
    core: Any,
    commands: Sequence[Any],
    call_flags: int,
    timeout_us: int,
    reply_flags: int,
    target: Any = NO_TARGET,
) -> tuple[int, list[Any]]:
    """Many commands: the number of the first, and the list [number, what, ...]."""
    caller = kept = _thread.caller
    if caller is None:
        caller, kept = _new_caller()
    _thread.caller = None
    native = caller.native
    try:
        stream, size = _NULL, 0  # C takes the commands themselves
        try:
            if not caller.take(commands):
                stream = caller.pack(commands)
                size = len(stream)
        except MemoryError:
            raise
        except Exception as error:
            raise Unpackable(0) from error
        status = _call_many(
            native,
            core,
            stream,
            size,
            call_flags,
            timeout_us,
            reply_flags,
            target,
        )
        if status == EAGAIN:
            while status == EAGAIN:
                status = _resume(native)
            if status == _EFORK:
                kept = None
                raise _forked()
        if status < 0:
            raise _refuse(native, status)
        return native.first, caller.read(status >> 3)
    except BaseException:
        _give_up(native)
        raise
    finally:
        _thread.caller = kept
