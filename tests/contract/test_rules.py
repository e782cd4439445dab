"""Each rule of `dyno check` has what it promises, fires on its defect, and is silent on the healthy
twin. What it does not know is never fine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from dbdyno.facts import applies
from dbdyno.facts.fact import ENGINES, Facts
from dbdyno.rules.check import fixes
from dbdyno.rules.check.packs import PACKS, RULES
from dbdyno.rules.check.rule import (
    FINE,
    FOUND,
    NOT_APPLICABLE,
    NOT_KNOWN,
    SEVERITIES,
    Finding,
    Fix,
    Outcome,
    Rule,
)
from fixtures.rules.cases import CASES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "python" / "dbdyno" / "rules" / "check"
SOURCE = re.compile(r"https://\S+|(CIS|STIG)\b.+")
WORDS = {*ENGINES, "innodb", "k8s", "sharded"}  # what ids begin with


def look(rule: Rule, facts: Facts | Sequence[Facts]) -> Outcome:
    several = [facts] if isinstance(facts, Facts) else list(facts)
    if rule.judge_all is not None:
        return rule.look_together(several)
    assert len(several) == 1
    return rule.look(several[0])


def test_ids_are_unique_and_each_has_its_cases() -> None:
    ids = [rule.id for rule in RULES]
    assert len({*ids}) == len(ids)
    assert {*CASES} == {*ids}


def test_every_family_of_a_pack_is_listed() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert folders == {*PACKS}
    for pack, families in PACKS.items():
        files = {path.stem for path in (FOLDER / pack).rglob("*.py")} - {"__init__"}
        assert files - {*HELPERS.get(pack, ())} == {
            family.__name__.rpartition(".")[2] for family in families
        }


# Files of a pack that hold no rules.
HELPERS = {
    "distribution": ("advice", "cluster", "locality", "placement"),
    "encryption": ("layers", "matrix", "sessions"),
    "indexes": ("dropping", "expressions", "hidden", "known", "names", "ranges"),
    "platform": ("manifest",),
    "replication": ("gtids", "topology"),
    "security": ("mysql_logins", "settings"),
    "statements": ("told",),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_it_is(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.id)
    assert rule.id.split("-")[0] in WORDS
    assert rule.pack in PACKS
    assert rule.title and rule.about and not rule.title.endswith(".") and rule.about.endswith(".")
    assert SOURCE.fullmatch(rule.source), rule.source
    assert rule.severity in SEVERITIES
    assert (rule.judge is None) != (rule.judge_all is None)
    assert rule.applies and [applies.parse(one) for one in rule.applies]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_on_its_defect_and_is_silent_on_the_healthy_twin(rule: Rule) -> None:
    bad = look(rule, CASES[rule.id].bad)
    assert bad.state == FOUND, bad.reason
    for finding in bad.findings:
        assert finding.severity in SEVERITIES
        assert finding.found.what and finding.found.evidence
        assert all(fact.place for fact in finding.found.evidence)
        assert finding.found.effect
        assert steps(finding.found.fix) and steps(finding.found.undo)
    good = look(rule, CASES[rule.id].good)
    assert good.state == FINE, (good.reason, good.findings)


def steps(fix: Fix) -> int:
    return len(fix.settings) + len(fix.statements) + len(fix.edits)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_without_facts_a_rule_is_not_known(rule: Rule) -> None:
    for source in rule.sources:
        for engine in {applies.parse(one)[0] for one in rule.applies}:
            for version in ((), (1,), (5, 7), (10, 11), (99,)):
                state = look(rule, Facts("nothing", source, engine, version)).state
                assert state in (NOT_KNOWN, NOT_APPLICABLE), (source, engine, version)


def test_no_fixes_of_all_defects_contradict_each_other() -> None:
    """All rules on each bad case: rules that meet on one subject want one thing."""
    for case in CASES.values():
        several = [case.bad] if isinstance(case.bad, Facts) else case.bad
        found: list[Finding] = []
        for rule in RULES:
            outcomes = (
                [rule.look_together(several)]
                if rule.judge_all is not None
                else [rule.look(facts) for facts in several]
            )
            found += [one for outcome in outcomes for one in outcome.findings]
        assert found
        fixes.merged(found)
