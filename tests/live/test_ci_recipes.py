"""The recipes for GitHub and GitLab, played from the first step to the last: a pull request that
makes a database slower, is repaired, and breaks its experiment. Nothing leaves the machine: `gh`
and `curl` are stand-ins that keep comments in a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ci_runner import ROOT, GitHub, GitLab
from running import DYNO, Place, place

from needed import missing

pytestmark = pytest.mark.live

TOKEN = "s3cret"
NAME = "feature/x <!-- @eve -->"
BASE = """experiment: orders
question: "@bob see #12 <img src=x> `a` https://evil.example ::error::x"
targets:
  db: {kind: "null", options: {delay_us: 10000}}  # so long that other processes change little
workload: {kind: oltp, preset: point_select, tables: 1, rows: 500, sessions: 1}
blocks: 5
warmup: 50ms
duration: 300ms
interval: 100ms
matters: 50%
claims:
  - tps > 1
  - claim: p95 < 1000000
    needs: {cores: 999}
"""
SLOW = BASE.replace("delay_us: 10000}", "delay_us: 100000}") + "  - tps < 1\n"


@pytest.fixture
def there() -> Iterator[Place]:
    """A checkout with the experiment and, in `base`, the target branch's."""
    if shutil.which("jq") is None:
        missing("jq plays a part of gh")
    with place() as made:
        for directory in ("base", "bin", "forge", "runner"):
            (made.path / directory).mkdir()
        (made.path / "bench dir").mkdir()
        for program in ("gh", "curl"):
            shutil.copy(ROOT / "tests" / "fixtures" / "ci" / program, made.path / "bin")
        (made.path / "base" / "orders.yaml").write_text(BASE)
        yield made


def environment(there: Place) -> dict[str, str]:
    path = f"{there.path / 'bin'}:{DYNO.parent}:{os.environ['PATH']}"
    return {**there.environment, "PATH": path, "FORGE": str(there.path / "forge")}


def push(there: Place, text: str, number: int = 1, **inputs: str) -> GitHub:
    """What a push with this experiment comes to on GitHub, run `number`."""
    (there.path / "bench dir" / "orders.yaml").write_text(text)
    runner = there.path / "runner"
    (runner / "STEP_SUMMARY").unlink(missing_ok=True)
    wanted = {"experiment": "bench dir/orders.yaml", "install": "none", "name": NAME}
    wanted |= {name.replace("_", "-"): value for name, value in inputs.items()}
    return GitHub(there.path, runner, environment(there), wanted, number)


def comments(there: Place) -> list[dict[str, object]]:
    return json.loads((there.path / "forge" / "comments.json").read_text())


def calls(there: Place) -> list[list[str]]:
    file = there.path / "forge" / "calls"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def outcomes(file: Path) -> dict[str, str]:
    """How each test case of a JUnit file ended, by its name."""
    cases = ElementTree.parse(file).getroot().iter("testcase")
    return {str(case.get("name")): (case[0].tag if len(case) else "passed") for case in cases}


def harmless(body: str) -> bool:
    """Whether what the pull request's author wrote does nothing in a comment."""
    assert "bob" in body
    return not re.search(r"@bob|#12|https://|(?<!\\)<(?!!-- dbdyno:)|@eve", body)


def test_github_fails_a_slow_pull_request_and_passes_the_repaired_one(there: Place) -> None:
    forge = there.path / "forge" / "comments.json"
    mark = "<!-- dbdyno:feature-x-------eve---- -->"
    theirs = {"id": 1, "user": {"login": "eve"}, "body": f"{mark}\n**passed**"}
    forge.write_text(json.dumps([theirs]))

    slow = push(there, SLOW, against="base/orders.yaml", fail_on_refuted="false")
    assert slow.run() == 1, slow.log
    assert slow.steps["measure"]["exit-code"] == "1"
    out = there.path / slow.steps["prepare"]["output"]
    assert outcomes(out / "junit.xml") == {
        "tps[new] against tps[base]": "failure",
        "tps > 1 at version=new": "passed",
        "p95 < 1000000 at version=new": "skipped",
        "tps < 1 at version=new": "failure",
    }
    (run,) = json.loads((out / "dbdyno.sarif").read_text())["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"bench%20dir/orders.yaml"}
    assert [place["region"]["startLine"] for place in places] == [1, 13, 15]
    assert [one["kind"] for one in run["results"]] == ["fail", "open", "fail"]
    commands = [line for line in slow.log.splitlines() if line.startswith(("::error", "::warn"))]
    head = "file=bench dir/orders.yaml,line="
    assert [line.split(",title")[0] for line in commands] == [
        f"::error {head}1",
        f"::warning {head}13",
        f"::error {head}15",
    ]
    _, rest = slow.log.split("::stop-commands::")
    word, rest = rest.split("\n", 1)
    assert f"\n::{word}::\n" in rest and rest.index(word) < rest.index("::error file")
    summary = (there.path / "runner" / "STEP_SUMMARY").read_text()
    assert summary == (out / "summary.md").read_text()
    assert summary.startswith(f"{mark}\n**dbdyno feature-x-------eve----: failed")
    assert "```text\nregression: " in summary and "▼ worse" in summary and harmless(summary)
    artifact = there.path / "runner" / "artifacts" / "dbdyno-ci"
    assert (artifact / "junit.xml").exists() and list(artifact.glob("ci-*/trials/*/trial.json"))
    assert [one["body"] for one in comments(there)] == [theirs["body"], summary]

    repaired = push(there, BASE, 2, against="base/orders.yaml")
    assert repaired.run() == 0, repaired.log
    after = comments(there)
    assert len(after) == 2 and after[0] == theirs  # updated, and nobody else's touched
    assert ": passed**" in str(after[1]["body"]) and "▼ worse" not in str(after[1]["body"])
    assert [one[3] for one in calls(there) if "--silent" in one] == ["--method", "--method"]
    assert {one for call in calls(there) for one in call if TOKEN in one} == set()
    assert there.until_clean() == []


def test_github_says_why_nothing_was_measured(there: Place) -> None:
    broken = push(there, BASE.replace("oltp", "olpt"), against="base/orders.yaml")
    assert broken.run() == 2, broken.log
    (comment,) = comments(there)
    body = str(comment["body"])
    assert ": no verdict**" in body and "orders.yaml:5:" in body and "olpt" in body
    assert not (there.path / "dbdyno-ci" / "junit.xml").exists()
    assert (there.path / "runner" / "artifacts" / "dbdyno-ci" / "log.txt").exists()


def test_github_does_not_fail_for_a_comment_that_it_may_not_write(there: Place) -> None:
    (there.path / "forge" / "read-only").touch()
    fork = push(there, BASE.replace("oltp", "olpt"))
    assert fork.run() == 2
    assert "::warning title=dbdyno::no comment" in fork.log
    quiet = push(there, BASE.replace("oltp", "olpt"), comment="false")
    before = len(calls(there))
    assert quiet.run() == 2 and len(calls(there)) == before


def test_github_holds_claims_to_what_was_asked(there: Place) -> None:
    """Without a base or a history only claims fail: refuted ones by default."""
    refuting = BASE + "  - tps < 1\n"
    assert push(there, refuting).run() == 1
    words = "--set matters=10% --set blocks=1"
    passed = push(there, refuting, fail_on_refuted="false", arguments=words)
    assert passed.run() == 0
    manifest = there.path / passed.steps["measure"]["run"] / "manifest.json"
    assert "matters: 10%" in manifest.read_text()
    undecided = push(there, BASE, fail_on_undecided="true", arguments=words)
    assert undecided.run() == 2 and "is not tested here" in undecided.log


def aged(there: Place, run: Path, days: int, factor: float) -> None:
    """A copy of a run, so many days older and so many times as fast."""
    copy = run.with_name(f"ci-2001010{days}T000000Z")
    shutil.copytree(run, copy)
    for file in copy.glob("trials/*/trial.json"):
        record = json.loads(file.read_text())
        record["metrics"]["transactions_per_s"] *= factor
        # a busy machine may have had too few operations for one
        record["metrics"]["service_ms_p95"] = record["metrics"].get("service_ms_p95", 1.0) / factor
        file.write_text(json.dumps(record))
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["created_unix_s"] -= days * 86_400
    (copy / "manifest.json").write_text(json.dumps(manifest))


def test_github_judges_by_a_history_that_its_cache_keeps(there: Place) -> None:
    text = BASE.replace("blocks: 5", "blocks: 1").replace("300ms", "1s")
    empty = push(there, text, history="past")
    assert empty.run() == 2, empty.log  # no history is no pass
    assert "--fail-on-regression is inconclusive: no earlier run" in empty.log
    assert "```text\n--fail-on-regression is inconclusive" in str(comments(there)[0]["body"])
    (first,) = (there.path / "past").glob("ci-*")
    for days in range(1, 7):
        aged(there, first, days, 1000 + days)
    shutil.rmtree(first)
    cached = there.path / "runner" / "cache"
    (stored,) = cached.iterdir()
    assert stored.name == "dbdyno-history-feature-x-------eve-----1-1"
    shutil.rmtree(stored)
    shutil.move(there.path / "past", stored)

    slow = push(there, text, 2, history="past", history_keep="7")
    assert slow.run() == 1, slow.log
    assert "regression suspected" in slow.log and "confirmed by a second run" in slow.log
    names = sorted(path.name for path in (there.path / "past").glob("ci-*"))
    assert len(names) == 7 and names[-1].endswith("-again")
    assert sorted(path.name for path in cached.iterdir())[-1].endswith("-2-1")


def test_gitlab_fails_a_slow_merge_request_and_passes_the_repaired_one(there: Place) -> None:
    forge = there.path / "forge" / "comments.json"
    mark = "<!-- dbdyno:gate -->"
    others = [{"id": n, "author": {"id": 3}, "body": f"{mark}\n{n}"} for n in range(101)]
    forge.write_text(json.dumps(others))
    variables = {
        "DBDYNO_EXPERIMENT": "bench dir/orders.yaml",
        "DBDYNO_AGAINST": "base/orders.yaml",
        "DBDYNO_INSTALL": "none",
        "DBDYNO_SCRIPTS": str(ROOT / "share" / "ci"),
        "CI_MERGE_REQUEST_IID": "7",
        "DBDYNO_TOKEN": TOKEN,
    }

    def job(text: str, **more: str) -> GitLab:
        (there.path / "bench dir" / "orders.yaml").write_text(text)
        return GitLab(there.path, environment(there), variables | more)

    slow = job(SLOW)
    assert slow.run() == 1, slow.log
    found = outcomes(there.path / ".dbdyno" / "output" / "junit.xml")
    assert found["tps[new] against tps[base]"] == "failure"
    assert found["p95 < 1000000 at version=new"] == "skipped"
    *before, note = comments(there)
    assert before == others and str(note["body"]).startswith(f"{mark}\n**dbdyno gate: failed")
    assert harmless(str(note["body"]))

    repaired = job(BASE)
    assert repaired.run() == 0, repaired.log
    *before, note = comments(there)
    assert before == others and "gate: passed" in str(note["body"])
    assert {one for call in calls(there) for one in call if TOKEN in one} == set()

    silent = job(BASE.replace("oltp", "olpt"), DBDYNO_TOKEN="")
    count = len(calls(there))
    assert silent.run() == 2 and len(calls(there)) == count


PYTHON = """#!/bin/sh
case "$*" in
*print*) echo 3.12.1 ;;
"-m venv"*)
    mkdir -p "$4/bin"
    cp "$0" "$4/bin/python" ;;
*pip*)
    echo "$*" >> "$FORGE/pip"
    printf '#!/bin/sh\\necho stand-in\\n' > "${0%/*}/dyno"
    chmod +x "${0%/*}/dyno" ;;
esac
"""


def test_an_installation_comes_from_where_it_is_asked_for(there: Place) -> None:
    """pip is a stand-in that notes what it was asked for; the key changes with that."""
    fake = there.path / "bin" / "python9"
    notes = there.path / "forge" / "pip"
    fake.write_text(PYTHON)
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    wheels = there.path / "wheels"
    wheels.mkdir()
    (wheels / "dbdyno-1-py3-none-any.whl").write_text("one")
    keys = []

    def installed(what: str) -> tuple[list[str], str]:
        notes.unlink(missing_ok=True)
        shutil.rmtree(there.path / "runner" / "dbdyno-venv", ignore_errors=True)
        done = push(there, BASE.replace("oltp", "olpt"), install=what, python="python9")
        assert done.run() == 0, done.log  # our stand-in of dyno measures nothing and says so
        asked = notes.read_text().splitlines() if notes.exists() else []
        keys.append(done.steps["prepare"]["key"])
        return [line.split("--quiet ")[1] for line in asked], done.steps["installed"]["cache-hit"]

    assert installed("dbdyno[engine]==0.1.0") == (["dbdyno[engine]==0.1.0"], "false")
    assert installed("dbdyno[engine]==0.1.0") == ([], "true")
    assert installed("dbdyno[engine]==0.2.0")[1] == "false"
    expected = [
        "--no-index --no-deps --find-links wheels dbdyno dbdyno-engine",
        "--find-links wheels dbdyno[engine]",
    ]
    assert installed("wheels") == (expected, "false")
    (wheels / "dbdyno-1-py3-none-any.whl").write_text("two")
    assert installed("wheels") == (expected, "false")
    assert len(set(keys)) == 4 and keys[0] == keys[1]
    assert all("-py3.12.1-" in key for key in keys)
