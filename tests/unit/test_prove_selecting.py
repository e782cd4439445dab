"""Which form of an index found is kept, by answers that are given here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED
from dbdyno.cli.proving import selecting
from dbdyno.experiment import load
from dbdyno.prove import experiment
from dbdyno.prove.answer import Answer, Judged
from dbdyno.prove.base import Base
from dbdyno.prove.base import base as read_base
from dbdyno.prove.candidates import Candidate
from dbdyno.prove.choosing import Ranked
from dbdyno.prove.examining import Examined
from dbdyno.prove.experiment import FORMS, WHOLE, Effect, Lengths, Proof


def ranked(name: str, narrower: Ranked | None = None) -> Ranked:
    return Ranked(Candidate(name, f"index {name}", index=name), 1, 0.5, {}, narrower)


NARROW = ranked("narrow")
WIDE = ranked("wide", NARROW)


def answer(name: str, whole: str, forms: str = "") -> Answer:
    judged = [Judged(Effect(name, WHOLE, "", "", ""), whole, "")]
    if forms:
        judged.append(Judged(Effect(name, FORMS, "", "", ""), forms, ""))
    return Answer(Candidate(name, name), tuple(judged), Examined())


@pytest.mark.parametrize(
    ("wide", "faster", "narrow", "kept"),
    [
        (SUPPORTED, SUPPORTED, SUPPORTED, WIDE),
        (SUPPORTED, SUPPORTED, UNDECIDED, WIDE),
        (SUPPORTED, UNDECIDED, SUPPORTED, NARROW),
        (SUPPORTED, REFUTED, SUPPORTED, NARROW),
        (SUPPORTED, UNDECIDED, UNDECIDED, WIDE),
        (UNDECIDED, REFUTED, SUPPORTED, NARROW),
        (UNDECIDED, SUPPORTED, UNDECIDED, None),
        (REFUTED, REFUTED, UNDECIDED, None),
    ],
)
def test_the_covering_form_must_be_shown_faster(
    wide: str, faster: str, narrow: str, kept: Ranked | None
) -> None:
    judged = (answer("wide", wide, faster), answer("narrow", narrow))
    assert selecting._best((WIDE, NARROW), judged) is kept


def test_an_index_without_another_form_is_kept_if_it_is_shown() -> None:
    assert selecting._best((NARROW,), (answer("narrow", SUPPORTED),)) is NARROW
    assert selecting._best((NARROW,), (answer("narrow", UNDECIDED),)) is None


def names(forms: Sequence[Ranked]) -> list[str]:
    return [form.candidate.name for form in forms]


def test_a_narrower_form_that_is_kept_already_is_not_measured_again() -> None:
    assert names(selecting._forms(WIDE, [ranked("other")])) == ["wide", "narrow"]
    assert names(selecting._forms(WIDE, [ranked("narrow")])) == ["wide"]
    assert names(selecting._forms(NARROW, [])) == ["narrow"]


SHOP = """\
experiment: shop
targets:
  db:
    kind: mariadb
    setup:
      tables:
        orders:
          rows: 10
          columns:
            id: {type: int, sequence: 1, key: primary}
            customer_id: {type: int, uniform: [1, 5]}
            total: {type: int, uniform: [1, 5]}
workload:
  kind: mix
  params: {customer: {uniform: [1, 5]}}
  statements: {by_customer: "SELECT total FROM orders WHERE customer_id = :customer"}
"""


def test_two_forms_are_compared_with_each_other(base: Base) -> None:
    forms = tuple(
        Candidate(name, f"index ({name})", (f"CREATE INDEX {name} ON orders (customer_id)",))
        for name in ("wide", "narrow")
    )
    proof = Proof("prove", "dyno prove", base, forms, selects=True, forms=True)
    text = experiment.text(proof, Path("p.yaml"), Lengths(3, 0.1, 1.0, 0.1))
    claims = [claim.text for claim in load(_written(text)).claims]
    speed = "transactions_per_s"
    assert claims == [
        f"{speed}[wide] > {speed}[today]",
        f"{speed}[narrow] > {speed}[today]",
        f"{speed}[wide] > {speed}[narrow]",
    ]


def _written(text: str) -> Path:
    path = Path("p.yaml")
    path.write_text(text)
    return path


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    monkeypatch.chdir(tmp_path)
    return read_base(SHOP, Path("shop.yaml"), None, keeps_state=False)
