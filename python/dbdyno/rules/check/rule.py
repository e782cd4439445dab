"""What a rule is, and what it finds.

A rule is a pure function of facts. A rule without a fact that it needs is "not known", with the
reason, and never "fine".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dbdyno.facts import applies
from dbdyno.facts.fact import Fact, Facts, Missing

SEVERITIES = ("info", "low", "medium", "high", "critical")
FOUND, FINE, NOT_KNOWN, NOT_APPLICABLE = "found", "fine", "not known", "not applicable"


@dataclass(frozen=True)
class Fix:
    """What to do, or how to undo it. `settings`: values by name, None to take a line away;
    `statements` to send; `edits` of files and other things to do, a sentence each. `drops` and
    `needs`: objects that it takes away, and that must be there for it (`index shop.orders.total`);
    no fix of a run drops what another needs."""

    settings: tuple[tuple[str, str | None], ...] = ()
    statements: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def setting(name: str, value: object) -> Fix:
    """One setting and its value; None: without it."""
    return Fix(settings=((name, None if value is None else str(value)),))


def statements(*sql: str) -> Fix:
    """Statements to send, in order."""
    return Fix(statements=sql)


def edits(*sentences: str) -> Fix:
    """Edits of files, and what else there is to do."""
    return Fix(edits=sentences)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a judge has seen. `about`: the account, table, setting or object that it is about, by
    which a baseline knows it again. `effect` has a number where there can be one. `subject` is for
    rules that judge several subjects together."""

    what: str
    evidence: Sequence[Fact]
    effect: str
    fix: Fix
    undo: Fix
    about: str = ""
    severity: str = ""  # empty: the rule's own
    subject: str = ""


@dataclass(frozen=True)
class Finding:
    """What is wrong with one subject, by one rule."""

    rule: str
    pack: str
    title: str
    subject: str
    severity: str
    found: Found
    source: str
    proof: str | None = None


Judge = Callable[[Facts], Iterable[Found]]
JudgeAll = Callable[[Sequence[Facts]], Iterable[Found]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`id` is stable: baselines and `--ignore` name it. `applies`: engines with ranges of versions
    (`facts.applies`). `sources`: of which sources' facts it is true; a rule of a server's state
    does not apply to files. `needs`: keys and tables without which it is not known. `judge` looks
    at one subject, `judge_all` at all to which it applies together (replicas, two servers of one
    directory). `source`: the documentation's URL, or ids of CIS or STIG. `proof`: how the effect
    can be shown on a server of one's own, or None."""

    id: str
    pack: str
    title: str
    about: str  # what it finds, and why that matters: for the reference
    severity: str
    applies: tuple[str, ...]
    sources: tuple[str, ...] = ("server", "file")
    needs: tuple[str, ...] = ()
    judge: Judge | None = None
    judge_all: JudgeAll | None = None
    source: str = ""
    proof: str | None = None

    def look(self, facts: Facts) -> Outcome:
        """What it finds in one subject."""
        assert self.judge is not None
        if facts.source not in self.sources:
            return Outcome(self, NOT_APPLICABLE, facts.subject)
        try:
            if not applies.matches(self.applies, facts):
                return Outcome(self, NOT_APPLICABLE, facts.subject)
            for key in self.needs:
                _demand(facts, key)
            found = tuple(self.judge(facts))
        except Missing as missing:
            reason = f"{missing.key}: {missing.reason}"
            return Outcome(self, NOT_KNOWN, facts.subject, reason=reason)
        return self._outcome(facts.subject, found)

    def look_together(self, all_facts: Sequence[Facts]) -> Outcome:
        """What it finds in several subjects together."""
        assert self.judge_all is not None
        known, reason = [], ""
        for facts in all_facts:
            try:
                if facts.source not in self.sources or not applies.matches(self.applies, facts):
                    continue
                for key in self.needs:
                    _demand(facts, key)
                known.append(facts)
            except Missing as missing:
                reason = f"{facts.subject}: {missing.key}: {missing.reason}"
        try:
            found = tuple(self.judge_all(known)) if known else ()
        except Missing as missing:
            found, reason = (), f"{missing.key}: {missing.reason}"
        subject = ", ".join(facts.subject for facts in known)
        if not found and reason:
            return Outcome(self, NOT_KNOWN, subject, reason=reason)
        if not known:
            return Outcome(self, NOT_APPLICABLE, subject)
        return self._outcome(subject, found)

    def _outcome(self, subject: str, found: Sequence[Found]) -> Outcome:
        findings = tuple(
            Finding(
                rule=self.id,
                pack=self.pack,
                title=self.title,
                subject=one.subject or subject,
                severity=one.severity or self.severity,
                found=one,
                source=self.source,
                proof=self.proof,
            )
            for one in found
        )
        return Outcome(self, FOUND if findings else FINE, subject, findings)


@dataclass(frozen=True)
class Outcome:
    """The answer of one rule on one subject."""

    rule: Rule
    state: str  # FOUND | FINE | NOT_KNOWN | NOT_APPLICABLE
    subject: str
    findings: tuple[Finding, ...] = field(default=())
    reason: str = ""  # of NOT_KNOWN


def _demand(facts: Facts, key: str) -> None:
    """Missing, unless the fact or table is there."""
    if "." in key:
        facts.fact(key)
    else:
        facts.table(key)
