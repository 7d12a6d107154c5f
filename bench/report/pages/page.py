# SPDX-License-Identifier: MIT
"""The whole page: one file that needs no other, for light and dark, phone and desk."""

import math
from html import escape
from pathlib import Path
from typing import Any

from pages import charts, tables
from pages.looks import PALETTE, dress
from pages.parts import legend, table
from pages.results import Group, Study, duration, moment, number, value_of

NOISY = 0.1  # rounds that differ by more than this share are worth a word
REACHED = 0.95  # of a rate; random arrivals of a short round may miss a little
TILES = 4  # more points than this have no tiles
KINDS = {"ok": "holds", "fails": "fails", "unknown": "unknown"}


def style() -> str:
    """The rules of the page, with the colours of both schemes."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in PALETTE.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in PALETTE.items())
    rules = (Path(__file__).parent / "style.css").read_text()
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{rules}"
    )


def title_of(study: Study) -> tuple[str, str]:
    """What was run, and the command."""
    command = str(study.runs[0]["config"].get("command", "")) if study.runs else ""
    name = "" if study.profile == "plain" else f", profile {study.profile}"
    return f"shoal-bench{name}", command


# The facts


def load_words(config: dict[str, Any]) -> str:
    text = str(config.get("command", ""))
    low, high = config.get("value_bytes", 0), config.get("value_bytes_max", 0)
    if "__data__" in text:
        text += f", data of {low}" + (f" to {high}" if high > low else "") + " bytes"
    if config.get("keyspace", 0) > 1:
        text += f", {config['keyspace']} keys ({config.get('key_pattern')})"
    if config.get("sets", 0) + config.get("gets", 0) > 0:
        text += f", SET to GET as {config['sets']} to {config['gets']}"
    return text + (", every reply compared" if config.get("verify") else "")


def listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def points_words(group: Group) -> str:
    values = listed(
        [f"{point.value:,}".replace(",", "\u202f") for point in group.points]
    )
    if group.is_open:
        text = f"open loop, {values} commands/s"
    else:
        only = len(group.points) == 1 and group.points[0].value == 1
        text = f"closed loop, {values} caller{'' if only else 's'}"
    return f"{text}, {group.name}" if group.name else text


def all_points_words(study: Study) -> str:
    """Group by group; the axis once, if the next group has the same."""
    texts: list[str] = []
    axis: list[int] = []
    for group in study.groups:
        values = [point.value for point in group.points]
        is_same = values == axis and group.name
        texts.append(f"the same with {group.name}" if is_same else points_words(group))
        axis = values
    return "; ".join(texts)


def server_words(study: Study) -> str:
    config = study.runs[0]["config"]
    urls = [str(run["config"].get("url", "")) for run in study.runs]
    where = urls[0]
    if config.get("private_server"):
        by_tcp = {"127.0.0.1" in url for url in urls}
        where = "private, on a Unix socket"
        if by_tcp == {True}:
            where = "private, on 127.0.0.1 by TCP"
        elif len(by_tcp) == 2:
            where = "private, on a Unix socket, and on 127.0.0.1 by TCP"
    text = (
        f"{config.get('server_version', '?')}, {where}, RESP{config.get('resp', '?')}"
    )
    if config.get("link"):
        text += f", over a link of {config['link']}"
    return text


def machine_words(config: dict[str, Any]) -> str:
    machine = config.get("machine", {})
    cpus = machine.get("cpus", 0)
    return (
        f"{machine.get('cpu', '?')}, {cpus} CPU{'' if cpus == 1 else 's'},"
        f" {machine.get('system', '?')}"
        + (", a virtual machine" if machine.get("virtual") else "")
    )


def pinning_words(config: dict[str, Any]) -> str:
    names = (
        ("server_cpu", "server"),
        ("client_cpu", "client"),
        ("generator_cpu", "load generator"),
    )
    parts = [
        f"{name} on CPU {config[key]}"
        for key, name in names
        if config.get(key) is not None
    ]
    return ", ".join(parts) or "nothing: client and server run where the system likes"


def rounds_words(study: Study) -> str:
    config = study.runs[0]["config"]
    rounds = max(len(run.get("rounds", [])) for run in study.runs)
    up_to = "up to " if study.content.get("interrupted") else ""
    if rounds > 1:
        text = f"medians of {up_to}{rounds} rounds, interleaved; "
    else:
        text = "a single round: nothing is known of the noise; "
    if config.get("requests"):
        text += f"{config['requests']} commands"
    else:
        text += f"{config.get('duration_s', 0):g} s"
    text += f" each after {config.get('warmup_s', 0):g} s of warm-up"
    if rounds > 1:
        text += (
            ". The throughput of one strategy\u2019s rounds differs by up to"
            f" \u00b1{study.spread:.0%}"
        )
    return text


def facts(study: Study) -> str:
    config, last = study.runs[0]["config"], study.runs[-1]["config"]
    versions = config.get("versions", {})
    pairs = {
        "Command": load_words(config),
        "Load": all_points_words(study),
        "Server": server_words(study),
        "Machine": machine_words(config),
        "Pinned": pinning_words(last),
        "Rounds": rounds_words(study),
        "Versions": ", ".join(f"{name} {value}" for name, value in versions.items()),
    }
    budget = config.get("budget_us")
    if budget:
        pairs["Budget"] = f"{duration(budget)} for --flush auto"
    items = "".join(
        f"<dt>{name}</dt><dd>{escape(text)}</dd>\n" for name, text in pairs.items()
    )
    return f"<div class='box'><h2>What was measured</h2>\n<dl>\n{items}</dl></div>\n"


# What it means


def ratio_words(ratio: float) -> str:
    if ratio >= 1.5:
        return f"{ratio:.1f} times"
    return f"{ratio - 1:.0%} more than" if ratio >= 1.05 else "about as much as"


def own_statements(study: Study) -> list[str]:
    """For a run that brings no findings: who is best, at each point."""
    sentences = []
    for group, point in study.all_points():
        runs = [(study.lines[i].label, run) for i, run in point.runs.items()]
        place = study.point_name(group, point)
        fast = sorted(((value_of(r, "ops_per_s"), n) for n, r in runs), reverse=True)
        tails = sorted((value_of(r, "latency_us.p99"), n) for n, r in runs)
        if len(runs) < 2 or math.isnan(fast[0][0]) or math.isnan(tails[0][0]):
            continue
        text = f"{place}: "
        if not group.is_open:
            text += (
                f"{fast[0][1]} does most, {number(fast[0][0])} commands/s,"
                f" {ratio_words(fast[0][0] / fast[1][0])} {fast[1][1]}; "
            )
        text += f"the least p99 is that of {tails[0][1]}, {number(tails[0][0])} \u00b5s"
        costs = sorted(
            (value_of(r, charts.CPU.keys[0]) + value_of(r, charts.CPU.keys[1]), n)
            for n, r in runs
        )
        if not math.isnan(costs[0][0]):
            text += (
                f"; the least CPU of both ends that of {costs[0][1]},"
                f" {number(costs[0][0])} \u00b5s per command"
            )
        sentences.append(text + ".")
    return sentences


def verdict_table(verdicts: list[dict[str, str]]) -> str:
    rows = []
    for verdict in verdicts:
        kind, about, text = (verdict.get(key, "") for key in ("kind", "about", "text"))
        rows.append(
            f"<tr><td class='{escape(kind)}'>{KINDS[kind]}</td><td>{escape(about)}</td>"
            f"<td>{escape(text)}</td></tr>\n"
        )
    return table(["result", "at", "verdict"], rows, "verdicts")


def meaning(study: Study) -> str:
    """The sentences of the run, and its verdicts, those that fail first."""
    notes = [f["text"] for f in study.findings if f.get("kind") == "note"]
    verdicts = [f for f in study.findings if f.get("kind") in KINDS]
    text = ""
    if verdicts:
        known = [v for v in verdicts if v["kind"] != "unknown"]
        failed = [v for v in known if v["kind"] == "fails"]
        held = f"{len(known) - len(failed)} of {len(known)} verdicts hold"
        if len(known) == 1:
            held = "The verdict fails" if failed else "The verdict holds"
        text += (
            f"<p><strong>{held}.</strong>"
            " Each stands on the medians of its own point; on a busy machine single"
            " points fail by chance.</p>\n"
        )
        if failed:
            text += verdict_table(failed[:8])
        text += (
            "<details><summary>Show all verdicts</summary>\n"
            f"{verdict_table(verdicts)}</details>\n"
        )
    else:
        notes = notes or own_statements(study)
    if notes:
        items = "".join(f"<li>{escape(note)}</li>\n" for note in notes)
        text += f"<ul>\n{items}</ul>\n"
    if not text:
        text = "<p>One strategy at one point: nothing is compared.</p>\n"
    return f"<div class='box means'><h2>What it means</h2>\n{text}</div>\n"


def tiles(study: Study) -> str:
    """The automatic setting at each of few points, beside the one most programs use."""
    text = ""
    mine = next((i for i, ln in enumerate(study.lines) if ln.is_strong), None)
    pool = next((i for i, ln in enumerate(study.lines) if ln.mode == "pool"), None)
    points = list(study.all_points())
    if mine is None or pool is None or len(points) > TILES or study.comes_and_goes:
        return ""
    for group, point in points:
        if mine not in point.runs or pool not in point.runs:
            continue
        key = "latency_us.p99" if group.is_open else "ops_per_s"
        unit = "p99" if group.is_open else "commands/s"
        show = moment if group.is_open else number
        own, other = (show(value_of(point.runs[i], key)) for i in (mine, pool))
        text += (
            f"<div class='tile'><p>{escape(study.point_name(group, point))}</p>\n"
            f"<p class='big'>{own} <small>{unit}</small></p>\n"
            f"<p class='than'>with {escape(study.lines[mine].label)}; {other}"
            " with a pool of connections</p></div>\n"
        )
    return f"<div class='tiles'>\n{text}</div>\n" if text else ""


# Warnings


def warning(text: str) -> str:
    return f"<p class='warn'>{escape(text)}</p>\n"


def rate_warning(study: Study) -> str:
    missed = [
        f"{study.lines[index].label} did {number(value_of(run, 'ops_per_s'))} of"
        f" {number(point.value)}"
        for group, point in study.all_points()
        for index, run in point.runs.items()
        if group.is_open and value_of(run, "ops_per_s") < REACHED * point.value
    ]
    if not missed:
        return ""
    return warning(
        f"Not every rate was reached, in commands per second: {'; '.join(missed)}."
    )


def warnings(study: Study) -> str:
    text = ""
    if study.content.get("interrupted"):
        text += warning("The run was interrupted: this is what was measured before.")
    for run in study.runs:
        if value_of(run, "errors") > 0:
            text += warning(
                f"{number(value_of(run, 'errors'))} commands of"
                f" {run.get('strategy', '?')} failed: its figures are not results. The"
                f" first error: {run.get('first_error', '?')}"
            )
    text += rate_warning(study)
    if study.spread > NOISY:
        text += warning(
            f"Rounds of the same strategy differ by up to \u00b1{study.spread:.0%}: the"
            " machine was busy with other things, or is shared. Trust ratios that are"
            " well beyond that, and no absolute figure."
        )
    return text


# The page

SECTIONS = (
    ("compared", "what is compared"),
    ("trade", "latency against throughput"),
    ("throughput", "throughput"),
    ("cpu", "CPU"),
    ("latency", "latency"),
    ("rate-cpu", "CPU over the rate"),
    ("rate-latency", "latency over the rate"),
    ("percentiles", "percentiles"),
    ("batches", "batches"),
    ("figures", "all figures"),
    ("again", "measure it again"),
)


def navigation(body: str, study: Study) -> str:
    names = dict(SECTIONS)
    for group, point in study.all_points():
        names[charts.anchor(group, point)] = study.point_name(group, point)
    places = sorted(
        (body.find(f"<section id='{name}'>"), name)
        for name in names
        if f"<section id='{name}'>" in body
    )
    links = "\n".join(
        f"<a href='#{name}'>{escape(names[name])}</a>" for _, name in places
    )
    return f"<nav aria-label='Sections'>\n{links}\n</nav>\n"


def page(content: dict[str, Any]) -> str:
    """The page of one file's content."""
    study = Study(content)
    dress(study.lines)
    what, command = title_of(study)
    if study.runs:
        sections = (
            legend(study)
            + charts.points_of(study)
            + charts.trades_of(study)
            + charts.curves(study)
            + charts.percentiles(study)
            + tables.batches(study)
            + tables.all_figures(study)
            + tables.reproduce(study)
        )
        body = (
            navigation(sections, study)
            + warnings(study)
            + tiles(study)
            + "<div class='top'>\n"
            + meaning(study)
            + facts(study)
            + "</div>\n"
            + sections
        )
    else:
        body = warning("Nothing was measured.")
    tool = escape(str(study.content.get("tool", "shoal-bench")))
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>\n"
        f"<title>{escape(what)}: {escape(command)}</title>\n"
        f"<style>\n{style()}</style>\n</head>\n<body>\n<header>\n"
        f"<h1>{escape(what)}: <code>{escape(command)}</code></h1>\n"
        "<p class='soft'>Throughput, latency, and the CPU of both ends, for each way of"
        f" getting commands to the server, measured in one run.</p>\n</header>\n{body}"
        f"<footer>Measured by {tool}. Every figure is of the run that wrote this page;"
        " do not trust it for your case, measure yours.</footer>\n</body>\n</html>\n"
    )
