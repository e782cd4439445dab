"""JUnit XML: a test case for each question; an open one is skipped, and says why.

Jenkins' schema: xunit-plugin, junit-10.xsd. GitLab reads `classname`, `name` and the contents of
`failure` and `skipped` (docs.gitlab.com, unit test reports).
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from dbdyno.report.ci.cases import FAILED, OPEN, Case, cases
from dbdyno.report.write import Report
from dbdyno.wording.visible import visible

_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")  # XML 1.0, section 2.2; controls are visible


def draw(report: Report) -> str:
    """The document: one suite, in the order of the report."""
    found = cases(report)
    counts = {
        "tests": str(len(found.cases)),
        "failures": str(found.count(FAILED)),
        "errors": "0",
    }
    root = ElementTree.Element("testsuites", {"name": "dbdyno", **counts})
    facts = {"name": _text(found.experiment), "file": _text(found.file)}
    facts["skipped"] = str(found.count(OPEN))
    suite = ElementTree.SubElement(root, "testsuite", {**facts, **counts})
    for case in found.cases:
        _case(suite, case, found.experiment, f"{found.file}:{case.line}")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _case(suite: ElementTree.Element, case: Case, experiment: str, place: str) -> None:
    test = ElementTree.SubElement(
        suite, "testcase", classname=_text(f"{experiment}.{case.kind}"), name=_text(case.title)
    )
    outcome = {FAILED: "failure", OPEN: "skipped"}.get(case.outcome)
    if outcome:
        said = ElementTree.SubElement(test, outcome, type=case.kind, message=_text(case.headline))
        said.text = _text(f"{case.told or f'{case.verdict}: {case.why}'}\n{place}")


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", visible(text))
