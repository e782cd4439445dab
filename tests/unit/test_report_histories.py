"""What the report says of histories: no more than was seen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import plans

from dbdyno.audit.histories.findings import Findings, HistoryNode
from dbdyno.report import Report
from dbdyno.report.context import Context
from dbdyno.report.sections.audits import histories
from dbdyno.share.redact.run import redacted
from dbdyno.store import record as records
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run
from fixtures import reports, synthetic
from fixtures.printed import printed

LISTS = Findings(
    "append",
    judged=1200,
    unknown=2,
    counts={"lost_update": 0, "write_skew": 7, "diverged": 0},
    isolation="repeatable_read",
    permitted=("write_skew",),
    examples={"write_skew": "(session 1, transaction 5) read list 3 without <what> followed"},
    nodes=(HistoryNode("db", True),),
)
REGISTERS = Findings(
    "register",
    judged=5000,
    unknown=0,
    counts={"not_linearizable": 2, "stale_reads": 30},
    stale_read_max_s=0.25,
    examples={"stale_reads": "register 7: session 1 read an old value"},
)


def report(*found: Findings) -> Report:
    run, findings = synthetic.engines(Path("RUN"))
    kept = list(run.kept)
    for place, each in enumerate(found):
        kept[place] = kept[place].replace(histories={"db": each})
    return Report(replace(run, kept=kept), findings)  # type: ignore[arg-type]


def view(*found: Findings) -> histories.View:
    """The section without the rest of a report."""
    made = report(*found)
    seen = histories.view(Context(made.run, made.findings))
    assert seen is not None
    return seen


def test_a_run_without_histories_has_no_such_section() -> None:
    assert "histories" not in reports.report("engines").views


def test_what_is_permitted_is_no_violation_and_nothing_found_is_no_proof() -> None:
    made = view(LISTS)
    assert made.summary == (
        "Nothing that the isolation level does not permit was found in 1,200 transactions"
        " (1 history). What this load did not provoke is not excluded by that."
    )
    assert made.is_clean
    (row,) = made.rows
    assert row.found == "7 reads in write skew (G2-item) (permitted)"
    assert (row.isolation, row.violations, row.unknown) == ("repeatable read", "0", "2")


def test_a_violation_is_counted_and_has_its_example() -> None:
    made = view(replace(LISTS, permitted=()))
    assert made.summary == (
        "7 anomalies that the isolation level does not permit were found in 1,200 transactions"
        " (1 history)."
    )
    assert not made.is_clean
    assert [each.what for each in made.examples] == ["read in write skew (G2-item)"]


def test_stale_reads_have_their_age() -> None:
    made = view(REGISTERS)
    assert made.summary == (
        "2 registers are not linearizable, as found in 5,000 operations (1 history)."
    )
    assert made.rows[0].found.endswith("30 stale reads (up to 0.250 s old)")


GROUND = "Sessions use several nodes, and replicas apply a commit after its acknowledgement."
AT_REPLICAS = replace(REGISTERS, permitted=("not_linearizable", "stale_reads"), grounds=(GROUND,))


def test_stale_reads_that_the_set_up_permits_are_no_violation() -> None:
    made = view(AT_REPLICAS)
    assert made.summary == (
        "2 registers are not linearizable, which the set-up permits, and nothing else was found in"
        " 5,000 operations (1 history). What this load did not provoke is not excluded by that."
    )
    assert made.is_clean
    assert made.rows[0].violations == "0"
    assert made.rows[0].found.endswith("30 stale reads (up to 0.250 s old) (permitted)")
    assert [ground for _, ground in made.grounds] == [GROUND]
    drawn = report(AT_REPLICAS)
    assert GROUND in drawn.html()
    assert "after its acknowledgement" in drawn.markdown()


def test_what_no_set_up_permits_counts_at_replicas_too() -> None:
    counts = {**REGISTERS.counts, "dirty_reads": 3, "own_write_misses": 2}
    dirty = replace(AT_REPLICAS, counts=counts)
    assert dirty.violations == 5  # a session that misses its own writes is another promise
    made = view(dirty)
    assert made.summary == (
        "5 anomalies that the set-up does not permit were found in 5,000 operations (1 history)."
    )
    assert not made.is_clean
    both = view(dirty, REGISTERS)
    assert both.summary.startswith("2 registers are not linearizable, as found, and 5 anomalies")


def test_more_than_the_level_is_said_to_be_of_the_set_up() -> None:
    ground = "Sessions use several nodes, and Galera certifies what transactions write."
    made = view(replace(LISTS, grounds=(ground,)))
    assert made.summary.startswith("Nothing that isolation level and set-up do not permit was")
    assert not view(replace(LISTS, permitted=(), grounds=(ground,))).is_clean


def test_what_could_not_be_judged_is_said() -> None:
    unknown = replace(LISTS, counts={"lost_update": None}, why="no node could be read", examples={})
    assert view(unknown).summary == "Of 1 history nothing could be judged."
    assert view(LISTS, unknown).summary.endswith(
        "(1 history). 1 more history could not be judged. What this load did not provoke is not"
        " excluded by that."
    )
    assert view(unknown).rows[0].violations == "not known"
    assert view(unknown).examples[0].text == "no node could be read"


def test_all_media_draw_it_and_escape_it() -> None:
    made = report(replace(LISTS, permitted=()))
    page = made.html()
    assert '<h2 id="histories">Audit of histories</h2>' in page
    assert "&lt;what&gt;" in page
    assert "## Audit of histories" in made.markdown()
    assert "audit: 7 anomalies" in printed(made.terminal(), width=200)


def test_a_record_keeps_its_histories() -> None:
    plain = TrialRecord("b01-t001", 1, 0, "complete", 1.0, {})
    assert "histories" not in records.to_json(plain)
    made = plain.replace(histories={"db": LISTS, "other": REGISTERS})
    assert records.from_json(json.loads(json.dumps(records.to_json(made))), "trial.json") == made


def test_a_redacted_history_names_no_node_and_no_message(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", plans.plan(), {})
    (first, *_) = run.plan.trials
    target = run.plan.cells[first.cell].targets[0].name
    down = HistoryNode(f"{target}.read1", False, "no route to host prod-7")
    with run:
        run.begin(first.id)
        made = TrialRecord(first.id, 1, first.cell, "complete", 1.0, {})
        run.complete(made.replace(histories={target: replace(LISTS, nodes=(down,))}))
    copy = redacted(Run.open(tmp_path / "run"), tmp_path / "copy")
    ((name, found),) = copy.records()[0].histories.items()
    assert [node.name for node in found.nodes] == [f"{name}.read1"]
    assert "prod-7" not in found.nodes[0].why
