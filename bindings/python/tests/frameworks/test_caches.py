# SPDX-License-Identifier: MIT
"""Caches that need no server of HTTP."""

import sys

from frameworks.rig import Rig


def test_aiocache(rig: Rig) -> None:
    rig.lay("aiocache", "aiocache_client.py")
    said = rig.run(sys.executable, "aiocache_client.py")
    assert said["squares"] == [9, 9]
    assert said["calls"] == [3]
    assert said["got"] == list(range(50))
    assert said["commands"] > 100
    assert said["bypass"] == []
    assert said["theirs"] == 0
