"""What the report says of routers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dbdyno.audit.routing.findings import Ran, Routing
from dbdyno.report import Report
from dbdyno.report.context import Context
from dbdyno.report.sections.audits import routing
from dbdyno.store import record as records
from fixtures import reports, synthetic
from fixtures.printed import printed

READ = Ran("transaction that writes", "SELECT after the write", "primary", 3, 0, 0, 0, 0, 0)
SET = Ran("setting of the session", "SET", "", 0, 0, 3, 0, 0, 0)
CLEAN = Routing(3, 150, 0, 0, 0, 20, 0, 0.0, (READ, SET))
MISROUTED = replace(
    CLEAN,
    misrouted=2,
    stale_reads=5,
    stale_ms_max=1.25,
    rows=(replace(READ, primary=1, standby=2, misrouted=2), SET),
)
WRONG = replace(
    CLEAN, wrong_results=3, rows=(READ, replace(SET, wrong=3, example="None instead of 5"))
)


def report(*found: Routing) -> Report:
    """Of a run whose first trials have these."""
    run, findings = synthetic.engines(Path("RUN"))
    kept = list(run.kept)
    for place, each in enumerate(found):
        kept[place] = kept[place].replace(routing={"db": each})
    return Report(replace(run, kept=kept), findings)  # type: ignore[arg-type]


def view(*found: Routing) -> routing.View:
    """The section without the rest of a report."""
    made = report(*found)
    seen = routing.view(Context(made.run, made.findings))
    assert seen is not None
    return seen


def test_a_clean_router_is_said_in_a_sentence() -> None:
    seen = view(CLEAN)
    assert seen.is_clean
    assert seen.summary == (
        "None of 150 statements was misrouted; all results are those of sessions without a router."
    )
    assert [row.cells[0].text for row in seen.rows] == ["primary", "all nodes"]
    assert seen.set_ups[0].stale == "0 of 20"


def test_stale_reads_have_their_time_or_a_bound_of_it() -> None:
    seen = view(MISROUTED)
    assert seen.set_ups[0].stale == "5 of 20, up to 1.25 ms"
    assert seen.summary.endswith("5 of 20 reads after a commit of the same session lacked it.")
    stuck = replace(MISROUTED, stale_reads=1, reads_after_writes=1, stale_ms_max=10_004.0)
    stuck = replace(stuck, is_stale_cut=True)
    assert view(stuck).set_ups[0].stale == "1 of 1, at least 10,000 ms"


def test_what_is_misrouted_is_marked_in_the_table() -> None:
    seen = view(CLEAN, MISROUTED)
    assert not seen.is_clean
    assert seen.summary.startswith("2 of 300 statements were misrouted")
    cells = [cell for row in seen.rows for cell in row.cells if cell.is_bad]
    assert [cell.text for cell in cells] in (
        ["primary 1 of 3; standby 2 of 3; misrouted 2 of 3"],
        ["primary 4 of 6; standby 2 of 6; misrouted 2 of 6"],
    )


def test_a_lost_setting_is_shown_with_what_came_instead() -> None:
    seen = view(WRONG)
    assert "3 statements had another result than without the router" in seen.summary
    [bad] = [cell.text for row in seen.rows for cell in row.cells if cell.is_bad]
    assert bad == "all nodes; wrong 3 of 3: None instead of 5"


def test_all_media_have_it_and_without_one_nothing() -> None:
    made = report(MISROUTED)
    page = made.html()
    assert '<h2 id="routing">' in page
    assert "misrouted 2 of 3" in page
    text = made.markdown()
    assert "## Routing of statements" in text
    line = next(line for line in text.splitlines() if "SELECT after the write" in line)
    assert line.startswith("| transaction that writes | SELECT after the write | primary |")
    assert "routing: 2 of 150" in printed(made.terminal(), width=200)
    assert "routing" not in reports.report("engines").views


def test_a_record_keeps_it() -> None:
    run, _ = synthetic.engines(Path("RUN"))
    record = run.kept[0].replace(routing={"db": WRONG})  # type: ignore[attr-defined]
    data = json.loads(json.dumps(records.to_json(record)))
    assert records.from_json(data, "trial.json") == record
