"""Clusters from files: what is read, and where an error points."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.models.cluster import script
from dbdyno.models.cluster.files import reading
from dbdyno.models.cluster.simulation import simulate
from effort import examples

WHOLE = """cluster: two-sites
nodes:
  n1: {site: a, weight: 2}
  n2: {site: b}
  n3: {site: b}
  judge: {site: c, arbitrator: true}
links:
  - {between: [a, b], latency: 20ms}
  - {between: [n1, n2], latency: 25ms}
options: {evs.suspect_timeout: PT2S, pc.ignore_sb: "no"}
writes: 100/s
state_transfer: 5s
until: 2m
script:
  - {at: 10s, crash: b}
  - {at: 20s, partition: [[a], [b, c]]}
  - {at: 30s, loss: {from: n1, to: n2}}
  - {at: 40s, heal: all}
  - {at: 50s, weight: {n1: 3}}
  - {at: 60s, slow: {n2: 10/s}}
  - {at: 61s, slow: {n2: full}}
  - {at: 5s, leave: [n2, n3]}
"""


def test_a_whole_file_is_read() -> None:
    case = reading.parse(WHOLE)
    topology = case.topology
    assert case.name == "two-sites"
    assert [one.weight for one in topology.members.values()] == [2, 1, 1, 1]
    assert topology.members["judge"].arbitrator
    assert (topology.between("n1", "n2"), topology.between("n1", "n3")) == (0.025, 0.02)
    assert topology.between("n2", "n3") == topology.near_s
    assert topology.options.suspect_s == 2 and not topology.options.ignore_sb
    assert (topology.writes_per_s, topology.transfer_s, case.script.until_s) == (100, 5, 120)
    events = case.script.events
    assert events[0] == script.Leave(5, ("n2", "n3"))
    assert events[1] == script.Crash(10, ("n2", "n3"))
    assert events[2] == script.Partition(20, (), (("n1",), ("n2", "n3", "judge")))
    assert events[-2:] == (script.Slow(60, ("n2",), 10.0), script.Slow(61, ("n2",), None))


def test_a_file_without_a_script_is_a_minute_of_peace() -> None:
    case = reading.parse("nodes: {n1: , n2: }\n")
    assert (case.script.events, case.script.until_s) == ((), 60.0)


@pytest.mark.parametrize(
    ("old", "new", "token", "says"),
    [
        ("weight: 2", "weight: 256", "256", "0 to 255"),
        ("weight: 2", "wieght: 2", "wieght", "did you mean `weight`"),
        ("crash: b", "crash: n4", "n4", "there is no node or site `n4`"),
        ("crash: b", "crsh: b", "crsh", "did you mean `crash`"),
        ("at: 10s", "at: 10", "10,", "10s"),
        ("latency: 20ms", "latency: 20", "20}", "20s"),
        ("[[a], [b, c]]", "[[a], [a, c]]", "[[a]", "each node in one group"),
        ("[a, b], lat", "[a, d], lat", "d]", "there is no node or site `d`"),
        ("until: 2m", "until: 1m", "1m", "goes on after `until`"),
        ("PT2S", "2", "2,", "evs.suspect_timeout"),
        ("evs.suspect_timeout", "evs.suspect", "evs.suspect", "evs.suspect_timeout"),
        ("{from: n1, to: n2}", "{from: n1}", "{from", "`from` and `to`"),
        ("{from: n1, to: n2}", "{from: n1, to: n1}", "{from", "itself"),
        ("weight: {n1: 3}", "weight: {n1: 3, n2: 3}", "{n1: 3, n2", "of one node"),
        ("weight: {n1: 3}", "weight: {n9: 3}", "n9: 3}", "there is no node `n9`"),
        ("crash: b", "crash: []", "[]", "no node is named"),
        ("arbitrator: true", "arbitrator: maybe", "maybe", "true or false"),
        ("nodes:", "knots:", "knots", "did you mean `nodes`"),
        ("site: c", "site: n1", "{site: a", "a node and a site"),
        ("latency: 20ms", "latency: 60s", "- {between", "suspect each other before"),
        ("between: [a, b]", "between: [n1, n1]", "[n1", "itself"),
        ("PT2S", "PT20S", "{evs", "is shorter than evs.suspect_timeout"),
    ],
)
def test_an_error_has_its_place_and_the_right_word(
    old: str, new: str, token: str, says: str
) -> None:
    text = WHOLE.replace(old, new, 1)
    with pytest.raises(DynoError) as error:
        reading.parse(text)
    where = error.value.where
    assert where is not None
    assert text.splitlines()[where.line - 1][where.column - 1 :].startswith(token), where
    assert says in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["", "nodes: 3\n", "nodes: {}\n", "script: []\n", "- n1\n", "nodes: {n1: {weight: 0}}\n",
     "nodes: {n1: {arbitrator: true}}\n", "nodes: {n1: }\nscript: [{at: 2d, heal: all}]\n",
     "nodes: {n1: }\nscript: [{at: 2s}]\n", "nodes: {n1: }\nlinks: [{between: [n1, n1]}]\n",
     "nodes: {n1: {site: [a]}}\n", "nodes: [\n"],
)  # fmt: skip
def test_what_is_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(DynoError):
        reading.parse(text)


def test_a_file_that_cannot_be_read_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="next step"):
        reading.load(tmp_path / "none.yaml")
    (tmp_path / "raw.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DynoError, match="UTF-8"):
        reading.load(tmp_path / "raw.yaml")


@pytest.mark.long
@settings(max_examples=examples(150), deadline=None)
@given(
    st.integers(0, len(WHOLE) - 1),
    st.integers(0, 12),
    st.one_of(
        st.text(max_size=6), st.sampled_from(["n1", "{", "[", ": ", "-1", "1e9", "\n", "99d"])
    ),
)
def test_spoilt_files_are_read_or_refused_and_never_crash(at: int, cut: int, new: str) -> None:
    try:
        case = reading.parse(WHOLE[:at] + new + WHOLE[at + cut :])
    except DynoError:
        return
    assert simulate(case.topology, case.script).spans.keys() == case.topology.members.keys()
