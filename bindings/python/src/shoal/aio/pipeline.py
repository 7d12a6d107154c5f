# SPDX-License-Identifier: MIT
"""Commands that leave together, because the program says so: the asyncio face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._pipeline import Gathered

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client


class Pipeline(Gathered):
    """Commands for one `run()`. Not for several tasks at a time."""

    def __init__(self, client: Client[Any], *, is_unit: bool) -> None:
        super().__init__(is_unit=is_unit)
        self._client = client

    async def run(
        self,
        *,
        timeout: float | None = None,
        decode: bool | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Send what was added, and wait for the replies; the pipeline is empty then.
        Parameters as for `Client.execute_many`."""
        outcomes = await self._client.execute_many(
            self._taken(),
            timeout=timeout,
            decode=decode,
            contiguous=self._is_unit,
            return_exceptions=True,
        )
        return self._replies(outcomes, not return_exceptions)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.clear()
