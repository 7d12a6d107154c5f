# SPDX-License-Identifier: MIT
"""credentials.py [url [file [seconds]]]: a password that somebody else replaces.

The file has the password; who replaces it lets the server know the new one first. The
file is read before the client connects, every 30 s, and when the server refuses what it
said last. A new password costs no command.
"""

import os
import sys
import time
from pathlib import Path

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "redis://127.0.0.1:6379")
REFRESH_SECONDS = 30


def main(url: str, path: Path | None, seconds: float) -> None:
    def read() -> tuple[str | None, str, float]:
        """On a thread of its own, so it may wait: for a file, or an answer by HTTP."""
        password = "sesame" if path is None else path.read_text().strip()
        return None, password, REFRESH_SECONDS  # None: the server's default user

    with shoal.Client(url, credentials=read) as client:
        try:
            client.wait_ready()
        except shoal.AuthenticationError as error:
            # "no credentials: the provider failed: FileNotFoundError ...", or what the
            # server said; no text has the password
            sys.exit(str(error))
        until = time.monotonic() + seconds
        while True:
            client.execute("INCR", "steps")
            if time.monotonic() >= until:
                break
        for event in client.events():
            if event.kind in ("credentials", "ready", "attempt_failed"):
                print(f"{event.kind}: {event.detail}")


if __name__ == "__main__":
    url, file, seconds, *_ = [*sys.argv[1:], "", "", ""]
    main(url or DEFAULT_URL, Path(file) if file else None, float(seconds or 0))
