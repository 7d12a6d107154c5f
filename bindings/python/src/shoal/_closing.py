# SPDX-License-Identifier: MIT
"""Clients, leases and monitors: how a `with` block closes them, and their repr()."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING

from ._options import Options
from ._unique import Unique

if TYPE_CHECKING:
    from typing_extensions import Self


class Connected(Unique, ABC):
    """A client, a lease or a monitor; `repr()` says of which server, and its state."""

    _options: Options

    @abstractmethod
    def _state(self) -> str: ...

    def __repr__(self) -> str:
        return f"<{self._public_name()} {self._options.server}, {self._state()}>"


class Closing(Connected):
    """Closed at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None:
        """It ends; more calls do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClosing(Connected):
    """Closed at the end of its `async with` block."""

    @abstractmethod
    async def close(self) -> None:
        """It ends; more calls do nothing."""

    async def aclose(self) -> None:
        """The same as `close()`."""
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
