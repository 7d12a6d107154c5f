# SPDX-License-Identifier: MIT
"""The options of redis-py's pool as the core's; or why the core cannot have them."""

import inspect
from collections.abc import Awaitable, Callable, Set
from typing import Any, Final, NamedTuple

from redis.credentials import (
    CredentialProvider,
    StreamingCredentialProvider,
    UsernamePasswordCredentialProvider,
)

from shoal import _tls

_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600.0
_STALL_S: Final = 5.0

# Delays between attempts to connect, as redis-py's default Retry has them: a program
# that asked for retries expects them to find a server that is back.
_BACKOFF_S: Final = (0.01, 1.0)

# Parameters of redis-py's connections that the core has too.
_CARRIED: Final = frozenset(
    "client_name db decode_responses encoding encoding_errors health_check_interval"
    " host password path port protocol socket_connect_timeout socket_timeout"
    " username".split()
)

# Those that mean nothing to the core, or that redis-py's own code still looks after.
_IRRELEVANT: Final = frozenset(
    "driver_info event_dispatcher himport_registry legacy_responses lib_name"
    " lib_version maint_notifications_config maint_notifications_pool_handler"
    " orig_host_address orig_socket_connect_timeout orig_socket_timeout parser_class"
    " retry retry_on_error retry_on_timeout socket_keepalive socket_keepalive_options"
    " socket_read_size".split()
)


# Of those of TLS, the ones that the core knows; what they say is looked at later.
_TLS: Final = frozenset(_tls.REDIS_PY_NAMES) - {"ssl"}


# Of nodes: redis-py gives these to their connections for its own ends.
_OF_NODES: Final = frozenset(
    {"oss_cluster_maint_notifications_handler", "redis_connect_func"}
)

# The core takes so many addresses, and repeats a command so often.
_SEEDS_MAX: Final = 16
_ATTEMPTS_MAX: Final = 100


# The core sends and receives what redis-py can: a value has 512 MiB at most.
_ROOM: Final = {"outstanding_bytes_max": 1 << 30, "reply_bytes_max": 1 << 34}


class Family(NamedTuple):
    """The classes of one of redis-py's faces, blocking or asyncio."""

    pool: type[Any]
    blocking_pool: type[Any]
    tcp: type[Any]
    unix: type[Any]
    tls: type[Any]
    sentinel_pool: type[Any]
    sentinel_tcp: type[Any]
    sentinel_tls: type[Any]
    sentinel: type[Any]

    def is_of_sentinels(self, pool: Any) -> bool:
        """Do sentinels say where the pool's server is?"""
        return isinstance(pool, self.sentinel_pool)


class Nodes(NamedTuple):
    """What a client of a cluster says of its nodes, which differ by address alone.

    addresses  hosts and ports of those that it knows, primaries first
    retries    how often it repeats a command
    callbacks  what it makes of replies, by command
    refusal    what the core cannot do, or None
    read_from  the core's option
    """

    connection_class: Any
    connection_kwargs: dict[str, Any]
    addresses: list[tuple[str, int]]
    retries: int
    callbacks: Any
    refusal: str | None
    read_from: str


class NotCarried(Exception):
    """The core cannot do what a pool was told; the text says what."""


def check_pool(pool: Any, family: Family) -> None:
    """Raise NotCarried if `pool` does more than to make plain connections."""
    if family.is_of_sentinels(pool):
        _check_sentinels(pool, family)
    own = {"connection_pool"} if family.is_of_sentinels(pool) else set()
    for name in ("get_connection", "make_connection"):
        known = [getattr(cls, name) for cls in (family.pool, family.blocking_pool)]
        if getattr(type(pool), name, None) not in known:
            raise NotCarried(f"{type(pool).__name__} has its own {name}()")
    if pool.connection_class not in _connections_of(pool, family):
        raise NotCarried(f"connections are {pool.connection_class.__name__}")
    if getattr(pool, "cache", None) is not None:
        raise NotCarried("a client-side cache")
    _check_parameters(pool.connection_kwargs, own)
    _check_notices(pool.connection_kwargs)
    _check_parser(pool.connection_kwargs)


def _check_parser(given: dict[str, Any]) -> None:
    parser = given.get("parser_class")
    if parser is not None and not parser.__module__.startswith("redis."):
        raise NotCarried("the parameter parser_class")


def check_nodes(nodes: Nodes, family: Family) -> None:
    """Raise NotCarried if the core does not reach a cluster as its client would."""
    if nodes.refusal is not None:
        raise NotCarried(nodes.refusal)
    if nodes.connection_class not in (family.tcp, family.tls):
        raise NotCarried(f"connections are {nodes.connection_class.__name__}")
    _check_parameters(nodes.connection_kwargs, _OF_NODES)
    _check_notices(nodes.connection_kwargs)
    _check_parser(nodes.connection_kwargs)


def _check_notices(given: dict[str, Any]) -> None:
    """Raise NotCarried for notices of maintenance that the core would heed otherwise.
    It asks for them, and goes on if the server knows of none."""
    config = given.get("maint_notifications_config")
    if config is None:
        return
    usual = type(config)()
    for name in ("enabled", "proactive_reconnect", "relaxed_timeout", "endpoint_type"):
        if getattr(config, name, None) != getattr(usual, name, None):
            raise NotCarried(f"maintenance notifications with {name}")


def _check_parameters(given: dict[str, Any], own: Set[str]) -> None:
    """Raise NotCarried for one that the core does not have, and is not among `own`."""
    for name, value in given.items():
        if value is None or name in _CARRIED | _IRRELEVANT | _TLS | own:
            continue
        if value is False and name.startswith("ssl_"):
            continue
        if name != "credential_provider" or not _may_provide(value):
            raise NotCarried(f"the parameter {name}")


def _connections_of(pool: Any, family: Family) -> tuple[type[Any], ...]:
    """Classes of connections that the core stands in for."""
    if family.is_of_sentinels(pool):
        return family.sentinel_tcp, family.sentinel_tls
    return family.tcp, family.unix, family.tls


def _check_sentinels(pool: Any, family: Family) -> None:
    """Raise NotCarried if the core does not find the server as the pool would."""
    if not pool.is_master:
        raise NotCarried("the pool is one of replicas")
    manager = pool.sentinel_manager
    for one, cls, name in (
        (pool, family.sentinel_pool, "get_master_address"),
        (manager, family.sentinel, "discover_master"),
        (manager, family.sentinel, "check_master_state"),
    ):
        if getattr(type(one), name, None) is not getattr(cls, name):
            raise NotCarried(f"{type(one).__name__} has its own {name}()")
    if manager.min_other_sentinels:
        raise NotCarried("the parameter min_other_sentinels")
    if getattr(manager, "_force_master_ip", None) is not None:
        raise NotCarried("the parameter force_master_ip")


def core_options(pool: Any, template: Any, family: Family) -> dict[str, Any]:
    """Options of a client that does what `template`, a redis-py connection, would do.

    Raises NotCarried for values that the core has no words for.
    """
    options: dict[str, Any] = {
        **_credentials(template, family),
        "db": int(template.db or 0),
        "client_name": template.client_name,
        "protocol": int(template.protocol),
        "decode_responses": bool(template.encoder.decode_responses),
        "encoding": template.encoder.encoding,
        "encoding_errors": template.encoder.encoding_errors,
        "offline": "fail",
        "backoff": _BACKOFF_S,
        # A pool that is to ask for no notices does not keep the parameter.
        "maintenance": "maint_notifications_config" in pool.connection_kwargs,
        **_ROOM,
        **_times(template),
    }
    if family.is_of_sentinels(pool):
        options.update(_sentinels(pool, family))
    elif hasattr(template, "path"):
        options["unix_path"] = template.path
    else:
        options["host"] = template.host
        options["port"] = int(template.port)
    if pool.connection_class in (family.tls, family.sentinel_tls):
        options.update(_tls_options(pool.connection_kwargs))
    return options


def cluster_options(nodes: Nodes, template: Any, family: Family) -> dict[str, Any]:
    """The same for a client of a cluster.

    Commands for a node that is away wait for its successor until their deadline.
    """
    options = core_options(nodes, template, family)
    del options["host"], options["port"]
    seeds = [
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        for host, port in nodes.addresses[:_SEEDS_MAX]
    ]
    retries = nodes.retries if nodes.retries >= 0 else _ATTEMPTS_MAX
    return {
        **options,
        "url": f"redis+cluster://{','.join(seeds)}",
        "offline": "queue",
        "read_from": nodes.read_from,
        "attempts_max": min(1 + retries, _ATTEMPTS_MAX),
    }


def _sentinels(pool: Any, family: Family) -> dict[str, Any]:
    """What the core must know of them. They differ by their addresses alone."""
    managed = pool.sentinel_manager.sentinels
    pools: list[Any] = [
        getattr(sentinel, "connection_pool", None) for sentinel in managed
    ]
    if not pools or not all(isinstance(one, family.pool) for one in pools):
        raise NotCarried("sentinels that are no clients of redis-py's")
    shared = [_settings_of(one, family, pool) for one in pools]
    if any(settings != shared[0] for settings in shared):
        raise NotCarried("sentinels with different parameters")
    options: dict[str, Any] = {
        "sentinel": pool.service_name,
        "sentinels": [
            (given["host"], int(given["port"]))
            for given in (one.connection_kwargs for one in pools)
        ],
    }
    return {**options, **shared[0]}


def _settings_of(sentinel_pool: Any, family: Family, pool: Any) -> dict[str, Any]:
    given = sentinel_pool.connection_kwargs
    is_tls = sentinel_pool.connection_class is family.tls
    if not is_tls and sentinel_pool.connection_class is not family.tcp:
        raise NotCarried("sentinels have other connections")
    _check_parameters(given, set())
    if is_tls:
        if pool.connection_class is not family.sentinel_tls:
            raise NotCarried("sentinels with TLS, and a primary without")
        if _chosen(given) != _chosen(pool.connection_kwargs):
            raise NotCarried("sentinels with other parameters of TLS than the primary")
    if given.get("credential_provider") is not None:
        raise NotCarried("a credential_provider of sentinels")
    return {
        "sentinel_tls": is_tls,
        "sentinel_username": given.get("username"),
        "sentinel_password": given.get("password"),
    }


def _chosen(given: dict[str, Any]) -> dict[str, Any]:
    """Options of TLS that are not as they are by default."""
    return {name: value for name, value in _tls_options(given).items() if value}


def _tls_options(given: dict[str, Any]) -> dict[str, Any]:
    """With a file of authorities, redis-py trusts those of the system, too, and the
    core does not: a server of theirs is reached over redis-py's own connections."""
    names = {name: given[name] for name in _TLS if name in given}
    try:
        return {"tls": True, **_tls.from_redis_py(names)}
    except ValueError as error:
        raise NotCarried(str(error)) from error


def _may_provide(provider: object) -> bool:
    """One that replaces credentials on its own account wants to speak to redis-py's
    connections."""
    return isinstance(provider, CredentialProvider) and not isinstance(
        provider, StreamingCredentialProvider
    )


def _is_fixed(provider: object) -> bool:
    return type(provider) is UsernamePasswordCredentialProvider


def _credentials(template: Any, family: Family) -> dict[str, Any]:
    provider: Any = template.credential_provider
    if provider is None:
        if not (template.username or template.password):
            return {}
        provider = UsernamePasswordCredentialProvider(
            template.username, template.password
        )
    if _is_fixed(provider):
        username, password = _pair(provider.get_credentials())
        return {"username": username, "password": password}
    is_async = inspect.iscoroutinefunction(family.tcp.connect)
    return {"credentials": _asking(provider) if not is_async else _awaiting(provider)}


def _pair(given: Any) -> tuple[str | None, str]:
    """redis-py's providers give a password, or a user and a password."""
    *username, password = given
    return (username[0] if username else None), password


def _asking(provider: Any) -> Callable[[], tuple[str | None, str]]:
    return lambda: _pair(provider.get_credentials())


def _awaiting(provider: Any) -> Callable[[], Awaitable[tuple[str | None, str]]]:
    async def ask() -> tuple[str | None, str]:
        return _pair(await provider.get_credentials_async())

    return ask


def _times(template: Any) -> dict[str, Any]:
    timeout = template.socket_timeout
    if timeout is not None and not 0 < timeout <= _DAY_S:
        raise NotCarried(f"socket_timeout={timeout!r}")
    # A silence that redis-py would wait out must not end the connection.
    times: dict[str, Any] = {
        "timeout": None if timeout is None else float(timeout),
        "stall_timeout": _HOUR_S if timeout is None else max(_STALL_S, float(timeout)),
    }
    times["stall_timeout"] = min(times["stall_timeout"], _HOUR_S)
    connect_timeout = template.socket_connect_timeout
    if connect_timeout is not None:
        times["connect_timeout"] = max(0.001, float(connect_timeout))
    if template.health_check_interval:
        times["ping_interval"] = float(template.health_check_interval)
    return times
