# SPDX-License-Identifier: MIT
"""A folder for each program, whose processes are stopped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from frameworks.rig import Rig
from support.server import Server


@pytest.fixture
def rig(tmp_path: Path, own_server: Server) -> Iterator[Rig]:
    """Beside a server of its own, because frameworks choose their own names of keys."""
    rig = Rig(tmp_path, own_server)
    try:
        yield rig
    finally:
        rig.stop()
