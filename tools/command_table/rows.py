"""What is known about each command, from the server and for newer servers by hand."""

from typing import Any, NamedTuple

FLAGS: tuple[str, ...] = ("readonly", "write", "blocking", "pubsub", "script")
FLAGS += ("movablekeys", "fast", "noscript", "admin", "loading")
SCRIPTS = ("EVAL", "EVALSHA", "FCALL", "EVAL_RO", "EVALSHA_RO", "FCALL_RO")
ADDED_FLAGS = {name: {"script"} for name in SCRIPTS}
ADDED_FLAGS["WAIT"] = {"blocking"}  # it always did; servers say so since 7.2

# Commands of servers newer than the one asked, from their documentation:
# name, arity, flags, first key, last key, step.  A server's own answer wins.
NEWER = """
WAITAOF 4 blocking 0 0 0           # Redis 7.2
HEXPIRE -6 write,fast 1 1 1        # Redis 7.4, Valkey 9.0, as the next ten
HPEXPIRE -6 write,fast 1 1 1
HEXPIREAT -6 write,fast 1 1 1
HPEXPIREAT -6 write,fast 1 1 1
HPERSIST -5 write,fast 1 1 1
HTTL -5 readonly,fast 1 1 1
HPTTL -5 readonly,fast 1 1 1
HEXPIRETIME -5 readonly,fast 1 1 1
HPEXPIRETIME -5 readonly,fast 1 1 1
HGETEX -5 write,fast 1 1 1         # Redis 8.0, Valkey 9.0
HSETEX -6 write,fast 1 1 1         # Redis 8.0, Valkey 9.0
HGETDEL -5 write,fast 1 1 1        # Redis 8.0
VADD -1 write 1 1 1                # Redis 8.0, as the next five
VREM -1 write 1 1 1
VSIM -1 readonly 1 1 1
VEMB -1 readonly 1 1 1
VCARD -1 readonly,fast 1 1 1
VDIM -1 readonly,fast 1 1 1
DELIFEQ 3 write,fast 1 1 1         # Valkey 9.0
"""


class Row(NamedTuple):
    arity: int
    flags: set[str]
    first_key: int
    last_key: int
    step: int


def table_rows(commands: list[list[Any]]) -> dict[str, Row]:
    """The rows by upper-case name, sorted; `commands` is a COMMAND reply."""
    rows = {}
    for line in NEWER.strip().splitlines():
        name, arity, flags, *keys = line.split("#")[0].split()
        first, last, step = map(int, keys)
        rows[name] = Row(int(arity), set(flags.split(",")), first, last, step)
    for command in commands:
        name = command[0].upper()
        told = {*command[2]} | ADDED_FLAGS.get(name, set())
        rows[name] = Row(command[1], told, *command[3:6])
    return dict(sorted(rows.items()))
