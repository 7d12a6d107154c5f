# SPDX-License-Identifier: MIT
"""A task of Celery's that looks at its worker."""

from typing import Any

import carried
from shop import app


@app.task
def report() -> dict[str, Any]:
    return carried.report()
