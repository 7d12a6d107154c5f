# SPDX-License-Identifier: MIT
"""URLs of servers: what Python itself must know of them, and what may be shown."""

from __future__ import annotations

import contextlib
from typing import Any
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

_PYTHON_KEYS = ("decode_responses", "encoding", "encoding_errors")
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


def in_url(url: str) -> dict[str, Any]:
    """What a URL says of those options that C sets in pairs: an option that overrides
    one of a pair leaves the other as it is. What makes no sense is C's to refuse."""
    said: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        said = {
            "host": parts.hostname,
            "port": parts.port,
            "username": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
        }
    for key, value in parse_qsl(url.partition("?")[2]):
        if value.isdecimal():
            if key in ("timeout_ms", "connect_timeout_ms"):
                said[key.removesuffix("_ms")] = int(value) / 1e3
            elif key == "budget_us":
                said[key] = int(value)
        elif key == "flush":
            said[key] = value
    return {key: value for key, value in said.items() if value}


def without_secrets(url: str) -> str:
    """The URL as it may be shown. Nothing before the last "@" is, for a password may
    hold any character if the URL is a wrong one."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    if "@" in rest:
        rest = "***@" + rest.rpartition("@")[2]
    front, question, query = rest.partition("?")
    if "pass" in query:  # where others have it
        query = "***"
    return scheme + mark + front + question + query


def server_of(url: str, options: dict[str, Any]) -> str:
    """Which server an understood URL and options that override it name, as a URL."""
    parts = urlsplit(url)
    db = options.get("db") or dict(parse_qsl(parts.query)).get("db")
    path = options.get("unix_path")
    if path is None and parts.scheme == "unix" and "host" not in options:
        path = unquote(parts.path)
    if path is not None:
        return f"unix://{path}" + (f"?db={db}" if db else "")
    host = options.get("host") or parts.hostname or "127.0.0.1"
    port = options.get("port") or parts.port or 6379
    db = db or (parts.path.strip("/") if parts.scheme != "unix" else "")
    shown = f"[{host}]" if ":" in host else host
    return f"redis://{shown}:{port}" + (f"/{db}" if db else "")
