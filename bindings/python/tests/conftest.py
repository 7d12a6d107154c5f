# SPDX-License-Identifier: MIT
"""Servers, proxies and clients for the tests; what was started is stopped."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import certificates as makers
from support import proxy as proxies
from support.cluster import Cluster
from support.faces import ASYNC_MODES, MODES, Face
from support.proxy import Proxy
from support.scale import SCALE
from support.sentinels import Watched
from support.server import NotInstalled, Server

Connect = Callable[..., Face]
RESP2_MODES = ("sync", "asyncio-borrowed")


def _lacks(what: str) -> None:
    """CI must not pass for want of a program."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is needed in CI")
    pytest.skip(f"{what} is not here")


def _new_server(*options: str, tls: Path | None = None) -> Server:
    try:
        return Server(*options, tls=tls)
    except NotInstalled:
        _lacks("redis-server")
        raise


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Shared by all tests."""
    server = _new_server("--enable-debug-command", "yes")
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """For a test that kills or counts."""
    server = _new_server("--enable-debug-command", "yes")
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their folder."""
    if not makers.PROGRAM:
        _lacks("the program that SHOAL_CERTIFICATES names")
    return makers.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def tls_server(certificates: Path) -> Iterator[Server]:
    """Shared by all tests; it asks for a client's certificate, and does not insist."""
    server = _new_server(tls=certificates)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three primaries, of a module's own."""
    try:
        cluster = Cluster()
    except NotInstalled:
        _lacks("redis-server")
        raise
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Servers of the test's own, with a sentinel."""
    try:
        watched = Watched()
    except NotInstalled:
        _lacks("redis-server")
        raise
    try:
        yield watched
    finally:
        watched.stop()


@pytest.fixture(autouse=True)
def _is_clean(request: pytest.FixtureRequest) -> None:
    """Each test finds an empty server."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server").ask("FLUSHALL")


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    """Before the shared server."""
    if not proxies.PROGRAM:
        _lacks("the program that SHOAL_FAULT_PROXY names")
    proxy = Proxy(server.port)
    try:
        yield proxy
    finally:
        proxy.close()


def _factory(mode: str, url: str) -> Iterator[Connect]:
    faces: list[Face] = []

    def connect(url: str = url, **options: Any) -> Face:
        faces.append(Face(mode, url, **options))
        return faces[-1]

    yield connect
    for face in faces:
        face.end()


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """A way to use the client."""
    return str(request.param)


@pytest.fixture
def connect(mode: str, server: Server) -> Iterator[Connect]:
    """Makes clients used in that way."""
    yield from _factory(mode, server.url)


def pytest_configure(config: pytest.Config) -> None:
    """A larger test takes longer before it counts as one that hangs."""
    if SCALE > 1 and config.getoption("--timeout", None) is None:
        config.option.timeout = SCALE * float(config.getini("timeout"))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """CI tries RESP2 in two ways only: what reads it is below what drives it."""
    if SCALE > 1:
        return
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        params = vars(getattr(item, "callspec", item)).get("params", {})
        is_kept = params.get("protocol") != 2 or params.get("mode") in RESP2_MODES
        (kept if is_kept else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """A collection of garbage, of which tests ask hundreds, looks at what tests have
    made, and not at all modules and at all tests themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=["sync", "asyncio"])
def scene(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each face of the drop-in, as a support.dropin.Scene."""
    from support.dropin import Scene

    scene = Scene(request.param == "asyncio")
    yield scene
    scene.end()


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request: pytest.FixtureRequest) -> int:
    """The version of the protocol."""
    return int(request.param)


@pytest.fixture
def face(connect: Connect, protocol: int) -> Face:
    """A client, in each way and protocol."""
    return connect(protocol=protocol)


@pytest.fixture(params=ASYNC_MODES)
def async_connect(request: pytest.FixtureRequest, server: Server) -> Iterator[Connect]:
    """Makes clients on event loops."""
    yield from _factory(str(request.param), server.url)


@pytest.fixture
def async_face(async_connect: Connect) -> Face:
    """A client on an event loop."""
    return async_connect()
