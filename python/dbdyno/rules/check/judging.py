"""All rules on all facts: findings in their order, what is known already, and the counts."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.facts.fact import Facts
from dbdyno.rules.check import fixes
from dbdyno.rules.check.overview import Maker, Overview
from dbdyno.rules.check.rule import (
    FINE,
    FOUND,
    NOT_APPLICABLE,
    NOT_KNOWN,
    SEVERITIES,
    Finding,
    Outcome,
    Rule,
)


@dataclass(frozen=True)
class Ignored:
    """A finding that the user does not want to hear of, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Judged:
    """`findings` are those that count; `known` were in the baseline. `counts`: of rules on
    subjects, by state."""

    subjects: tuple[Facts, ...]
    findings: tuple[Finding, ...]
    known: tuple[Finding, ...]
    ignored: tuple[Ignored, ...]
    not_known: tuple[Outcome, ...]
    counts: Mapping[str, int]
    settings: Mapping[str, Mapping[str, str | None]]  # all fixes together, by subject
    overviews: tuple[Overview, ...] = ()

    def at_least(self, severity: str) -> int:
        """How many findings are of that severity or a higher one."""
        least = SEVERITIES.index(severity)
        return sum(SEVERITIES.index(one.severity) >= least for one in self.findings)


def judge(
    all_facts: Sequence[Facts],
    rules: Sequence[Rule],
    *,
    only: Sequence[str] = (),
    ignore: Mapping[str, str] = {},
    baseline: Collection[str] = (),
    overviews: Mapping[str, Maker] = {},
) -> Judged:
    """`only`: patterns of rules' ids or names of packs; `ignore`: reasons by id; `baseline`:
    fingerprints; `overviews`: by pack, made of those that `only` names. `fixes.Contradiction` if
    fixes of this run contradict each other."""
    chosen = [rule for rule in rules if not only or any(named(rule, one) for one in only)]
    outcomes = [outcome for rule in chosen for outcome in _outcomes(rule, all_facts)]
    found = sorted((one for outcome in outcomes for one in outcome.findings), key=_order)
    heard = [one for one in found if one.rule not in ignore]
    new = tuple(one for one in heard if fingerprint(one) not in baseline)
    return Judged(
        subjects=tuple(all_facts),
        findings=new,
        known=tuple(one for one in heard if fingerprint(one) in baseline),
        ignored=tuple(Ignored(one, ignore[one.rule]) for one in found if one.rule in ignore),
        not_known=tuple(outcome for outcome in outcomes if outcome.state == NOT_KNOWN),
        counts={
            state: sum(outcome.state == state for outcome in outcomes)
            for state in (FOUND, FINE, NOT_KNOWN, NOT_APPLICABLE)
        },
        settings=fixes.merged(new),
        overviews=tuple(
            one for pack, make in overviews.items() if pack in only for one in make(all_facts)
        ),
    )


def _outcomes(rule: Rule, all_facts: Sequence[Facts]) -> list[Outcome]:
    if rule.judge_all is not None:
        return [rule.look_together(all_facts)]
    return [rule.look(facts) for facts in all_facts]


def named(rule: Rule, pattern: str) -> bool:
    """Whether a pattern is of a rule's id, or names its pack."""
    return rule.pack == pattern or fnmatch.fnmatchcase(rule.id, pattern)


def _order(finding: Finding) -> tuple[int, str, str, str]:
    severe = -SEVERITIES.index(finding.severity)
    return (severe, finding.rule, finding.subject, finding.found.about)


def fingerprint(finding: Finding) -> str:
    """The same finding in a later run: rule, subject and what it is about, not its numbers."""
    whose = "\0".join((finding.rule, finding.subject, finding.found.about))
    return hashlib.sha256(whose.encode(errors="replace")).hexdigest()
