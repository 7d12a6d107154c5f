# SPDX-License-Identifier: MIT
"""Redis and Valkey with implicit pipelining.

`Client` blocks, for any number of threads; `shoal.aio.Client` is for asyncio. Commands
that come close together leave in one write, without being told to.
"""

from . import _interpreter as _interpreter  # first: it may refuse
from . import exceptions
from ._core import Event
from ._native import ffi, lib
from ._options import ClientOptions
from .client import Client, Pipeline
from .exceptions import *  # noqa: F403
from .exceptions import Fate
from .stats import Stats

__version__: str = ffi.string(lib.shoal_version()).decode()

__all__ = [
    "Client",
    "ClientOptions",
    "Event",
    "Fate",
    "Pipeline",
    "Stats",
    *exceptions.__all__,
]
