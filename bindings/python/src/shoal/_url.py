# SPDX-License-Identifier: MIT
"""URLs of servers: what Python itself must know of them, and what may be shown."""

from __future__ import annotations

import contextlib
import math
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, unquote_plus, urlsplit

_PYTHON_KEYS = ("decode_responses", "encoding", "encoding_errors")
#: Keys of numbers that C sets together with others: the option, and how many of the
#: key's unit make one of the option's.
_GROUPED = {
    "timeout_ms": ("timeout", 1000),
    "connect_timeout_ms": ("connect_timeout", 1000),
    "handshake_timeout_ms": ("handshake_timeout", 1000),
    "queued_max": ("queued_max", 1),
    "inflight_max": ("inflight_max", 1),
    "bytes_max": ("outstanding_bytes_max", 1),
    "reply_bytes_max": ("reply_bytes_max", 1),
    "reply_elements_max": ("reply_elements_max", 1),
    "reply_depth_max": ("reply_depth_max", 1),
    "budget_us": ("budget_us", 1),
}
#: Keys of texts that C sets together with others, or that differ here: the option.
_TEXTS = {
    **{key: key for key in ("flush", "bulk_lane", "maintenance")},
    **{key: key for key in ("tls_cert_file", "tls_key_file")},
    "sentinel_user": "sentinel_username",
    "sentinel_password": "sentinel_password",
}
_TRUE = ("true", "yes", "1")
_FALSE = ("false", "no", "0")


def take_python_keys(url: str, options: dict[str, Any]) -> str:
    """Keys of the query that mean nothing to C move to the options. The rest of the URL
    stays as it is, character by character."""
    front, mark, query = url.partition("?")
    rest = []
    for part in query.split("&"):
        key, _, value = map(unquote_plus, part.partition("="))
        if key not in _PYTHON_KEYS:
            rest.append(part)
        elif key != "decode_responses":
            options.setdefault(key, value)
        elif value.lower() in _TRUE + _FALSE:
            options.setdefault(key, value.lower() in _TRUE)
        else:
            raise ValueError(f"decode_responses={value}: neither yes nor no")
    return front + mark + "&".join(rest) if any(rest) else front


def names_several(url: str) -> bool:
    """Has it more than one host?"""
    with contextlib.suppress(ValueError):
        return "," in urlsplit(url).netloc.rpartition("@")[2]
    return False


def names_sentinels(url: str) -> bool:
    """Are its hosts sentinels?"""
    return url.partition("://")[0].lower().endswith("+sentinel")


def names_cluster(url: str) -> bool:
    """Are its hosts nodes of a cluster?"""
    return url.partition("://")[0].lower().endswith("+cluster")


def _is_cluster(url: str, options: dict[str, Any]) -> bool:
    in_query = dict(parse_qsl(urlsplit(url).query)).get("topology")
    said = options.get("topology", in_query)
    return said == "cluster" if said else names_cluster(url)


def in_url(url: str) -> dict[str, Any]:
    """What a URL says of those options that C sets together: an option that overrides
    one of them leaves the others as they are; and of those with another default here.
    C refuses what makes no sense."""
    said: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        is_one = not names_several(url) and not names_sentinels(url)
        said = {
            "host": parts.hostname if is_one else None,
            "port": parts.port if is_one else None,
            "username": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
        }
    for key, value in parse_qsl(url.partition("?")[2]):
        if key in _TEXTS:
            said[_TEXTS[key]] = value
        if key not in _GROUPED:
            continue
        name, unit = _GROUPED[key]
        if value == "never":
            said[name] = math.inf
        elif value.isdecimal():
            said[name] = int(value) / unit if unit > 1 else int(value)
    return {key: value for key, value in said.items() if value}


def without_secrets(url: str) -> str:
    """The URL as it may be shown. Nothing before the last "@" is shown, because in a
    wrong URL a password may hold any character."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    if "@" in rest:
        rest = "***@" + rest.rpartition("@")[2]
    front, question, query = rest.partition("?")
    if "pass" in query:  # other libraries have the password there
        query = "***"
    return scheme + mark + front + question + query


def server_of(url: str, options: dict[str, Any], *, has_tls: bool) -> str:
    """Which server an understood URL and options that override it name, as a URL."""
    parts = urlsplit(url)
    scheme = "rediss" if has_tls else "redis"
    if "sentinel" in options or names_sentinels(url):
        return _service_of(parts, options, scheme)
    db = options.get("db") or dict(parse_qsl(parts.query)).get("db")
    path = options.get("unix_path")
    addresses = options.get("addresses", ())
    if len(addresses) == 1 and isinstance(addresses[0], str):
        [path] = addresses
    is_url = not (addresses or "host" in options)
    if path is None and parts.scheme.endswith("unix") and is_url:
        path = unquote(parts.path)
    if path is not None:
        return f"unix://{path}" + (f"?db={db}" if db else "")
    db = db or (parts.path.strip("/") if not parts.scheme.endswith("unix") else "")
    hosts = parts.netloc.rpartition("@")[2]
    if addresses:
        hosts = ",".join(a if isinstance(a, str) else _shown(*a) for a in addresses)
    elif "," not in hosts or "host" in options:
        host = options.get("host") or parts.hostname or "127.0.0.1"
        hosts = _shown(host, options.get("port") or parts.port or 6379)
    if _is_cluster(url, options):
        scheme += "+cluster"
    return f"{scheme}://{hosts}" + (f"/{db}" if db else "")


def _service_of(parts: SplitResult, options: dict[str, Any], scheme: str) -> str:
    """The same for a primary that sentinels know."""
    hosts = ",".join(_shown(*sentinel) for sentinel in options.get("sentinels", ()))
    name, _, db = parts.path.lstrip("/").partition("/")
    if hosts:
        name, db = options["sentinel"], name
    db = str(options.get("db") or dict(parse_qsl(parts.query)).get("db") or db)
    where = f"{hosts or parts.netloc.rpartition('@')[2]}/{unquote(name)}"
    return f"{scheme}+sentinel://{where}" + (f"/{db}" if db.strip("0") else "")


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
