# SPDX-License-Identifier: MIT
"""How each strategy looks and what it is: colours, marks, labels, words.

Whatever colour vision a reader has, the main colours stay apart, by their lightness if
not by their hue: blue for auto, greys for off and raw, amber for pauses, pink, red and
green for clients without shoal.  Marks and labels say the same once more.
"""

from pages.results import Line, is_shoal

# name: on a light page, on a dark page.  Charts are drawn in the first colour, which
# drawing.py then replaces by the name; so no two are the same.
PALETTE = {
    "page": ("#ffffff", "#10141a"),
    "card": ("#f5f7fa", "#191f27"),
    "ink": ("#18212c", "#e8ecf2"),
    "soft": ("#55606e", "#9ca8b7"),
    "grid": ("#e3e8ee", "#2a323d"),
    "base": ("#99a3b0", "#5d6877"),
    "note": ("#eef4ff", "#15233a"),
    "warn": ("#fdf1d7", "#3a2f14"),
    "good": ("#17713f", "#5cc98d"),
    "bad": ("#b3261e", "#ff8f86"),
    "auto": ("#0b57d0", "#6aa8ff"),
    "auto-1": ("#0b8a7d", "#4fd0c0"),
    "auto-2": ("#7446c7", "#b697f5"),
    "auto-3": ("#a8481c", "#f2a27a"),
    "off": ("#343638", "#8b9096"),
    "pool": ("#d9539f", "#e487bf"),
    "collector": ("#b46351", "#ec9c8b"),
    "raw": ("#5f666f", "#b1bac6"),
    "fixed-0": ("#d9b36a", "#fde2a8"),
    "fixed-1": ("#bd9240", "#f9d285"),
    "fixed-2": ("#966d1e", "#f7c563"),
    "fixed-3": ("#755110", "#d9a544"),
    "fixed-4": ("#543807", "#b58530"),
    "explicit-0": ("#8fd3bf", "#c4fff0"),
    "explicit-1": ("#67bda4", "#a5fbe4"),
    "explicit-2": ("#43a88c", "#88f7d9"),
    "explicit-3": ("#2a8069", "#58cfb0"),
    "explicit-4": ("#185a48", "#38a589"),
}
SHADES = 5

MODE_WORDS = {
    "callback": "callers are callbacks on the client\u2019s thread",
    "sync": "callers are threads in blocking calls",
    "borrowed": "one thread submits and steps",
    "queue": "threads submit, and take results off completion queues",
    "lease": "callers are threads with a lease each, a connection of their own",
    "beside": "as callback, beside 64 callers that wait for pushed elements",
    "mixed": "callers are threads in blocking calls, beside callbacks at a rate on the"
    " same client",
    "explicit": "hiredis; pipelines filled and emptied by hand; latency is that of"
    " whole pipelines",
    "pool": "hiredis; each caller is a thread with a connection of its own",
    "collector": "hiredis; one thread gathers what callers have queued",
    "mutex": "hiredis; a mutex queue in front of its asynchronous interface",
    "redispp": "redis-plus-plus; threads share one client and its pool of connections",
    "raw": "the limit: commands encoded beforehand, one write for a whole batch,"
    " replies skipped; latency is that of whole batches",
}
FLUSH_WORDS = {
    "auto": "shoal decides by itself when a batch leaves",
    "off": "shoal sends what there is at the end of each loop turn",
    "fixed": "shoal pauses this many microseconds between batches",
}


def words_of(line: Line) -> str:
    """What the strategy does, in half a sentence."""
    flush, _, integrity = line.flush.partition("/")
    parts = [
        FLUSH_WORDS.get(flush.split(":")[0], ""),
        MODE_WORDS.get(line.mode.split(":")[0], line.mode),
        f"client and server kept in step: {integrity}" if integrity else "",
    ]
    return "; ".join(part for part in parts if part)


def number_of(text: str) -> int:
    """100 of fixed:100/strict; 0 if there is none."""
    digits = text.partition(":")[2].partition("/")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def shade(numbers: list[int], own: int) -> int:
    """Where a number stands among those of its kind, 0 .. SHADES - 1."""
    ordered = sorted(set(numbers))
    if len(ordered) < 2:
        return SHADES // 2
    return ordered.index(own) * (SHADES - 1) // (len(ordered) - 1)


def dress(lines: list[Line]) -> None:
    """Give each line its label, colour and mark."""
    ours = [line for line in lines if is_shoal(line.mode)]
    modes = list(dict.fromkeys(line.mode for line in ours))
    pauses = [number_of(ln.flush) for ln in ours if ln.flush.startswith("fixed:")]
    depths = [number_of(ln.mode) for ln in lines if ln.mode.startswith("explicit")]
    for line in lines:
        name = line.mode.split(":")[0]
        line.label = line.mode
        if line in ours:
            line.label = line.flush if len(modes) == 1 else f"{line.mode} {line.flush}"
            dress_ours(line, modes.index(line.mode), pauses)
        elif name == "explicit":
            line.color = f"explicit-{shade(depths, number_of(line.mode))}"
            line.marker = "os^vD"[shade(depths, number_of(line.mode))]
        elif name == "raw":
            line.color, line.marker, line.is_dashed = "raw", "D", True
        else:
            line.color = "pool" if name == "pool" else "collector"
            line.marker = "v" if name == "pool" else "^"


def dress_ours(line: Line, mode: int, pauses: list[int]) -> None:
    """A line of shoal; `mode` counts the modes, the main one first."""
    flush, _, integrity = line.flush.partition("/")
    line.is_dashed = bool(integrity)
    if flush.startswith("fixed:"):
        order = shade(pauses, number_of(line.flush))
        line.color, line.marker = f"fixed-{order}", "D^v<>"[order]
    elif flush == "off":
        line.color, line.marker = "off", "s"
    else:
        line.color = f"auto-{mode}" if 0 < mode < 4 else "auto"
        line.marker = "oD^v"[mode % 4]
        line.is_strong = mode == 0 and not integrity
    if mode > 0 and not line.color.startswith("auto"):
        line.is_dashed = True
