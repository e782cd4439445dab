"""Does a Galera cluster go on, after nodes crashed or left?

A component stays primary if the weights of the members that it still has are more than half of the
last primary view, not counting those that left in good order. Exactly half is split brain: nobody
goes on. A node that is shut down announces it and makes the majority smaller; one that crashed does
not.

Formula:
    last [count] = sum(weights)
        weight of the last primary view
    crash_weight [count] = weight_of(weights, crashed)
        weight of those that are gone without a word
    left_weight [count] = weight_of(weights, left)
        weight of those that left in good order meanwhile
    remaining [count] = last - crash_weight - left_weight
        weight of those that are still together
    votes [count] = 2 * remaining + left_weight
        must be more than `last`
    primary [word] = "yes" if votes > last else "no"
        whether those that are left may write
    any_crashes [count] = any_crashes_of(weights)
        how many nodes may crash at once, whichever they are

Assumptions:
    All that is in `crashed` and `left` happens within one view: nobody has noticed the one when the
    other happens. In several steps, with a view in between, ask once a step, with the weights of
    those that are left. So two nodes of three may go one after the other, but not at once.

    A member is there or not; those that are left can all talk to each other. pc.ignore_sb and
    pc.ignore_quorum are off.

Versions:
    Galera 3 and 4 (weighted quorum since 2.4); weights are 0 to 255.

Source:
    Galera Cluster documentation, "Weighted Quorum" and `pc.weight`. Read 2026-11. How long the vote
    takes, and what a client sees meanwhile, is no matter of this formula.

Trap:
    "A cluster of n survives the loss of a minority" holds for crashes. With 3 nodes, one that
    leaves in good order and one that crashes at the same time leave 2 x 1 + 1 = 3, which is not
    more than 3: the last node stops.

    "One node can never be a majority of three" forgets weights: with 2, 1, 0 the first node goes on
    alone when both others crash, and the two others stop when it crashes.
"""

from __future__ import annotations

from itertools import accumulate

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("weights", "count", "`pc.weight` of each member of the last primary view", "1,1,1", "0",
          "255", many=True, whole=True),
    Input("crashed", "count", "members that crashed, by their places from 1; 0: none", "0", "0",
          many=True, whole=True, example="2,3"),
    Input("left", "count", "members that were shut down in good order; 0: none", "0", "0",
          many=True, whole=True, example="1"),
)  # fmt: skip
OUTPUTS = ("primary", "votes", "last", "remaining", "any_crashes")
SAYS = (
    ("remaining <= 0", "No member continues: no member with a vote is left."),
    ("primary == 'yes'", "The remaining members continue: {votes} is more than {last}. Of the whole"
     " view, {any_crashes} may crash at once, whichever they are."),
    ("votes == last", "No member continues: {votes} is exactly {last}, split brain."),
    ("", "The remaining members stop: {votes} is less than {last}."),
)  # fmt: skip
REFUSALS = (
    Note("max(crashed) > len(weights) or max(left) > len(weights)",
         "crashed={crashed}, left={left}: there are only as many members as weights={weights}"),
    Note("both(crashed, left)", "a member cannot crash ({crashed}) and leave ({left}) at once"),
    Note("sum(weights) <= 0", "weights={weights}: somebody must have a vote"),
)  # fmt: skip
NOTES = (
    Note(
        "len(weights) > 1 and any_crashes <= 0",
        "the crash of one node is enough to stop all, if it is the wrong one",
    ),
)


def weight_of(weights: tuple[float, ...], members: tuple[float, ...]) -> float:
    """Sum of the weights of the members at these places, counted from 1."""
    return sum(weights[int(place) - 1] for place in set(members) if place > 0)


def any_crashes_of(weights: tuple[float, ...]) -> float:
    """How many of the heaviest members may be gone while the rest is more than half."""
    total = sum(weights)
    gone = accumulate(sorted(weights, reverse=True))
    return float(sum(2 * (total - weight) > total for weight in gone))


def both(crashed: tuple[float, ...], left: tuple[float, ...]) -> bool:
    """Whether a member is in both lists."""
    return bool((set(crashed) & set(left)) - {0.0})


FUNCTIONS = {"weight_of": weight_of, "any_crashes_of": any_crashes_of, "both": both}
GOLDEN = (
    Golden({"weights": "1,1,1", "crashed": "2", "left": "3"},
           {"votes": "3", "last": "3", "primary": "no"}, "the rule by hand"),
    Golden({"weights": "2,1,0", "crashed": "2,3"}, {"primary": "yes"}, "the rule by hand"),
    Golden({"weights": "2,1,0", "crashed": "1"}, {"primary": "no"}, "the rule by hand"),
    Golden({"weights": "1,1,1", "left": "2,3"}, {"primary": "yes"}, "the rule by hand"),
    Golden({"left": "1,2,3"}, {"remaining": "0", "votes": "3", "primary": "no"},
           "by hand: no member is left"),
    Golden({"weights": "0,0,1", "left": "3"}, {"remaining": "0", "votes": "1", "primary": "no"},
           "by hand: two are left, and have no vote"),
    Golden({"weights": "1,1,1,1,1,1", "crashed": "1,2,3,4"}, {"votes": "4", "primary": "no"},
           "by hand: a site with four of six is lost"),
    Golden({"weights": "1,1,1,1,2,3", "crashed": "1,2,3,4"},
           {"votes": "10", "last": "9", "primary": "yes"},
           "by hand: the same, with heavier nodes at the other sites"),
    *(
        Golden({"weights": ",".join(["1"] * nodes)}, {"any_crashes": str(crashes)},
               "one vote each: fewer than half")
        for nodes, crashes in enumerate((0, 0, 1, 1, 2, 2, 3), start=1)
    ),
)  # fmt: skip
