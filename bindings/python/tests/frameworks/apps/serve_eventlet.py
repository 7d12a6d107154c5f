# SPDX-License-Identifier: MIT
"""serve_eventlet.py <socket>: eventlet's server of HTTP."""

import socket
import sys

import eventlet

eventlet.monkey_patch()

import eventlet.wsgi  # noqa: E402
import shop_processes  # noqa: E402

listening = eventlet.listen(sys.argv[1], family=socket.AF_UNIX)
eventlet.wsgi.server(listening, shop_processes.app)
