# SPDX-License-Identifier: MIT
"""Tests of must_show that need neither a server nor any client."""

import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parents[2] / "peers"
sys.path += [str(PEERS), str(PEERS / "python")]
