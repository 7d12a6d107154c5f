#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run redis-py's own tests with our classes in place of redis-py's.

    run.py [--all] [--stock] [--protocol 2|3] [--face sync|single|asyncio|tls|cluster]
           [--folder PATH] [pytest argument ...]

The tests come from redis-py's source distribution, hash-checked (redis_py.txt), into a
scratch folder; they are never part of this repository.  Each face and protocol runs
against a redis-server of its own.  The blocking tests use clients with a connection of
their own, which are leases (face "single"); the face "sync" sends what it can over the
shared connection instead.  The face "tls" is redis-py's tests of TLS, and others of
both kinds over TLS.  The face "cluster" is redis-py's tests of RedisCluster, of both
kinds, against three primaries and three replicas.  The failures are compared with
expected_failures.txt: one that is not there is an error, and one that is there and does
not happen is an error too.

Without --all a subset that takes less than a minute is run, with RESP3; with --all
every file, with both protocols.  --stock runs plain redis-py, of which only the lines
marked `stock` are expected.  Needs pytest, pytest-asyncio, pytest-timeout, and redis
and hiredis in the versions of the tests, and for TLS the program that
SHOAL_CERTIFICATES names.  Exits with 77 if there is no server.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.cluster import Cluster  # noqa: E402

ROOT = HERE.parents[3]
WITH_REDIS = ROOT / "tests" / "support" / "with_redis.sh"
EXPECTED = HERE / "expected_failures.txt"
NO_SERVER = 77

QUICK = "commands client encoding pipeline scripting lock hash sentinel".split()
WHOLE = {
    "sync": [*QUICK, "pubsub", "monitor", "retry", "multiprocessing"],
    "single": [*QUICK, "pubsub", "monitor", "retry", "multiprocessing"],
    "asyncio": [*QUICK, "pubsub", "monitor", "retry", "usage_counter", "cwe_404"],
}
FOLDERS = {"sync": "tests", "single": "tests", "asyncio": "tests/test_asyncio"}
CLUSTER = "cluster cluster_transaction".split()
CLUSTER_WHOLE = [*CLUSTER, "pubsub"]
TLS = "ssl pipeline scripting".split()
TLS_WHOLE = [*TLS, "commands", "lock", "pubsub", "monitor"]

# They wait for seconds.
SLOW = (
    "test_sync test_psync test_blpop test_brpop test_bzpop test_blmpop test_bzmpop"
    " test_blmove test_client_pause"
).split()
# A test for each command, which asks little of a cluster.
MANY = ["TestClusterRedisCommands"]
# They need a cluster with TLS.
NO_TLS = ["TestSSL"]
# They speak without TLS, whatever the URL says.
PLAIN = ["TestPubSubDeadlock"]

# The tests look for certificates under names of their own.
TLS_SCRIPT = """
    certificates=dockers/standalone/tls
    mkdir -p $certificates && cp "$SHOAL_TEST_CERTIFICATES"/* $certificates
    for kind in crt key; do
        cp $certificates/server.$kind $certificates/redis.$kind
    done
    url=rediss://localhost:$SHOAL_TEST_TLS_PORT
    exec "$@" --redis-ssl-url "$url" \
        --redis-url "$url/9?ssl_ca_certs=$PWD/$certificates/ca.crt"
"""

SETTINGS = """[pytest]
addopts = --strict-markers
asyncio_default_fixture_loop_scope = function
asyncio_mode = auto
timeout = 300
markers =
    cp_integration
    experimental
    fixed_client
    multidb_integration
    no_mock_connections
    onlycluster
    onlynoncluster
    pipeline
    redismod
    replica
    ssl
"""


@dataclass(frozen=True)
class Run:
    """One pytest process: a face of the library and a protocol."""

    face: str
    protocol: str

    def __str__(self) -> str:
        return f"{self.face} RESP{self.protocol}"

    def files(self, everything: bool) -> list[str]:
        if self.face in ("tls", "cluster"):
            names = TLS_WHOLE if everything else TLS
            if self.face == "cluster":
                names = CLUSTER_WHOLE if everything else CLUSTER
            folders = (FOLDERS["sync"], FOLDERS["asyncio"])
            return [f"{folder}/test_{n}.py" for folder in folders for n in names]
        names = WHOLE[self.face] if everything else QUICK
        return [f"{FOLDERS[self.face]}/test_{name}.py" for name in names]

    def arguments(self, everything: bool) -> list[str]:
        left_out = [] if everything else SLOW
        if self.face == "tls":
            left_out = [*left_out, *PLAIN]
        if self.face == "cluster":
            left_out = NO_TLS if everything else [*NO_TLS, *SLOW, *MANY]
        chosen = ["-k", f"not ({' or '.join(left_out)})"] if left_out else []
        return ["--protocol", self.protocol, *chosen, *self.files(everything)]


class Expected(NamedTuple):
    """A line of expected_failures.txt.

    kind  stock: plain redis-py fails as well; shoal: only our classes do; cluster: only
          our RedisCluster, which some of the tests of Redis are run with, too;
          out: not run, because its failure would spoil the server for all others,
               because only time decides whether it fails, or because it waits long
               for a server that is not there
    """

    test: str
    kind: str
    protocols: str
    reason: str


class Job(NamedTuple):
    """A run that was started."""

    run: Run
    process: subprocess.Popen[bytes]
    log: Path
    results: Path
    cluster: Cluster | None


def read_expected() -> list[Expected]:
    found = []
    for line in EXPECTED.read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"(\S+) (stock|shoal|cluster|out) (2|3|23) (.+)", line)
            if not match:
                sys.exit(f"conformance: not understood: {line}")
            found.append(Expected(*match.groups()))
    return found


def fetch_tests(folder: Path) -> Path:
    """The folder that holds redis-py's `tests`, fetched if they are not there."""
    source = folder / "redis-py"
    if not (source / "tests").is_dir():
        source.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as download:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            pip += ["--no-binary", "redis", "--require-hashes", "--dest", download]
            subprocess.run([*pip, "-r", str(HERE / "redis_py.txt")], check=True)
            (archive,) = Path(download).glob("redis-*.tar.gz")
            # Without the package beside them: the installed one is what is tested.
            tar = ["tar", "xzf", str(archive), "-C", str(source)]
            tar += ["--strip-components=1", "--wildcards", "*/tests/*"]
            subprocess.run(tar, check=True)
    (source / "pytest.ini").write_text(SETTINGS)
    return source


def start(
    run: Run,
    source: Path,
    scratch: Path,
    expected: list[Expected],
    options: argparse.Namespace,
) -> Job:
    """Start pytest beside a server of its own."""
    name = str(run).replace(" ", "-")
    log, results = scratch / f"{name}.log", scratch / f"{name}.results"
    # Files of 8000 lines are parsed anew for each other kind of traceback, and for what
    # their assertions say; dozens fail as expected.
    pytest = [sys.executable, "-m", "pytest", "-q", "--tb=native", "--assert=plain"]
    pytest += ["-p", "plugin"]
    cluster = Cluster(replicas=True) if run.face == "cluster" else None
    marker = "not onlynoncluster" if cluster else "not onlycluster"
    pytest += ["-p", "no:cacheprovider", "-m", marker]
    if not options.stock:
        pytest += [f"--deselect={e.test}" for e in expected if e.kind == "out"]
    pytest += [*run.arguments(options.all), *options.pytest]
    server, script = [str(WITH_REDIS)], 'exec "$@" --redis-url "$SHOAL_TEST_URL/9"'
    if run.face == "tls":
        server += ["--tls", os.environ["SHOAL_CERTIFICATES"]]
        script = TLS_SCRIPT
    command = [*server, "bash", "-c", script, "pytest", *pytest]
    if cluster is not None:
        nodes = str(len(cluster.nodes))
        command = [*pytest, "--redis-url", f"{cluster.seed_url}/0"]
        command += ["--redis-cluster-nodes", nodes]
    paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SHOAL_CONFORMANCE_RESULTS": str(results),
        "SHOAL_CONFORMANCE_STOCK": "1" if options.stock else "0",
        "SHOAL_CONFORMANCE_SHARED": "1" if run.face == "sync" else "0",
        "SHOAL_CONFORMANCE_CLUSTER": "1" if cluster is not None else "0",
        "SHOAL_CONFORMANCE_TLS": "1" if run.face == "tls" else "0",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=source,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Job(run, process, log, results, cluster)


def judge(job: Job, expected: list[Expected], options: argparse.Namespace) -> bool:
    """Wait for a run and compare it with what is expected; says what differs."""
    status = job.process.wait()
    if job.cluster is not None:
        job.cluster.stop()
    if status not in (0, 1) or not job.results.is_file():
        print(job.log.read_text(errors="replace")[-4000:])
        print(f"conformance: {job.run}: pytest ended with {status}")
        return False
    lines = job.results.read_text().splitlines()
    outcomes = {test: outcome for outcome, _, test in (x.partition(" ") for x in lines)}
    failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
    kinds = {"stock"} if options.stock else {"stock", "shoal"}
    if job.cluster is not None and not options.stock:
        kinds.add("cluster")
    known = {
        entry.test
        for entry in expected
        if job.run.protocol in entry.protocols and entry.kind in kinds
    }
    surprises = sorted(failed - known)
    vanished = sorted((known & outcomes.keys()) - failed)
    passed = sum(outcome == "passed" for outcome in outcomes.values())
    print(f"conformance: {job.run}: {passed} passed, {len(failed)} failed", end="")
    print(f" ({len(failed & known)} expected), {len(outcomes)} tests")
    for test in surprises:
        print(f"  fails: {test}")
    for test in vanished:
        print(f"  expected to fail, does not ({outcomes[test]}): {test}")
    if surprises:
        print(job.log.read_text(errors="replace")[-20000:])
    return not surprises and not vanished


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="redis-py's tests over our classes")
    parser.add_argument("--all", action="store_true", help="every file, RESP2 and 3")
    parser.add_argument("--stock", action="store_true", help="plain redis-py")
    parser.add_argument("--protocol", choices=("2", "3"))
    parser.add_argument("--face", choices=(*WHOLE, "tls", "cluster"))
    parser.add_argument("--folder", type=Path, help="where redis-py's tests are kept")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    server = os.environ.get("REDIS_SERVER", "redis-server")
    if subprocess.run(["sh", "-c", f"command -v {server}"], stdout=-3).returncode:
        print(f"conformance: {server} is not installed")
        return NO_SERVER
    faces = [options.face] if options.face else [*WHOLE, "tls", "cluster"]
    if "tls" in faces and not os.environ.get("SHOAL_CERTIFICATES"):
        print("conformance: no TLS, because SHOAL_CERTIFICATES names no program")
        if options.face or os.environ.get("CI"):
            return 1
        faces.remove("tls")
    protocols = ["3", "2"] if options.all else ["3"]
    if options.protocol:
        protocols = [options.protocol]
    expected = read_expected()
    source = fetch_tests(options.folder or ROOT / "build" / "conformance")
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for protocol in protocols:
            jobs = [
                start(Run(face, protocol), source, Path(scratch), expected, options)
                for face in faces
            ]
            good = all([judge(job, expected, options) for job in jobs]) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
