"""Two runs side by side, with a verdict where the spread between runs is known.

Unblocked: their ratio includes what the machine did between A and B, and nothing inside the two
runs shows how large that is. Where at least `RUNS_MIN` earlier runs of the same plan on the same
machine are there, the spread between them says it: then B is compared with their level, and with a
fixed reference (`level`), and gets a verdict (`judging`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.between_runs.comparability import Key
from dbdyno.analysis.between_runs.judging import Case, judged
from dbdyno.analysis.between_runs.run_summary import Reduced, Value
from dbdyno.analysis.between_runs.types import Claimed, Compared, LeftOut, Row
from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message, joined
from dbdyno.errors import DynoError

RUNS_MIN = 5  # earlier runs of the same plan before the spread between runs counts as known


def compare(
    a: Reduced,
    b: Reduced,
    earlier: Iterable[Reduced] | None = None,
    *,
    anyway: bool = False,
    matters: float | None = None,
    unread: Sequence[LeftOut] = (),
    reference: Sequence[Reduced] = (),
) -> Compared:
    """Compares B with A; judged if `earlier` (runs of a history, in any order, A and B among them
    or not) allows it. `anyway`: another machine is a warning. `matters`: else that of B's plan.
    `unread`: what of the history could not be read. `reference`: else A, where it is not the run
    just before B.

    DynoError, with the reasons, if nothing in them is comparable.
    """
    _refuse(a, b)
    machines = comparability.differences(a.machine, b.machine, both=True)
    if machines and not anyway:
        raise DynoError(
            f"{a.name} and {b.name} were measured on different machines"
            f" ({comparability.named(machines)})",
            cause="their ratio would say more of the machines than of what you changed",
            fix="measure both on one machine, or add --anyway: ratios without a verdict",
        )
    cells, left_out = _cells(a, b)
    warnings: list[str] = [Message("another_machine", what=one) for one in machines]
    warnings += [Message("of_run", run=run.name, why=run.short) for run in (a, b) if run.short]
    warnings += [_changed(run) for run in (a, b) if run.mixed]
    versions = [run for run in (a, b) if run.plan.two_versions]
    warnings += [Message("holds_two_versions", run=run.name) for run in versions]
    before, unused, unjudged = _before(a, b, earlier, bool(machines))
    used = [a, b] if unjudged else [*before, b]
    found = [
        case
        for metric in dict.fromkeys((*a.metrics, *b.metrics))
        for case in _cases(a, b, used, cells, metric, left_out)
    ]
    rows = [case.row for case in found]
    if not found:
        raise DynoError(
            f"{a.name} and {b.name} have no metric in common that was measured",
            cause=joined(*(Message("of_run", run=one.what, why=one.why) for one in left_out)),
            fix="name one with --metric; `dyno export RUN --csv -` lists what a run has",
        )
    matters = b.plan.matters if matters is None else matters
    if not unjudged:
        older = identity(a) != identity(before[-1])
        reference = tuple(reference) or ((a,) if older else ())
        _check(reference, b)
        rows = judged(found, before, b, reference, matters)
        if not any(row.estimate for row in rows):
            unjudged = Message("no_row_judged", problem=rows[0].problem)
    return Compared(
        a=a.name,
        b=b.name,
        rows=tuple(rows),
        changed=comparability.differences(a.may_change, b.may_change),
        left_out=(*left_out, *unused, *unread),
        warnings=tuple(warnings),
        before=() if unjudged else tuple(run.name for run in before),
        unjudged=unjudged,
        matters=matters,
        reference=() if unjudged else tuple(run.name for run in reference),
    )


def claims(a: Measured, b: Measured) -> tuple[Claimed, ...]:
    """B's claims with the verdicts of both runs."""
    before = {claim.text: claim for claim in verdict.judge(a)[0]}
    return tuple(Claimed(before.get(claim.text), claim) for claim in verdict.judge(b)[0])


def judge(
    b: Reduced,
    earlier: Sequence[Reduced],
    *,
    matters: float | None = None,
    unread: Sequence[LeftOut] = (),
    reference: Sequence[Reduced] = (),
) -> Compared | None:
    """Compares B with the newest run before it of the same plan and machine, judged by the spread
    between all of them; None if there is none."""
    before, _ = alike(b, earlier)
    if not before:
        return None
    return compare(before[-1], b, earlier, matters=matters, unread=unread, reference=reference)


def predecessors(planned: Reduced, earlier: Iterable[Reduced]) -> list[Reduced]:
    """Runs that a run like `planned`, begun now, would be judged by, oldest first."""
    return alike(replace(planned, created_unix_s=math.inf), earlier)[0]


def alike(b: Reduced, earlier: Iterable[Reduced]) -> tuple[list[Reduced], list[LeftOut]]:
    """Runs that began before B, of the same plan, on the same machine, oldest first, each once;
    and those of its plan that cannot be used, with the reason."""
    found: dict[tuple[float, int], Reduced] = {}
    unused = []
    for run in sorted(earlier, key=lambda one: one.created_unix_s):
        if run.fingerprint != b.fingerprint or run.created_unix_s >= b.created_unix_s:
            continue
        other = comparability.differences(run.machine, b.machine, both=True)
        moved = Message("another_machine", what=other[0]) if other else ""
        mixed = Message("changed_meanwhile", what=run.mixed) if run.mixed else ""
        if why := run.unusable or run.short or moved or mixed:
            unused.append(LeftOut(run.name, why))
        else:
            found.setdefault(identity(run), run)
    return list(found.values()), unused


def identity(run: Reduced) -> tuple[float, int]:
    """What a run and a copy of it, perhaps in a bundle, have in common."""
    return run.created_unix_s, run.plan.seed


def failing(compared: Compared) -> str:
    """Why a gate cannot say that all is well: what was not judged, or a loss that matters and could
    not have been seen. Empty if there is none."""
    if not compared.judged:
        return compared.unjudged
    open_ = [row for row in compared.rows if row.estimate is None]
    if not open_:
        return _unseen(compared)
    return Message("rows_unjudged", n=len(open_), rows=len(compared.rows), first=open_[0])


def _unseen(compared: Compared) -> str:
    blind = compared.blind
    if not blind:
        return ""
    worst = max(blind, key=lambda row: row.seen or 0)
    rows = {"blind": len(blind), "rows": len(compared.rows)}
    return Message("loss_unseen", matters=compared.matters, **rows, worst=worst)


def _check(reference: Sequence[Reduced], b: Reduced) -> None:
    """Refuses a reference that asked something else, or ran elsewhere."""
    for run in reference:
        other = comparability.differences(run.machine, b.machine, both=True)
        moved = Message("another_machine", what=comparability.named(other)) if other else ""
        why = run.unusable or run.short or moved
        if run.fingerprint != b.fingerprint:
            why = Message("not_same_plan")
        if why:
            raise DynoError(
                Message("no_reference", run=run.name, b=b.name, why=why),
                fix="name a complete run of the same experiment on the same machine",
            )


def _refuse(a: Reduced, b: Reduced) -> None:
    """Refuses pairs of which no ratio means anything."""
    if identity(a) == identity(b):
        raise DynoError(
            f"{a.name} and {b.name} are the same run",
            cause="one is a copy of the other, or the same directory was given twice",
            fix="give two runs; what ran in the same blocks is compared by `dyno report RUN`",
        )
    for run in (a, b):
        if run.unusable:
            raise DynoError(
                Message("cannot_compare", run=run.name, why=run.unusable),
                fix="compare complete runs; `dyno run --resume` goes on with one",
            )
    if a.plan.imported != b.plan.imported:
        raise DynoError(
            f"one of {a.name} and {b.name} was measured by another tool",
            cause="tools count and time differently",
            fix="import both, or measure both with dbdyno",
        )


def _cells(a: Reduced, b: Reduced) -> tuple[list[Key], list[LeftOut]]:
    """Cells that asked the same in both runs, in B's order, and the others."""
    left_out: list[LeftOut] = []
    common = []
    kinds = a.plan.kinds != b.plan.kinds
    words = sorted({*a.plan.unfixed, *b.plan.unfixed}) if kinds else []
    for cell in b.asked:
        if cell not in a.asked:
            left_out.append(LeftOut(_named(cell), Message("only_in", run=b.name)))
        elif different := comparability.differences(a.asked[cell], b.asked[cell]):
            why = Message("not_the_same", what=comparability.named(different))
            left_out.append(LeftOut(_named(cell), why))
        elif words:
            why = Message("defaults_differ", words=words)
            left_out.append(LeftOut(_named(cell), why))
        else:
            common.append(cell)
    left_out += [
        LeftOut(_named(cell), Message("only_in", run=a.name))
        for cell in a.asked
        if cell not in b.asked
    ]
    if not common:
        reasons = list(dict.fromkeys(one.why for one in left_out))
        raise DynoError(
            f"{a.name} and {b.name} did not measure the same thing in any cell",
            cause=joined(*reasons[:3]),
            fix="run the same experiment again; only versions and settings may differ",
        )
    return common, left_out


def _before(
    a: Reduced, b: Reduced, earlier: Iterable[Reduced] | None, other_machine: bool
) -> tuple[list[Reduced], list[LeftOut], str]:
    """Runs whose spread B is judged by, those of its plan that are not used, and why B is not
    judged; empty if it is."""
    if earlier is None:
        return [], [], Message("no_history", least=RUNS_MIN)
    if a.fingerprint != b.fingerprint:
        return [], [], Message("not_of_same_plan", a=a.name, b=b.name)
    runs, unused = alike(b, earlier)
    why: str = ""
    if other_machine:
        why = Message("spread_of_another")
    elif b.short or b.mixed:
        why = b.short or _changed(b)
    elif len(runs) < RUNS_MIN:
        why = Message("spread_unknown", runs=len(runs), least=RUNS_MIN)
    also, not_a = alike(b, [a])
    if not why and not also:
        why = not_a[0].why if not_a else Message("not_older", a=a.name, b=b.name)
        why = Message("no_run_to_judge_by", why=why)
    if identity(a) not in map(identity, runs):
        runs = sorted([*runs, *also], key=lambda one: one.created_unix_s)
    return runs, unused, why


def _cases(
    a: Reduced,
    b: Reduced,
    used: Sequence[Reduced],
    cells: Sequence[Key],
    metric: str,
    left_out: list[LeftOut],
) -> list[Case]:
    """A metric's rows: all cells together, where several have it in all runs that are `used`, then
    each cell. None, with a note, if neither run has it in any cell."""
    rows = [_row(metric, cell, a.value(cell, metric), b.value(cell, metric)) for cell in cells]
    if all(row.a is None and row.b is None for row in rows):
        left_out.append(LeftOut(metric, rows[0].problem))
        return []
    sound = tuple(
        cell
        for cell in cells
        if all(
            value.mean and not value.problem for value in (run.value(cell, metric) for run in used)
        )
    )
    found = [Case(row, (cell,)) for row, cell in zip(rows, cells, strict=True)]
    if len(sound) > 1:
        whole = Case(Row(metric, {}, None, None, None, cells=len(sound)), sound)
        ratio = math.exp(whole.log(b) - whole.log(a))
        found.insert(0, replace(whole, row=replace(whole.row, ratio=ratio)))
    return found


def _row(metric: str, cell: Key, a: Value, b: Value) -> Row:
    sides = [("A", a.problem), ("B", b.problem)]
    if a.problem == b.problem:
        sides = [("A and B", a.problem)]
    problem = joined(*(Message("of_run", run=name, why=why) for name, why in sides if why))
    ratio = None
    if not problem and a.mean and b.mean:
        ratio = b.mean / a.mean
    return Row(metric, dict(cell), a.mean, b.mean, ratio, problem)


def _changed(run: Reduced) -> str:
    return Message("run_changed", run=run.name, what=run.mixed)


def _named(cell: Key) -> str:
    return " ".join(f"{factor}={level}" for factor, level in cell) or "the only cell"
