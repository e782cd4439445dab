"""A cluster under scripts: states and their order, stalls, votes."""

from __future__ import annotations

import itertools
import json

import pytest

from dbdyno import models
from dbdyno.models import calculate, given
from dbdyno.models.cluster.files.options import Options
from dbdyno.models.cluster.outcome import history, timeline
from dbdyno.models.cluster.outcome.history import History
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
    Slow,
    Start,
    Weigh,
)
from dbdyno.models.cluster.simulation import simulate
from dbdyno.models.cluster.topology import Member, Topology

NAMES = ("n1", "n2", "n3")


def cluster(*names: str, weights: tuple[int, ...] = (), **more: object) -> Topology:
    names = names or NAMES
    weights = weights or (1,) * len(names)
    members = {n: Member(n, weight=w) for n, w in zip(names, weights, strict=True)}
    return Topology(members, **more)  # type: ignore[arg-type]


def run(*events: Event, topology: Topology | None = None, until: float = 60.0) -> History:
    return simulate(topology or cluster(), Script(events, until))


def order(found: History, node: str) -> list[str]:
    """States of a node, each once in a row; those of no length are not there."""
    states = (one.state for one in found.spans[node] if one.length_s > 0.01)
    return [state for state, _ in itertools.groupby(states)]


def only_stall(found: History, node: str) -> float:
    (stall,) = (one for one in found.stalls() if one.node == node and one.length_s > 0.01)
    assert stall.over
    return stall.length_s


def test_writes_stall_for_a_crash_until_the_others_agree() -> None:
    found = run(Crash(10, ("n3",)))
    for node in ("n1", "n2"):
        assert order(found, node) == ["primary", "stalled", "primary"]
        # suspect 5 s, checked each 0.5 s, agreed at the next repetition of joins, 1 s
        assert 6.0 <= only_stall(found, node) <= 6.51
    assert found.at("n1", 30).members == ("n1", "n2")
    assert "2*2 = 4 > 3" in found.happenings[-1].text


def test_shorter_timeouts_stall_for_less() -> None:
    options = Options(inactive_check_s=0.1, suspect_s=2.0, join_retrans_s=0.2)
    assert 2.2 <= only_stall(run(Crash(10, ("n3",)), topology=cluster(options=options)), "n1") < 2.4


def test_in_an_idle_cluster_the_last_keepalive_counts() -> None:
    script = Script((Crash(10, ("n3",)),), 60.0)
    seen = [simulate(cluster(idle=True), script, seed).stalls()[0].length_s for seed in range(40)]
    assert 5.0 <= min(seen) < 5.5 and 6.0 < max(seen) <= 6.51


def test_a_second_crash_later_leaves_one_node_without_quorum_until_bootstrap() -> None:
    found = run(Crash(5, ("n3",)), Crash(20, ("n2",)), Bootstrap(40, ("n1",)))
    assert order(found, "n1") == [
        "primary", "stalled", "primary", "stalled", "non-primary", "primary"
    ]  # fmt: skip
    assert any("split brain" in one.text for one in found.happenings)
    assert not found.split_brains()


def test_two_crashes_within_one_search_are_one_vote() -> None:
    found = run(Crash(10, ("n3",)), Crash(12, ("n2",)))
    assert order(found, "n1") == ["primary", "stalled", "non-primary"]
    (vote,) = (one for one in found.happenings if "2*" in one.text)
    assert "2*1 = 2 < 3" in vote.text
    assert 17.0 <= vote.at_s <= 18.5


def test_nodes_that_leave_gracefully_may_go_down_to_one() -> None:
    found = run(Leave(10, ("n3",)), Leave(20, ("n2",)))
    assert order(found, "n1") == ["primary"]
    assert found.at("n1", 30).members == ("n1",)


def test_a_goodbye_and_a_crash_together_are_one_vote() -> None:
    found = run(Leave(10, ("n3",)), Crash(10, ("n2",)))
    assert order(found, "n1") == ["primary", "stalled", "non-primary"]
    assert any("2*1 + 1 = 3 = 3" in one.text for one in found.happenings)


def test_a_pause_shorter_than_the_suspicion_stalls_everybody_for_its_length() -> None:
    found = run(Pause(10, ("n3",)), Resume(13, ("n3",)))
    assert only_stall(found, "n1") == pytest.approx(3.0)
    assert len({one.view for one in found.spans["n1"]}) == 1


def test_a_longer_pause_drops_the_node_which_believes_in_the_past_for_a_while() -> None:
    found = run(Pause(10, ("n3",)), Resume(25, ("n3",)))
    assert order(found, "n3") == ["primary", "paused", "stalled", "non-primary", "primary"]
    believing = found.spans["n3"][2]
    assert believing.length_s == pytest.approx(6.0, abs=0.01)
    assert found.at("n1", 20).members == ("n1", "n2")
    assert found.at("n1", 50).members == NAMES
    first, meeting = (one for one in found.stalls() if one.node == "n1")
    assert first.length_s < 7 and meeting.length_s <= 2.01  # the others halt when it comes back
    assert "nodes that come back" in meeting.why


def test_the_cluster_recovers_by_itself_only_when_the_whole_last_view_is_back() -> None:
    crash = Crash(10, ("n2", "n3"))
    assert order(run(crash, Start(20, ("n2",))), "n1")[-1] == "non-primary"
    found = run(crash, Start(20, ("n2",)), Start(30, ("n3",)))
    assert order(found, "n1")[-1] == "primary"
    assert any("the whole last primary view is back" in one.text for one in found.happenings)
    off = cluster(options=Options(recovery=False))
    found = run(crash, Start(20, ("n2", "n3")), topology=off)
    assert order(found, "n1")[-1] == "non-primary"


def test_a_node_that_left_gracefully_has_forgotten_the_view() -> None:
    found = run(Crash(10, ("n2", "n3")), Leave(20, ("n1",)), Start(30, NAMES), until=90)
    assert {found.at(name, 90).state for name in NAMES} == {"non-primary"}


def test_the_majority_side_of_a_partition_goes_on_and_the_other_returns() -> None:
    found = run(Partition(10, (), (("n1",), ("n2", "n3"))), Heal(30))
    assert order(found, "n1") == ["primary", "stalled", "non-primary", "primary"]
    assert order(found, "n2") == ["primary", "stalled", "primary", "stalled", "primary"]
    assert found.at("n2", 50).members == NAMES


def test_halves_of_a_partition_both_stop() -> None:
    four = cluster("n1", "n2", "n3", "n4")
    found = run(Partition(10, (), (("n1", "n2"), ("n3", "n4"))), topology=four)
    assert {found.at(name, 30).state for name in found.spans} == {"non-primary"}


def test_a_bootstrap_on_one_side_splits_the_brain_and_healing_does_not_mend_it() -> None:
    parts = Partition(10, (), (("n1",), ("n2", "n3")))
    found = run(parts, Bootstrap(30, ("n1",)), Heal(40))
    ((begin, end, components),) = found.split_brains()
    assert (begin, end) == (30, 60)
    assert set(components) == {("n1",), ("n2", "n3")}
    assert "SPLIT BRAIN" in timeline.answer(found)


@pytest.mark.parametrize("options", [Options(ignore_sb=True), Options(ignore_quorum=True)])
def test_options_that_ignore_quorum_split_the_brain_in_halves(options: Options) -> None:
    two = cluster("n1", "n2", options=options)
    assert run(Partition(10, (), (("n1",), ("n2",))), topology=two).split_brains()


def test_a_lost_link_is_relayed_after_a_while_and_nobody_is_dropped() -> None:
    found = run(Loss(10, (), "n1", "n3"))
    assert order(found, "n1") == ["primary", "stalled", "primary"]
    assert only_stall(found, "n2") == pytest.approx(4.3)
    assert len({one.view for one in found.spans["n1"]}) == 1


def test_one_way_loss_of_everything_is_a_partition() -> None:
    found = run(Loss(10, (), "n1", "n2"), Loss(10, (), "n1", "n3"))
    assert order(found, "n1") == ["primary", "stalled", "non-primary"]
    assert order(found, "n2") == ["primary", "stalled", "primary"]


def test_an_arbitrator_votes_and_does_not_write() -> None:
    members = {n: Member(n, arbitrator=n == "judge") for n in ("n1", "n2", "judge")}
    found = run(Crash(10, ("n2",)), topology=Topology(members))
    assert order(found, "n1") == ["primary", "stalled", "primary"]
    assert not any(span.writes for span in found.spans["judge"])


def test_a_weight_set_at_run_time_counts_in_the_next_vote() -> None:
    found = run(Weigh(5, ("n1",), 3), Crash(10, ("n2", "n3")))
    assert order(found, "n1")[-1] == "primary"
    assert any("2*3 = 6 > 5" in one.text for one in found.happenings)


def test_a_weight_set_while_members_are_missing_waits_for_the_next_view() -> None:
    found = run(Crash(10, ("n2", "n3")), Weigh(11, ("n1",), 3))
    assert order(found, "n1")[-1] == "non-primary"


def test_who_is_silent_while_others_pause_in_turn_is_given_up_after_the_inactive_timeout() -> None:
    naps = [Pause(10 + 4 * i + 0.5, ("n2",)) for i in range(4)]
    wakes = [Resume(10 + 4 * i + 4.2, ("n2",)) for i in range(4)]
    events = sorted([Crash(10, ("n3",)), *naps, *wakes], key=lambda one: one.at_s)
    found = run(*events, topology=cluster(options=Options(install_s=60)))
    dropped = next(one.at_s for one in found.happenings if "2*2 = 4 > 3" in one.text)
    assert 25.0 <= dropped <= 28.0  # n2 itself has missed n3 only since it woke, at 26.2 s


def test_an_install_timeout_gives_up_who_does_not_answer() -> None:
    slow = Options(suspect_s=20, inactive_s=40, install_s=3)
    found = run(Crash(10, ("n3",)), Crash(25, ("n2",)), topology=cluster(options=slow), until=120)
    vote = next(one for one in found.happenings if "2*1 = 2" in one.text)
    assert vote.at_s < 35  # n2 alone would be suspected at 45 s


def test_a_slow_member_holds_everybody_back_once_its_queue_is_full() -> None:
    topology = cluster(writes_per_s=100.0, options=Options(fc_single_primary=True))
    found = run(Slow(10, ("n3",), 0.0), Slow(30, ("n3",), None), topology=topology)
    assert order(found, "n1") == ["primary", "flow control", "primary"]
    (stall,) = (one for one in found.stalls() if one.node == "n1")
    assert (stall.begin_s, stall.end_s) == (pytest.approx(10.16), 30)  # 16 write-sets at 100/s
    found = run(Slow(10, ("n3",), 40.0), topology=topology)
    assert found.at("n1", 30).writes and found.at("n1", 30).why == "n3 applies 40/s"


def test_the_limit_of_flow_control_grows_with_the_root_of_the_members() -> None:
    topology = cluster("n1", "n2", "n3", "n4", writes_per_s=10.0)
    found = run(Slow(10, ("n3",), 0.0), topology=topology)
    (stall,) = (one for one in found.stalls() if one.node == "n1")
    assert stall.begin_s == pytest.approx(13.2)  # 16 * sqrt(4) at 10/s


def test_a_joiner_counts_at_once_and_serves_when_it_has_caught_up() -> None:
    topology = cluster(transfer_s=4.0)
    found = run(Crash(5, ("n3",)), Start(20, ("n3",)), topology=topology)
    assert order(found, "n3") == ["primary", "down", "non-primary", "joining", "primary"]
    joining = found.spans["n3"][-2]
    assert joining.length_s == pytest.approx(4.0) and len(found.at("n1", 23).members) == 3


def test_what_cannot_be_done_is_said_and_changes_nothing() -> None:
    found = run(Resume(5, ("n1",)), Start(6, ("n2",)), Bootstrap(7, ("n3",)))
    assert [order(found, name) for name in NAMES] == [["primary"]] * 3
    assert all("nothing to do" in one.text for one in found.happenings)


def test_the_same_seed_gives_the_same_history_and_another_other_moments() -> None:
    script = Script((Crash(10, ("n3",)),), 60.0)
    seen = {simulate(cluster(), script, seed).stalls()[0].end_s for seed in range(20)}
    assert simulate(cluster(), script, 7) == simulate(cluster(), script, 7)
    assert len(seen) > 10 and max(seen) <= 16.51 and min(seen) >= 16.0


def test_the_document_is_json_and_spans_cover_the_time() -> None:
    found = run(Crash(10, ("n3",)), Start(30, ("n3",)))
    made = json.loads(json.dumps(found.document()))
    for spans in made["nodes"].values():
        assert spans[0]["begin_s"] == 0 and spans[-1]["end_s"] == 60
        assert all(a["end_s"] == b["begin_s"] for a, b in itertools.pairwise(spans))
    assert made["nobody_writes"][0][0] == 10


def test_the_text_shows_every_node_and_every_stall() -> None:
    found = run(Crash(10, ("n3",)), Pause(30, ("n2",)), Bootstrap(50, ("n1",)))
    said = timeline.text(found, 80)
    assert all(f"\n{name}  |" in said for name in NAMES)
    assert max(map(len, said.split("\n\n")[1].split("\n")[:3])) <= 80
    assert history.PRIMARY in said and "n3 down" in said


def test_a_node_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="n9"):
        run(Crash(10, ("n9",)))


@pytest.mark.parametrize(
    "members",
    [{}, {"n1": Member("n1", arbitrator=True)}, {"n1": Member("n1", weight=0)}],
)
def test_an_impossible_topology_is_refused(members: dict[str, Member]) -> None:
    with pytest.raises(ValueError, match=r"node|weight"):
        Topology(members)


PAUSES = (3.0, 5.2, 5.7, 6.0, 6.2, 6.4, 6.6, 9.0)


@pytest.mark.parametrize("pause", PAUSES)
@pytest.mark.parametrize("check", [0.1, 0.5])
@pytest.mark.parametrize("repeat", [0.5, 1.0])
def test_the_formula_of_a_pause_is_what_a_script_says(
    pause: float, check: float, repeat: float
) -> None:
    model = models.load("cluster-timeline")
    typed = {"event": "pause", "pause": f"{pause}s", "check": f"{check}s",
             "retransmission": f"{repeat}s"}  # fmt: skip
    said = calculate.answer(model, given.take(model, typed, {})).values
    shortest, longest = said["stall_from"], said["stall_to"]
    assert isinstance(shortest, float) and isinstance(longest, float)
    topology = cluster(options=Options(inactive_check_s=check, join_retrans_s=repeat))
    script = Script((Pause(10, ("n3",)), Resume(10 + pause, ("n3",))), 60.0)
    seen = set()
    for seed in range(20):
        found = simulate(topology, script, seed)
        dropped = len({one.view for one in found.spans["n1"]}) > 1
        seen.add("yes" if dropped else "no")
        stall = next(one.length_s for one in found.stalls() if one.node == "n1")
        assert shortest - 1e-9 <= stall <= longest + 1e-9
        believed = sum(s.length_s for s in found.spans["n3"] if s.state == "stalled")
        assert believed == pytest.approx(said["believes"] if dropped else 0, abs=0.01)
    assert seen == {said["dropped"]} or said["dropped"] == "either"


def dozing(count: int) -> list[Event]:
    """n3 crashes; n2 is stopped again and again, never for as long as the suspicion takes, so that
    it never suspects n3 itself."""
    naps: list[Event] = [Pause(10.5 + 4 * i, ("n2",)) for i in range(count)]
    wakes: list[Event] = [Resume(14.2 + 4 * i, ("n2",)) for i in range(count)]
    return sorted([Crash(10, ("n3",)), *naps, *wakes], key=lambda one: one.at_s)


def test_by_default_who_does_not_answer_is_given_up_after_7_5_s() -> None:
    found = run(*dozing(4))
    (vote, *_) = (one.at_s for one in found.happenings if "2*1 = 2 < 3" in one.text)
    # suspected at 15.0 to 15.5; 7.5 s later both are given up; agreed at the next whole second
    assert 23.0 <= vote <= 23.5


def test_by_default_who_is_silent_for_15_s_is_given_up() -> None:
    found = run(*dozing(3), topology=cluster(options=Options(install_s=60)))
    (vote, *_) = (one.at_s for one in found.happenings if "2*2 = 4 > 3" in one.text)
    assert 25.0 <= vote <= 25.5  # n2 would suspect it at 27.2 s
