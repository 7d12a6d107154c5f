# SPDX-License-Identifier: MIT
"""Scripts: the asyncio face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._requests import Argument
from .._script import ScriptBase

if TYPE_CHECKING:
    from .client import Client


class Script(ScriptBase):
    """A script of a client, made by `Client.script()`; any task calls it."""

    def __init__(self, client: Client[Any], text: str | bytes, read_only: bool) -> None:
        super().__init__(client._options, text, read_only)
        self._client = client

    async def __call__(
        self,
        keys: Sequence[Argument] = (),
        args: Sequence[Argument] = (),
        *,
        timeout: float | None = None,
        decode: bool | None = None,
    ) -> Any:
        """Have the server execute it. `timeout`, `decode`: as `Client.execute`."""
        client = self._client
        self._load(client._find_port().core)
        command = self._command(keys, args)
        return await client.execute(*command, timeout=timeout, decode=decode)
