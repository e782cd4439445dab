"""A digest for the terminal: the answer, what limits it, the profile, then every class."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from dbdyno.digest.document import Class, Document
from dbdyno.nouns import count
from dbdyno.report.digest import words
from dbdyno.report.numbers import MISSING, sig3
from dbdyno.report.sparkline import sparkline
from dbdyno.report.text import visible

BAR = 12  # cells of the share's bar
NARROW = 88  # columns below which the bar goes
SHORT = ("total", "mean", "p95", "max")  # columns of measures on a narrow terminal
STATEMENT_LINES = 12
EIGHTHS = " ▏▎▍▌▋▊▉█"


def text(document: Document, width: int = 100) -> str:
    """The whole report; `width` in columns, at least 40."""
    width = max(40, width)
    lines = [words.answer(document)]
    lines += words.limits(document)
    lines += [f"note: {words.one_line(note)}" for note in document.notes]
    lines += ["", *words.sources(document)]
    if document.classes:
        lines += ["", *profile(document, width)]
    if document.timeline and any(document.timeline.time_s):
        lines += ["", *_over_time(document, width)]
    for one in document.classes:
        lines += ["", *_class(document, one, width)]
    if note := words.sketch_note(document):
        lines += ["", note]
    if missed := words.not_understood(document):
        lines += ["", "Not understood", *missed]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def profile(document: Document, width: int) -> list[str]:
    """The table of classes, the statement cut at the terminal's edge."""
    wide = width >= NARROW
    heads = ["", "ID", "share", "time", "calls", "R/call", "V/M"]
    rows = [_row(one) for one in document.classes]
    if document.rest and document.rest.count:
        rest, part = document.rest, words.rest_share(document)
        rows.append([
            "", f"{document.classes_not_listed:,} more", words.share(part),
            words.rest_time(document), words.whole(words.calls(rest)),
            words.duration(words.per_call(rest)), "", "", part,
        ])  # fmt: skip
    widths = [max(len(heads[i]), *(len(str(row[i])) for row in rows)) for i in range(7)]
    shown = [0, 1, 2, 3, 4, 5, 6] if width >= 64 else [0, 1, 2, 4, 5]
    left = (1,)
    used = sum(widths[i] + 2 for i in shown) + (BAR + 1 if wide else 0)

    def line(cells: Sequence[object], drawn: str, last: str) -> str:
        said = ""
        for i in shown:
            cell = str(cells[i])
            said += (cell.ljust(widths[i]) if i in left else cell.rjust(widths[i])) + "  "
            if i == 2 and wide:
                said = said[:-1] + drawn.ljust(BAR) + "  "
        return said + fit(last, max(12, width - used))

    lines = [line(heads, "", "statement" if document.group_by == "fingerprint" else "what")]
    for row in rows:
        lines.append(line(row[:7], bar(row[8]), str(row[7])))
    return lines


def _row(one: Class) -> list[object]:
    return [
        one.rank,
        words.short_id(one),
        words.share(one.time_share),
        words.duration(one.query_time.sum) if one.query_time else MISSING,
        words.whole(words.calls(one)),
        words.duration(words.per_call(one)),
        MISSING if one.v_m is None else f"{one.v_m:.2f}",
        words.one_line(one.fingerprint),
        one.time_share,
    ]


def bar(part: object) -> str:
    """A share as a bar of at most `BAR` cells."""
    if not isinstance(part, float) or part <= 0:
        return ""
    eighths = max(1, round(min(1.0, part) * BAR * 8))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def fit(text_: str, width: int) -> str:
    """Text in at most so many columns, an ellipsis where it was cut."""
    if cell_len(text_) <= width:
        return text_
    return set_cell_size(text_, width - 1).rstrip() + "…"


def _over_time(document: Document, width: int) -> list[str]:
    timeline = document.timeline
    assert timeline is not None
    length = min(len(timeline.time_s), max(10, width - 20))
    load = [t / timeline.bucket_s for t in squeeze(timeline.time_s, length, mean=True)]
    lines = [
        f"{'running':<9}{_spark(load)}  up to {sig3(max(load))} at once",
        f"{'':<9}from {words.moment(timeline.begin_unix_s)} UTC,"
        f" means of {words.duration(timeline.bucket_s * len(timeline.time_s) / length)}"
        + (", by where statements ended" if document.is_sampled else ""),
    ]
    if document.longest_gap_s:
        worst = max(range(len(timeline.gap_s)), key=lambda i: timeline.gap_s[i])
        at = timeline.begin_unix_s + worst * timeline.bucket_s
        lines.append(
            f"{'gap':<9}longest without an end of a statement:"
            f" {words.duration(timeline.gap_s[worst])}, in the step from {words.moment(at)}"
        )
    if document.concurrency and document.concurrency.max:
        said = f"{'at once':<9}at most {count(document.concurrency.max, 'statement')}"
        if document.concurrency.caveat:
            said += f" ({words.one_line(document.concurrency.caveat)})"
        lines.append(said)
    return lines


def _spark(values: Sequence[float]) -> str:
    """A sparkline from 0 up."""
    return sparkline([0.0, *values], len(values) + 1)[1:]


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
    head = f"{one.rank}. {words.label(one)}"
    lines = [fit(head, width), f"   {ids}"]
    said = [words.called(one)]
    if one.weighted_count != one.count:
        said.append(f"{one.count:,} of them in the log")
    if one.time_share is not None:
        said.append(f"{words.share(one.time_share)} of the time")
    if one.v_m is not None:
        said.append(f"V/M {one.v_m:.2f}")
    if one.errors:
        said.append(f"{one.errors:,} with an error")
    lines += [f"   {', '.join(said)}", "", *_numbers(one, width)]
    lines.append("")
    about = words.facts(document, one, words.NAMES_SHOWN)[2 if one.pt_id else 1 :]
    lines += [f"   {name:<10}{fit(what, width - 13)}" for name, what in about]
    if one.timeline_s and any(one.timeline_s):
        lines.append(f"   {'over time':<10}{_spark(squeeze(one.timeline_s, width - 14))}")
    if one.histogram and sum(one.histogram):
        lines += ["", *_histogram(one.histogram, width)]
    lines += ["", *_statement(one, width)]
    return lines


def _numbers(one: Class, width: int) -> list[str]:
    """A line a measure; on a narrow terminal fewer columns."""
    columns = words.columns(words.measured(one))
    if width < 100:
        columns = tuple(column for column in columns if column in SHORT)
    rows = [(words.measure(name), unit, values) for name, unit, values in words.measured(one)]
    if not rows:
        return ["   no times in this log"]
    room = max(len(name) for name, _, _ in rows)
    cells = [[words.cell(d, unit, column) for column in columns] for _, unit, d in rows]
    widths = [max(len(c), *(len(row[i]) for row in cells)) for i, c in enumerate(columns)]
    head = "  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True))
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
        lines.append(f"   {words.BUCKETS[i]:>9}  {said}".rstrip())
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
