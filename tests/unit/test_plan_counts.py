"""Whether an experiment has blocks enough to support that there is none of a count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dbdyno.analysis.claims.counts import AnyCount
from dbdyno.cli.main import dyno
from dbdyno.experiment import load
from dbdyno.experiment.claims.types import ALPHA
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import counts

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.yaml"))
MACHINE = Machine(cores=8, memory_bytes=1 << 36, kernel="6", cpu_model="x")
FILE = """\
experiment: killed
targets: {{db: {{kind: mariadb}}}}
workload: {{kind: oltp, preset: write_only}}
audit: commits
faults: [{{at: 1s, do: kill}}]
factors: {{durability: {{full: {{db.durability: full}}, none: {{db.durability: none}}}}}}
blocks: {blocks}
claims: [{claims}]
"""


def loaded(blocks: int, *claims: str) -> Any:
    return load(FILE.format(blocks=blocks, claims=", ".join(f'"{claim}"' for claim in claims)))


def said(blocks: int, *claims: str) -> list[str]:
    spec = loaded(blocks, *claims)
    return counts.undecidable(spec.claims, spec.factors, spec.cells, spec.scope, blocks)


@pytest.mark.parametrize("parts", range(1, 20))
def test_so_many_blocks_support_none_and_one_less_does_not(parts: int) -> None:
    needed = counts.blocks_needed(parts)
    for blocks, supports in ((needed, True), (needed - 1, False)):
        zeros = AnyCount((0.0,) * blocks, 1.0)
        assert (zeros.p <= ALPHA / parts) is supports
        assert (zeros.share_most(1 - ALPHA / parts) <= 0.5 + 1e-12) is supports


def test_a_claim_that_few_blocks_cannot_support_is_named() -> None:
    assert said(5, "audit.lost[full] < 1") == []
    assert said(4, "audit.lost[full] < 1") == [
        "4 blocks can refute `audit.lost[full] < 1`, and not support it: that takes 5 blocks"
        " without any."
    ]


def test_claims_share_the_error_budget() -> None:
    claims = ("audit.lost[full] < 1", "audit.lost[none] < 1 and audit.duplicated[none] <= 0")
    assert said(6, *claims) == []
    [text] = said(5, *claims)
    assert "can refute `audit.lost[full] < 1`, `audit.lost[none]" in text
    assert "not support any of them: that takes 6 blocks" in text


@pytest.mark.parametrize(
    "claim",
    ["audit.lost[none] >= 1", "tps[full] < 100", "audit.lost[full] < audit.lost[none]"],
)
def test_other_claims_are_none_of_these(claim: str) -> None:
    assert said(1, claim) == []


def test_a_plan_notes_it_and_a_quick_one_does_not() -> None:
    spec = loaded(3, "audit.lost[full] < 1")
    assert any("3 blocks can refute" in note for note in make(spec, MACHINE).notes)
    quick = make(spec, MACHINE, quick=True)
    assert not any("can refute" in note for note in quick.notes)


def test_check_says_it(tmp_path: Path) -> None:
    file = tmp_path / "killed.yaml"
    file.write_text(FILE.format(blocks=4, claims='"audit.lost[full] < 1"'))
    done = CliRunner().invoke(dyno, ["run", str(file), "--check"], standalone_mode=False)
    assert done.exit_code == 0, done.output
    assert "warning: 4 blocks can refute" in done.output


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_no_study_claims_what_its_blocks_cannot_show(study: Path) -> None:
    spec = load(study)
    assert not counts.undecidable(spec.claims, spec.factors, spec.cells, spec.scope, spec.blocks)
