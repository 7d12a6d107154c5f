# SPDX-License-Identifier: MIT
"""Entry: python3 bench/python/must_show [options]."""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2]
# A folder that is run is the first place of the path: its modules would be found twice.
sys.path[:1] = [str(BENCH / "python"), str(BENCH / "peers")]

from must_show.cli import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
