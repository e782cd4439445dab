"""`audit: commits` as written: what has it, what is refused where, which metrics there are."""

from __future__ import annotations

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load

FILE = """\
experiment: e
targets: {{db: {{kind: {kind}}}}}
duration: 1s
audit: {audit}
workload: {{{workload}}}
"""
WRITES = "kind: oltp, preset: write_only"


def file(kind: str = "mariadb", audit: str = "commits", workload: str = WRITES) -> str:
    return FILE.format(kind=kind, audit=audit, workload=workload)


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgres", "sqlite"])
def test_systems_with_transactions_can_be_audited(kind: str) -> None:
    assert load(file(kind)).cells[0].audit == "commits"


def test_without_it_and_with_off_nothing_is_audited() -> None:
    assert load(file(audit="off")).cells[0].audit is None
    assert load(file().replace("audit: commits\n", "")).cells[0].audit is None


def test_its_cost_can_be_a_factor() -> None:
    text = file().replace("audit: commits", "factors: {audit: [off, commits]}")
    assert [cell.audit for cell in load(text).cells] == [None, "commits"]


@pytest.mark.parametrize(
    ("kind", "workload", "what", "fix"),
    [
        (
            "redis",
            "kind: kv, preset: a, pipeline: 4",
            "group `workload`: operations of a `pipeline` have no commit of their own",
            "write `pipeline: 1`",
        ),
        ('"null"', WRITES, "target `db`: null keeps no data", "use a target of kind sqlite"),
        (
            "mariadb",
            f"{WRITES}, find: {{rate: max, while: response_ms_p50 < 20}}",
            "group `workload`: a search for a rate runs the load several times a trial",
            "give the group a `rate`",
        ),
    ],
)
def test_what_cannot_be_audited_is_pointed_at(
    kind: str, workload: str, what: str, fix: str
) -> None:
    with pytest.raises(DynoError) as caught:
        load(file(kind, workload=workload))
    error = caught.value
    assert f"`audit` and {what}" in error.what
    assert fix in error.fix
    assert error.where is not None
    assert (error.where.line, error.where.column) == (4, 8)


def test_other_audits_are_no_audits() -> None:
    with pytest.raises(DynoError, match="audit"):
        load(file(audit="everything"))


def test_claims_on_audits_need_one() -> None:
    claim = 'claims: ["audit.lost < 1"]\n'
    (parsed,) = load(file() + claim).claims
    assert parsed.text == "audit.lost < 1"
    with pytest.raises(DynoError, match="commits are not audited") as caught:
        load(file(audit="off") + claim)
    assert caught.value.fix == "add `audit: commits` to the experiment"
