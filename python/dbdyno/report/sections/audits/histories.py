"""Audits of histories: what transactions read and wrote, against what a level of isolation
promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.audit.histories.findings import NOT_LINEARIZABLE, Findings
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

EXAMPLES_SHOWN = 30
NOT_KNOWN = "not known"
# (one, several) of what a count counts.
NAMES: Mapping[str, tuple[str, str]] = {
    "not_linearizable": (
        "register that is not linearizable",
        "registers that are not linearizable",
    ),
    "stale_reads": ("stale read", "stale reads"),
    "own_write_misses": ("stale read of an own write", "stale reads of own writes"),
    "lost_update": ("lost update", "lost updates"),
    "read_skew": ("read with skew (G-single)", "reads with skew (G-single)"),
    "write_skew": ("read in write skew (G2-item)", "reads in write skew (G2-item)"),
    "dirty_reads": ("dirty read (G1a)", "dirty reads (G1a)"),
    "unwritten_reads": ("read of an unwritten value", "reads of unwritten values"),
    "intermediate_reads": ("intermediate read (G1b)", "intermediate reads (G1b)"),
    "circular_information": (
        "transaction in circular information flow (G1c)",
        "transactions in circular information flow (G1c)",
    ),
    "g0": ("transaction in a cycle of writes (G0)", "transactions in cycles of writes (G0)"),
    "incompatible_orders": ("read of an incompatible order", "reads of incompatible orders"),
    "lost_reads": (
        "read of what was lost afterwards",
        "reads of what was lost afterwards",
    ),
    "lost": ("acknowledged transaction lost", "acknowledged transactions lost"),
    "resurrected": (
        "attempt that failed for its client present",
        "attempts that failed for their clients present",
    ),
    "wrong_sums": ("read of a wrong sum", "reads of a wrong sum"),
    "negative": ("read of a negative balance", "reads of a negative balance"),
}
_DIVERGED = {
    "append": ("list that differs between nodes", "lists that differ between nodes"),
    "bank": ("account that differs between nodes", "accounts that differ between nodes"),
}
_JUDGED = {
    "register": ("operation", "operations"),
    "append": ("transaction", "transactions"),
    "bank": ("read of all accounts", "reads of all accounts"),
}


@dataclass(frozen=True)
class Row:
    """All trials of a cell, one target."""

    where: str
    target: str
    check: str
    isolation: str
    trials: int
    judged: str
    found: str
    violations: str  # of what the level does not permit
    unknown: str


@dataclass(frozen=True)
class Example:
    """One of each anomaly of a cell, or what could not be read."""

    what: str
    text: str
    trial: str
    where: str


@dataclass(frozen=True)
class View:
    """`summary`: sentences; `is_clean`: whether nothing that must not be was found; `grounds`: why
    a set-up permits more than its level of isolation, each with the cells and targets."""

    summary: str
    is_clean: bool
    rows: list[Row]
    examples: list[Example]
    grounds: list[tuple[str, str]]


def view(context: Context) -> View | None:
    cells: dict[tuple[int, str], list[Findings]] = {}
    examples: list[Example] = []
    shown: set[tuple[int, str, str]] = set()
    for record in context.complete:
        where = context.layout.cell(context.plan.cells[record.cell].levels)
        for target, found in record.histories.items():
            cells.setdefault((record.cell, target), []).append(found)
            for what, text in _texts(found):
                if (record.cell, target, what) not in shown:
                    shown.add((record.cell, target, what))
                    examples.append(Example(what, text, record.id, where))
    if not cells:
        return None
    rows = [
        _row(context.layout.cell(context.plan.cells[cell].levels), target, found)
        for (cell, target), found in cells.items()
    ]
    every = [found for one in cells.values() for found in one]
    grounds: dict[str, list[str]] = {}
    for row, own in zip(rows, cells.values(), strict=True):
        for ground in own[0].grounds:
            grounds.setdefault(ground, []).append(row.where or row.target)
    return View(
        _summary(every),
        not any(_is_bad(one) for one in every),
        rows,
        examples[:EXAMPLES_SHOWN],
        [("; ".join(dict.fromkeys(where)), ground) for ground, where in grounds.items()],
    )


def _is_bad(found: Findings) -> bool:
    return bool(found.why) or found.violations is None or found.violations > 0


def _summary(every: Sequence[Findings]) -> str:
    said = [_of_check(check, [one for one in every if one.check == check]) for check in _JUDGED]
    return " ".join(sentence for sentence in said if sentence)


def _of_check(check: str, found: Sequence[Findings]) -> str:
    judged = [one for one in found if one.violations is not None and not one.why]
    if not judged:
        return (
            f"Of {count(len(found), 'history', 'histories')} nothing could be judged."
            if found
            else ""
        )
    operations = sum(one.judged for one in judged)
    scope = f"{count(operations, *_JUDGED[check])} ({count(len(judged), 'history', 'histories')})"
    violations = sum(one.violations or 0 for one in judged)
    left = len(found) - len(judged)
    more = f" {count(left, 'more history', 'more histories')} could not be judged." if left else ""
    if violations:
        return f"{_bad(check, judged)} in {scope}.{more}"
    return (
        f"{_good(check, judged)} in {scope}.{more} What this load did not provoke is not excluded"
        " by that."
    )


def _bad(check: str, judged: Sequence[Findings]) -> str:
    if check != "register":
        violations = sum(one.violations or 0 for one in judged)
        what = count(violations, "anomaly", "anomalies")
        return (
            f"{what} that {_whose(judged)} not permit {'was' if violations == 1 else 'were'} found"
        )
    strict = sum(one.violations or 0 for one in judged if not _may_be_stale(one))
    others = sum(one.violations or 0 for one in judged if _may_be_stale(one))
    said = []
    if strict:
        are = count(strict, "register is", "registers are")
        said.append(f"{are} not linearizable, as found")
    if others:
        what = count(others, "anomaly", "anomalies")
        were = "was" if others == 1 else "were"
        said.append(f"{what} that the set-up does not permit {were} found")
    return ", and ".join(said)


def _good(check: str, judged: Sequence[Findings]) -> str:
    if check != "register":
        return f"Nothing that {_whose(judged)} not permit was found"
    stale = sum(one.counts.get(NOT_LINEARIZABLE) or 0 for one in judged)
    if not stale:
        return "Every register is linearizable"
    are = count(stale, "register is", "registers are")
    return f"{are} not linearizable, which the set-up permits, and nothing else was found"


def _may_be_stale(found: Findings) -> bool:
    return NOT_LINEARIZABLE in found.permitted


def _whose(judged: Sequence[Findings]) -> str:
    """Who does `not permit`: the level alone, or with the nodes that sessions use."""
    if any(one.grounds for one in judged):
        return "isolation level and set-up do"
    return "the isolation level does"


def _row(where: str, target: str, found: Sequence[Findings]) -> Row:
    violations = [one.violations for one in found if not one.why]
    is_known = violations and None not in violations and len(violations) == len(found)
    first = found[0]
    return Row(
        where,
        target,
        first.check,
        first.isolation.replace("_", " "),
        len(found),
        f"{sum(one.judged for one in found):,}",
        "; ".join(_counts(found)) or ("nothing" if is_known else NOT_KNOWN),
        f"{sum(one or 0 for one in violations):,}" if is_known else NOT_KNOWN,
        f"{sum(one.unknown for one in found):,}",
    )


def _counts(found: Sequence[Findings]) -> Iterator[str]:
    total: Counter[str] = Counter()
    for one in found:
        total.update({name: number or 0 for name, number in one.counts.items()})
    oldest_s = max(one.stale_read_max_s for one in found)
    for name, number in total.items():
        if number:
            age = f" (up to {oldest_s:.3f} s old)" if name == "stale_reads" else ""
            permitted = " (permitted)" if name in found[0].permitted else ""
            yield count(number, *_names(found[0].check, name)) + age + permitted


def _names(check: str, name: str) -> tuple[str, str]:
    return (
        _DIVERGED.get(check, ("difference", "differences")) if name == "diverged" else NAMES[name]
    )


def _texts(found: Findings) -> Iterator[tuple[str, str]]:
    if found.why:
        yield "not judged", found.why
    for name, text in found.examples.items():
        if name in NAMES:
            yield NAMES[name][0], text
    for node in found.nodes:
        if not node.is_read:
            yield f"node {node.name} could not be read", node.why
        elif node.restarted:
            yield f"node {node.name}", "was down after the load, and was started again to be read"


def form(view: View) -> Iterable[RenderableType]:
    yield Text()
    style = "green" if view.is_clean else "yellow"
    yield Text(f"audit: {visible(view.summary)}", style=style)
    for row in view.rows[:6]:
        where = f"{visible(row.where)}: " if row.where else ""
        yield Text(f"  {where}{row.found}", style=style)
    for example in view.examples[:3]:
        yield Text(f"  {visible(example.what)}: {visible(example.text)}", style=style)


SECTION = Section(view, "Audit of histories", terminal=46, form=form)
