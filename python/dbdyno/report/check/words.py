"""What each form says of a finding: plain data and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.judging import Judged
from dbdyno.rules.check.rule import FINE, NOT_APPLICABLE, NOT_KNOWN, Finding, Fix
from dbdyno.wording.plurals import count

VALUE_MAX = 120  # characters of a value that is shown


@dataclass(frozen=True)
class Shown:
    """A finding as it is read. `rows`: (label, lines)."""

    severity: str
    rule: str
    subject: str
    title: str
    what: str
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def shown(finding: Finding) -> Shown:
    """Evidence, effect, fix, undo and source of a finding."""
    found = finding.found
    rows = (
        ("evidence", tuple(map(evidence, found.evidence))),
        ("effect", (found.effect,)),
        ("fix", tuple(steps(found.fix))),
        ("undo", tuple(steps(found.undo))),
        ("proof", (finding.proof,) if finding.proof else ()),
        ("source", (finding.source,)),
    )
    return Shown(
        severity=finding.severity,
        rule=finding.rule,
        subject=finding.subject,
        title=finding.title,
        what=found.what,
        rows=tuple((label, lines) for label, lines in rows if lines),
    )


def evidence(fact: Fact) -> str:
    """`max_connections = 4000 (SHOW GLOBAL VARIABLES)`."""
    value = ", ".join(map(str, fact.value)) if isinstance(fact.value, list) else fact.text
    value = value if len(value) <= VALUE_MAX else f"{value[:VALUE_MAX]}..."
    name = fact.key.removeprefix("setting.")
    unit = f" {fact.unit}" if fact.unit else ""
    return f"{name} = {value or '(empty)'}{unit} ({fact.place})"


def steps(fix: Fix) -> Iterator[str]:
    """A line each."""
    for name, value in fix.settings:
        yield f"remove {name}" if value is None else f"{name} = {value}"
    yield from fix.statements
    yield from fix.edits


def subject(facts: Facts) -> str:
    """`127.0.0.1:3306 (mariadb 10.11.6)`."""
    version = ".".join(map(str, facts.version))
    engine = _engine(facts)
    return f"{facts.subject} ({f'{engine} {version}'.strip()}, {facts.source})"


def _engine(facts: Facts) -> str:
    """As readers know it; since version 2 FerretDB's data are in PostgreSQL with DocumentDB."""
    if facts.engine == "ferretdb":
        return "FerretDB/DocumentDB" if facts.version >= (2,) else "FerretDB"
    return facts.engine.replace("|", " or ")


def summary(judged: Judged) -> str:
    """The line that counts."""
    counts = judged.counts
    parts = [count(len(judged.findings), "finding")]
    if judged.known:
        parts.append(f"{len(judged.known)} known")
    if judged.ignored:
        parts.append(f"{len(judged.ignored)} ignored")
    parts += [
        f"{count(counts[FINE], 'rule')} fine",
        f"{counts[NOT_KNOWN]} not known",
        f"{counts[NOT_APPLICABLE]} not applicable",
    ]
    return ", ".join(parts)


def unknown(judged: Judged) -> list[str]:
    """Rules that are not known, with the reason; one line for all rules of one reason."""
    rules: dict[tuple[str, str], list[str]] = {}
    for outcome in judged.not_known:
        rules.setdefault((outcome.subject, outcome.reason), []).append(outcome.rule.id)
    several = len(judged.subjects) > 1
    return [
        f"{', '.join(ids)}: {f'{subject}: ' if several and subject else ''}{reason}"
        for (subject, reason), ids in rules.items()
    ]


def unread(judged: Judged) -> list[str]:
    """What no reader could read."""
    return [
        f"{facts.subject}: {key}: {reason}"
        for facts in judged.subjects
        for key, reason in facts.missing.items()
    ]
