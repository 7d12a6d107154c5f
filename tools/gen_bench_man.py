#!/usr/bin/env python3
"""gen_bench_man.py PROGRAM [--check FILE]: the manual page of shoal-bench.

Made from what `PROGRAM --help` prints, so that it says what the program says.  --check compares with FILE instead of printing.
"""

import re
import subprocess
import sys

# "-c, --callers N", "--resp 2|3", "-v, --verbose"
NAMES = re.compile(r"^ +(?P<names>(?:-\S, )?--[a-z-]+(?: (?:[A-Z][A-Z:-]*|2\|3)(?= |$))?)")

END = """\
.SH EXIT STATUS
.TP
.B 0
The measurement is complete.
.TP
.B 1
A command failed, a reply was wrong, a file could not be written, or with
\\fB\\-\\-strict\\fR a verdict failed.
.TP
.B 2
An option is wrong, or nothing is left to measure.
.TP
.B 130
A signal interrupted it; the table shows what was measured so far.
.SH SEE ALSO
.BR shoal (7),
.BR redis-benchmark (1)
"""


def escaped(text):
    """Plain text as roff prints it unchanged."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def option(names, text):
    """One item of a list."""
    words = [re.sub(r"(-{1,2}[a-z-]+)", r"<\1>", name) for name in names.split(", ")]
    bold = escaped(", ".join(words)).replace("<", "\\fB").replace(">", "\\fR")
    return f".TP\n{bold}\n{escaped(text)}"


def options(lines):
    """The items of one group of options; continued lines are joined."""
    items = []
    for line in lines:
        match = NAMES.match(line)
        if match:
            items.append((match["names"], [line[match.end() :].strip()]))
        else:
            items[-1][1].append(line.strip())
    return "\n".join(option(names, " ".join(text).strip()) for names, text in items)


def page(text):
    """The whole page, of what --help says."""
    usage, about, *groups = text.rstrip("\n").split("\n\n")
    out = [
        '.TH SHOAL\\-BENCH 1 "" shoal "User Commands"',
        ".SH NAME",
        "shoal\\-bench \\- measure clients of Redis and Valkey",
        ".SH SYNOPSIS",
        ".B shoal\\-bench",
        escaped(usage.partition(" ")[2]),
        ".SH DESCRIPTION",
        escaped(" ".join(about.split("\n"))),
        ".SH OPTIONS",
    ]
    for group in groups:
        title, *lines = group.split("\n")
        if title == "For example":
            out += [".SH EXAMPLES", ".nf", *(escaped(line) for line in lines), ".fi"]
        else:
            out += [f".SS {title}", options(lines)]
    return "\n".join(out) + "\n" + END


def main():
    program = sys.argv[1]

    run = subprocess.run(
        [program, "--help"], check=True, capture_output=True, text=True
    )
    made = page(run.stdout)
    if sys.argv[2:3] != ["--check"]:
        print(made, end="")
        return 0
    with open(sys.argv[3], encoding="utf-8") as file:
        if file.read() == made:
            return 0
    print(f"{sys.argv[3]} is not what {program} --help says; renew it:", file=sys.stderr)
    print(f"  tools/gen_bench_man.py {program} >{sys.argv[3]}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
