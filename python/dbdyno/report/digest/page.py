"""A digest as one HTML file: load over time by class, concurrency, stalls, profile, classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from dbdyno.digest.document import Class, Concurrency, Distribution, Document
from dbdyno.report import templating
from dbdyno.report.charts.columns import columns
from dbdyno.report.charts.over_time.areas import SHADES, Band, areas
from dbdyno.report.digest import profile
from dbdyno.report.digest.profile import Column
from dbdyno.report.digest.text import squeeze, steps
from dbdyno.report.figures import Figure
from dbdyno.wording.digest import amounts, words

TEMPLATE = "digest.html.j2"
WIDE = 1040.0
HALF = 500.0
BANDS = SHADES - 1  # classes with a colour; the last one is all others'
DEGREES_MAX = 40
CHARTS_MAX = 60  # classes with charts of their own; all have their numbers


@dataclass(frozen=True)
class ProfileRow:
    """A line of the profile, each cell with the number that it sorts by."""

    one: Class
    cells: tuple[tuple[str, float], ...]
    share: float


@dataclass(frozen=True)
class Table:
    """A row a measure."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Section:
    """A class in full."""

    one: Class
    title: str
    lead: str
    numbers: Table
    facts: tuple[tuple[str, str], ...]
    histogram: Markup | None
    load: Markup | None


def page(document: Document) -> str:
    """The page; it needs no network and no other file."""
    return templating.styled(TEMPLATE, view(document), script="digest.js")


def view(document: Document, only: Sequence[Class] | None = None) -> dict[str, Any]:
    """What the template draws. `only`: the classes that are listed and drawn by name."""
    found = profile.columns(document, maxima=True)
    classes = document.classes if only is None else tuple(only)
    return {
        "title": ", ".join(one.path for one in document.inputs)[:120],
        "answer": words.answer(document),
        "censoring": words.limits(document),
        "notes": words.notes(document),
        "figures": figures(replace(document, classes=classes)),
        "heads": [one.head for one in found],
        "what": "statement" if document.group_by == "fingerprint" else "what",
        "rows": [_profile_row(document, found, one) for one in classes],
        "legend": profile.legend(found, classes),
        "overall": _table(amounts.main_measures(document.overall)),
        "overall_said": [*words.overall(document), *words.flags(document.overall)],
        "rest": words.rest(document),
        "sections": [_section(document, one, i) for i, one in enumerate(classes)],
        "sources": words.sources(document),
        "missed": words.not_understood(document),
        "numbers_notes": words.numbers_notes(document),
    }


def figures(document: Document) -> list[Figure]:
    """Load by class, stalls and concurrency, as far as they are known."""
    found = []
    timeline = document.timeline
    if timeline and any(timeline.time_s):
        found.append(_load(document))
        if document.longest_gap_s:
            found.append(_gaps(document))
    if (told := document.told_concurrency) and len(told.seconds) > 1:
        found.append(_concurrency(told))
    return found


def _load(document: Document) -> Figure:
    timeline = document.timeline
    assert timeline is not None
    named = [one for one in document.classes if one.timeline_s][:BANDS]

    def draw(width: float) -> Markup:
        length = steps(document, int(width / 3))
        step = timeline.bucket_s * len(timeline.time_s) / length
        whole = _running(timeline.time_s, timeline.bucket_s, length)
        bands = [
            Band(
                f"{one.rank}. {amounts.label(one)}",
                _running(one.timeline_s or (), timeline.bucket_s, length),
            )
            for one in named
        ]
        parts = list(zip(*(one.values for one in bands), strict=True)) or [()] * length
        others = [max(0.0, w - sum(p)) for w, p in zip(whole, parts, strict=True)]
        if max(others) > 1e-9 * max(whole):
            bands.append(Band("all others", tuple(others)))
        return areas(
            bands,
            begin_unix_s=timeline.begin_unix_s,
            step_s=step,
            title="Load over time by class",
            unit="statements at once, mean",
            width=width,
            height=260,
        )

    return Figure(
        "Load over time by class",
        "Query time by length of time: how many statements ran at once on average. "
        + ("A statement counts where it ended. UTC." if document.is_sampled else "UTC."),
        "load",
        draw,
        WIDE,
    )


def _running(values: Sequence[float], bucket_s: float, length: int) -> tuple[float, ...]:
    return tuple(value / bucket_s for value in squeeze(values, length, mean=True))


def _gaps(document: Document) -> Figure:
    timeline = document.timeline
    assert timeline is not None

    def draw(width: float) -> Markup:
        steps = len(timeline.gap_s)
        length = min(steps, int(width / 3))
        longest = [
            max(timeline.gap_s[i * steps // length : (i + 1) * steps // length])
            for i in range(length)
        ]
        return columns(
            longest,
            title="Stalls",
            unit="seconds without an end of a statement, longest",
            width=width,
            shade=1,
            begin_unix_s=timeline.begin_unix_s,
            step_s=timeline.bucket_s * steps / length,
        )

    note = "The longest gap between two ends of statements. A column that stands out is a stall."
    if document.clock_s:
        note += " The log's clock has full seconds: gaps of up to one tell nothing."
    return Figure("Stalls", note, "stalls", draw, WIDE)


def _concurrency(found: Concurrency) -> Figure:
    total = sum(found.seconds) or 1.0
    degrees = len(found.seconds)
    group = -(-degrees // DEGREES_MAX)
    shares, labels = [], []
    for low in range(0, degrees, group):
        high = min(degrees, low + group) - 1
        shares.append(sum(found.seconds[low : high + 1]) / total * 100)
        labels.append(str(low) if low == high else f"{low}–{high}")

    def draw(width: float) -> Markup:
        return columns(
            shares, labels, title="Concurrency", unit="% of the time", width=width, shade=2
        )

    note = f"How many statements ran at the same time; at most {found.max:,}."
    if found.caveat:
        note += f" Not exact: {found.caveat}."
    return Figure("Concurrency", note, "concurrency", draw, WIDE)


def _profile_row(document: Document, found: Sequence[Column], one: Class) -> ProfileRow:
    numbers = [(column, column.of(one)) for column in found]
    cells = tuple((column.shown(by), -1.0 if by is None else by) for column, by in numbers)
    share = profile.share_of(document)(one) or 0.0
    return ProfileRow(one, cells, min(1.0, max(0.0, share)))


def _table(measured: Sequence[tuple[str, str, Distribution]]) -> Table:
    shown = amounts.columns(measured)
    return Table(
        shown,
        tuple(
            (amounts.measure(name), tuple(amounts.cell(values, unit, column) for column in shown))
            for name, unit, values in measured
        ),
    )


def _section(document: Document, one: Class, place: int) -> Section:
    lead = [amounts.called(one)]
    if one.time_share is not None:
        lead.append(f"{amounts.share(one.time_share)} of the time")
    if one.errors:
        lead.append(f"{one.errors:,} with an error")
    drawn = place < CHARTS_MAX
    return Section(
        one=one,
        title=amounts.label(one),
        lead=", ".join(lead),
        numbers=_table(amounts.measured(one)),
        facts=tuple(words.facts(document, one)),
        histogram=_histogram(one) if drawn and one.histogram and sum(one.histogram) else None,
        load=_own_load(document, one) if drawn and one.timeline_s and any(one.timeline_s) else None,
    )


def _histogram(one: Class) -> Markup:
    counts = one.histogram or ()
    return columns(
        counts,
        amounts.BUCKETS,
        title=f"Query times of class {one.rank}",
        unit="calls by query time",
        width=HALF,
        shade=0,
    )


def _own_load(document: Document, one: Class) -> Markup | None:
    timeline = document.timeline
    if timeline is None or one.timeline_s is None:
        return None
    length = steps(document, int(HALF / 3))
    return areas(
        [Band(amounts.label(one), _running(one.timeline_s, timeline.bucket_s, length))],
        begin_unix_s=timeline.begin_unix_s,
        step_s=timeline.bucket_s * len(one.timeline_s) / length,
        title=f"Load of class {one.rank} over time",
        unit="at once, mean",
        width=HALF,
        height=150,
    )
