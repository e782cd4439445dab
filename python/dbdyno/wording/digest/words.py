"""What all forms of a digest say in the same words: the answer, its limits, notes, facts."""

from __future__ import annotations

from dbdyno.digest.document import SAMPLED, Class, Document, OfLogs, Stats
from dbdyno.wording.digest.amounts import (
    called,
    calls,
    cell,
    columns,
    duration,
    label,
    measure,
    measured,
    moment,
    names,
    one_line,
    share,
)
from dbdyno.wording.numbers import MISSING, sig3, size
from dbdyno.wording.plurals import count

LINES_NOT_UNDERSTOOD = 20
MERGED_LEAST = 20  # classes less, and the share of them, from which on merging names is suggested
MERGED_SHARE = 0.1
UNTIMED_SHARE = 0.1  # of statements without a time, from which on it is reported


def answer(document: Document) -> str:
    """The first line: how many statements in how long, and which class takes what share."""
    all_ = document.overall
    if not all_.count:
        return "No statement" + _filtered(document) + "."
    said = f"{count(round(calls(all_)), 'statement')} of {_classes(document)}"
    if document.seconds:
        said += f" in {duration(document.seconds)}"
    if all_.query_time:
        said += f", together {duration(all_.time_s)} of query time"
    if document.classes and document.classes_total > 1 and (first := _first(document)):
        said += f"; {first}"
    return f"{said}."


def ranked_by(document: Document) -> str:
    """What classes are ranked by: calls where no time is known."""
    by = document.order_by
    return by if document.overall.query_time or by not in ("query_time", "max") else "count"


def overall(document: Document) -> list[str]:
    """Totals of all statements, without their measures."""
    all_ = document.overall
    said = [called(all_)]
    if document.seconds > document.clock_s:
        said.append(f"{sig3(calls(all_) / document.seconds)} a second")
        if all_.query_time:
            said.append(f"{sig3(all_.time_s / document.seconds)} at once on average")
    if all_.errors:
        said.append(f"{all_.errors:,} with an error")
    return said


def _first(document: Document) -> str:
    """What the first class is first by, where that is known."""
    top, all_, by = document.classes[0], document.overall, ranked_by(document)
    if by == "query_time":
        if top.time_share is None:
            return ""
        part = f"{share(top.time_share)} of it" if all_.query_time else share(top.time_share)
        return f"{label(top)} takes {part}"
    if by == "max":
        slowest = top.query_time.max if top.query_time else None
        return "" if slowest is None else f"{label(top)} has the slowest, {duration(slowest)}"
    if by == "count":
        part, what = share(calls(top) / calls(all_)), "the calls"
    elif by == "statement_bytes":
        part = share(_part(top.statement_bytes, all_.statement_bytes))
        what = "all statements' bytes"
    elif by in top.measures and by in all_.measures:
        part, what = share(_part(top.measures[by].sum, all_.measures[by].sum)), measure(by)
    else:
        return ""
    return f"{label(top)} makes {part} of {what}"


def _part(of: float, whole_: float) -> float | None:
    return of / whole_ if whole_ else None


def rest_share(document: Document) -> float | None:
    """Which share of the time classes took that are not listed."""
    if document.rest is None or document.rest.query_time is None:
        return None
    return _part(document.rest.time_s, document.overall.time_s)


def rest_time(document: Document) -> str:
    """How long they took."""
    timed = document.rest.query_time if document.rest else None
    return duration(timed.sum if timed else None)


def rest(document: Document) -> str:
    """What the classes that are not listed come to, in one line; empty if all are listed."""
    hidden = document.classes_not_listed
    if document.rest is None or not hidden:
        return ""
    said = f"{hidden:,} more {'class' if hidden == 1 else 'classes'}, not listed: "
    if document.rest.query_time:
        said += f"{share(rest_share(document))} of the time, {rest_time(document)}, "
    return f"{said}{called(document.rest)}."


def _classes(document: Document) -> str:
    if document.group_by == "fingerprint":
        return count(document.classes_total, "class", "classes")
    names = {"db": ("database", "databases"), "table": ("set of tables", "sets of tables")}
    names["distill"] = ("kind", "kinds")
    by = document.group_by
    return count(document.classes_total, *names.get(by, (by, f"{by}s")))


def _filtered(document: Document) -> str:
    left_out = sum(one.filtered for one in document.inputs)
    return f" passed the filters, of {left_out:,}" if left_out else " was found"


def censoring(document: OfLogs) -> list[str]:
    """Why statements are missing; the second line."""
    said = []
    several = len(document.inputs) > 1
    for one in document.censored:
        which = one_line(document.inputs[one.input].path) if several else "this log"
        if one.kind == "threshold":
            limit = duration(one.value)
            why = "" if one.evidence == "said" else ", as far as can be seen: none is faster"
            said.append(f"Only statements slower than {limit} are in {which}{why}.")
        else:
            said.append(
                f"Only one of {one.value:,.6g} statements is in {which}; counts and times are"
                " scaled up."
            )
    return said


def limits(document: Document) -> list[str]:
    """What keeps the numbers from being those of the whole load; from the second line on."""
    return [*censoring(document), *_untimed(document)]


def _untimed(document: Document) -> list[str]:
    """Ranks by time are silent on what has none: rows of a binary log, statements that failed."""
    all_ = document.overall
    if not all_.query_time or document.order_by not in ("query_time", "max"):
        return []
    missing = all_.count - all_.query_time.count
    if missing < UNTIMED_SHARE * all_.count:
        return []
    return [
        f"Of {missing:,} of these {count(all_.count, 'statement')} no time is known: shares of the"
        " time and ranks by it are those of the others; --order-by count ranks all."
    ]


def notes(document: Document) -> list[str]:
    """What a reader should know besides."""
    return [*document.notes, *_mergeable(document)]


def _mergeable(document: Document) -> list[str]:
    """Many classes with numbered names hide what a server does."""
    if document.mergeable is None:
        return []
    classes, merged = document.mergeable.classes, document.mergeable.merged
    if classes - merged < max(MERGED_LEAST, MERGED_SHARE * classes):
        return []
    which = f"{classes:,}" if classes >= document.classes_total else f"the {classes:,} most costly"
    return [
        "Many classes differ only in numbers or hashes in names:"
        f" --merge-names makes {merged:,} of {which} classes."
    ]


def not_understood(document: OfLogs) -> list[str]:
    """What was no event: counted, with positions."""
    said = []
    for one in document.inputs:
        if not one.pieces_not_understood:
            continue
        path = one_line(one.path)
        said.append(
            f"{path}: {count(one.pieces_not_understood, 'piece')} not understood,"
            f" {size(one.bytes_not_understood)} of {size(one.bytes)}"
        )
        for piece in one.not_understood[:LINES_NOT_UNDERSTOOD]:
            line = f"line {piece.line:,}, " if piece.line else ""
            said.append(
                f"  {line}byte {piece.offset:,}, {count(piece.bytes, 'byte')}:"
                f" {one_line(piece.why)}"
            )
        more = one.pieces_not_understood - len(one.not_understood[:LINES_NOT_UNDERSTOOD])
        if more > 0:
            said.append(f"  {more:,} more")
    return said


def sources(document: OfLogs) -> list[str]:
    """A line a log: its format, server, size, events."""
    said = []
    for one in document.inputs:
        parts = [one_line(one.format)]
        if one.all_servers:
            parts.append(", then ".join(map(one_line, one.all_servers)))
        if one.format not in SAMPLED:
            parts += [size(one.bytes), count(one.events, "event")]
        if one.filtered:
            parts.append(f"{one.filtered:,} skipped by filters")
        said.append(f"{one_line(one.path)}: {', '.join(parts)}")
    return said


def where(document: Document, one: Class) -> str:
    """Position of the slowest event of a class, or any if no time is known."""
    if one.sample is None:
        return ""
    at = f"byte {one.sample.offset:,}"
    if len(document.inputs) > 1:
        at += f" of {one_line(document.inputs[one.sample.input].path)}"
    if one.sample.end_unix_s is not None:
        at += f", {moment(one.sample.end_unix_s)}"
    if one.sample.query_time_s is not None:
        at += f", {duration(one.sample.query_time_s)}"
    return at


def numbers_notes(document: Document) -> list[str]:
    """What holds of numbers in the tables: how far quantiles may be off, what a dash says."""
    errors = [
        one.query_time.quantile_error
        for one in document.classes
        if one.query_time and one.query_time.quantile_error
    ]
    said = [f"Quantiles are within {sig3(max(errors) * 100)} %."] if errors else []
    tables = [measured(one) for one in (document.overall, *document.classes)]
    if any(
        cell(values, unit, column) == MISSING
        for rows in tables
        for column in columns(rows)
        for _, unit, values in rows
    ):
        said.append(f"{MISSING}: of that measure only counts and sums are known.")
    return said


def flags(stats: Stats) -> list[str]:
    """full scan 33.3 %: what any call did."""
    return [
        f"{measure(name)} {share(values.mean)}"
        for name, unit, values in measured(stats)
        if unit == "flag"
    ]


def facts(document: Document, one: Class, shown: int = 8) -> list[tuple[str, str]]:
    """Further facts on a class, by name; what is not known is omitted."""
    span = ""
    if one.first_unix_s is not None:
        span = f"{moment(one.first_unix_s)} to {moment(one.last_unix_s)} UTC"
    found = [
        ("ID", one.id),
        ("pt-query-digest's ID", one.pt_id or ""),
        ("users", names(one.users, shown)),
        ("hosts", names(one.hosts, shown)),
        ("databases", names(one.databases, shown)),
        ("tables", ", ".join(map(one_line, one.tables))),
        ("errors", names(one.error_codes, shown)),
        ("plans", names(one.plans, shown)),
        ("from, to", span),
        ("slowest" if one.query_time else "sample", where(document, one)),
    ]
    return [(name, what) for name, what in found if what]
