"""A claim's own words (`say:`): wherever they are shown, their verdict stands before them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from judging import CACHE, QUERY_CACHE, checked, records
from plans import plan as make_plan
from ruamel.yaml import YAML
from test_watching import drawn, played

from dbdyno.analysis.types import Findings
from dbdyno.cli.running.finish import undecided
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.imports import read_head
from dbdyno.plan.claims import words_of
from dbdyno.plan.pilot.shorten import Pilot, shorten
from dbdyno.plan.stored import json as plan_json
from dbdyno.plan.two_versions.against import Base, unite
from dbdyno.plan.types import Plan
from dbdyno.report import Report
from dbdyno.report.ci import FORMATS
from dbdyno.share.redact.aliases import Aliases
from dbdyno.share.redact.experiment import experiment as redacted_text
from dbdyno.share.redact.plan import plan as redacted_plan
from dbdyno.share.redact.texts import Texts
from dbdyno.store.run import Run
from fixtures.printed import printed

SPEC = """\
experiment: said
targets: {db: {kind: sqlite}}
workload: {kind: oltp, preset: read_only}
factors: {sessions: [1, 2]}
claims:
  - claim: tps[2] > tps[1]
    say: |
      Two sessions
      commit <b>more</b>
  - p95[1] < 10
"""
WORDS = "Two sessions commit <b>more</b>"
TRUE, FALSE, OPEN = (
    "tps[off] > 2 * tps[on] at sessions=16",
    "tps[off] > 5 * tps[on] at sessions=16",
    "tps[off] > 2.9 * tps[on] at sessions=16",
)
FASTER = "The server is faster without the cache"


def planned(*claims: str) -> Plan:
    return replace(
        make_plan(CACHE, blocks=6, claims=claims), claim_words=dict.fromkeys(claims, FASTER)
    )


def found(plan: Plan) -> Findings:
    return checked(plan, records(plan, QUERY_CACHE))


def report(path: Path, *claims: str) -> Report:
    """That of a made-up run with these claims, which all have the same words."""
    plan = planned(*claims)
    with Run.create(path, plan, {}) as run:
        for record in records(plan, QUERY_CACHE):
            run.begin(record.id)
            run.complete(record)
    return Report(run, found(plan))


def test_words_are_read_in_a_line_and_need_not_be_there() -> None:
    claims = load(SPEC).claims
    assert [claim.say for claim in claims] == [WORDS, ""]
    assert words_of(claims) == {"tps[2] > tps[1]": WORDS}
    for wrong in ("say: [a]", "says: a"):
        with pytest.raises(DynoError, match="say"):
            load(f"{SPEC}  - {{claim: 'p95[2] < 10', {wrong}}}\n")


def test_they_stay_with_a_claim_that_is_rewritten() -> None:
    spec = load(SPEC)
    both = unite(spec, Base(spec, "itself")).spec
    for made in (both, shorten(spec, Pilot())):
        first = made.claims[0]
        assert first.text != spec.claims[0].text and first.say == WORDS


def test_an_import_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SPEC)
    plan = make_plan({"sessions": ("1", "2")})
    spec = load(SPEC)
    claims = read_head(tmp_path / "a.yaml").claims(plan.factors, plan.cells, spec.scope)
    assert [claim.say for claim in claims] == [WORDS, ""]


def test_a_stored_plan_and_its_findings_hold_them() -> None:
    plan = planned(TRUE)
    assert plan_json.from_json(plan_json.to_json(plan)) == plan
    old = plan_json.to_json(plan)
    del old["claim_words"]  # a run from before
    assert plan_json.from_json(old).claim_words == {}
    assert [claim.say for claim in found(plan).claims] == [FASTER]
    untested = found(replace(plan, untested={TRUE: "needs more"})).claims
    assert [(claim.verdict, claim.say) for claim in untested] == [("not tested here", FASTER)]


@pytest.mark.parametrize(
    ("claim", "lead"), [(TRUE, "Supported:"), (FALSE, "Refuted:"), (OPEN, "Undecided:")]
)
def test_every_medium_puts_the_verdict_before_them(tmp_path: Path, claim: str, lead: str) -> None:
    made = report(tmp_path / "run", claim)
    html = re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>", "", made.html())
    shown = {
        "html": html.replace("&#39;", "'"),
        "markdown": made.markdown(),
        "terminal": printed(made.terminal()),
        "comment": FORMATS["comment"](made),
        "sarif": FORMATS["sarif"](made),
        "annotations": FORMATS["annotations"](made),
        "undecided": undecided(made.findings),
    }
    for medium, text in shown.items():
        alone = text.replace(f"{lead} {FASTER}", "")
        assert FASTER not in alone, medium
    passed = lead == "Supported:"
    for medium in (
        "html",
        "markdown",
        "terminal",
        "comment",
        *(() if passed else ("sarif", "annotations")),
    ):
        assert f"{lead} {FASTER}" in shown[medium], medium
    # The claim itself follows.
    assert shown["html"].index(FASTER) < shown["html"].index(claim.replace(">", "&gt;"))
    assert shown["terminal"].index(FASTER) < shown["terminal"].index(claim[:20])


def test_a_test_case_quotes_them_and_fails_with_its_verdict(tmp_path: Path) -> None:
    root = ElementTree.fromstring(FORMATS["junit"](report(tmp_path / "run", TRUE, FALSE)).encode())
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == [f"“{FASTER}” ({claim})" for claim in (TRUE, FALSE)]
    (failure,) = root.iter("failure")
    assert failure.get("message") == f"Refuted: {FASTER}"
    assert (failure.text or "").startswith(f"Refuted: {FASTER} ({FALSE}). ")


def test_other_words_are_the_same_alert(tmp_path: Path) -> None:
    made = report(tmp_path / "run", FALSE)
    (claim,) = made.findings.claims
    other = Report(made.run, replace(made.findings, claims=(replace(claim, say="Otherwise"),)))
    prints = [
        json.loads(FORMATS["sarif"](one))["runs"][0]["results"][0]["partialFingerprints"]
        for one in (made, other)
    ]
    assert prints[0] == prints[1]


def test_a_terminal_obeys_nothing_in_them(tmp_path: Path) -> None:
    made = report(tmp_path / "run", TRUE)
    (claim,) = made.findings.claims
    evil = replace(made.findings, claims=(replace(claim, say="\x1b[31mred\u202e | <b>"),))
    shown = Report(made.run, evil)
    assert "\x1b[31m" not in printed(shown.terminal())
    assert "␛\\[31mred� \\| \\<b\\>" in shown.markdown()
    assert "&lt;b&gt;" in shown.html() and " <b></p>" not in shown.html()


def test_the_panel_says_that_they_are_claimed() -> None:
    plan = replace(
        make_plan({"cache": ("on", "off")}, claims=("tps[on] > tps[off]",)),
        claim_words={"tps[on] > tps[off]": FASTER},
    )
    trials = records(plan, {("on",): 1200.0, ("off",): 1000.0}, noise=0.0)
    shown = drawn(played(plan, trials[:4]))
    assert shown.index("so far, not judged") < shown.index(f"claimed: {FASTER}")
    assert shown.index(FASTER) < shown.index("tps[on] / tps[off]")


def test_a_redacted_run_has_none() -> None:
    texts = Texts(Aliases())
    made = redacted_plan(texts, planned(TRUE))
    assert made.claims == (TRUE,) and not any(made.claim_words.values())
    entry = YAML(typ="safe").load(redacted_text(texts, SPEC))["claims"][0]
    assert entry == {"claim": "tps[2] > tps[1]", "say": "(omitted)"}
