# SPDX-License-Identifier: MIT
"""TLS: its options, under our names and redis-py's, and the library that does it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ._native import ffi, lib
from .exceptions import Fate, TLSError

TEXTS = (
    *("tls_ca_file", "tls_ca_dir", "tls_cert_file", "tls_key_file"),
    *("tls_server_name", "tls_min_version", "tls_ciphers", "tls_ciphersuites"),
)
FLAGS = ("tls", "tls_insecure")
_SCHEMES = ("rediss", "valkeys")
_VERSIONS = {"1.2": lib.SHOAL_TLS_1_2, "1.3": lib.SHOAL_TLS_1_3}
#: redis-py's names of what means the same here.
_SAME = {
    "ssl": "tls",
    "ssl_ca_certs": "tls_ca_file",
    "ssl_ca_path": "tls_ca_dir",
    "ssl_certfile": "tls_cert_file",
    "ssl_keyfile": "tls_key_file",
    "ssl_ciphers": "tls_ciphers",
}
#: And of what means something similar.
_SIMILAR = ("ssl_cert_reqs", "ssl_check_hostname", "ssl_min_version")
REDIS_PY_NAMES = (*_SAME, *_SIMILAR)
#: What ssl.TLSVersion has.
_TLS_1_2, _TLS_1_3 = 0x0303, 0x0304


def from_redis_py(given: dict[str, Any]) -> dict[str, Any]:
    """The same options under our names. ValueError: one means what we do not do."""
    options = {name: value for name, value in given.items() if name[:4] != "ssl_"}
    if "ssl" in options:
        options["tls"] = options.pop("ssl")
    for name, value in given.items():
        if name in _SAME and name != "ssl" and value is not None:
            options[_SAME[name]] = value
    if "ssl_cert_reqs" in given and not _is_verified(given["ssl_cert_reqs"]):
        options["tls_insecure"] = True
    elif not given.get("ssl_check_hostname", True):
        raise ValueError(
            "ssl_check_hostname=False: a certificate is checked with the name that it "
            "is for. tls_server_name says which name it must be for; "
            "ssl_cert_reqs='none' checks nothing"
        )
    if (version := given.get("ssl_min_version")) is not None:
        if version not in (_TLS_1_2, _TLS_1_3):
            raise ValueError(f"ssl_min_version={version!r}: TLS 1.2 or 1.3")
        options["tls_min_version"] = "1.2" if version == _TLS_1_2 else "1.3"
    return options


def _is_verified(requirement: object) -> bool:
    """What redis-py's `ssl_cert_reqs` says: a word or an ssl.VerifyMode, which is 0 for
    none, 1 for optional, 2. A server always has a certificate, so that 1 is as 2."""
    if requirement is None or requirement == "none" or requirement == 0:
        return False
    if requirement in ("optional", "required", 1, 2):
        return True
    raise ValueError(
        f"ssl_cert_reqs must be none, optional or required, not {requirement!r}"
    )


def take_redis_py_names(given: dict[str, Any]) -> None:
    """Options under redis-py's names get ours. ValueError: one is there twice, or means
    what we do not do."""
    for theirs, ours in _SAME.items():
        if theirs in given and ours in given:
            raise ValueError(f"{theirs} and {ours} are the same option")
    translated = from_redis_py(given)
    given.clear()
    given.update(translated)


def is_asked_for(url: str, given: dict[str, Any]) -> bool:
    """Is TLS on? ValueError: it is not, but one of its options is given."""
    scheme = url.partition("://")[0].lower().partition("+")[0]
    if given.get("tls", scheme in _SCHEMES):
        return True
    for name in (*TEXTS, "tls_insecure"):
        if given.get(name):
            raise ValueError(f"{name} without TLS: rediss://, or tls=True")
    return False


def load() -> None:
    """Find OpenSSL. TLSError: there is none, or this is a build without TLS.

    The interpreter's own `ssl` comes first: if it has an OpenSSL 3 that can be shared,
    that is the one. Else a second one of the same name could take its place.
    """
    if not lib.shoal_has_tls():
        raise _failed("shoal was built without TLS: OpenSSL's headers were not there")
    with contextlib.suppress(ImportError):  # Python itself may have been, too
        import ssl  # noqa: F401
    reason = lib.shoalpy_openssl_find()
    if reason:
        raise _failed(ffi.string(reason).decode("utf-8", "replace"))


def _failed(text: str) -> TLSError:
    error = TLSError(text)
    error.fate = Fate.NOT_EXECUTED
    error.status = lib.SHOAL_ETLS
    return error


def set_all(
    options: Any,
    given: dict[str, Any],
    text: Callable[[str | None], Any],
    check: Callable[..., None],
) -> None:
    """Give them to C. `text` makes a string for it, `check` looks at what it says."""
    if "tls" in given:
        check(given, lib.shoal_options_set_tls(options, given["tls"]), "tls")
    for name, setter in {
        "tls_ca_file": lib.shoal_options_set_tls_ca_file,
        "tls_ca_dir": lib.shoal_options_set_tls_ca_dir,
        "tls_server_name": lib.shoal_options_set_tls_server_name,
        "tls_ciphers": lib.shoal_options_set_tls_ciphers,
        "tls_ciphersuites": lib.shoal_options_set_tls_ciphersuites,
    }.items():
        if name in given:
            check(given, setter(options, text(given[name])), name)
    if "tls_cert_file" in given:
        if given["tls_cert_file"] is None:
            raise ValueError("tls_key_file without tls_cert_file")
        names = ("tls_cert_file", "tls_key_file")
        files = [text(given[name]) for name in names]
        status = lib.shoal_options_set_tls_certificate(options, *files)
        check(given, status, *names)
    if "tls_min_version" in given:
        version = _VERSIONS.get(given["tls_min_version"])
        if version is None:
            raise ValueError(f"tls_min_version must be {' or '.join(_VERSIONS)}")
        status = lib.shoal_options_set_tls_min_version(options, version)
        check(given, status, "tls_min_version")
    if "tls_insecure" in given:
        insecure = given["tls_insecure"]
        status = lib.shoal_options_set_tls_insecure(options, insecure)
        check(given, status, "tls_insecure")
