# SPDX-License-Identifier: MIT
"""Words of commands, out of what their methods take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    S = TypeVar("S", bytes, str, default=bytes)
else:
    from typing import TypeVar

    #: What the strings of replies are.
    S = TypeVar("S", bytes, str)

_ONE = (str, bytes, bytearray, memoryview, int, float)


def several(words: Any) -> tuple[Any, ...] | list[Any]:
    """One word, or an iterable of words. A text is one word."""
    if isinstance(words, (list, tuple)):
        return words
    if isinstance(words, _ONE) or not isinstance(words, Iterable):
        return (words,)
    return tuple(words)


def flat(mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Each key, followed by its value."""
    return tuple([word for pair in mapping.items() for word in pair])


def swapped(mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Each value, followed by its key."""
    return tuple([word for key, value in mapping.items() for word in (value, key)])
