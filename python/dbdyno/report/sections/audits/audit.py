"""Audits of commits: acknowledged transactions against what nodes hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.audit.findings import Audit
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.wording.numbers import listed
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

TRIALS_SHOWN = 50
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Row:
    """All trials of a cell, one target."""

    where: str
    target: str
    trials: int
    acknowledged: str
    lost: str
    resurrected: str
    duplicated: str
    diverged: str
    unknown: str  # and how many of them are there
    nodes: str  # that were read


@dataclass(frozen=True)
class Finding:
    """One trial in which something was found, or a node could not be read."""

    trial: str
    where: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """`summary`: one sentence; `is_clean`: whether nothing was found and all was read."""

    summary: str
    is_clean: bool
    rows: list[Row]
    findings: list[Finding]
    more: int  # findings that are not shown


def view(context: Context) -> View | None:
    found = [
        (record, target, audit)
        for record in context.complete
        for target, audit in record.audit.items()
    ]
    if not found:
        return None
    cells: dict[tuple[int, str], list[Audit]] = {}
    findings = []
    for record, target, audit in found:
        cells.setdefault((record.cell, target), []).append(audit)
        if sentences := tuple(_sentences(audit)):
            where = context.layout.cell(context.plan.cells[record.cell].levels)
            findings.append(Finding(record.id, where, sentences))
    rows = [
        _row(context.layout.cell(context.plan.cells[cell].levels), target, audits)
        for (cell, target), audits in cells.items()
    ]
    audits = [audit for _, _, audit in found]
    return View(
        _summary(audits),
        not findings,
        rows,
        findings[:TRIALS_SHOWN],
        max(0, len(findings) - TRIALS_SHOWN),
    )


def _summary(audits: Sequence[Audit]) -> str:
    judged = [audit for audit in audits if audit.lost is not None]
    acknowledged = sum(audit.acknowledged for audit in judged)
    lost = sum(audit.lost or 0 for audit in judged)
    trials = count(len(judged), "audit")
    if not judged:
        return "No audit could read the nodes: nothing is known about lost transactions."
    said = (
        f"{lost:,} of {acknowledged:,} acknowledged transactions are lost ({trials})"
        if lost
        else f"None of {acknowledged:,} acknowledged transactions is lost ({trials})"
    )
    left = len(audits) - len(judged)
    return f"{said}; of {count(left, 'more audit')} it is not known." if left else f"{said}."


def _row(where: str, target: str, audits: Sequence[Audit]) -> Row:
    unknown = f"{sum(audit.unknown for audit in audits):,}"
    if (present := _sum(audits, "unknown_present")) != NOT_KNOWN and unknown != "0":
        unknown = f"{unknown} ({present} present)"
    nodes = sorted({(node.name, node.rows is not None) for audit in audits for node in audit.nodes})
    unread = {name for name, is_read in nodes if not is_read}
    names = list(dict.fromkeys(name for name, _ in nodes))
    said = [f"{name} (not always)" if name in unread else name for name in names]
    return Row(
        where,
        target,
        len(audits),
        f"{sum(audit.acknowledged for audit in audits):,}",
        _sum(audits, "lost"),
        _sum(audits, "resurrected"),
        _sum(audits, "duplicated"),
        _sum(audits, "diverged"),
        unknown,
        ", ".join(said),
    )


def _sum(audits: Sequence[Audit], name: str) -> str:
    counts = [getattr(audit, name) for audit in audits]
    return NOT_KNOWN if None in counts else f"{sum(counts):,}"


WORDS: Mapping[str, tuple[str, str]] = {  # of one, of several
    "resurrected": (
        "attempt that failed for its client is present",
        "attempts that failed for their clients are present",
    ),
    "duplicated": (
        "transaction is present more than once",
        "transactions are present more than once",
    ),
    "diverged": ("attempt is on some nodes only", "attempts are on some nodes only"),
    "unlogged": ("row has no logged outcome", "rows have no logged outcome"),
}


def _sentences(audit: Audit) -> Iterator[str]:
    """Sentences on one audit; none if nothing was found and all was read."""
    if audit.lost:
        said = f"{count(audit.lost, 'acknowledged transaction')} lost"
        if audit.first_lost and audit.last_lost:
            first_s, last_s = audit.first_lost.t_s, audit.last_lost.t_s
            said += f", acknowledged between {first_s:.3f} s and {last_s:.3f} s"
        yield f"{said}; {_examples(audit)}"
    for name, words in WORDS.items():
        if number := getattr(audit, name):
            yield count(number, *words)
    for node in audit.nodes:
        if node.rows is None:
            yield f"node {node.name} could not be read: {node.why}"
        elif node.missing and len(audit.nodes) > 1:
            yield f"node {node.name} has not {node.missing:,} of the acknowledged transactions"
        if node.restarted and node.rows is not None:
            yield f"node {node.name} was down after the load, and was started again to be read"


def _examples(audit: Audit) -> str:
    shown = [
        f"session {one.session} n {one.n}" + (f" attempt {one.attempt}" if one.attempt else "")
        for one in audit.lost_examples
    ]
    more = ", ..." if (audit.lost or 0) > len(shown) else ""
    return f"{listed(shown) if not more else ', '.join(shown)}{more}"


def form(view: View) -> Iterable[RenderableType]:
    yield Text()
    yield Text(f"audit: {visible(view.summary)}", style="green" if view.is_clean else "yellow")
    for finding in view.findings[:3]:
        for sentence in finding.sentences[:3]:
            where = f" ({visible(finding.where)})" if finding.where else ""
            yield Text(f"  {finding.trial}{where}: {visible(sentence)}", style="yellow")


SECTION = Section(view, "Audit of commits", terminal=45, form=form)
