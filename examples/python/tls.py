# SPDX-License-Identifier: MIT
"""tls.py [url [ca_file]]: an encrypted connection, to a server that proves who it is.

With SIGHUP the program reads the files of TLS again, as services do whose certificates
were renewed.
"""

import os
import signal
import sys
from types import FrameType

import shoal

DEFAULT_URL = os.environ.get("SHOAL_URL", "rediss://127.0.0.1:6380")


def main(url: str, ca_file: str | None) -> None:
    with shoal.Client(url, tls_ca_file=ca_file) as client:

        def reload(number: int, frame: FrameType | None) -> None:
            try:
                client.reload_tls()
            except shoal.TLSError as error:  # what was read before goes on
                print(error, file=sys.stderr)

        signal.signal(signal.SIGHUP, reload)
        try:
            client.execute("SET", "greeting", "hello, privately")
        except shoal.TLSError as error:
            # "the certificate is for other.example, not for ..."; nothing was sent
            sys.exit(f"{error} ({error.fate.name})")
        signal.raise_signal(signal.SIGHUP)
        stats = client.stats()
        print(f"handshakes: {stats.tls_full} full, {stats.tls_resumed} resumed")


if __name__ == "__main__":
    arguments = [*sys.argv[1:3], None, None]
    main(arguments[0] or DEFAULT_URL, arguments[1])
