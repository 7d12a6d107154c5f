# SPDX-License-Identifier: MIT
"""The fault proxy of the C tests, as a program between a client and a server.

SHOAL_FAULT_PROXY names it: `cmake --build ... --target shoal-fault-proxy` makes it.
"""

import os
import subprocess

PROGRAM = os.environ.get("SHOAL_FAULT_PROXY", "")


class Proxy:
    """In front of a server on a loopback port; what it says is in fault_command.h."""

    def __init__(self, server_port: int, *options: str) -> None:
        self._process = subprocess.Popen(
            [PROGRAM, "--server-port", str(server_port), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"redis://127.0.0.1:{self._process.stdout.readline().strip()}"

    def _answer(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def tell(self, line: str) -> None:
        """One command."""
        answer = self._answer(line)
        if answer != "ok":
            raise ValueError(f"{line}: {answer}")

    def counts(self) -> dict[str, int]:
        """What it has done so far."""
        pairs = (word.split("=") for word in self._answer("counts").split())
        return {key: int(number) for key, number in pairs}

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)
        if self._process.returncode != 0:
            raise RuntimeError(f"the proxy ended with {self._process.returncode}")
