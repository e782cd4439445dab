"""`dyno check` from files: forms, exit codes, what does not count, bundles."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dbdyno.cli.checking import command, findings
from dbdyno.cli.main import dyno
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.facts import document
from dbdyno.facts.fact import Facts
from dbdyno.facts.files import mongodconf
from dbdyno.facts.targets import FORMS
from dbdyno.rules.check import fixes, judging
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import FINE, NOT_KNOWN, Finding, Found, edits, setting
from fixtures.rules import file, server
from fixtures.rules.cases import CASES
from fixtures.schemas import validator

BAD = "configdb = c1:27019, c2:27019\nnojournal = true\nkeyFile = /key\nnoscripting = true\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "mongod.conf"
    path.write_text(BAD)
    return path


def run(*args: object) -> Result:
    return CliRunner().invoke(dyno, ["check", *map(str, args)], standalone_mode=False)


def code(result: Result) -> Any:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.return_value


def parsed(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def valid(name: str, value: Any) -> None:
    validator(name).validate(value)


def test_findings_by_severity_with_a_line_that_counts(conf: Path) -> None:
    found = run(conf)
    assert code(found) == 1
    assert "mongodb-config-list-blanks" in found.stdout
    last = found.stdout.strip().splitlines()[-1]
    assert last.startswith("2 findings, ") and "not known" in last and "not applicable" in last


def test_json_speaks_its_schema(conf: Path) -> None:
    whole = parsed(run(conf, "--json", "--ignore", "mongodb-journal-off:a test"))
    valid("check", whole)
    assert [one["rule"] for one in whole["findings"]] == ["mongodb-config-list-blanks"]
    assert whole["ignored"][0]["reason"] == "a test"
    assert whole["settings"] == {str(conf): {"configdb": "c1:27019,c2:27019"}}
    assert whole["findings"][0]["evidence"][0]["place"] == f"{conf}:1:1"


def test_a_reason_is_demanded(conf: Path) -> None:
    for text in ("mongodb-journal-off", "mongodb-journal-off: "):
        with pytest.raises(Exception, match="reason"):
            code(run(conf, "--ignore", text))


def test_a_rule_that_is_not_there_is_an_error(conf: Path) -> None:
    for option in ("--only=no-such-rule", "--ignore=no-such-rule:why"):
        with pytest.raises(Exception, match="no rule"):
            code(run(conf, option))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--for", "10s"), "--for is for a server's URL"),
        (("--password-env", "P"), "--password-env is for a server's URL"),
        (("--engine", "redis-7.2"), "not of redis"),
        (("--server", "mysqld"), "no my.cnf"),
        (("--only", "no-such-*"), "no rule and no pack"),
        (("--collect", "--only", "platform"), "only reads"),
        (("--json", "--sarif"), "one format"),
        (("--memory", "much"), "--memory much"),
        (("--engine", "oracle-19"), "no engine"),
    ],
)
def test_no_option_is_taken_and_ignored(options: tuple[str, ...], said: str, conf: Path) -> None:
    with pytest.raises((DynoError, click.UsageError), match=re.escape(said)):
        code(run(conf, *options))


def test_options_of_files_are_not_for_directories(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="--as is for a file"):
        code(run(tmp_path, "--as", "log"))


def test_memory_is_for_what_has_a_host(tmp_path: Path) -> None:
    log, manifest = tmp_path / "error.log", tmp_path / "cluster.yaml"
    log.write_text("InnoDB: Unable to lock ./ibdata1, error: 11\n")
    manifest.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    for targets in ((log,), (manifest,), (log, manifest)):
        with pytest.raises(click.UsageError, match="--memory is for a server or its"):
            code(run(*targets, "--memory", "16Gi"))
    conf = tmp_path / "my.cnf"
    conf.write_text("[mysqld]\nport = 3306\n")
    assert code(run(log, conf, "--memory", "16Gi", "--fail-on", "critical")) == 0


def test_only_takes_rules_and_packs(conf: Path) -> None:
    for only, count in (("mongodb-journal-off", 1), ("configuration", 2), ("platform", 0),
                        ("mongodb-*", 2)):  # fmt: skip
        assert len(parsed(run(conf, "--json", "--only", only))["findings"]) == count, only


def test_a_baseline_makes_findings_known_until_there_are_new_ones(
    conf: Path, tmp_path: Path
) -> None:
    baseline = tmp_path / "baseline.json"
    assert code(run(conf, "--only", "mongodb-journal-off", "--write-baseline", baseline)) == 1
    found = run(conf, "--json", "--baseline", baseline)
    assert code(found) == 1
    whole = parsed(found)
    assert [one["rule"] for one in whole["known"]] == ["mongodb-journal-off"]
    assert [one["rule"] for one in whole["findings"]] == ["mongodb-config-list-blanks"]
    run(conf, "--baseline", baseline, "--write-baseline", baseline)
    assert code(run(conf, "--baseline", baseline)) == 0
    with pytest.raises(Exception, match="baseline"):
        code(run(conf, "--baseline", conf.with_name("baseline.json.not")))


def test_the_exit_code_is_of_a_severity(conf: Path) -> None:
    assert code(run(conf, "--fail-on", "critical")) == 0
    assert code(run(conf, "--fail-on", "high")) == 1


def test_sarif_points_at_the_line(conf: Path) -> None:
    found = parsed(run(conf, "--sarif", "--ignore", "mongodb-journal-off:a test"))["runs"][0]
    by_rule = {one["ruleId"]: one for one in found["results"]}
    place = by_rule["mongodb-config-list-blanks"]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 1, "startColumn": 1}
    assert by_rule["mongodb-journal-off"]["suppressions"][0]["justification"] == "a test"
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == list(by_rule)


def test_a_page_and_markdown_escape_what_is_hostile(tmp_path: Path) -> None:
    path = tmp_path / "mongod.conf"
    path.write_text("configdb = <script>alert(1)</script>, *b*\n")
    page = tmp_path / "page.html"
    found = run(path, "--html", page, "--markdown")
    assert "<script>" not in page.read_text() and "&lt;script&gt;" in page.read_text()
    assert "<script>" not in found.stdout.replace("\\<", "")
    assert "\\*b\\*" in found.stdout


def test_a_bundle_gives_the_same_findings_as_the_file(conf: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.json"
    assert code(run("--collect", conf, "--out", bundle)) == 0
    valid("facts", json.loads(bundle.read_text()))
    direct, later = (parsed(run(target, "--json")) for target in (conf, bundle))
    strip_times(direct)
    strip_times(later)
    assert direct == later


def strip_times(whole: dict[str, Any]) -> None:
    for one in whole["findings"]:
        for fact in one["evidence"]:
            del fact["read_unix_s"]


LONG = [pytest.param(value, marks=pytest.mark.long) for value in ("", -1, [], True, 1e300)]


@pytest.mark.parametrize("damage", [None, "x", *LONG])
def test_a_bundle_with_any_value_is_judged_or_named(damage: Any, tmp_path: Path) -> None:
    """Values of a bundle are a stranger's: whatever stands there is no defect of dbdyno."""
    bundle = tmp_path / "facts.json"
    for case in CASES.values():
        several = [case.bad] if isinstance(case.bad, Facts) else list(case.bad)
        whole = document.document(several)
        for one in whole["subjects"]:
            for fact in one["facts"]:
                fact["value"] = damage
            for table in one["tables"].values():
                table["rows"] = [dict.fromkeys(row, damage) for row in table["rows"]]
        bundle.write_text(json.dumps(whole))
        with contextlib.suppress(DynoError), stored(bundle):
            facts = document.parse(json.loads(bundle.read_text()), "facts.json")
            found = findings.judged(facts, (), {}, None)
            assert findings.drawn(found, "text", 100)


def test_a_file_that_is_nothing_known_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    with pytest.raises(Exception, match="not clear what this file is"):
        code(run(path))
    with pytest.raises(Exception, match="cannot be read"):
        code(run(tmp_path / "absent"))


def test_names_in_the_help_are_those_of_the_readers() -> None:
    assert {*command.FILES} == {*FORMS}


def test_what_is_missing_is_not_fine() -> None:
    facts = server("mariadb", "10.11.6", {})
    rule = next(rule for rule in RULES if rule.id == "mysql-datadir-two-servers")
    assert rule.look_together([facts]).state == NOT_KNOWN
    full = server("mariadb", "10.11.6", {"datadir": "/d", "hostname": "h", "port": "1",
                                         "pid_file": "p"})  # fmt: skip
    assert rule.look_together([full]).state == FINE


def test_two_values_of_one_setting_are_a_contradiction() -> None:
    def finding(rule: str, value: str) -> Finding:
        found = Found(
            what="w", evidence=(), effect="e", fix=setting("sync_binlog", value), undo=edits("u")
        )
        return Finding(rule, "p", "t", "s", "low", found, "https://x")

    assert fixes.merged([finding("a", "1"), finding("b", "1")]) == {"s": {"sync_binlog": "1"}}
    with pytest.raises(fixes.Contradiction, match="sync_binlog"):
        fixes.merged([finding("a", "1"), finding("b", "0")])


def test_a_finding_is_known_again_by_what_it_is_about_and_not_by_its_numbers() -> None:
    first, second = (
        replace(file("mongod.conf", text), subject="same")
        for text in (BAD, BAD.replace("c2", "c9"))
    )
    old, new = (judging.judge([one], RULES).findings for one in (first, second))
    assert [one.found.what for one in old] != [one.found.what for one in new]
    known = {judging.fingerprint(one) for one in old}
    assert not judging.judge([second], RULES, baseline=known).findings


@pytest.mark.skipif(os.geteuid() != 0, reason="gives root up")
def test_as_root_files_are_parsed_by_an_account_that_owns_nothing(
    conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents: list[int] = []
    monkeypatch.setattr(mongodconf, "_LINE", Parsed(mongodconf._LINE, parents))
    assert code(run(conf)) == 1
    assert parents == []  # nothing was parsed in this process


class Parsed:
    """A pattern that notes in which process it is used."""

    def __init__(self, pattern: re.Pattern[str], used: list[int]) -> None:
        self._pattern, self._used = pattern, used

    def fullmatch(self, text: str) -> re.Match[str] | None:
        self._used.append(os.getpid())
        return self._pattern.fullmatch(text)


def test_an_option_file_keeps_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.cnf").write_text("[mysqld]\nsql_mode = A, B\n")
    main = tmp_path / "my.cnf"
    main.write_text("[mysqld]\n!includedir conf.d\n!include /nowhere/absent.cnf\n")
    whole = parsed(run(main, "--json"))
    assert [one["rule"] for one in whole["findings"]] == ["mysql-list-blanks"]
    assert "file /nowhere/absent.cnf" in whole["subjects"][0]["missing"]
