"""Combined runs as one HTML file, with a forest plot a comparison."""

from __future__ import annotations

from dbdyno.analysis.between_runs.pooling import Combined
from dbdyno.report import templating
from dbdyno.report.charts.ratios.forest import Mark, forest
from dbdyno.wording.between_runs import pooling_text

WIDTH = 760.0


def combined_page(found: Combined) -> str:
    """The page; it needs no network and no other file."""
    sections = [
        {
            "heading": pooling_text.heading(line),
            "drawing": forest(
                [
                    Mark(one.run, one.ratio, one.low, one.high, one.weight or 0.0)
                    for one in line.effects
                    if one.ratio is not None and one.low is not None and one.high is not None
                ],
                line.pooled,
                title=pooling_text.heading(line),
                width=WIDTH,
            )
            if line.pooled
            else "",
            "rows": pooling_text.table(line),
            "sentences": pooling_text.sentences(line),
        }
        for line in found.lines
    ]
    return templating.styled(
        "pool.html.j2",
        {
            "experiment": found.experiment,
            "runs": len(found.runs),
            "claims": pooling_text.claims(found),
            "sections": sections,
            "differ": pooling_text.changes(found),
            "left_out": found.left_out,
            "limits": pooling_text.limits(found),
        },
    )
