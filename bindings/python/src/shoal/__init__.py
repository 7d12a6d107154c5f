# SPDX-License-Identifier: MIT
"""Redis and Valkey with implicit pipelining.

`Client` blocks, for any number of threads; `shoal.aio.Client` is for asyncio, and
`shoal.redis` has redis-py's classes. Commands that come close together, from any
threads or tasks, leave in one write over one connection, without being told to.

Example:

    import shoal

    with shoal.Client("redis://127.0.0.1:6379") as client:
        client.execute("SET", "color", "teal", "EX", 60)
        client.execute("GET", "color")               # b"teal"
        client.execute("GET", "color", decode=True)  # "teal"

Every exception is a `RedisError` and has a `fate`: what is known about the command's
execution. docs/PYTHON.md is the manual.
"""

import importlib
from typing import TYPE_CHECKING

from . import _interpreter as _interpreter  # first: it may refuse
from . import exceptions
from . import scripts as scripts
from ._core import ConnectionInfo
from ._events import Event
from ._items import Dropped, Gap, Message, Rejected, Subscribed, Suspended
from ._native import ffi, lib
from ._options import ClientOptions
from ._topology import Node, Topology
from .client import Client
from .exceptions import *  # noqa: F403
from .lease import Attempt, Lease
from .monitor import Monitor
from .pipeline import Pipeline
from .scan import Scan
from .script import Script
from .stats import Stats, SubscriptionStats
from .subscription import Subscription

if TYPE_CHECKING:
    from . import aio as aio

__version__: str = ffi.string(lib.shoal_version()).decode()

__all__ = [
    "Attempt",
    "Client",
    "ClientOptions",
    "ConnectionInfo",
    "Dropped",
    "Event",
    "Gap",
    "Lease",
    "Message",
    "Monitor",
    "Node",
    "Pipeline",
    "Rejected",
    "Scan",
    "Script",
    "Stats",
    "Subscribed",
    "Subscription",
    "SubscriptionStats",
    "Suspended",
    "Topology",
]
__all__ += exceptions.__all__


def __getattr__(name: str) -> object:
    """Import `shoal.aio` at its first use: other programs need no asyncio."""
    if name == "aio":
        return importlib.import_module("shoal.aio")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")
