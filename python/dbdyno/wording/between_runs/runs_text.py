"""Why runs, cells and rows are not used together or not judged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dbdyno.analysis.between_runs.types import Row

PLAIN = {
    "of_run": "{run}: {why}",
    "another_machine": "another machine: {what}",
    "changed_meanwhile": "changed while it was measured: {what}",
    "run_changed": "{run} changed while it was measured: {what}",
    "holds_two_versions": "{run} holds two versions in the same blocks: `dyno report` compares"
    " those",
    "no_history": "two separate runs are not one experiment: changes of the machine between them"
    " affect the ratio. With --history DIR, {least} earlier runs of the same plan show how much",
    "no_row_judged": "no row can be judged: {problem}",
    "not_same_plan": "it is not of the same plan",
    "not_of_same_plan": "{a} and {b} are not of the same plan",
    "no_reference": "{run} is no reference for {b}: {why}",
    "cannot_compare": "{run} cannot be compared: {why}",
    "only_in": "only in {run}",
    "not_the_same": "not the same: {what}",
    "spread_of_another": "the spread between runs of one machine does not apply to another one",
    "not_older": "{a} is not older than {b}",
    "no_run_to_judge_by": "A is no run to judge by: {why}",
    "no_spread_before": "the runs before B are alike to the last digit: their spread is 0",
    "unusable_in": "in {run}: {why}; take that run out of the history to judge without it",
    "quick_numbers": "a quick run: a smoke test, whose numbers are for looking",
    "no_complete_block": "no complete block ({status})",
    "blocks_missing": "only {blocks} of {planned} blocks complete",
    "zero_in_block": "{metric} is {value:g} in block {block}",
    "copy_of": "a copy of {run}",
    "few_for_change": "{runs} of the {needed} runs that a change point needs",
    "other_systems": "other systems, or results of another tool",
    "other_plan": "not of the plan of {run}",
    "copy_used": "a copy of a run that is used",
    "few_ratios": "{n} of {runs} runs have this ratio, {least} are needed",
    "only_ratios": "only ratios of two cells are combined, and no bounds",
    "no_spread_shown": "its blocks show no spread, or no bound",
    "defaults_differ": "other systems, with {words:list} left to their defaults",
    "spread_unknown": "the spread between runs is not known: {runs:count earlier run} of the same"
    " plan and machine in the history, {least} are needed",
}


def imported_run(tools: Sequence[str]) -> str:
    """Not in a history."""
    return (
        f"imported results of {', '.join(tools)}: machine and day of the measurement are not known"
        " (`dyno compare A B` compares two imported runs)"
    )


def rows_unjudged(n: int, rows: int, first: Row) -> str:
    """Why a gate cannot say that all is well."""
    where = f"{first.metric} {_where(first)}"
    return f"{n} of {rows} rows are not judged, the first {where}: {first.problem}"


def loss_unseen(matters: float, blind: int, rows: int, worst: Row) -> str:
    """Why a gate cannot say that all is well, though it judged."""
    seen = math.ceil(1000 * (worst.seen or 0)) / 10
    return (
        f"a change of {100 * matters:g} % would have been missed in {blind} of {rows} rows; the"
        f" first that can be seen (in 80 % of runs) in {worst.metric} {_where(worst)} is {seen:g}"
        " %. Longer runs, more blocks and more runs make it smaller; or ask for that much"
    )


def _where(row: Row) -> str:
    if row.cells > 1:
        return f"over {row.cells} cells"
    cell = " ".join(f"{factor}={level}" for factor, level in row.at.items())
    return f"at {cell or 'the only cell'}"
