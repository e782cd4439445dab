"""Combined runs in the terminal and as Markdown."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.between_runs.pooling import Combined
from dbdyno.report.between_runs.comparison import left_out_lines, lines
from dbdyno.report.text import escaping
from dbdyno.wording.between_runs import pooling_text
from dbdyno.wording.visible import visible

CLAIMS = "Claims by the combined ratios"
HEAD = ("run", "ratio", "95 % interval", "weight")


def combined_text(found: Combined) -> RenderableType:
    """What `dyno pool` prints."""
    parts: list[RenderableType] = [
        Text(f"{visible(found.experiment)}: {len(found.runs)} runs", style="bold")
    ]
    if differ := pooling_text.changes(found):
        parts += lines("changed from run to run", differ)
    parts += lines(CLAIMS, pooling_text.claims(found))
    for line in found.lines:
        table = Table(
            title=Text(visible(pooling_text.heading(line)), style="bold"),
            title_justify="left",
            box=None,
            pad_edge=False,
        )
        for name in HEAD:
            table.add_column(name, justify="left" if name == "run" else "right")
        for row in pooling_text.table(line):
            cells = (row.name, row.ratio, row.interval, row.weight)
            style = "bold" if row.name == "combined" else ""
            table.add_row(*(Text(visible(cell), style=style) for cell in cells))
        said = [Text(visible(one)) for one in pooling_text.sentences(line)]
        parts += [Text(), table, *said]
    parts += [
        Text(),
        Text(pooling_text.limits(found), style="dim"),
        *left_out_lines(found.left_out),
    ]
    return Group(*parts)


def combined_markdown(found: Combined) -> str:
    """The same as Markdown."""
    md = escaping.markdown
    parts = [f"# {md(found.experiment)}: {len(found.runs)} runs combined\n"]
    if differ := pooling_text.changes(found):
        parts += ["Changed from run to run:\n", *(f"- {md(one)}" for one in differ), ""]
    parts += [f"{CLAIMS}:\n", *(f"- {md(one)}" for one in pooling_text.claims(found)), ""]
    for line in found.lines:
        parts += [
            f"## {md(pooling_text.heading(line))}\n",
            f"| {' | '.join(HEAD)} |",
            "|---|---|---|---|",
        ]
        for row in pooling_text.table(line):
            cells = (row.name, row.ratio, row.interval, row.weight)
            parts.append(f"| {' | '.join(map(md, cells))} |")
        parts += ["", md(" ".join(pooling_text.sentences(line))), ""]
    parts.append(pooling_text.limits(found))
    parts += [f"\nSkipped: {md(one.what)}: {md(one.why)}" for one in found.left_out]
    return "\n".join(parts) + "\n"
