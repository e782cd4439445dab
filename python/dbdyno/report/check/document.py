"""Findings as one JSON document (schemas/check.schema.json), and as SARIF 2.1.0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from dbdyno import __version__
from dbdyno.report.check import space, words
from dbdyno.report.ci import sarif
from dbdyno.rules.check import judging
from dbdyno.rules.check.judging import Judged
from dbdyno.rules.check.rule import Finding, Rule
from dbdyno.wording.visible import visible

SCHEMA_VERSION = 1
_PLACE = re.compile(r"(.+):(\d+):(\d+)")
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}


def document(judged: Judged) -> dict[str, Any]:
    """What `dyno check --json` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "dbdyno_version": __version__,
        "subjects": [
            {
                "subject": facts.subject,
                "source": facts.source,
                "engine": facts.engine,
                "version": list(facts.version),
                "missing": dict(facts.missing),
                "space": space.document(facts),
            }
            for facts in judged.subjects
        ],
        "findings": [_finding(one) for one in judged.findings],
        "known": [_finding(one) for one in judged.known],
        "ignored": [{**_finding(one.finding), "reason": one.reason} for one in judged.ignored],
        "not_known": [
            {"rule": one.rule.id, "subject": one.subject, "reason": one.reason}
            for one in judged.not_known
        ],
        "overviews": [
            {
                "title": one.title,
                "columns": list(one.columns),
                "rows": [list(row) for row in one.rows],
                "note": one.note,
            }
            for one in judged.overviews
        ],
        "counts": {name.replace(" ", "_"): n for name, n in judged.counts.items()},
        "settings": {subject: dict(values) for subject, values in judged.settings.items()},
    }


def _finding(one: Finding) -> dict[str, Any]:
    found = one.found
    return {
        "rule": one.rule,
        "pack": one.pack,
        "severity": one.severity,
        "subject": one.subject,
        "about": found.about,
        "title": one.title,
        "what": found.what,
        "evidence": [asdict(fact) for fact in found.evidence],
        "effect": found.effect,
        "fix": _fix(found.fix),
        "undo": _fix(found.undo),
        "proof": one.proof,
        "source": one.source,
        "fingerprint": judging.fingerprint(one),
    }


def _fix(fix: Any) -> dict[str, Any]:
    return {
        "settings": [{"name": name, "value": value} for name, value in fix.settings],
        "statements": list(fix.statements),
        "edits": list(fix.edits),
    }


def draw_sarif(judged: Judged, rules: Sequence[Rule]) -> str:
    """A result for each finding; those of the baseline and those that are ignored are suppressed
    (3.27.23), with the reason."""
    used = {one.rule for one in (*judged.findings, *judged.known)}
    used |= {one.finding.rule for one in judged.ignored}
    named = [rule for rule in rules if rule.id in used]
    order = {rule.id: i for i, rule in enumerate(named)}
    results = [_result(one, order) for one in judged.findings]
    results += [_result(one, order, "in the baseline") for one in judged.known]
    results += [_result(one.finding, order, one.reason) for one in judged.ignored]
    told = [{**sarif.rule(rule.id, rule.title), "helpUri": rule.source} for rule in named]
    for one in told:
        if not one["helpUri"].startswith("https://"):
            del one["helpUri"]
    return sarif.document(told, results, "dbdyno/check/")


def _result(one: Finding, order: dict[str, int], suppressed: str = "") -> dict[str, Any]:
    fix = "; ".join(words.steps(one.found.fix))
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": order[one.rule],
        "kind": "fail",
        "level": _LEVELS[one.severity],
        "message": {"text": visible(f"{one.found.what}. {one.found.effect}. Fix: {fix}")},
        "locations": [_location(one)],
        "partialFingerprints": {"finding/v1": judging.fingerprint(one)},
        "properties": {"severity": one.severity},
    }
    if suppressed:
        result["suppressions"] = [{"kind": "external", "justification": visible(suppressed)}]
    return result


def _location(one: Finding) -> dict[str, Any]:
    """A file with line and column if the evidence has one, else the server's name."""
    for fact in one.found.evidence:
        if place := _PLACE.fullmatch(fact.place):
            region = {"startLine": int(place[2]), "startColumn": int(place[3])}
            artifact = {"uri": quote(place[1])}
            return {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    return {"logicalLocations": [{"name": visible(one.subject), "kind": "resource"}]}
