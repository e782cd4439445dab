"""Verdicts for continuous integration: JUnit, SARIF, workflow commands, comments."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from dbdyno.report import Report
from dbdyno.report.ci import FORMATS, comment
from dbdyno.report.ci.cases import FAILED, OPEN, PASSED, cases
from fixtures import reports

# What SARIF 2.1.0 requires, and what of it GitHub needs for an alert: sarif-schema-2.1.0.json has
# the rest.
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {"items": {"type": "object", "required": ["id"]}}
                                },
                            }
                        },
                    },
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                },
            },
        },
    },
    "$defs": {
        "result": {
            "type": "object",
            "required": ["ruleId", "message", "locations", "kind", "level"],
            "properties": {
                "ruleIndex": {"type": "integer", "minimum": 0},
                "kind": {"enum": ["fail", "open"]},
                "level": {"enum": ["error", "none"]},
                "message": {"type": "object", "required": ["text"]},
                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                "locations": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["physicalLocation"],
                        "properties": {
                            "physicalLocation": {
                                "type": "object",
                                "required": ["artifactLocation", "region"],
                                "properties": {
                                    "artifactLocation": {
                                        "required": ["uri"],
                                        "properties": {"uri": {"pattern": "^[A-Za-z0-9._~%/-]+$"}},
                                    },
                                    "region": {
                                        "required": ["startLine"],
                                        "properties": {
                                            "startLine": {"type": "integer", "minimum": 1}
                                        },
                                    },
                                },
                            }
                        },
                    },
                },
            },
        }
    },
}

OF_SARIF = Draft202012Validator(SARIF)

# jenkinsci/xunit-plugin, junit-10.xsd: attributes by element, those with a star are required.
JUNIT = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"*name", "*tests", "*failures", "*errors", "skipped", "file", "time"},
    "testcase": {"*name", "classname", "time", "group"},
    "failure": {"type", "message"},
    "skipped": {"type", "message"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "skipped"},
    "failure": set(),
    "skipped": set(),
}


def made(text: str = "", **manifest: str) -> Report:
    """The report of a run that nobody measured, of an experiment with this text. Its cases are made
    of the same views as those of the plain run."""
    plain = reports.report("engines")
    run: Any = plain.run
    plan = replace(run.plan, spec_text=text) if text else run.plan
    run = replace(run, plan=plan, manifest={**run.manifest, **manifest})
    report = Report(run, plain.findings)
    vars(report)["views"] = plain.views
    return report


@pytest.fixture(params=["engines", "cache_run", "open_loop", "hostile"])
def report(request: pytest.FixtureRequest) -> Report:
    return reports.report(request.param)


def test_each_claim_is_a_case_with_its_outcome(report: Report) -> None:
    found = cases(report).cases
    claims = report.findings.claims
    assert len(found) == len(claims) and claims
    outcomes = {"supported": PASSED, "refuted": FAILED, "undecided": OPEN, "not tested here": OPEN}
    for case, claim in zip(found, claims, strict=True):
        assert (case.name, case.outcome) == (claim.text, outcomes[claim.verdict])
        assert case.why or case.outcome == PASSED


def test_a_case_points_to_its_line() -> None:
    text = "# of a shop\nexperiment: engines\nclaims:\n- {}\n\n-  'two'\n- claim: three\n"
    found = cases(made(text=text, experiment_file="/repo/bench/shop.yaml", directory="/repo"))
    assert found.file == "bench/shop.yaml"
    lines = [case.line for case in found.cases]
    assert lines[:3] == [4, 6, 7][: len(lines)]
    assert all(line == 2 for line in lines[3:])


@pytest.mark.parametrize(
    ("manifest", "file"),
    [
        ({"experiment_file": "/repo/a.yaml", "directory": "/repo"}, "a.yaml"),
        ({"experiment_file": "/elsewhere/b.yaml", "directory": "/repo"}, "b.yaml"),
        ({"directory": "/repo"}, None),
    ],
)
def test_a_file_is_named_below_the_directory_of_dyno(
    manifest: dict[str, str], file: str | None
) -> None:
    report = made(**manifest)
    assert cases(report).file == (file or f"{report.run.plan.name}.yaml")


def test_an_experiment_that_is_no_yaml_has_one_line() -> None:
    assert {case.line for case in cases(made(text="claims: [")).cases} == {1}


def test_junit_is_what_jenkins_schema_asks_for(report: Report) -> None:
    root = ElementTree.fromstring(FORMATS["junit"](report).encode())
    found = cases(report)
    assert root.tag == "testsuites"
    for element in root.iter():
        known = JUNIT[element.tag]
        assert set(element.attrib) <= {name.lstrip("*") for name in known}
        assert {name[1:] for name in known if name.startswith("*")} <= set(element.attrib)
        assert {child.tag for child in element} <= CHILDREN[element.tag]
    tests = root.findall("testsuite/testcase")
    ends = {FAILED: ["failure"], OPEN: ["skipped"], PASSED: []}
    assert [[end.tag for end in test] for test in tests] == [ends[c.outcome] for c in found.cases]
    names = [(test.get("classname"), test.get("name")) for test in tests]
    assert len(set(names)) == len(names)  # GitLab takes the first of several
    assert root.get("failures") == str(len(root.findall(".//failure")))
    assert all(end.text for test in tests for end in test)


def test_junit_survives_characters_that_xml_forbids() -> None:
    report = made()
    text = "a\x00\x1b[1m\ud800\ufffe b"
    claim = replace(report.findings.claims[0], text=text)
    found = Report(report.run, replace(report.findings, claims=(claim,)))  # type: ignore[arg-type]
    ElementTree.fromstring(FORMATS["junit"](found).encode())


def test_sarif_has_a_result_for_all_that_did_not_pass(report: Report) -> None:
    document = json.loads(FORMATS["sarif"](report))
    OF_SARIF.validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    asked = [case for case in cases(report).cases if case.outcome != PASSED]
    assert len(run["results"]) == len(asked)
    for result, case in zip(run["results"], asked, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == case.kind
        assert result["message"]["text"]
        expected = ("fail", "error") if case.outcome == FAILED else ("open", "none")
        assert (result["kind"], result["level"]) == expected


def test_a_fingerprint_stays_when_the_claim_moves() -> None:
    def prints(text: str) -> list[str]:
        (run,) = json.loads(FORMATS["sarif"](made(text=text)))["runs"]
        return [result["partialFingerprints"]["question/v1"] for result in run["results"]]

    first = prints("experiment: engines\nclaims: [a, b, c]\n")
    assert first == prints("# moved\n\nexperiment: engines\nclaims: [a, b, c]\n")
    assert first and len(set(first)) == len(first)


def test_workflow_commands_stay_one_line_each(report: Report) -> None:
    lines = FORMATS["annotations"](report).splitlines()
    assert len(lines) == sum(case.outcome != PASSED for case in cases(report).cases)
    for line in lines:
        found = re.fullmatch(r"::(error|warning) file=([^:,]*),line=\d+,title=([^:,]*)::(.+)", line)
        assert found, line
        assert "%" not in re.sub(r"%(25|0D|0A|3A|2C)", "", line)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("thanks @bob, see #12", "thanks @\u200bbob, see #\u200b12"),
        ("\\#12 and !7, GH-3", "\\#\u200b12 and !\u200b7, GH-\u200b3"),
        ("\\&4 and &5", "\\&\u200b4 and &\u200b5"),  # GitLab's epics
        ("https://evil.example", "https:\u200b//evil.example"),
        ("www.evil.example", "www\u200b.evil.example"),
        ("one\n/close\n  /assign @x", "one\n\\/close\n  \\/assign @\u200bx"),
        ("5 % of 3/4 at a: b", "5 % of 3/4 at a: b"),
    ],
)
def test_a_comment_makes_no_forge_do_anything(text: str, safe: str) -> None:
    assert comment.harmless(text) == safe


def test_a_comment_is_the_head_of_the_report(report: Report) -> None:
    shown = FORMATS["comment"](report)
    for case in cases(report).cases:
        assert case.verdict.partition(",")[0] in shown.lower()
    assert "## Reproduce" not in shown and "## Results" not in shown
    assert "<" not in re.sub(r"\\<", "", shown)
    assert report.markdown().startswith(report.head().rstrip("\n"))


def test_a_long_comment_is_cut_between_lines() -> None:
    text = "".join(f"line {n}\n" for n in range(100))
    cut = comment.shortened(text, 100)
    assert cut.startswith("line 0\n") and cut.endswith("has all of it.**\n")
    assert set(cut.splitlines()[:-2]) <= set(text.splitlines())
    assert comment.shortened("short", 5) == "short"
