# SPDX-License-Identifier: MIT
"""SET without options, which is what programs call most.

redis-py's set() looks at each of its options, which takes longer than the library takes
to carry the command.
"""

import functools
from typing import TYPE_CHECKING, Any

from redis.commands.core import BasicKeyCommands


class PlainSet:
    """A client whose set() leaves calls with options to redis-py."""

    if not TYPE_CHECKING:  # what type checkers see is redis-py's

        @functools.wraps(BasicKeyCommands.set)
        def set(self, name: Any, value: Any, *args: Any, **options: Any) -> Any:
            if args or options:
                return super().set(name, value, *args, **options)
            return self.execute_command("SET", name, value)
