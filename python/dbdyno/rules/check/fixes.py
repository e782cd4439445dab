"""Fixes of one run, merged: one setting of a subject never gets two values, and no fix drops what
another needs."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.errors import DynoError
from dbdyno.rules.check.rule import Finding


class Contradiction(DynoError):
    """Two findings of one run contradict each other: a defect of the rules."""


def merged(findings: Iterable[Finding]) -> dict[str, dict[str, str | None]]:
    """Values by subject and setting, as all fixes want them; None: without the setting.
    Contradiction if two of them differ, or if one drops what another needs."""
    findings = tuple(findings)
    _refuse_drops(findings)
    wanted: dict[str, dict[str, str | None]] = {}
    by: dict[tuple[str, str], str] = {}
    for finding in findings:
        of_subject = wanted.setdefault(finding.subject, {})
        for name, value in finding.found.fix.settings:
            if name in of_subject and of_subject[name] != value:
                raise Contradiction(
                    f"{finding.subject}: `{name}` is to be {of_subject[name]!r} by"
                    f" {by[finding.subject, name]} and {value!r} by {finding.rule}",
                    cause="a defect of dbdyno: rules must not contradict each other",
                    fix="report it, and leave one of the two aside: --ignore RULE:reason",
                )
            of_subject[name] = value
            by[finding.subject, name] = finding.rule
    return {subject: values for subject, values in wanted.items() if values}


def _refuse_drops(findings: Iterable[Finding]) -> None:
    needed = {(one.subject, name): one.rule for one in findings for name in one.found.fix.needs}
    for finding in findings:
        for name in finding.found.fix.drops:
            if (finding.subject, name) in needed:
                raise Contradiction(
                    f"{finding.subject}: {name} is dropped by {finding.rule} and needed by"
                    f" {needed[finding.subject, name]}",
                    cause="a defect of dbdyno: rules must not contradict each other",
                    fix="report it, and leave one of the two aside: --ignore RULE:reason",
                )
