"""Layouts that survive what was asked, and proofs that none does."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno import models
from dbdyno.models import calculate
from dbdyno.models import given as given_of
from dbdyno.models.cluster import placement, quorum
from dbdyno.models.cluster.failures import Wish, failures
from dbdyno.models.cluster.placement import Limits, Site, search, survives
from effort import examples


def said(wish: Wish, **limits: object) -> str:
    found = search(wish, Limits(**limits))  # type: ignore[arg-type]
    assert found.layout is not None
    assert survives(wish, found.layout.sites) is None
    return found.layout.said()


@pytest.mark.parametrize(("crashes", "nodes"), [(1, "3"), (2, "5"), (3, "7"), (4, "9")])
def test_so_many_crashes_take_twice_as_many_nodes_and_one(crashes: int, nodes: str) -> None:
    assert said(Wish(crashes=crashes)) == nodes


def test_two_data_centres_never_survive_the_loss_of_either() -> None:
    for arbitrators in (0, 3):
        found = search(Wish(sites=1), Limits(sites=2, arbitrators=arbitrators))
        assert found.layout is None
        assert "takes 3 sites" in " ".join(placement.arguments(found))
        assert all(proof.holds() for proof in found.proofs)


def test_three_sites_survive_the_loss_of_one_and_two_nodes_each_fail_over_nearby() -> None:
    assert said(Wish(sites=1)) == "1+1+1"
    assert said(Wish(sites=1, local=True)) == "2+2+2"
    assert said(Wish(sites=1, then=1), sites=3) == "2+2+1"


def test_an_arbitrator_at_a_third_site_is_enough() -> None:
    wish = Wish(sites=1)
    assert said(wish, arbitrators=1, data_sites=2) == "1 node at a, 1 node at b, an arbitrator at c"
    wish = Wish(sites=1, local=True)
    made = said(wish, arbitrators=1, data_sites=2)
    assert made == "2 nodes at a, 2 nodes at b, an arbitrator at c"


def test_weights_save_a_node_where_equal_ones_do_not_do() -> None:
    sites = [Site(2, 0, 1), Site(1, 0, 1)]
    wish = Wish(crashes=1)
    assert survives(wish, sites) is None
    # after the loss of the pair a node of weight 1 is a third
    assert survives(Wish(sites=1), sites) is not None
    uneven = [(4, 0), (1, 0), (1, 0)]
    asked = failures(Wish(sites=1), [4, 1, 1])
    assert placement._weights((4, 1, 1), placement._key(asked), False) is None
    weights = placement._weights((4, 1, 1), placement._key(asked), True)
    assert weights is not None and len(set(weights)) > 1
    made = [Site(*pair, weight) for pair, weight in zip(uneven, weights, strict=True)]
    assert survives(Wish(sites=1), made) is None


def test_what_no_layout_survives_is_proved_for_each() -> None:
    found = search(Wish(crashes=2, sites=1, together=True), Limits())
    assert found.layout is None and found.bounds == ()
    assert len(found.proofs) >= 60
    assert all(proof.holds() for proof in found.proofs)
    assert all(
        proof.cases for proof in found.proofs if len(proof.sizes) == 4 and sum(proof.sizes) > 4
    )
    said = " ".join(placement.arguments(found))
    assert "1/2" in said and "others fall in the same way" in said


def test_nine_members_at_four_sites_with_arbitrators_are_searched() -> None:
    found = search(
        Wish(crashes=2, sites=1, together=True, then=1, local=True), Limits(arbitrators=4)
    )
    assert found.layout is None and found.tried > 900


@settings(max_examples=examples(30), deadline=None)
@given(
    st.builds(
        Wish, crashes=st.integers(0, 2), sites=st.integers(1, 2), together=st.just(False),
        then=st.integers(0, 1),
    ),
    st.lists(st.integers(1, 2), min_size=1, max_size=3).filter(lambda s: sum(s) <= 5),
)  # fmt: skip
def test_one_weight_a_site_is_as_good_as_any_weights(wish: Wish, sizes: list[int]) -> None:
    """Against all weights of single members, and the rule itself instead of its rows."""
    asked = failures(wish, sizes)
    found = placement._weights(tuple(sizes), placement._key(asked), True)
    nodes = [(site, i) for site, size in enumerate(sizes) for i in range(size)]
    possible = any(
        sum(weights) and held(wish, sizes, dict(zip(nodes, weights, strict=True)))
        for weights in product(range(4), repeat=len(nodes))
    )
    assert (found is not None) == possible
    if found is not None:
        assert held(wish, sizes, {node: found[node[0]] for node in nodes})
    else:
        assert placement._proof(tuple(sizes), asked, True).holds()


Node = tuple[int, int]


def held(wish: Wish, sizes: list[int], weights: dict[Node, int]) -> bool:
    """By the vote alone, failure by failure."""
    named = {f"{a}.{b}": weight for (a, b), weight in weights.items()}
    for some in combinations(range(len(sizes)), min(wish.sites, len(sizes))):
        gone = [name for name in named if int(name[0]) in some]
        if not quorum.survives(named, gone):
            return False
        left = {name: weight for name, weight in named.items() if name not in gone}
        if wish.then and any(
            not quorum.survives(left, more)
            for more in combinations(left, min(wish.then, len(left)))
        ):
            return False
    crashes = combinations(named, min(wish.crashes, len(named)))
    return not wish.crashes or all(quorum.survives(named, some) for some in crashes)


@pytest.mark.parametrize(
    "make",
    [lambda: Wish(together=True), lambda: Wish(then=1), lambda: Wish(crashes=8),
     lambda: Limits(members=16), lambda: Limits(sites=7), lambda: Limits(members=3, arbitrators=3)],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make: object) -> None:
    with pytest.raises(ValueError, match=r"needs|from|at most|fewer"):
        make()  # type: ignore[operator]


def test_an_arbitrator_that_stands_for_a_site_of_two_is_heavier() -> None:
    wish = Wish(sites=2, local=True)
    for data_sites in (0, 3):
        found = search(wish, Limits(sites=5, arbitrators=2, data_sites=data_sites))
        assert found.layout is not None
        assert [(s.data, s.arbitrators, s.weight) for s in found.layout.sites] == [
            (2, 0, 1), (2, 0, 1), (2, 0, 1), (0, 1, 1), (0, 1, 2)
        ]  # fmt: skip
        assert survives(wish, found.layout.sites) is None
        equal = [Site(s.data, s.arbitrators, 1) for s in found.layout.sites]
        assert survives(wish, equal) is not None
    without = search(wish, Limits(sites=5, arbitrators=2, weights=False))
    assert without.layout is not None and without.layout.data == 8  # two more


@pytest.mark.parametrize(
    ("wish", "limits", "said"),
    [
        (Wish(sites=1), Limits(sites=2), "Of at most 2 sites the heaviest holds at least half"),
        (Wish(sites=2), Limits(sites=4), "Of at most 4 sites the 2 heaviest hold at least half"),
        (Wish(sites=1), Limits(sites=1), "Of at most 1 site the heaviest holds"),
        (Wish(crashes=1), Limits(members=1), "Of at most 1 member the heaviest holds"),
        (Wish(crashes=2), Limits(members=4), "Of at most 4 members the 2 heaviest hold"),
        (Wish(sites=1), Limits(data_sites=1), "Data is at 1 site at most"),
    ],
)
def test_arguments_are_sentences(wish: Wish, limits: Limits, said: str) -> None:
    assert said in " ".join(placement.arguments(search(wish, limits)))


def test_asked_for_nothing_it_says_only_that() -> None:
    model = models.load("placement")
    found = calculate.answer(model, given_of.take(model, {}, {}))
    assert found.sentence.startswith("No failure to survive is given") and not found.notes
