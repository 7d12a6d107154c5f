# SPDX-License-Identifier: MIT
"""The asyncio face: `shoal.aio.Client` has `shoal.Client`'s methods, as coroutines.

Commands of all tasks that run in one tick of the event loop leave in one write.
"""

from .client import Client
from .lease import Attempt, Lease
from .monitor import Monitor
from .pipeline import Pipeline
from .scan import Scan
from .script import Script
from .subscription import Subscription

__all__ = [
    "Attempt",
    "Client",
    "Lease",
    "Monitor",
    "Pipeline",
    "Scan",
    "Script",
    "Subscription",
]
