# SPDX-License-Identifier: MIT
"""Which commands may share a connection, and how redis-py's names go on the wire.

redis-py writes some commands as one argument of several words ("CONFIG GET") and
splits it when it packs.  Commands that change a connection, that block it, or whose
replies are not exactly one need a connection of their own: a lease, or else one of
redis-py's.  The core refuses most of them as well, and that answer counts too; the list
here saves the attempt and holds what the core has no reason to refuse.
"""

import math
from typing import Any, Final

from shoal._requests import READS_OF_STREAMS, block_option, blocks

Command = tuple[Any, ...]

# Names that are one upper-case word and may share a connection: nothing is to be done
# for them.  Learned at their first use; read by every command.
plain_names: set[object] = set()

_LEARNED_MAX: Final = 2048

_OWN_CONNECTION: Final = frozenset(
    "ASKING AUTH BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN CLIENT"
    " DEBUG DISCARD EXEC FAILOVER HELLO HIMPORT MONITOR MULTI PSUBSCRIBE PSYNC"
    " PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF RESET SELECT SHUTDOWN SSUBSCRIBE"
    " SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE UNWATCH WATCH".split()
)

# redis-py itself keeps a record of what these did to a connection.
_NEVER_LEASED: Final = frozenset({"HIMPORT"})

# These ask about earlier writes of the same connection, and block it.
_WAITS: Final = frozenset({"WAIT", "WAITAOF"})

# Their KILL must reach the server while the script runs: by another connection.
_SCRIPTS: Final = frozenset({"FUNCTION", "SCRIPT"})


def wire_form(args: Command) -> Command | None:
    """The arguments as they go on the wire, or None: not over a shared connection.

    None also for a name that is neither str nor bytes: redis-py says what is wrong.
    Threads: any.
    """
    name = args[0]
    if name in plain_names:
        return args
    if not isinstance(name, (str, bytes)):
        return None
    words = name.split()
    upper = [_upper(word) for word in (*words, *args[1:2])]
    if not words or upper[0] in _OWN_CONNECTION:
        return None
    if upper[0] in READS_OF_STREAMS:  # nearly all names are plain, but not these
        return None if blocks((*words, *args[1:])) else (*words, *args[1:])
    if upper[0] in _SCRIPTS:
        return None if upper[1:2] == ["KILL"] else (*words, *args[1:])
    if upper[0] in _WAITS:
        return args
    if name == upper[0] and len(plain_names) < _LEARNED_MAX:
        plain_names.add(name)
    return (*words, *args[1:])


def spelled(args: Command) -> Command | None:
    """The arguments as they go on the wire, whatever they do to the connection.

    None: the name is neither str nor bytes, or redis-py's own connection has to see it.
    Threads: any.
    """
    if not isinstance(args[0], (str, bytes)):
        return None
    words = args[0].split()
    if not words or _upper(words[0]) in _NEVER_LEASED:
        return None
    return (*words, *args[1:])


def blocks_for_ever(command: Command) -> bool:
    """Whether a command that blocks, in its wire form, has no timeout of its own."""
    name = _upper(command[0])
    if name in READS_OF_STREAMS:
        own = command[block_option(command) :]
    else:
        own = command[1:] if name in ("BLMPOP", "BZMPOP") else command[-1:]
    try:
        return float(own[0]) == 0
    except (IndexError, TypeError, ValueError):
        return False  # the server says what is wrong


def extras(command: Command) -> dict[str, Any]:
    """Options of the core's execute() for a command in its wire form."""
    if _upper(command[0]) not in _WAITS:
        return {}
    try:
        waits_ms = int(command[-1])
    except (TypeError, ValueError):
        waits_ms = 0  # the server says what is wrong
    # The server answers in time; 0 is for ever there.
    return {"may_block": True, "timeout": waits_ms / 1e3 + 5 if waits_ms else math.inf}


def _upper(word: object) -> str:
    if isinstance(word, bytes):
        return word.decode("latin-1").upper()
    return str(word).upper() if isinstance(word, str) else ""
