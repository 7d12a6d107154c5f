# SPDX-License-Identifier: MIT
"""The options of a client: checked, and given to the C library."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict
from urllib.parse import parse_qsl, urlsplit

from . import _credentials, _servers, _tls
from ._credentials import Credentials, Provider
from ._native import ffi, lib
from ._outcomes import new_reason, reason_of, text_of
from ._replies import Conversion, Decoding
from ._requests import encoded, is_integer
from ._seconds import microseconds
from ._url import (
    in_url,
    names_sentinels,
    names_several,
    server_of,
    take_python_keys,
    without_secrets,
)

_TIMEOUT = 5.0
DEFAULT_URL = "redis://127.0.0.1:6379"
#: C sets these together. Where a number stands, it is C's default.
_TOGETHER: tuple[dict[str, Any], ...] = (
    {"host": "127.0.0.1", "port": 6379},
    {"username": None, "password": None},
    {"sentinel_username": None, "sentinel_password": None},
    {"tls_cert_file": None, "tls_key_file": None},
    {"connect_timeout": 2.0, "handshake_timeout": 5.0},
    {"flush": "auto", "budget_us": 0},
    {"queued_max": 65_536, "inflight_max": 16_384, "outstanding_bytes_max": 64 << 20},
    {
        "reply_bytes_max": 512 << 20,
        "reply_elements_max": 1 << 24,
        "reply_depth_max": 1024,
    },
)
_SECRET = ("username", "password")
_MAY_BE_NONE = (
    "timeout",
    "ping_interval",
    "probe_interval",
    "keepalive",
    "ssl_cert_reqs",
)
_INTEGRITY = {
    "shapes": lib.SHOAL_INTEGRITY_SHAPES,
    "detect": lib.SHOAL_INTEGRITY_DETECT,
    "strict": lib.SHOAL_INTEGRITY_STRICT,
}
_ROTATION = {
    "successor": lib.SHOAL_ROTATE_SUCCESSOR,
    "in_place": lib.SHOAL_ROTATE_IN_PLACE,
}
_ORDER = {"mark": lib.SHOAL_ORDER_MARK, "strict": lib.SHOAL_ORDER_STRICT}
_TOPOLOGY = {
    "standalone": lib.SHOAL_TOPOLOGY_STANDALONE,
    "cluster": lib.SHOAL_TOPOLOGY_CLUSTER,
    "auto": lib.SHOAL_TOPOLOGY_AUTO,
}
_OFFLINE = {"queue": lib.SHOAL_OFFLINE_QUEUE, "fail": lib.SHOAL_OFFLINE_FAIL}


class UndecodedOptions(TypedDict, total=False):
    """`ClientOptions` without `decode_responses`."""

    host: str
    port: int
    unix_path: str
    addresses: Sequence[tuple[str, int] | str]
    sentinel: str
    sentinels: Sequence[tuple[str, int]]
    sentinel_username: str | None
    sentinel_password: str | None
    sentinel_tls: bool
    read_from: Literal[
        "primary", "replica_preferred", "replica", "zone", "zone_or_primary"
    ]
    zone: str | None
    replicas: Sequence[tuple[str, int]]
    address_map: Mapping[tuple[str, int] | str, tuple[str, int] | str]
    username: str | None
    password: str | None
    credentials: Credentials | Provider
    credentials_timeout: float
    rotation: Literal["successor", "in_place"]
    order: Literal["mark", "strict"]
    topology: Literal["standalone", "cluster", "auto"]
    db: int
    client_name: str | None
    protocol: int
    timeout: float | None
    connect_timeout: float
    handshake_timeout: float
    stall_timeout: float
    ping_interval: float
    probe_interval: float | None
    backoff: tuple[float, float]
    keepalive: float | None
    source_address: str | None
    attempts_max: int
    offline: Literal["queue", "fail"]
    flush: str
    budget_us: int
    integrity: Literal["shapes", "detect", "strict"]
    settle: bool
    bulk_lane: bool
    maintenance: bool
    connections: int
    connections_max: int
    queued_max: int
    inflight_max: int
    outstanding_bytes_max: int
    reply_bytes_max: int
    reply_elements_max: int
    reply_depth_max: int
    encoding: str
    encoding_errors: str
    tls: bool
    tls_ca_file: str | None
    tls_ca_dir: str | None
    tls_cert_file: str | None
    tls_key_file: str | None
    tls_server_name: str | None
    tls_min_version: Literal["1.2", "1.3"]
    tls_ciphers: str | None
    tls_ciphersuites: str | None
    tls_insecure: bool
    ssl: bool
    ssl_ca_certs: str | None
    ssl_ca_path: str | None
    ssl_certfile: str | None
    ssl_keyfile: str | None
    ssl_cert_reqs: str | int | None
    ssl_check_hostname: bool
    ssl_min_version: int | None
    ssl_ciphers: str | None


class ClientOptions(UndecodedOptions, total=False):
    """Keyword options of `Client`; each overrides what the URL says. Times are in
    seconds unless the name ends in `_us`. Ranges and defaults: docs/PYTHON.md."""

    decode_responses: bool


_INTEGERS = (
    *("port", "db", "protocol", "attempts_max", "budget_us", "connections"),
    "connections_max",
    *("queued_max", "inflight_max", "outstanding_bytes_max"),
    *("reply_bytes_max", "reply_elements_max", "reply_depth_max"),
)
_TEXTS = (
    *("host", "unix_path", "username", "password", "client_name", "source_address"),
    *("offline", "flush", "integrity", "encoding", "encoding_errors", "read_from"),
    "zone",
    *("rotation", "order", "topology"),
    *("sentinel", "sentinel_username", "sentinel_password"),
    *_tls.TEXTS,
)
_FLAGS = (
    *("settle", "bulk_lane", "maintenance", "decode_responses", "sentinel_tls"),
    *_tls.FLAGS,
)


def _check_types(given: dict[str, Any]) -> None:
    """TypeError for an option of another type; integers of other types become int."""
    for name, value in given.items():
        kind, wanted = type(value), ""
        if name in _INTEGERS:
            wanted = "" if is_integer(kind) else "an int"
            given[name] = value if wanted else operator.index(value)
        elif name in _TEXTS and not issubclass(kind, str):
            wanted = "a str"
        elif name in _FLAGS and kind is not bool:
            wanted = "a bool"
        if wanted:
            raise TypeError(f"{name} must be {wanted}, not {kind.__name__}")


def _take_credentials(given: dict[str, Any]) -> Provider | None:
    """A pair becomes user and password; a function is returned."""
    if "credentials" not in given:
        return None
    credentials = given.pop("credentials")
    if callable(credentials):
        provider: Provider = credentials
        return provider
    if given.keys() & {"username", "password"}:
        raise ValueError("either credentials, or username and password")
    user, password, _ = _credentials.split(credentials)
    given.update(username=user, password=password)
    return None


class Options:
    """Checked options. `native()` makes the C library's, for each connection anew."""

    def __init__(self, url: str, options: ClientOptions) -> None:
        given: dict[str, Any] = {
            name: value
            for name, value in options.items()
            if value is not None or name in _MAY_BE_NONE
        }
        unknown = given.keys() - ClientOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"no such option: {', '.join(sorted(unknown))}")
        if not isinstance(url, str):
            raise TypeError(f"the URL must be a str, not {type(url).__name__}")
        if given.keys() & set(_tls.REDIS_PY_NAMES):
            _tls.take_redis_py_names(given)
        #: A function that is asked for credentials; None: there is none.
        self.provider = _take_credentials(given)
        _check_types(given)
        _servers.check_types(given)
        self.url = take_python_keys(url, given) if "?" in url else url
        said = in_url(self.url)
        _servers.check_sense(
            given,
            has_sentinel_url=names_sentinels(self.url),
            several=names_several(self.url),
        )
        self.decode_responses: bool = given.pop("decode_responses", False)
        self.decoding = Decoding(
            given.pop("encoding", "utf-8"), given.pop("encoding_errors", "strict")
        )
        #: C takes str as UTF-8: any other encoding is applied before.
        self.encodes = not (self.decoding.is_utf8 and self.decoding.errors == "strict")
        for group in _TOGETHER:
            if given.keys() & group.keys():
                for key, usual in group.items():
                    given.setdefault(key, said.get(key, usual))
        self.timeout_us = microseconds(
            given.get("timeout", said.get("timeout", _TIMEOUT))
        )
        self.shown_url = without_secrets(self.url)
        self._given = given
        self.has_tls = _tls.is_asked_for(self.url, given)
        if self.has_tls:
            _tls.load()
        self.set_conversions(Conversion(None), Conversion(self.decoding))
        lib.shoal_options_free(self.native())  # wrong values raise now
        #: For people: without credentials.
        self.server = server_of(self.url, given, has_tls=self.has_tls)

    def set_conversions(self, raw: Conversion, decoded: Conversion) -> None:
        """How replies become values, without and with decoding."""
        self.raw, self.decoded = raw, decoded
        self.default = decoded if self.decode_responses else raw

    def conversion(self, decode: bool | None) -> Conversion:
        """The one for a call's choice; None: the client's."""
        if decode is None:
            return self.default
        return self.decoded if decode else self.raw

    def set_credentials(self, user: str | None, password: str) -> None:
        """Those of connections to come."""
        _credentials.check(user, password)
        self._given = {**self._given, "username": user, "password": password}

    def check_tls(self) -> None:
        """ValueError: TLS is not on."""
        if not self.has_tls:
            raise ValueError("the client has no TLS")

    def encoded(self, command: Sequence[object]) -> tuple[bytes, ...]:
        """The command with every argument as bytes; DataError if one cannot be."""
        return encoded(command, self.decoding.encoding, self.decoding.errors)

    def native(self, *, borrowed: bool = False) -> Any:
        """A new shoal_options_t, which the caller frees.

        `borrowed`: an event loop drives the connection. Each of its ticks is a batch
        already, so by default no command is held back to gather more.
        """
        holder = ffi.new("shoal_options_t **")
        reason = new_reason()
        status = lib.shoal_options_from_url(self.url.encode(), holder, reason)
        if status < 0:
            raise ValueError(
                f"{text_of(status)}: {self.shown_url}: {reason_of(reason)}"
            )
        try:
            if borrowed:
                _flush_each_tick(holder[0], self.url)
            _set_all(holder[0], self._given)
        except BaseException:
            lib.shoal_options_free(holder[0])
            raise
        return holder[0]


def _set_all(options: Any, given: dict[str, Any]) -> None:
    try:
        for setter in (_set_server, _set_times, _set_limits, _set_behaviour):
            setter(options, given)
        _servers.set_all(options, given, _text, _check)
        _tls.set_all(options, given, _text, _check)
    except OverflowError as error:
        raise ValueError(f"a number is out of range: {error}") from error


def _check(given: dict[str, Any], status: int, *names: str) -> None:
    if status < 0:
        said = [n if n.endswith(_SECRET) else f"{n}={given[n]!r}" for n in names]
        raise ValueError(f"{' and '.join(said)}: {text_of(status)}")


def _text(value: str | None) -> Any:
    if value is None:
        return ffi.NULL
    if "\0" in value:
        raise ValueError("a text with a NUL character")
    if not _credentials.has_utf8(value):
        raise ValueError("a text with a lone surrogate")
    return ffi.new("char[]", value.encode())


def _chosen(given: dict[str, Any], name: str, choices: dict[str, int]) -> int:
    if given[name] not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}")
    return choices[given[name]]


def _flush_each_tick(options: Any, url: str) -> None:
    keys = {key for key, _ in parse_qsl(urlsplit(url).query)}
    if not keys & {"flush", "budget_us"}:
        lib.shoal_options_set_flush(options, lib.SHOAL_FLUSH_OFF, 0)


def _set_server(options: Any, given: dict[str, Any]) -> None:
    if "username" in given:
        if given["password"] is None:
            raise ValueError("a username needs a password")
        user, password = _text(given["username"]), _text(given["password"])
        _check(
            given,
            lib.shoal_options_set_auth(options, user, password),
            "username",
            "password",
        )
    if "db" in given:
        _check(given, lib.shoal_options_set_database(options, given["db"]), "db")
    if "client_name" in given:
        name = _text(given["client_name"])
        _check(given, lib.shoal_options_set_client_name(options, name), "client_name")
    if "source_address" in given:
        address = _text(given["source_address"])
        _check(
            given,
            lib.shoal_options_set_source_address(options, address),
            "source_address",
        )
    if "protocol" in given:
        _check(
            given,
            lib.shoal_options_set_protocol(options, given["protocol"]),
            "protocol",
        )


def _set_times(options: Any, given: dict[str, Any]) -> None:
    single: dict[str, Callable[[Any, int], int]] = {
        "timeout": lib.shoal_options_set_timeout_us,
        "stall_timeout": lib.shoal_options_set_stall_timeout_us,
        "credentials_timeout": lib.shoal_options_set_credentials_timeout_us,
    }
    for name, setter in single.items():
        if name in given:
            _check(given, setter(options, microseconds(given[name], name)), name)
    for name, setter in {
        "ping_interval": lib.shoal_options_set_ping_idle_us,
        "probe_interval": lib.shoal_options_set_probe_us,
        "keepalive": lib.shoal_options_set_keepalive_us,
    }.items():
        if name in given:
            idle_us = 0 if _is_zero(given[name]) else microseconds(given[name], name)
            _check(given, setter(options, idle_us), name)
    names = ("connect_timeout", "handshake_timeout")
    if names[0] in given:
        both = [microseconds(given[name], name) for name in names]
        _check(given, lib.shoal_options_set_connect_timeout_us(options, *both), *names)
    if "backoff" in given:
        base, longest = _pair(given["backoff"], "backoff")
        _check(
            given,
            lib.shoal_options_set_backoff_us(
                options, microseconds(base, "backoff"), microseconds(longest, "backoff")
            ),
            "backoff",
        )


def _is_zero(seconds: object) -> bool:
    return seconds is None or (type(seconds) in (int, float) and seconds == 0)


def _pair(value: object, name: str) -> tuple[Any, Any]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise TypeError(f"{name} must be a pair of numbers of seconds")
    return value[0], value[1]


def _set_limits(options: Any, given: dict[str, Any]) -> None:
    for names, setter in (
        (
            ("queued_max", "inflight_max", "outstanding_bytes_max"),
            lib.shoal_options_set_outstanding_max,
        ),
        (
            ("reply_bytes_max", "reply_elements_max", "reply_depth_max"),
            lib.shoal_options_set_reply_max,
        ),
    ):
        if names[0] in given:
            _check(given, setter(options, *(given[name] for name in names)), *names)
    if "attempts_max" in given:
        _check(
            given,
            lib.shoal_options_set_attempts_max(options, given["attempts_max"]),
            "attempts_max",
        )


def _set_behaviour(options: Any, given: dict[str, Any]) -> None:
    if "offline" in given:
        mode = _chosen(given, "offline", _OFFLINE)
        _check(given, lib.shoal_options_set_offline_mode(options, mode), "offline")
    if "flush" in given:
        mode, pause = _flush(given["flush"], given["budget_us"])
        _check(
            given,
            lib.shoal_options_set_flush(options, mode, pause),
            "flush",
            "budget_us",
        )
    if "integrity" in given:
        level = _chosen(given, "integrity", _INTEGRITY)
        _check(given, lib.shoal_options_set_integrity(options, level), "integrity")
    if "settle" in given:
        _check(given, lib.shoal_options_set_settle(options, given["settle"]), "settle")
    if "rotation" in given:
        rotation = _chosen(given, "rotation", _ROTATION)
        _check(given, lib.shoal_options_set_rotation(options, rotation), "rotation")
    if "order" in given:
        order = _chosen(given, "order", _ORDER)
        _check(given, lib.shoal_options_set_order(options, order), "order")
    if "topology" in given:
        topology = _chosen(given, "topology", _TOPOLOGY)
        _check(given, lib.shoal_options_set_topology(options, topology), "topology")
    if "bulk_lane" in given:
        lib.shoal_options_set_bulk_lane(options, given["bulk_lane"])
    if "maintenance" in given:
        lib.shoal_options_set_maintenance(options, given["maintenance"])
    if "connections" in given:
        _check(
            given,
            lib.shoal_options_set_connections(options, given["connections"]),
            "connections",
        )
    if "connections_max" in given:
        connections_max = given["connections_max"]
        _check(
            given,
            lib.shoal_options_set_connections_max(options, connections_max),
            "connections_max",
        )


def _flush(flush: str, budget_us: int) -> tuple[int, int]:
    name, _, pause = flush.partition(":")
    if name == "auto" and not pause:
        return lib.SHOAL_FLUSH_AUTO, budget_us
    if budget_us:
        raise ValueError("budget_us is for flush='auto'")
    if name == "off" and not pause:
        return lib.SHOAL_FLUSH_OFF, 0
    if name == "fixed" and pause.isdecimal():
        return lib.SHOAL_FLUSH_FIXED, int(pause)
    raise ValueError(f"flush must be auto, off or fixed:MICROSECONDS, not {flush!r}")
