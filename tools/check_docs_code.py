#!/usr/bin/env python3
"""Fail if C code in the documents does not compile.

A block that begins with #include is a whole program.  Any other ```c block is a part of a
function, in which the names of PRELUDE exist; declarations of its own hide them.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```c\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = ["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
PRELUDE = """\
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void fragment(shoal_client_t *client, const char *key, const char *value,
              size_t value_bytes);
void fragment(shoal_client_t *client, const char *key, const char *value,
              size_t value_bytes)
{
    (void)client; (void)key; (void)value; (void)value_bytes;
    {
#line %d "%s"
%s
    }
}
"""
LENIENT = ["-Wno-unused-but-set-variable", "-Wno-unused-variable", "-Wno-shadow"]


def blocks(path):
    """Yield (line, code) of each block of C in a document."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def compiles(path, line, code, compiler):
    """Is the block good C?  The compiler says what is wrong."""
    name = path.relative_to(ROOT)
    flags = [*FLAGS, f"-I{ROOT / 'include'}"]
    if code.startswith("#include"):
        source = f'#line {line} "{name}"\n{code}'
    else:
        source, flags = PRELUDE % (line, name, code), [*flags, *LENIENT]
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(source)
        file.flush()
        return subprocess.run([compiler, *flags, file.name], check=False).returncode == 0


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "cc"
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [(path, *block) for path in paths for block in blocks(path)]
    good = [compiles(*block, compiler) for block in found]
    if not all(good) or not found:
        print(f"{good.count(False)} of {len(found)} blocks do not compile")
        return 1
    print(f"code in documents ok: {len(found)} blocks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
