# SPDX-License-Identifier: MIT
"""A reply that goes into a buffer of the caller's."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._native import ffi, lib
from ._replies import Conversion
from .exceptions import BufferTooSmallError, Fate, RedisError

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self


class Into(Conversion):
    """How the reply of one command gets into a buffer; a context manager.

    C writes a large string there itself, while it arrives; a short one is copied. From
    the end of the context on nobody writes to the buffer, whatever became of the
    command. C's part lives until the result, because this object does: who waits for
    the result holds its conversion.
    """

    __slots__ = ("_bytes", "_view", "into")

    def __init__(self, buffer: Buffer) -> None:
        super().__init__(None)
        self.flags |= lib.SHOALPY_INTO
        view = memoryview(buffer)
        if view.readonly:
            raise TypeError("the buffer is read-only")
        if not view.c_contiguous:
            raise TypeError("the buffer is not contiguous")
        self._bytes = view.nbytes
        self._view: Any = ffi.from_buffer(view, require_writable=True)
        native = lib.shoalpy_into_new(self._view, self._bytes)
        if native == ffi.NULL:
            raise MemoryError
        self.into = ffi.gc(native, lib.shoalpy_into_free)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        """Nobody writes to the buffer any more."""
        lib.shoalpy_into_detach(self.into)
        view, self._view = self._view, None
        if view is not None:
            ffi.release(view)

    def value_of(self, kind: int, what: Any) -> Any:
        """The number of bytes, or None for nil; raises what went wrong. After a
        release: a short reply itself."""
        reply = super().value_of(kind, what)
        view = self._view
        count = lib.shoalpy_into_bytes(self.into)
        if view is None:
            if count < 0:
                return reply
            lost = RedisError("the reply came when nobody waited for it")
            lost.fate = Fate.REPLY_LOST
            raise lost
        if count < 0:
            if reply is None:
                return None
            if type(reply) is not bytes:
                kind_of_reply = type(reply).__name__
                raise TypeError(f"the reply is no string, but of type {kind_of_reply}")
            count = len(reply)
            if count <= self._bytes:
                ffi.memmove(view, reply, count)
        if count > self._bytes:
            text = f"the reply has {count} bytes, the buffer {self._bytes}"
            raise BufferTooSmallError(text, count)
        return count
