# SPDX-License-Identifier: MIT
"""The document's FastAPI program, and a way to look into it."""

from typing import Any

import carried
from shop import app


@app.get("/carried")
async def report() -> dict[str, Any]:
    return carried.report()
