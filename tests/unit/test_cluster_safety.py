"""Whatever happens, two components never both commit, unless somebody overrides the quorum."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbdyno.models.cluster.files.options import Options
from dbdyno.models.cluster.script import (
    Bootstrap,
    Crash,
    Event,
    Heal,
    Leave,
    Loss,
    Partition,
    Pause,
    Resume,
    Script,
    Start,
    Weigh,
)
from dbdyno.models.cluster.simulation import simulate
from dbdyno.models.cluster.topology import Member, Topology
from effort import examples

UNTIL_S = 90.0
ON_NODES = (Leave, Crash, Crash, Start, Start, Pause, Resume)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    count = draw(st.integers(2, 6))
    weights = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count).filter(any))
    judges = draw(st.integers(0, count - 1))
    members = {
        f"n{i}": Member(f"n{i}", weight=weight, arbitrator=i >= count - judges)
        for i, weight in enumerate(weights)
    }
    options = Options(
        suspect_s=draw(st.sampled_from([1.0, 5.0])),
        inactive_check_s=draw(st.sampled_from([0.1, 0.5])),
        install_s=draw(st.sampled_from([0.7, 7.5])),
        recovery=draw(st.booleans()),
    )
    return Topology(members, options=options, transfer_s=draw(st.sampled_from([0.0, 2.0])))


@st.composite
def events(draw: st.DrawFn, names: tuple[str, ...]) -> Event:
    at_s = draw(st.integers(0, int(UNTIL_S) * 4)) / 4
    some = st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True)
    kind = draw(st.sampled_from(["nodes"] * 4 + ["partition", "loss", "heal", "heal", "weight"]))
    if kind == "partition":
        sides = draw(st.lists(st.integers(0, 2), min_size=len(names), max_size=len(names)))
        groups = [tuple(n for n, s in zip(names, sides, strict=True) if s == i) for i in range(3)]
        return Partition(at_s, (), tuple(group for group in groups if group))
    if kind == "loss":
        source, to = draw(st.permutations(names))[:2]
        return Loss(at_s, (), source, to)
    if kind == "heal":
        return Heal(at_s)
    if kind == "weight":
        return Weigh(at_s, (draw(st.sampled_from(names)),), draw(st.integers(0, 3)))
    return draw(st.sampled_from(ON_NODES))(at_s, tuple(draw(some)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Topology, Script, int]:
    topology = draw(topologies())
    found = draw(st.lists(events(tuple(topology.members)), min_size=1, max_size=14))
    found.sort(key=lambda one: one.at_s)
    return topology, Script(tuple(found), UNTIL_S), draw(st.integers(0, 99))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
@pytest.mark.long
def test_two_components_never_both_commit(case: tuple[Topology, Script, int]) -> None:
    topology, script, seed = case
    found = simulate(topology, script, seed)
    assert found.split_brains() == ()
    for spans in found.spans.values():
        assert spans[0].begin_s == 0 and spans[-1].end_s == UNTIL_S
        assert all(a.end_s == b.begin_s for a, b in itertools.pairwise(spans))
        assert all(span.length_s > 0 for span in spans)


@settings(max_examples=examples(30), deadline=None)
@given(topologies().filter(lambda t: sum(not m.arbitrator for m in t.members.values()) > 1))
def test_a_bootstrap_across_a_partition_is_found_to_split_the_brain(topology: Topology) -> None:
    data = [one.name for one in topology.members.values() if not one.arbitrator]
    others = tuple(name for name in topology.members if name != data[0])
    sides = ((data[0],), others)
    script = Script(
        (
            Partition(1, (), sides),
            Bootstrap(60, (data[0],)),
            Bootstrap(60, (data[1],)),
        ),
        UNTIL_S,
    )
    found = simulate(topology, script)
    assert any(end == UNTIL_S and len(parts) == 2 for _, end, parts in found.split_brains())
