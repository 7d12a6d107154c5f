"""What the tests of shoal-bench share: a run of it, and a server to look at."""

import functools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BENCH = os.environ.get("SHOAL_BENCH", "shoal-bench")
CERTIFICATES = Path(BENCH).parent / "shoal-certificates"  # with TLS only
DEMO_CLUSTER = Path(BENCH).parent / "shoal-demo-cluster"
SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
TINY = ["-q", "--no-pin", "--duration", "0.05", "--warmup", "0.02"]


def bench(*args, code=0, timeout=120):
    """Run shoal-bench; return the finished process after a look at its exit code."""
    done = subprocess.run(
        [BENCH, *map(str, args)], capture_output=True, text=True, timeout=timeout
    )
    if done.returncode != code:
        raise AssertionError(
            f"{' '.join(map(str, args))}: exit code {done.returncode}, not {code}\n"
            f"{done.stdout}\n{done.stderr}"
        )
    return done


def cluster_nodes(*args, code=0):
    """Run shoal-cluster-nodes, as bench() runs shoal-bench."""
    program = Path(BENCH).parent / "shoal-cluster-nodes"
    done = subprocess.run(
        [program, *map(str, args)], capture_output=True, text=True, timeout=120
    )
    if done.returncode != code:
        raise AssertionError(f"{args}: {done.returncode}, not {code}: {done.stderr}")
    return done


@functools.cache
def has_redis_plus_plus():
    """Whether the program was built where redis-plus-plus is installed."""
    args = [BENCH, *TINY, "--mode", "redispp", "-n", "1"]
    return subprocess.run(args, capture_output=True, timeout=120).returncode != 2


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="shoal-bench-test.")
        self.path = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def measure(self, *args):
        """Run with --json; return its runs."""
        file = self.path / "result.json"
        # By count: on a busy machine a short time may pass without any command.
        bench(*TINY, "-n", 40, "--json", file, *args)
        return json.loads(file.read_text())["runs"]


class Connection:
    """As much of a client as these tests need."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        """Send one command; return its one-line or bulk reply."""
        self.socket.sendall((" ".join(words) + "\r\n").encode())
        line = self.file.readline().decode().strip()
        if line.startswith("$"):
            return self.file.read(int(line[1:]) + 2).decode()
        return line


def listens(path):
    try:
        Connection(path).socket.close()
    except OSError:
        return False
    return True


def claim_port(case):
    """A port that no other test gets before this case is over: as
    tests/support/loopback_port.h."""
    while True:
        port = random.randrange(20000, 32000)
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0shoal-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        case.addCleanup(claim.close)
        return port


def wait_for_port(port, process):
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.01)
    raise AssertionError(f"the server at port {port} ended")


def wait_for_commands(connection, count):
    """Return once the server has processed so many of the bench's commands."""
    while True:
        for line in connection.ask("INFO", "commandstats").splitlines():
            name, _, fields = line.partition(":")
            calls = fields.partition(",")[0].removeprefix("calls=")
            if name == "cmdstat_set" and int(calls) >= count:
                return


def main():
    """Exits with 77 where no server is installed."""
    if not SERVER:
        print("no redis-server and no valkey-server")
        sys.exit(77)
    unittest.main(verbosity=1)
