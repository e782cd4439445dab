"""Findings in the terminal, and as Markdown."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dbdyno.report.check import space, words
from dbdyno.report.text import escaping
from dbdyno.report.text.table import terminal_table
from dbdyno.rules.check.judging import Judged
from dbdyno.rules.check.overview import Overview
from dbdyno.rules.check.rule import Finding
from dbdyno.wording.visible import visible

_STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}


def text(judged: Judged) -> RenderableType:
    """What `dyno check` prints. Of several subjects each finding names its own."""
    parts: list[RenderableType] = [
        Text(visible(words.subject(facts)), style="bold") for facts in judged.subjects
    ]
    several = len(judged.subjects) > 1
    for one in space.views(judged.subjects):
        parts += [Text(), _space(one, several)]
    for finding in judged.findings:
        parts += [Text(), *_finding(words.shown(finding), several)]
    for overview in judged.overviews:
        parts += [Text(), *_overview(overview)]
    rest = [f"known: {_brief(one, several)}" for one in judged.known]
    rest += [
        f"ignored: {_brief(one.finding, several)} (reason: {one.reason})" for one in judged.ignored
    ]
    rest += [f"not known: {line}" for line in (*words.unknown(judged), *words.unread(judged))]
    parts += [Text(), *(Text(visible(line), style="dim") for line in rest)]
    return Group(*parts, Text(), Text(words.summary(judged), style="bold"))


def _overview(one: Overview) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in one.columns:
        table.add_column(name, overflow="fold")
    for row in one.rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    note = Text(one.note, style="dim")
    return [Text(visible(one.title), style="bold"), Padding(Group(table, note), (0, 0, 0, 2))]


def _space(one: space.Space, several: bool) -> RenderableType:
    table = terminal_table(one.subject if several else "")
    for at, name in enumerate(space.HEAD):
        table.add_column(name, justify="right" if at else "left", overflow="fold")
    for row in one.rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def _brief(one: Finding, several: bool) -> str:
    subject = f"{one.subject}: " if several else ""
    return f"{one.rule}: {subject}{one.found.what}"


def _finding(one: words.Shown, several: bool) -> list[RenderableType]:
    head = Text()
    head.append(f"{one.severity:8} ", style=_STYLES[one.severity])
    head.append(visible(one.rule), style="bold")
    subject = f"{one.subject}: " if several else ""
    head.append(visible(f"  {subject}{one.what}"))
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    for label, lines in one.rows:
        for i, line in enumerate(lines):
            rows.add_row(label if i == 0 else "", Text(visible(line)))
    return [head, Padding(rows, (0, 0, 0, 2))]


def markdown(judged: Judged) -> str:
    """The same as Markdown."""
    md = escaping.markdown
    parts = ["# Check\n", *(f"- {md(words.subject(facts))}" for facts in judged.subjects), ""]
    parts += [f"{md(words.summary(judged))}\n"]
    for table in space.views(judged.subjects):
        parts += [f"## Space: {md(table.subject)}\n", f"| {' | '.join(space.HEAD)} |"]
        parts += [f"|---|{'---:|' * (len(space.HEAD) - 1)}"]
        parts += [f"| {' | '.join(map(md, row))} |" for row in table.rows]
        parts.append("")
    for finding in judged.findings:
        one = words.shown(finding)
        parts += [f"## {one.severity}: {md(one.rule)}\n", f"{md(one.subject)}: {md(one.what)}\n"]
        parts += [f"- {label}: {md(line)}" for label, lines in one.rows for line in lines]
        parts.append("")
    for overview in judged.overviews:
        parts += [f"## {md(overview.title)}\n", *_rows(overview), f"\n{md(overview.note)}\n"]
    if judged.known:
        parts += ["## Known\n", *(f"- {md(k.rule)}: {md(k.found.what)}" for k in judged.known), ""]
    if judged.ignored:
        parts += ["## Ignored\n"]
        parts += [f"- {md(i.finding.rule)}: {md(i.reason)}" for i in judged.ignored]
        parts.append("")
    if unknown := [*words.unknown(judged), *words.unread(judged)]:
        parts += ["## Not known\n", *(f"- {md(line)}" for line in unknown), ""]
    return "\n".join(parts)


def _rows(one: Overview) -> list[str]:
    lines = [f"| {' | '.join(map(escaping.markdown, row))} |" for row in (one.columns, *one.rows)]
    return [lines[0], "|---" * len(one.columns) + "|", *lines[1:]]
