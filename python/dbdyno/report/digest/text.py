"""A digest for the terminal: the answer, what limits it, all statements together, the profile, then
every class."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from dbdyno.digest.document import Class, Distribution, Document
from dbdyno.report.digest.cut import elide, fit
from dbdyno.report.digest.table import profile
from dbdyno.report.text.sparkline import sparkline
from dbdyno.wording.digest import amounts, words
from dbdyno.wording.numbers import sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

SHORT = ("total", "mean", "p95", "max")  # columns of measures on a narrow terminal
STATEMENT_LINES = 12


def text(document: Document, width: int = 100, *, brief: bool = False) -> str:
    """The whole report; `width` in columns, at least 40. `brief`: without a part for each class."""
    width = max(40, width)
    lines = [words.answer(document)]
    lines += words.limits(document)
    lines += [f"note: {amounts.one_line(note)}" for note in words.notes(document)]
    lines += ["", *words.sources(document)]
    if document.classes:
        lines += ["", *_overall(document, width), "", *profile(document, width)]
    if document.timeline and any(document.timeline.time_s):
        lines += ["", *_over_time(document, width)]
    for one in () if brief else document.classes:
        lines += ["", *_class(document, one, width)]
    for note in words.numbers_notes(document):
        lines += ["", note]
    if missed := words.not_understood(document):
        lines += ["", "Not understood", *missed]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _overall(document: Document, width: int) -> list[str]:
    """All statements together, whether their classes are listed or not."""
    lines = [fit(f"overall: {', '.join(words.overall(document))}", width)]
    rows = amounts.main_measures(document.overall)
    if rows:
        lines += _numbers(rows, width)
    if flags := words.flags(document.overall):
        lines.append(f"   {fit(', '.join(flags), width - 3)}")
    return lines


def _over_time(document: Document, width: int) -> list[str]:
    timeline = document.timeline
    assert timeline is not None
    length = steps(document, max(10, width - 20))
    load = [t / timeline.bucket_s for t in squeeze(timeline.time_s, length, mean=True)]
    lines = [
        f"{'running':<9}{_spark(load)}  up to {sig3(max(load))} at once",
        f"{'':<9}from {amounts.moment(timeline.begin_unix_s)} UTC,"
        f" means of {amounts.duration(timeline.bucket_s * len(timeline.time_s) / length)}"
        + (", by where statements ended" if document.is_sampled else ""),
    ]
    if document.longest_gap_s:
        worst = max(range(len(timeline.gap_s)), key=lambda i: timeline.gap_s[i])
        at = timeline.begin_unix_s + worst * timeline.bucket_s
        lines.append(
            f"{'gap':<9}longest without an end of a statement:"
            f" {amounts.duration(timeline.gap_s[worst])}, in the step from {amounts.moment(at)}"
        )
    if (found := document.told_concurrency) and found.max:
        said = f"{'at once':<9}at most {count(found.max, 'statement')}"
        if found.caveat:
            said += f" ({amounts.one_line(found.caveat)})"
        lines.append(said)
    return lines


def _spark(values: Sequence[float]) -> str:
    """A sparkline from 0 up."""
    return sparkline([0.0, *values], len(values) + 1)[1:]


def steps(document: Document, most: int) -> int:
    """In how many steps to draw the timeline: at most `most`, none shorter than the log's clock."""
    timeline = document.timeline
    if timeline is None:
        return 0
    whole_s = timeline.bucket_s * len(timeline.time_s)
    told = int(whole_s / document.clock_s) if document.clock_s else most
    return max(1, min(len(timeline.time_s), most, told))


def squeeze(values: Sequence[float], length: int, *, mean: bool = False) -> list[float]:
    """Neighbours joined until at most `length` values are left: their sums, or means."""
    if len(values) <= length or length < 1:
        return list(values)
    joined = []
    for i in range(length):
        part = values[i * len(values) // length : (i + 1) * len(values) // length]
        joined.append(sum(part) / len(part) if mean else sum(part))
    return joined


def _class(document: Document, one: Class, width: int) -> list[str]:
    ids = f"ID {one.id}" + (f", pt-query-digest {one.pt_id}" if one.pt_id else "")
    head = f"{one.rank}. {amounts.label(one)}"
    lines = [elide(head, width), f"   {ids}"]
    said = [amounts.called(one)]
    if one.weighted_count != one.count:
        said.append(f"{one.count:,} of them in the log")
    if one.time_share is not None:
        said.append(f"{amounts.share(one.time_share)} of the time")
    if one.v_m is not None:
        said.append(f"V/M {one.v_m:.2f}")
    if one.errors:
        said.append(f"{one.errors:,} with an error")
    lines += [f"   {', '.join(said)}", ""]
    lines += _numbers(amounts.measured(one), width) or ["   no times in this log"]
    lines.append("")
    about = words.facts(document, one, amounts.NAMES_SHOWN)[2 if one.pt_id else 1 :]
    lines += [f"   {name:<10}{elide(what, width - 13)}" for name, what in about]
    if one.timeline_s and any(one.timeline_s):
        lines.append(f"   {'over time':<10}{_spark(squeeze(one.timeline_s, width - 14))}")
    if one.histogram and sum(one.histogram):
        lines += ["", *_histogram(one.histogram, width)]
    lines += ["", *_statement(one, width)]
    return lines


def _numbers(measured: Sequence[tuple[str, str, Distribution]], width: int) -> list[str]:
    """A line a measure; on a narrow terminal fewer columns."""
    if not measured:
        return []
    columns_ = amounts.columns(measured)
    if width < 100:
        columns_ = tuple(column for column in columns_ if column in SHORT)
    rows = [(amounts.measure(name), unit, values) for name, unit, values in measured]
    room = max(len(name) for name, _, _ in rows)
    cells = [[amounts.cell(d, unit, column) for column in columns_] for _, unit, d in rows]
    widths = [max(len(c), *(len(row[i]) for row in cells)) for i, c in enumerate(columns_)]
    head = "  ".join(c.rjust(w) for c, w in zip(columns_, widths, strict=True))
    lines = [f"   {'':<{room}}  {head}"]
    for (name, _, _), row in zip(rows, cells, strict=True):
        body = "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True))
        lines.append(f"   {name:<{room}}  {body}")
    return lines


def _histogram(counts: Sequence[int], width: int) -> list[str]:
    top, room = max(counts), max(8, min(48, width - 26))
    there = [i for i, n in enumerate(counts) if n]
    lines = []
    for i in range(there[0], there[-1] + 1):
        filled = max(1, round(counts[i] / top * room)) if counts[i] else 0
        said = f"{'█' * filled} {counts[i]:,}" if counts[i] else ""
        lines.append(f"   {amounts.BUCKETS[i]:>9}  {said}".rstrip())
    return lines


def _statement(one: Class, width: int) -> list[str]:
    lines = _wrapped(visible(one.fingerprint), width - 3)
    if one.sample and one.sample.text is not None:
        cut = " (cut)" if one.sample.is_cut else ""
        lines += ["", f"sample{cut}:", *_wrapped(visible(one.sample.text), width - 3)]
    return [f"   {line}" for line in lines]


def _wrapped(body: str, width: int) -> list[str]:
    """Lines of a statement, at most `STATEMENT_LINES`; broken at the edge, never lost unsaid."""
    lines: list[str] = []
    for line in body.expandtabs(4).split("\n"):
        while cell_len(line) > width:
            kept = set_cell_size(line, width)
            cut = kept.rfind(" ") if kept.rfind(" ") > width // 2 else len(kept.rstrip()) or 1
            lines.append(line[:cut])
            line = line[cut:].lstrip()
            if len(lines) > STATEMENT_LINES:
                break
        lines.append(line)
        if len(lines) > STATEMENT_LINES:
            return [*lines[:STATEMENT_LINES], "…"]
    return lines
