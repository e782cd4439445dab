"""`dyno model` with a file: a cluster's script, a log of transactions; as text, JSON and HTML."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from dbdyno.models.cluster.files import reading
from dbdyno.models.cluster.files.options import KNOWN
from dbdyno.models.cluster.script import ACTIONS

SCRIPT = """nodes: {n1: {site: a}, n2: {site: b}, n3: {site: c}, judge: {site: c, arbitrator: true}}
until: 90s
script:
  - {at: 10s, partition: [[n1], [n2, n3, judge]]}
  - {at: 40s, bootstrap: n1}
"""
LOG = """node,start,commit,keys
n1,0.000,0.004,t:1
n2,0.001,0.003,t:1:update <b>t</b>:exclusive

n1,0.002,0.003,t:9
"""


LOAD = """sessions: {n1: 2, n2: 2}
rows: 1
length: 1s
times: {pause: 100us, execute: 100us, order: 500us, commit: 100us, apply: 200us, again: 300us}
"""


def asked(*arguments: object) -> Result:
    return CliRunner().invoke(dyno, ["model", *map(str, arguments)])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "three.yaml"
    file.write_text(SCRIPT)
    return file


def test_a_script_is_told_as_text(script: Path) -> None:
    said = asked("cluster-timeline", script).output
    assert "SPLIT BRAIN from 40 s" in said
    assert "\njudge" in said and "2*1 = 2 < 4" in said


def test_a_script_is_told_as_json(script: Path) -> None:
    made = json.loads(asked("cluster-timeline", script, "--json").output)
    assert made["cluster"] == "three" and made["model"] == "cluster-timeline"
    assert made["split_brains"][0]["begin_s"] == 40
    assert {one["node"] for one in made["stalls"]} <= {"n1", "n2", "n3"}


def test_a_script_is_drawn_on_a_page_without_network(script: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    assert asked("cluster-timeline", script, "--format", "html", "--out", page).exit_code == 0
    text = page.read_text()
    assert "</html>" in text and "split brain" in text and "judge (c, arbitrator)" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_a_log_of_transactions_is_held_against_a_single_writer(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text(LOG)
    assert "1 of 4 attempts fail" in asked("certification", file).output
    made = json.loads(asked("certification", file, "--json").output)
    assert made["several_writers"]["committed"] == made["single_writer"]["committed"] == 3


def test_sessions_that_write_a_hot_row_are_held_against_a_single_writer(tmp_path: Path) -> None:
    file = tmp_path / "hot.yaml"
    file.write_text(LOAD)
    said = asked("certification", file).output
    assert re.search(r"^commits +[\d,]+/s +[\d,]+/s$", said, re.MULTILINE), said
    made = json.loads(asked("certification", file, "--json").output)
    several, single = made["several_writers"], made["single_writer"]
    assert 0 < several["committed"] < single["committed"] < 1 / 700e-6 + 2
    assert several["aborts_at_apply"] > 0 and single["aborts_at_apply"] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "is empty"), ("rows: 1", "`sessions` is missing"), ("sessions: {n1: 2}", "`times`"),
     (LOAD.replace("n2: 2", "n2: two"), ":1:"), (LOAD.replace("rows: 1", "rows: 0"), ":2:"),
     (LOAD.replace("pause: 100us, ", ""), "is without pause"), (LOAD.replace("500us", "0s"), ":4:"),
     (LOAD.replace("n1: 2, n2: 2", "n1: 0"), "1 to 1,000"), (LOAD + "row: 1\n", "`row`"),
     (LOAD.replace("length: 1s", "length: 1d"), ":3:")],
)  # fmt: skip
def test_what_is_no_load_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "hot.yaml"
    file.write_text(text)
    error = asked("certification", file).exception
    assert isinstance(error, DynoError) and says in str(error)


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "columns"), ("node,start\n", "columns"), ("node,start,commit,keys\n", "no transactions"),
     ("node,start,commit,keys\nn1,1,0,t\n", ":2:1"), ("node,start,commit,keys\nn1,x,0,t\n", ":2:1"),
     ("node,start,commit,keys\nn1,nan,nan,t\n", ":2:1"), ("node,start,commit,keys\nn1,1\n", ":2:1"),
     ("node,start,commit,keys\n,1,2,t\n", ":2:1"),
     ("node,start,commit,keys\nn1,0ms,1ms,t\n", "seconds without a unit"),
     ("node,start,commit,keys\nn1,0,1,t:exklusive\n", "is it exclusive?")],
)  # fmt: skip
def test_what_is_no_log_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "log.csv"
    file.write_text(text)
    error = asked("certification", file).exception
    assert isinstance(error, DynoError) and says in str(error)


def test_a_file_for_a_model_that_takes_none_names_those_that_do(script: Path) -> None:
    error = asked("cost", script).exception
    assert isinstance(error, DynoError) and "cluster-timeline" in str(error)
    assert "--explain is not for a file" in asked("cluster-timeline", script, "--explain").output


def test_the_files_of_the_guide_are_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "galera.md").read_text()
    files = re.findall(r"^```\n((?:# two|# hot|node,).*?)^```$", page, re.MULTILINE | re.DOTALL)
    script, log, hot = files
    (tmp_path / "two-sites.yaml").write_text(script)
    (tmp_path / "log.csv").write_text(log)
    (tmp_path / "hot.yaml").write_text(hot)
    said = asked("cluster-timeline", tmp_path / "two-sites.yaml").output
    assert "SPLIT BRAIN from 70 s for 110 s" in said and "stay apart" in said
    assert "attempts fail" in asked("certification", tmp_path / "log.csv").output
    assert "a single one" in asked("certification", tmp_path / "hot.yaml").output
    for word in (*ACTIONS, *KNOWN, *reading.KEYS):
        assert f"`{word}" in page or f"{word}:" in page, word
