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


def history(audit: str, kind: str = "postgres", workload: str | None = None) -> str:
    return file(kind, audit, workload or f"kind: {audit}")


@pytest.mark.parametrize("audit", ["register", "append", "bank"])
def test_histories_are_of_the_workload_of_their_name(audit: str) -> None:
    assert load(history(audit)).cells[0].audit == audit
    with pytest.raises(DynoError, match=f"none has the workload `{audit}`") as caught:
        load(history(audit, workload=WRITES))
    assert f"add a group with `kind: {audit}`" in caught.value.fix


def test_other_workloads_may_run_with_them() -> None:
    text = history("append").replace(
        "workload: {kind: append}",
        f"groups: {{lists: {{kind: append}}, noise: {{{WRITES}}}}}",
    )
    assert load(text).cells[0].audit == "append"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (history("append", "redis"), "needs `sql`"),
        (history("bank", "redis"), "needs `sql`"),
        (history("register", "redis", "kind: register, compare_and_set: 1"), "needs `sql`"),
        (history("register", '"null"'), "null keeps no data"),
        (
            history("append").replace("{kind: postgres}", "{kind: postgres, instances: 2}"),
            "instances",
        ),
        (history("append", workload="kind: append, sessions: 9000"), "it has 9000 sessions"),
        (history("append", workload="kind: append, retries: 64"), "it has 64 retries"),
        (
            history("bank", workload="kind: bank, find: {rate: max, while: response_ms_p50 < 20}"),
            "a search for a rate",
        ),
        (history("append", workload="kind: append, rows: 4, lists: 5"), "`lists` 5 is more than"),
        (
            history("register", workload="kind: register, read: 0, write: 0"),
            "all proportions are 0",
        ),
    ],
)
def test_what_has_no_history_is_refused(text: str, what: str) -> None:
    with pytest.raises(DynoError) as caught:
        load(text)
    assert what in caught.value.what
    assert caught.value.fix


def test_registers_of_redis_have_histories() -> None:
    assert load(history("register", "redis")).cells[0].audit == "register"


def test_claims_are_on_what_their_audit_measures() -> None:
    claim = 'claims: ["audit.write_skew < 1"]\n'
    (parsed,) = load(history("append") + claim).claims
    assert parsed.text == "audit.write_skew < 1"
    with pytest.raises(DynoError, match="`audit: bank` does not look for it") as caught:
        load(history("bank") + claim)
    assert caught.value.fix == "add `audit: append` to the experiment"
    with pytest.raises(DynoError, match="does not look for it"):
        load(file() + 'claims: ["audit.stale_reads < 1"]\n')
