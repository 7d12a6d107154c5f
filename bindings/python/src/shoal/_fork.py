# SPDX-License-Identifier: MIT
"""After a fork: the child gives up its parent's connections, and locks that a thread of
the parent may hold, because that thread does not exist in the child."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgetful(Protocol):
    """A client."""

    def _forget(self) -> None: ...


_clients: weakref.WeakSet[Forgetful] = weakref.WeakSet()


def forget_in_child(client: Forgetful) -> None:
    """Call its _forget() in the child of a fork."""
    _clients.add(client)


def _forget_all() -> None:
    for client in list(_clients):
        client._forget()


os.register_at_fork(after_in_child=_forget_all)
