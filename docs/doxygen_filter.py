#!/usr/bin/env python3
"""Print a public header as Doxygen wants it.

In the headers a comment closes with lines such as `Threads: any`, under each other, and
longer ones go on indented.  Doxygen would run them together: each becomes a heading, and
each line of `Errors` that begins with a code becomes an item of a list.
"""

import re
import sys

HEADING = re.compile(r"^( \* )(Threads|Blocks|Ownership|Errors|Since): *(.*)$")
CODE = re.compile(r"^( \* ) *(SHOAL_E[A-Z]+ .*)$")


def convert(lines):
    """Yield the lines of one header."""
    in_errors = False
    for line in lines:
        heading = HEADING.match(line)
        if heading:
            star, word, rest = heading.groups()
            in_errors = word == "Errors"
            yield f"{star}@par {word}"
            line = f"{star}{rest}"
        elif line.strip() in ("*", "*/") or "*/" in line:
            in_errors = False
        code = CODE.match(line)
        if in_errors and code:
            line = f"{code[1]}- {code[2]}"
        yield line


if __name__ == "__main__":
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = file.read().splitlines()
    print("\n".join(convert(text)))
