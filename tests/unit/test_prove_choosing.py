"""Which indexes `dyno prove` takes, by estimates that are given here."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.prove import finding
from dbdyno.prove.candidates import Candidate
from dbdyno.prove.choosing import Ranked, take_all, without_useless
from dbdyno.sql import candidates as proposing
from dbdyno.sql.schema import Part

SIZES = {"a": 100, "b": 10, "c": 10, "d": 10, "e": 10, "f": 5}


class Times:
    """Times of a mix by the set of indexes in use; sets that are not named are as their largest
    part that is."""

    def __init__(self, times: Mapping[str, float]) -> None:
        self._times = {frozenset(names): time for names, time in times.items()}
        self.used: frozenset[str] = frozenset()

    def _at(self, used: frozenset[str]) -> float:
        return min((time for names, time in self._times.items() if names <= used), default=1.0)

    @property
    def left(self) -> float:
        return self._at(self.used)

    def gain(self, one: Candidate) -> float:
        return self.left - self._at(self.used | {one.name})

    def loss(self, one: Candidate) -> float:
        return self._at(self.used - {one.name}) - self.left

    def take(self, one: Candidate) -> dict[str, float]:
        self.used |= {one.name}
        return {"app/find": 0.1}

    def drop(self, one: Candidate) -> None:
        self.used -= {one.name}


def names(ranked: list[Ranked]) -> list[str]:
    return [one.candidate.name for one in ranked]


def taken(times: Times, order: str, most: int = 9, space: int | None = None) -> list[Ranked]:
    built = [Candidate(name, name, index=name) for name in order]
    return take_all(times, built, SIZES, most, space)


# Indexes a and b serve one class, c another.
ALIKE = {"a": 0.5, "b": 0.55, "c": 0.8, "ab": 0.5, "ac": 0.3, "bc": 0.35, "d": 0.995}


def test_indexes_are_taken_by_what_they_save_besides_the_others() -> None:
    assert names(taken(Times(ALIKE), "dcba")) == ["a", "c"]
    assert names(taken(Times(ALIKE), "dcba", most=1)) == ["a"]
    assert names(taken(Times(ALIKE), "dcba", space=50)) == ["b", "c"]
    assert names(taken(Times(ALIKE), "dcba", space=15)) == ["b"]


def test_what_matters_is_the_time_that_is_left() -> None:
    found = taken(Times({"a": 0.02, "c": 0.998, "ac": 0.018, "d": 0.999}), "acd")
    assert names(found) == ["a", "c"]
    assert found[1].saves == (0.02 - 0.018) / 0.02


def test_an_index_that_serves_only_next_to_another_is_asked_about_again() -> None:
    together = Times({"a": 0.9, "b": 1.0, "ab": 0.2})
    assert names(taken(together, "ba")) == ["a", "b"]


def test_of_indexes_that_save_as_much_the_smallest_is_taken() -> None:
    assert names(taken(Times({"a": 0.5, "b": 0.501, "ab": 0.5}), "ab")) == ["b"]


def test_an_index_whose_work_others_do_by_now_is_dropped() -> None:
    times = Times({"a": 0.6, "e": 0.8, "ae": 0.5, "ef": 0.2, "aef": 0.2})
    found = taken(times, "aef")
    assert names(found) == ["a", "e", "f"]
    assert names(without_useless(times, found)) == ["e", "f"]
    assert times.used == {"e", "f"}


def proposal(column: str, *classes: str) -> proposing.Candidate:
    return proposing.Candidate(schema="", table="t", parts=(Part(column),), classes=classes)


def test_no_class_takes_all_the_room_of_the_proposals() -> None:
    slow = [proposal(f"slow{number}", "slow") for number in range(5)]
    found = [*slow, proposal("quick", "quick"), proposal("both", "slow", "quick")]
    kept = finding.chosen(found, {"slow": 0.63, "quick": 0.37}, 4)
    assert [one.columns[0] for one in kept] == ["both", "slow0", "slow1", "quick"]
