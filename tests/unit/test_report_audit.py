"""What the report says of audits: no more than was seen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import plans

from dbdyno.audit.findings import Audit, Lost, NodeCounts
from dbdyno.report import Report
from dbdyno.report.context import Context
from dbdyno.report.sections.audits import audit
from dbdyno.share.redact.run import redacted
from dbdyno.store import record as records
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run
from fixtures import reports, synthetic
from fixtures.printed import printed

CLEAN = Audit(
    acknowledged=1200,
    failed=3,
    unknown=0,
    lost=0,
    resurrected=0,
    duplicated=0,
    diverged=0,
    unknown_present=0,
    unlogged=0,
    nodes=(NodeCounts("db", 1200, 0),),
)
LOST = replace(
    CLEAN,
    lost=7,
    resurrected=1,
    first_lost=Lost(2, 11, 0, 1.25),
    last_lost=Lost(3, 9, 1, 2.5),
    lost_examples=(Lost(2, 11, 0, 1.25), Lost(3, 9, 1, 2.5)),
    nodes=(NodeCounts("db", 1193, 7, restarted=True), NodeCounts("db.read1", 1200, 0)),
)
UNREAD = replace(
    CLEAN,
    lost=None,
    resurrected=None,
    duplicated=None,
    diverged=None,
    unknown_present=None,
    unlogged=None,
    nodes=(NodeCounts("db", None, None, "it is down"),),
)


def report(*audits: Audit) -> Report:
    """Of a run whose first trials have these."""
    run, findings = synthetic.engines(Path("RUN"))
    kept = list(run.kept)
    for place, each in enumerate(audits):
        kept[place] = kept[place].replace(audit={"db": each})
    return Report(replace(run, kept=kept), findings)  # type: ignore[arg-type]


def view(*audits: Audit) -> audit.View:
    """The section without the rest of a report."""
    made = report(*audits)
    seen = audit.view(Context(made.run, made.findings))
    assert seen is not None
    return seen


def test_a_run_without_audits_has_no_such_section() -> None:
    assert "audit" not in reports.report("engines").views


def test_where_nothing_is_lost_that_is_said_of_these_audits() -> None:
    made = view(CLEAN, CLEAN)
    assert made.summary == "None of 2,400 acknowledged transactions is lost (2 audits)."
    assert (made.is_clean, made.findings) == (True, [])


def test_what_is_lost_is_said_with_its_time_and_its_nodes() -> None:
    made = view(CLEAN, LOST)
    assert made.summary == "7 of 2,400 acknowledged transactions are lost (2 audits)."
    (finding,) = made.findings
    assert finding.sentences == (
        "7 acknowledged transactions lost, acknowledged between 1.250 s and 2.500 s;"
        " session 2 n 11, session 3 n 9 attempt 1, ...",
        "1 attempt that failed for its client is present",
        "node db has not 7 of the acknowledged transactions",
        "node db was down after the load, and was started again to be read",
    )


def test_of_nodes_that_were_not_read_nothing_is_claimed() -> None:
    made = view(UNREAD)
    assert made.summary == (
        "No audit could read the nodes: nothing is known about lost transactions."
    )
    assert made.rows[0].lost == "not known"
    assert made.findings[0].sentences == ("node db could not be read: it is down",)
    assert view(CLEAN, UNREAD).summary == (
        "None of 1,200 acknowledged transactions is lost (1 audit); of 1 more audit it is not"
        " known."
    )


def test_every_medium_draws_it() -> None:
    made = report(LOST)
    assert '<h2 id="audit">' in made.html()
    assert "## Audit of commits" in made.markdown()
    assert "audit: 7 of 1,200 acknowledged transactions are lost" in printed(
        made.terminal(), width=200
    )


def test_a_record_keeps_its_audit() -> None:
    plain = TrialRecord("b01-t001", 1, 0, "complete", 1.0, {})
    assert "audit" not in records.to_json(plain)
    audited = plain.replace(audit={"db": LOST})
    assert (
        records.from_json(json.loads(json.dumps(records.to_json(audited))), "trial.json") == audited
    )


def test_a_redacted_audit_names_no_node_and_no_message(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", plans.plan(), {})
    (first, *_) = run.plan.trials
    target = run.plan.cells[first.cell].targets[0].name
    down = NodeCounts(f"{target}.read1", None, None, "no route to host prod-7")
    audited = replace(UNREAD, nodes=(NodeCounts(target, 5, 0), down))
    with run:
        run.begin(first.id)
        made = TrialRecord(first.id, 1, first.cell, "complete", 1.0, {})
        run.complete(made.replace(audit={target: audited}))
    copy = redacted(Run.open(tmp_path / "run"), tmp_path / "copy")
    ((name, found),) = copy.records()[0].audit.items()
    assert [node.name for node in found.nodes] == [name, f"{name}.read1"]
    assert "prod-7" not in found.nodes[1].why
