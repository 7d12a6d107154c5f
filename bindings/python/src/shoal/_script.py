# SPDX-License-Identifier: MIT
"""Scripts that connections load, as both faces call them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from ._core import Core
from ._native import ffi, lib
from ._options import Options
from ._outcomes import error_of
from ._requests import Argument
from ._unique import Unique

_Script = TypeVar("_Script")


class ScriptBase(Unique):
    """A text, and the connections that load it.

    `text`: what the server executes; `sha1`: by which name.
    """

    def __init__(self, options: Options, text: str | bytes, read_only: bool) -> None:
        self.text: bytes = options.encoded((text,))[0]
        self.sha1 = hashlib.sha1(self.text, usedforsecurity=False).hexdigest()
        self._name = "EVALSHA_RO" if read_only else "EVALSHA"
        self._cores: WeakKeyDictionary[Core, Any] = WeakKeyDictionary()

    def _load(self, core: Core) -> None:
        """From now on its connections have the script."""
        if core in self._cores:
            return
        if core.is_foreign():
            raise error_of(lib.SHOAL_EFORK)
        holder = ffi.new("shoal_script_t **")
        status = lib.shoalpy_script_new(core.handle, self.text, len(self.text), holder)
        if status < 0:
            raise error_of(status)
        # It holds the client's memory, so the two may be freed in any order.
        self._cores[core] = ffi.gc(holder[0], lib.shoal_script_free)

    def _command(
        self, keys: Sequence[Argument], args: Sequence[Argument]
    ) -> tuple[Argument, ...]:
        return (self._name, self.sha1, len(keys), *keys, *args)

    def __repr__(self) -> str:
        return f"<{self._public_name()} {self.sha1}>"


class Scripting(Generic[_Script]):
    """The part of a client that has scripts."""

    def _script(self, text: str | bytes, read_only: bool) -> _Script:
        raise NotImplementedError

    def script(self, text: str | bytes, *, read_only: bool = False) -> _Script:
        """A Lua script: call it with the keys and the arguments that it gets.

        Make it once. Each connection loads it by itself, before its next command, so a
        call is one short command (EVALSHA). `read_only`: it only reads (EVALSHA_RO);
        such a call may be repeated, and may go to a replica. `shoal.scripts` has some
        texts. 256 scripts, and 1 MiB of texts, are the most.
        """
        return self._script(text, read_only)
