# SPDX-License-Identifier: MIT
"""Interpreters that end, fork or get signals: they run apart from the tests."""

import subprocess
import sys
import textwrap
from dataclasses import dataclass

from .scale import SCALE

#: Longer than this is a hang.
_PATIENCE_S = 100.0 * SCALE


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int
    output: str
    errors: str


def spawn(
    script: str, *args: str, loop: str = "asyncio", before: str = ""
) -> subprocess.Popen[str]:
    """A child that runs the script, whose sys.argv[1:] are the arguments. `run(main)`
    runs a coroutine on the named kind of event loop, `new_loop()` makes one; `before`
    comes before all else."""
    prologue = f"""
        import asyncio, os, signal, sys, threading, time
        # A shell that runs tests in the background ignores it, and so would this child.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import shoal, shoal.aio
        if {loop!r} == "uvloop":
            import uvloop
            run, new_loop = uvloop.run, uvloop.new_event_loop
        else:
            run, new_loop = asyncio.run, asyncio.new_event_loop
        url = "".join(sys.argv[1:2])
    """
    # -I: nothing of the place where the tests happen to run.
    return subprocess.Popen(
        [
            sys.executable, "-I", "-X", "faulthandler",
            # Forks with threads are what some of them are about.
            "-W", "ignore:This process:DeprecationWarning", "-c",
            before + textwrap.dedent(prologue) + textwrap.dedent(script), *args,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def ended(child: subprocess.Popen[str]) -> Ended:
    """Wait for its end. A child that does not end is killed, with code -9."""
    try:
        output, errors = child.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        output, errors = child.communicate()
    except BaseException:  # the test is given up
        child.kill()
        child.wait()
        raise
    return Ended(child.returncode, output, errors)


def run_child(
    script: str, *args: str, loop: str = "asyncio", before: str = ""
) -> Ended:
    """Run a script to its end."""
    return ended(spawn(script, *args, loop=loop, before=before))
