# SPDX-License-Identifier: MIT
"""The rig leaves no process behind."""

import os
from pathlib import Path

from frameworks.rig import Rig
from support.server import Server


def test_a_program_that_dies_by_itself(tmp_path: Path, server: Server) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    rig = Rig(tmp_path, server)
    try:
        leader = rig.start("sh", "-c", "sleep 1000 3>held & exit 1")
        reader = held.open()  # the other program is there
        os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
    finally:
        rig.stop()
    with reader:
        assert reader.read() == ""  # the end of the other one, too


def test_a_program_that_leaves_another_behind(tmp_path: Path, server: Server) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    with os.fdopen(os.open(held, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        rig = Rig(tmp_path, server)
        code = "exec 3>held; sleep 1000 & echo noise >&2; echo '[1]'"
        try:
            assert rig.run("sh", "-c", code) == [1]
        finally:
            rig.stop()
        os.set_blocking(reader.fileno(), True)
        assert reader.read() == ""
