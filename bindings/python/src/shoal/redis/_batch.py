# SPDX-License-Identifier: MIT
"""The replies of a plain pipeline, as redis-py's callbacks make them.

redis-py reads one reply after another through several methods each, which costs more
than all the rest; here they come in one list.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.exceptions import ResponseError

from ._errors import translate
from ._routes import Command, plain_names

# Callbacks are kept under upper-case names, which plain names are: the search of
# redis-py's dictionary, written in Python, can be passed over.
find_callback: Any = dict.get

# For redis-py itself, not for callbacks.
_TAKEN_OUT = frozenset({"keys", EMPTY_RESPONSE, NEVER_DECODE})


Commands = Iterable[tuple[Command, Mapping[str, Any]]]


def decoder_of(commands: Commands, lane: Any) -> Callable[[Any], Any] | None:
    """What decodes replies, if some of the batch are to be decoded and some are not:
    all of them come as bytes then."""
    if not lane.template.encoder.decode_responses:
        return None
    if not any(NEVER_DECODE in options for _, options in commands):
        return None
    decode: Callable[[Any], Any] = lane.core._options.decoded.mend
    return decode


def read_batch(
    commands: Commands,
    replies: Iterable[Any],
    callbacks: Any,
    decode: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """One value per command; error replies are values, as redis-py has it.

    `decode` is decoder_of() the batch.

    A value may be awaitable, if an asyncio client's callback is.  Raises what is no
    error reply: then redis-py's Retry decides about the whole.
    """
    values = []
    for (args, options), reply in zip(commands, replies, strict=True):
        if isinstance(reply, Exception):
            error = translate(reply)
            if not isinstance(error, ResponseError):
                raise error
            values.append(options.get(EMPTY_RESPONSE, error))
            continue
        if decode is not None and NEVER_DECODE not in options:
            reply = decode(reply)
        name = args[0]
        if name in plain_names:
            callback = find_callback(callbacks, name)
        else:
            callback = callbacks.get(name)
        if callback is not None:
            wanted = {k: v for k, v in options.items() if k not in _TAKEN_OUT}
            reply = callback(reply, **wanted)
        values.append(reply)
    return values
