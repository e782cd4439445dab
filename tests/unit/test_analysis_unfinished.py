"""A run of fixed blocks that is ended early has no more chances to err than one that is not."""

from dataclasses import replace

import pytest
from judging import CACHE, QUERY_CACHE, records
from plans import plan

from dbdyno.analysis.types import Findings
from dbdyno.wording.findings import analyse

CLAIM = "transactions_per_s[off] / transactions_per_s[on] > 2.8 at sessions=16"


def after(blocks: int, planned: int, *, cut: bool = False) -> Findings:
    """What is found after so many blocks of a plan."""
    made = plan(CACHE, blocks=planned, claims=(CLAIM,))
    found = [one for one in records(made, QUERY_CACHE, noise=0.01) if one.block <= blocks]
    if cut:  # as a budget does
        kept = tuple(trial for trial in made.trials if trial.block <= blocks)
        made = replace(made, blocks=blocks, trials=kept)
    return analyse(made, found)


def test_an_unfinished_run_is_judged_at_what_its_blocks_may_spend() -> None:
    ended, early = after(5, 6, cut=True), after(5, 6)
    (whole,), (part,) = ended.claims[0].parts, early.claims[0].parts
    assert whole.estimate is not None
    assert part.estimate is not None
    assert part.estimate.ci_low < whole.estimate.ci_low  # type: ignore[operator]
    assert (part.estimate.p or 0) > 3 * (whole.estimate.p or 1)
    (warning,) = [one for one in early.warnings if "not finished" in one]
    assert "5 of 6 blocks may spend of the error budget" in warning
    assert not [one for one in ended.warnings if "not finished" in one]


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_too_few_blocks_of_an_unfinished_run_are_not_judged(blocks: int) -> None:
    (claim,) = after(blocks, 12).claims
    assert claim.verdict == "undecided"
    assert claim.parts[0].estimate is None or claim.parts[0].estimate.ci_low is None
