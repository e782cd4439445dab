"""The rule of the primary component, with the numbers that are published for it."""

from __future__ import annotations

import pytest

from dbdyno import models
from dbdyno.models import calculate, given
from dbdyno.models.cluster import quorum
from dbdyno.models.cluster.files.options import Options


def equal(count: int) -> dict[str, int]:
    return {f"n{i}": 1 for i in range(1, count + 1)}


def crashes_survived(weights: dict[str, int]) -> int:
    """The largest number of members of which any may crash at once."""
    names = sorted(weights, key=lambda name: -weights[name])
    count = 0
    while count < len(names) and quorum.survives(weights, names[: count + 1]):
        count += 1  # the heaviest are the worst case
    return count


@pytest.mark.parametrize(
    ("nodes", "crashes"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3)]
)
def test_so_many_equal_nodes_may_crash_at_once(nodes: int, crashes: int) -> None:
    assert crashes_survived(equal(nodes)) == crashes


def test_one_that_leaves_and_one_that_crashes_together_are_too_many_for_three() -> None:
    held = quorum.vote(equal(3), ["n1"], ["n2"])
    assert (held.votes, held.last, held.primary, held.split_brain) == (3, 3, False, True)


def test_nodes_that_leave_one_after_the_other_leave_a_primary_component_of_one() -> None:
    assert quorum.survives(equal(2), [], ["n2"])
    assert not quorum.survives(equal(2), ["n2"])


def test_weights_decide_whose_loss_is_survived() -> None:
    weights = {"n1": 2, "n2": 1, "n3": 0}
    assert quorum.survives(weights, ["n2", "n3"])
    assert not quorum.survives(weights, ["n1"])
    assert crashes_survived(weights) == 0


def test_the_heaviest_are_the_worst_case() -> None:
    assert crashes_survived({"n1": 3, "n2": 1, "n3": 1, "n4": 1, "n5": 1}) == 1


def test_options_override_the_rule_and_say_so() -> None:
    half = quorum.vote(equal(2), ["n1"], (), Options(ignore_sb=True))
    assert half.primary and not half.majority and "pc.ignore_sb" in half.said()
    third = quorum.vote(equal(3), ["n1"], (), Options(ignore_sb=True))
    assert not third.primary
    assert quorum.vote(equal(3), ["n1"], (), Options(ignore_quorum=True)).primary


def test_who_joined_since_has_no_vote() -> None:
    assert not quorum.vote(equal(3), ["n1", "n9"]).primary


@pytest.mark.parametrize(
    "typed",
    [{"left": "1,2,3"}, {"crashed": "1,2,3"}, {"weights": "0,0,1", "left": "3"}],
)
def test_nobody_left_with_a_vote_is_no_split_brain(typed: dict[str, str]) -> None:
    model = models.load("quorum")
    said = calculate.answer(model, given.take(model, typed, {})).sentence
    assert said == "No member continues: no member with a vote is left."
