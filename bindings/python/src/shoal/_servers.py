# SPDX-License-Identifier: MIT
"""Options that name servers: addresses of one, sentinels that know it, its replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._native import lib
from ._requests import is_integer

#: Sequences of pairs of host and port.
_LISTS = ("addresses", "sentinels", "replicas")
_OF_SENTINELS = (
    *("sentinels", "sentinel_username"),
    *("sentinel_password", "sentinel_tls"),
)
_READ_FROM = {
    "primary": lib.SHOAL_READ_PRIMARY,
    "replica_preferred": lib.SHOAL_READ_REPLICA_PREFERRED,
    "replica": lib.SHOAL_READ_REPLICA,
    "zone": lib.SHOAL_READ_ZONE,
    "zone_or_primary": lib.SHOAL_READ_ZONE_OR_PRIMARY,
}
Text = Callable[[str | None], Any]
Check = Callable[..., None]


def check_types(given: dict[str, Any]) -> None:
    """TypeError: what should be pairs of a host and a port are none. Addresses may be
    paths of Unix sockets, too."""
    for name in _LISTS:
        if name not in given:
            continue
        servers = given[name]
        if isinstance(servers, (str, bytes)) or not isinstance(servers, Sequence):
            raise TypeError(f"{name} must be a sequence")
        for server in servers:
            if not _is_pair(server) and not (
                name == "addresses" and isinstance(server, str)
            ):
                kind = "not (host, port)"
                if name == "addresses":
                    kind = "neither (host, port) nor a path"
                raise TypeError(f"{name}: a {type(server).__name__} is {kind}")
        if not servers:
            raise ValueError(f"{name}: there is none")
    _check_map(given.get("address_map", {}))


def _check_map(addresses: object) -> None:
    if not isinstance(addresses, Mapping):
        raise TypeError("address_map must be a mapping")
    for address in (part for item in addresses.items() for part in item):
        if not _is_pair(address) and not isinstance(address, str):
            kind = type(address).__name__
            raise TypeError(f"address_map: a {kind} is neither (host, port) nor a host")


def _is_pair(server: object) -> bool:
    return (
        isinstance(server, tuple)
        and len(server) == 2
        and isinstance(server[0], str)
        and is_integer(type(server[1]))
    )


def check_sense(
    given: dict[str, Any], *, has_sentinel_url: bool, several: bool
) -> None:
    """ValueError: options that contradict each other, or the URL."""
    addresses = given.keys() & {"host", "port", "unix_path", "addresses"}
    if has_sentinel_url or "sentinel" in given:
        if addresses:
            raise ValueError(f"sentinels know the address: no {min(addresses)}")
        if has_sentinel_url and given.keys() & {"sentinel", "sentinels"}:
            raise ValueError("the URL names the sentinels")
        if not has_sentinel_url and "sentinels" not in given:
            raise ValueError("sentinel and sentinels together")
    else:
        for name in _OF_SENTINELS:
            if name in given:
                raise ValueError(f"{name} without sentinel, the name of the primary")
    if several and len(addresses & {"host", "port"}) == 1:
        raise ValueError("the URL has several hosts: give host and port together")


def _addresses(given: dict[str, Any]) -> list[tuple[str, int] | str]:
    """What the options say: pairs of host and port, paths of Unix sockets."""
    said: list[tuple[str, int] | str] = []
    if "unix_path" in given:
        said.append(given["unix_path"])
    if "host" in given or "port" in given:
        said.append((given["host"], given["port"]))
    if len(said) + ("addresses" in given) > 1:
        raise ValueError("either unix_path, or host and port, or addresses")
    return said or list(given.get("addresses", ()))


def set_all(options: Any, given: dict[str, Any], text: Text, check: Check) -> None:
    """Give them to C. `text` makes a string for it, `check` looks at what it says."""
    _set_addresses(options, given, text, check)
    _set_sentinels(options, given, text, check)
    for host, port in given.get("replicas", ()):
        status = lib.shoal_options_add_replica(options, text(host), port)
        check(given, status, "replicas")
    for named, meant in given.get("address_map", {}).items():
        host, port = (named, 0) if isinstance(named, str) else named
        to_host, to_port = (meant, 0) if isinstance(meant, str) else meant
        status = lib.shoal_options_map_address(
            options, text(host), port, text(to_host), to_port
        )
        check(given, status, "address_map")
    if "read_from" in given:
        if given["read_from"] not in _READ_FROM:
            raise ValueError(f"read_from must be one of {', '.join(_READ_FROM)}")
        status = lib.shoal_options_set_read_from(
            options, _READ_FROM[given["read_from"]]
        )
        check(given, status, "read_from")
    if "zone" in given:
        status = lib.shoal_options_set_zone(options, text(given["zone"]))
        check(given, status, "zone")


def _set_addresses(
    options: Any, given: dict[str, Any], text: Text, check: Check
) -> None:
    """The first one replaces what the URL says."""
    name = "addresses" if "addresses" in given else "unix_path"
    for i, address in enumerate(_addresses(given)):
        if isinstance(address, str):
            path_bytes = len(address.encode())
            longest = lib.SHOALPY_UNIX_PATH_BYTES_MAX
            if path_bytes > longest:
                raise ValueError(
                    f"{name} has {path_bytes} bytes; this system allows {longest}"
                )
            setter = lib.shoal_options_add_unix_path
            if i == 0:
                setter = lib.shoal_options_set_unix_path
            check(given, setter(options, text(address)), name)
        else:
            names = ("addresses",) if "addresses" in given else ("host", "port")
            setter = lib.shoal_options_add_address
            if i == 0:
                setter = lib.shoal_options_set_address
            check(given, setter(options, text(address[0]), address[1]), *names)


def _set_sentinels(
    options: Any, given: dict[str, Any], text: Text, check: Check
) -> None:
    if "sentinel" in given:
        status = lib.shoal_options_set_sentinel(options, text(given["sentinel"]))
        check(given, status, "sentinel")
    for host, port in given.get("sentinels", ()):
        status = lib.shoal_options_add_sentinel(options, text(host), port)
        check(given, status, "sentinels")
    if "sentinel_username" in given:
        if given["sentinel_password"] is None:
            raise ValueError("a sentinel_username needs a sentinel_password")
        names = ("sentinel_username", "sentinel_password")
        user, password = (text(given[name]) for name in names)
        status = lib.shoal_options_set_sentinel_auth(options, user, password)
        check(given, status, *names)
    if "sentinel_tls" in given:
        is_on = given["sentinel_tls"]
        check(given, lib.shoal_options_set_sentinel_tls(options, is_on), "sentinel_tls")
