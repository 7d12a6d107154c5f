# SPDX-License-Identifier: MIT
"""Certificates for tests, good and bad ones, as tools/certificates/certificates.h says.

SHOAL_CERTIFICATES names the program that makes them:
`cmake --build ... --target shoal-certificates` makes it.
"""

import os
import subprocess
from pathlib import Path

PROGRAM = os.environ.get("SHOAL_CERTIFICATES", "")


def make(folder: Path) -> Path:
    """All of them, into a folder that is there."""
    subprocess.run([PROGRAM, str(folder)], check=True)
    return folder
