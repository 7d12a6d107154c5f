# SPDX-License-Identifier: MIT
"""TLS: what its options mean, which servers are trusted, and whose OpenSSL does it."""

import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shoal
import shoal.aio
from support.children import run_child
from support.faces import Face
from support.server import Server

NOT_EXECUTED = shoal.Fate.NOT_EXECUTED


@pytest.fixture
def trusting(mode: str, tls_server: Server, certificates: Path) -> Iterator[Any]:
    """Makes clients that trust the tests' authority, in each way."""
    faces: list[Face] = []

    def connect(url: str = tls_server.url, **options: Any) -> Face:
        usual = {"tls_ca_file": str(certificates / "ca.crt"), "backoff": (0.001, 0.01)}
        faces.append(Face(mode, url, **{**usual, **options}))
        return faces[-1]

    yield connect
    for face in faces:
        face.end()


def server_with(certificates: Path, name: str, folder: Path, *options: str) -> Server:
    """A server that shows the certificate of that name."""
    for kind in ("crt", "key"):
        shutil.copy(certificates / f"{name}.{kind}", folder / f"server.{kind}")
    shutil.copy(certificates / "ca.crt", folder / "ca.crt")
    return Server(*options, tls=folder)


def refusal(face: Face, *args: Any) -> shoal.TLSError:
    """Why the client will not speak to the server."""
    with pytest.raises(shoal.TLSError) as caught:
        face.execute(*(args or ("INCR", "n")))
    assert caught.value.fate is NOT_EXECUTED
    assert isinstance(caught.value, shoal.ConnectionError)
    return caught.value


# ---- it carries everything ----


def test_commands(trusting: Any) -> None:
    face = trusting()
    face.wait_ready()
    assert face.execute("ECHO", "x" * 300_000) == b"x" * 300_000
    many = [("ECHO", number) for number in range(3000)]
    assert face.execute_many(many) == [b"%d" % number for number in range(3000)]
    buffer = bytearray(200_000)
    assert face.readinto(buffer, "ECHO", "y" * 200_000) == 200_000
    assert buffer == b"y" * 200_000
    assert face.execute("BLPOP", "no such list", 0.01) is None
    assert "rediss://127.0.0.1:" in repr(face.client)
    assert [event.kind for event in face.events()][:2] == ["connected", "ready"]


def test_a_lease(trusting: Any) -> None:
    face = trusting()
    lease = face.lease()
    assert lease.execute("SELECT", 3) == b"OK"
    assert lease.execute("ECHO", "x" * 100_000) == b"x" * 100_000
    lease.close()


def test_redis_py_names(trusting: Any, tls_server: Server, certificates: Path) -> None:
    ca_file = str(certificates / "ca.crt")
    plain_url = tls_server.url.replace("rediss", "redis")
    face = trusting(
        plain_url, tls_ca_file=None, ssl=True, ssl_ca_certs=ca_file,
        ssl_certfile=str(certificates / "client.crt"),
        ssl_keyfile=str(certificates / "client.key"), ssl_cert_reqs="required",
        ssl_check_hostname=True, ssl_min_version=ssl.TLSVersion.TLSv1_2,
        ssl_ciphers="ECDHE+AESGCM",
    )  # fmt: skip
    assert face.execute("PING") == b"PONG"


@pytest.mark.parametrize(
    "options",
    [
        {"tls_min_version": "1.3"},
        {"tls_min_version": "1.2", "tls_ciphers": "ECDHE+AESGCM"},
        {"tls_ciphersuites": "TLS_AES_128_GCM_SHA256"},
        {"tls_server_name": "localhost"},
        {"host": "localhost"},
    ],
    ids=str,
)
def test_options(trusting: Any, tls_server: Server, options: dict[str, str]) -> None:
    assert trusting(**options).execute("PING") == b"PONG"


def test_files_in_the_url(
    trusting: Any, tls_server: Server, certificates: Path
) -> None:
    url = f"{tls_server.url}?tls_ca_file={certificates / 'ca.crt'}"
    assert trusting(url, tls_ca_file=None).execute("PING") == b"PONG"


# ---- whom it trusts ----


def test_an_unknown_authority(trusting: Any, certificates: Path) -> None:
    face = trusting(tls_ca_file=str(certificates / "other_ca.crt"))
    assert "unknown authority" in str(refusal(face))
    with pytest.raises(shoal.TLSError, match="unknown authority"):
        face.wait_ready(5)
    if not face.is_async:  # else the state is that of the running loop
        assert "TLS failed" in repr(face.client)
    failed = [event for event in face.events() if event.kind == "attempt_failed"]
    assert {event.status for event in failed} == {refusal(face).status}


def test_an_empty_folder_of_authorities(trusting: Any, tmp_path: Path) -> None:
    face = trusting(tls_ca_file=None, tls_ca_dir=str(tmp_path))
    assert "unknown authority" in str(refusal(face))


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("other_name", "not for 127.0.0.1"),
        ("expired", "expired"),
        ("self_signed", "self-signed"),
    ],
)
def test_certificates_that_are_not_good(
    trusting: Any, certificates: Path, tmp_path: Path, name: str, words: str
) -> None:
    server = server_with(certificates, name, tmp_path)
    try:
        assert words in str(refusal(trusting(server.url)))
        assert trusting(server.url, tls_insecure=True).execute("PING") == b"PONG"
        unchecked = trusting(server.url, tls_ca_file=None, ssl_cert_reqs="none")
        assert unchecked.execute("PING") == b"PONG"
        assert "tls_unverified" in [event.kind for event in unchecked.events()]
        if name == "other_name":
            named = trusting(server.url, tls_server_name="other.example")
            assert named.execute("PING") == b"PONG"
    finally:
        server.stop()


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_servers_that_want_a_certificate(
    trusting: Any, certificates: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both.pem"
    both.write_text(
        (certificates / "client.crt").read_text()
        + (certificates / "client.key").read_text()
    )
    server = server_with(certificates, "server", tmp_path, "--tls-auth-clients", "yes")
    try:
        refusal(trusting(server.url))
        known = trusting(server.url, tls_cert_file=str(both))
        assert known.execute("PING") == b"PONG"
        files = {
            "tls_cert_file": str(certificates / "client.crt"),
            "tls_key_file": str(certificates / "client.key"),
        }
        assert trusting(server.url, **files).execute("PING") == b"PONG"
    finally:
        server.stop()


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_tls_to_a_plain_server(trusting: Any, server: Server) -> None:
    """It waits for the end of a line."""
    url = server.url.replace("redis", "rediss")
    face = trusting(url, connect_timeout=0.1, offline="fail")
    with pytest.raises(shoal.ConnectionError, match="speak TLS") as caught:
        face.execute("PING")
    assert caught.value.fate is NOT_EXECUTED


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_no_version_in_common(
    trusting: Any, certificates: Path, tmp_path: Path
) -> None:
    server = server_with(certificates, "server", tmp_path, "--tls-protocols", "TLSv1.2")
    try:
        assert "version" in str(refusal(trusting(server.url, tls_min_version="1.3")))
    finally:
        server.stop()


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_words_that_openssl_does_not_know(trusting: Any) -> None:
    assert "tls_ciphers" in str(refusal(trusting(tls_ciphers="no such cipher")))
    assert "no such file" in str(refusal(trusting(tls_ca_file="/no/file"))).lower()


# ---- its files ----


def test_reload(
    trusting: Any, tls_server: Server, certificates: Path, tmp_path: Path
) -> None:
    ca_file = tmp_path / "authorities.crt"
    shutil.copy(certificates / "ca.crt", ca_file)
    face = trusting(tls_ca_file=str(ca_file))
    assert face.execute("PING") == b"PONG"
    face._do("reload_tls")
    ca_file.write_text("nonsense")
    tls_server.ask("CLIENT", "KILL", "TYPE", "normal")
    face.until(lambda: face.stats().connects == 2)
    assert face.execute("PING") == b"PONG"
    [told] = [event for event in face.events() if event.kind == "tls_files"]
    assert "tls_ca_file" in told.detail and told.status < 0
    with pytest.raises(shoal.TLSError, match="tls_ca_file"):
        face._do("reload_tls")
    shutil.copy(certificates / "other_ca.crt", ca_file)
    face._do("reload_tls")
    tls_server.ask("CLIENT", "KILL", "TYPE", "normal")
    face.until(lambda: face.stats().attempts_failed > 0)
    assert "unknown authority" in str(refusal(face))


@pytest.mark.parametrize("mode", ["sync", "asyncio-borrowed"])
def test_bad_files_are_no_failure_of_the_attempt(
    trusting: Any, certificates: Path, tmp_path: Path
) -> None:
    server = server_with(certificates, "server", tmp_path)
    try:
        ca_file = str(tmp_path / "ca.crt")
        face = trusting(server.url, tls_ca_file=ca_file, backoff=(1.0, 1.0))
        assert face.execute("PING") == b"PONG"
        (tmp_path / "ca.crt").write_text("nonsense")
        server.ask("CLIENT", "KILL", "TYPE", "normal")
        with server.paused():
            kinds: list[str] = []
            while "tls_files" not in kinds:
                face.pass_time(0.001)
                kinds += [event.kind for event in face.events()]
            ready = face.begin("wait_ready", 60)
            face.pass_time(0.01)
        ready()
        assert face.execute("PING") == b"PONG"
    finally:
        server.stop()


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
def test_reload_without_tls(kind: Any, server: Server) -> None:
    with pytest.raises(ValueError, match="has no TLS"):
        kind(server.url).reload_tls()


# ---- wrong options ----


@pytest.mark.parametrize("kind", [shoal.Client, shoal.aio.Client])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tls": False, "tls_ca_file": "a"}, "tls_ca_file without TLS"),
        ({"tls": False, "ssl_cert_reqs": None}, "tls_insecure without TLS"),
        ({"tls": False, "ssl_min_version": 0x0303}, "tls_min_version without TLS"),
        ({"tls_key_file": "a"}, "tls_key_file without tls_cert_file"),
        ({"ssl_keyfile": "a"}, "tls_key_file without tls_cert_file"),
        ({"tls_min_version": "1.1"}, "1.2 or 1.3"),
        ({"ssl_min_version": ssl.TLSVersion.TLSv1_1}, "TLS 1.2 or 1.3"),
        ({"ssl_check_hostname": False}, "ssl_check_hostname=False"),
        ({"ssl_cert_reqs": "perhaps"}, "none, optional or required"),
        ({"ssl_ca_certs": "a", "tls_ca_file": "a"}, "the same option"),
        ({"tls_ca_file": ""}, "tls_ca_file"),
        ({"tls_server_name": ""}, "tls_server_name"),
        ({"tls_ca_file": "a\0b"}, "NUL"),
    ],
    ids=str,
)
def test_what_makes_no_sense(kind: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kind("rediss://127.0.0.1", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"tls": 1}, {"tls_insecure": "yes"}, {"tls_ca_file": b"a"}, {"ssl": "yes"},
        {"tls_min_version": 12}, {"ssl_ca_certs": 1},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_types(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be"):
        shoal.Client("rediss://127.0.0.1", **options)


@pytest.mark.parametrize(
    "name",
    [
        "ssl_ca_data", "ssl_password", "ssl_include_verify_flags",
        "ssl_exclude_verify_flags", "ssl_validate_ocsp", "ssl_validate_ocsp_stapled",
        "ssl_ocsp_context", "ssl_ocsp_expected_cert",
    ],
)  # fmt: skip
def test_what_only_redis_py_does(name: str) -> None:
    options: dict[str, Any] = {name: True}
    with pytest.raises(TypeError, match=f"no such option: {name}"):
        shoal.Client("rediss://127.0.0.1", **options)


def test_no_url_turns_the_checks_off() -> None:
    with pytest.raises(ValueError, match="tls_insecure"):
        shoal.Client("rediss://127.0.0.1?tls_insecure=yes")


# ---- whose OpenSSL ----

LIBRARIES = """
    def libraries():
        with open("/proc/self/maps") as maps:
            return {line.split()[-1] for line in maps if "libssl" in line}
    def ask():
        with shoal.Client(url, tls_ca_file=sys.argv[2]) as client:
            assert client.execute("PING") == b"PONG"
    def ask_by_ssl():
        import socket, ssl
        from urllib.parse import urlsplit
        context = ssl.create_default_context(cafile=sys.argv[2])
        address = urlsplit(url).hostname, urlsplit(url).port
        with socket.create_connection(address) as plain:
            with context.wrap_socket(plain, server_hostname=address[0]) as wrapped:
                wrapped.sendall(b"PING\\r\\n")
                assert wrapped.recv(7) == b"+PONG\\r\\n"
"""


@pytest.mark.parametrize("order", ["ask(); ask_by_ssl()", "ask_by_ssl(); ask()"])
def test_one_openssl_for_all(
    tls_server: Server, certificates: Path, order: str
) -> None:
    """Python's ssl and ours share it, whichever comes first."""
    script = f"{LIBRARIES}\n    {order}\n    ask()\n"
    script += "    assert len(libraries()) == 1, libraries()\n"
    end = run_child(script, tls_server.url, str(certificates / "ca.crt"))
    assert (end.code, end.errors) == (0, "")


def test_no_openssl_without_tls() -> None:
    script = """
import shoal
shoal.Client("redis://127.0.0.1")
with open("/proc/self/maps") as maps:
    assert "libssl" not in maps.read()
"""
    command = [sys.executable, "-I", "-c", script]
    assert subprocess.run(command, check=False).returncode == 0


def test_without_openssl(tmp_path: Path) -> None:
    """A library that cannot be loaded stands in its place."""
    (tmp_path / "libssl.so.3").write_text("")
    script = """
        import os
        os.environ["LD_LIBRARY_PATH"] = sys.argv[1]
        os.execv(sys.executable, [sys.executable, "-I", "-c", sys.argv[2]])
    """
    failing = """
import shoal
try:
    shoal.Client("rediss://127.0.0.1")
except shoal.TLSError as error:
    print(error.fate.name, error)
"""
    end = run_child(script, str(tmp_path), failing)
    assert end.code == 0, end.errors
    assert end.output.startswith("NOT_EXECUTED TLS needs OpenSSL 3: ")
    assert "libssl.so.3" in end.output
