"""SARIF 2.1.0: a result for each question that is not answered with yes, at its line.

OASIS SARIF 2.1.0: a refuted claim has `kind` fail and `level` error (3.27.9, 3.27.10), an open
question `kind` open and thus `level` none. What passed is no result: GitHub would show it as an
alert.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from dbdyno import __version__
from dbdyno.report.ci.cases import CLAIM, COMPARISON, FAILED, PASSED, Case, Cases, cases
from dbdyno.report.text.escaping import slug
from dbdyno.report.write import Report
from dbdyno.wording.visible import visible

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    CLAIM: "A claim of an experiment holds as measured.",
    COMPARISON: "A new version is not worse than its base as measured.",
}


def draw(report: Report) -> str:
    """The document: one run."""
    found = cases(report)
    results = [_result(case, found) for case in found.cases if case.outcome != PASSED]
    # Several experiments of a repository do not replace each other's alerts.
    whose = f"dbdyno/{slug(found.experiment)}/"
    return document([rule(name, text) for name, text in _RULES.items()], results, whose)


def document(rules: list[dict[str, Any]], results: list[dict[str, Any]], whose: str) -> str:
    """A document of one run. `whose`: alerts of another id are not replaced by this one's."""
    run = {
        "tool": {"driver": {"name": "dbdyno", "semanticVersion": __version__, "rules": rules}},
        "automationDetails": {"id": whose},
        "results": results,
    }
    whole = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def rule(name: str, text: str) -> dict[str, Any]:
    """A rule of the tool."""
    said = {"text": text}
    return {"id": name, "shortDescription": said, "fullDescription": said, "help": said}


def _result(case: Case, found: Cases) -> dict[str, Any]:
    fails = case.outcome == FAILED
    artifact = {"uri": quote(found.file)}
    # The same question, wherever it stands by now: not its line, not its numbers.
    whose = "\0".join((found.experiment, case.kind, case.name))
    return {
        "ruleId": case.kind,
        "ruleIndex": list(_RULES).index(case.kind),
        "kind": "fail" if fails else "open",
        "level": "error" if fails else "none",
        "message": {"text": visible(case.told or f"{case.name}: {case.verdict}. {case.why}")},
        "locations": [
            {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": case.line}}}
        ],
        "partialFingerprints": {
            "question/v1": hashlib.sha256(whose.encode(errors="replace")).hexdigest()
        },
    }
