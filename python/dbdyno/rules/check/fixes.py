"""Fixes of one run, merged: one setting of a subject never gets two values."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.errors import DynoError
from dbdyno.rules.check.rule import Finding


class Contradiction(DynoError):
    """Two findings of one run want different values of one setting: a defect of the rules."""


def merged(findings: Iterable[Finding]) -> dict[str, dict[str, str | None]]:
    """Values by subject and setting, as all fixes want them; None: without the setting.
    Contradiction if two of them differ."""
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
