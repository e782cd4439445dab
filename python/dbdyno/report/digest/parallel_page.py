"""What parallel replication could bring, as one HTML file."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from dbdyno.digest.parallelism import Parallelism
from dbdyno.report import templating
from dbdyno.report.charts.lines import Point, Series, line_chart, value_axis
from dbdyno.report.digest import parallel
from dbdyno.report.figures import Figure
from dbdyno.wording.digest import replication, words

STYLES = {"schema": 0, "log": 1, "rows": 2}


def page(found: Parallelism) -> str:
    """The page; it needs no network and no other file."""
    by = found.schemas
    return templating.styled(
        "digest_parallel.html.j2",
        {
            "title": ", ".join(one.path for one in found.inputs)[:120],
            "answer": replication.answer(found),
            "censoring": words.censoring(found),
            "missed": words.not_understood(found),
            "sources": words.sources(found),
            "schemas": by and parallel.schema_rows(by),
            "heads": by and parallel.heads(by),
            "bound": by and replication.bound(by),
            "busy": by and parallel.busy_rows(by),
            "figures": figures(found),
            "workers": parallel.workers(found),
            "curves": [
                (
                    replication.RULES[one.rule],
                    "kept" if one.commit_order else "any",
                    [replication.speedup(one.at(n)) for n in parallel.workers(found)],
                )
                for one in parallel.ordered(found)
            ],
            "enough": replication.enough(found),
            "assumptions": replication.assumptions(found),
        },
    )


def figures(found: Parallelism) -> list[Figure]:
    """Speed-up by workers, with commit order kept and not, on one vertical axis."""
    drawn = {kept: _series(found, kept) for kept in (True, False)}
    axis = value_axis([one for each in drawn.values() for one in each])

    def draw(kept: bool, width: float) -> Markup:
        return line_chart(
            drawn[kept],
            title=f"Speed-up by workers, {parallel.ORDERS[kept]}",
            unit="times as fast as one worker",
            x_label="workers",
            x_levels=[float(n) for n in parallel.workers(found)],
            width=width,
            height=300 if width > 400 else 250,
            axis=axis,
            log=True,
        )

    return [
        Figure(
            f"Speed-up by workers, {parallel.ORDERS[kept]}",
            "Simulated from the order of the log's transactions.",
            f"speedup-{'ordered' if kept else 'any'}",
            partial(draw, kept),
        )
        for kept in (True, False)
        if drawn[kept]
    ]


def _series(found: Parallelism, kept: bool) -> list[Series]:
    return [
        Series(
            replication.RULES[one.rule],
            STYLES[one.rule],
            tuple(Point(float(p.workers), p.speedup, None, None) for p in one.points),
        )
        for one in found.curves
        if one.commit_order == kept
    ]
