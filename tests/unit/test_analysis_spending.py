"""Alpha spending: boundaries against published ones, by simulation, and their shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dbdyno.analysis.claims import alpha_spending
from dbdyno.analysis.claims.alpha_spending import any_boundaries, spent, t_boundaries
from effort import examples

LOOKS = tuple(range(4, 13))
SHARES = tuple(n / 12 for n in LOOKS)


def test_all_is_spent_at_the_end_and_next_to_nothing_early() -> None:
    assert spent(0.05, 1.0) == pytest.approx(0.05)
    assert spent(0.05, 0.2) == pytest.approx(1.0775e-06, rel=1e-3)  # 4 - 4 Phi(2.241 / sqrt(0.2))
    with pytest.raises(ValueError, match="share"):
        spent(0.05, 1.5)


@pytest.mark.long
def test_large_samples_have_the_boundaries_of_the_normal() -> None:
    """Five looks at equal shares, 5 % two-sided: 4.877, 3.357, 2.680, 2.290, 2.031, as published
    for Lan and DeMets's function of O'Brien and Fleming's type (gsDesign, rpact)."""
    looks = (6, 12, 18, 24, 30)
    found = t_boundaries(looks, tuple(n / 30 for n in looks))
    z = [float(-special.ndtri(one.level(0.05) / 2)) for one in found]
    assert z == pytest.approx([4.877, 3.357, 2.680, 2.290, 2.031], abs=0.025)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_simulated_t_tests_cross_as_often_as_may_be_spent(alpha: float) -> None:
    draws = 200_000
    values = np.random.default_rng(4).standard_normal((draws, 12))
    crossed = np.zeros(draws, bool)
    for n, share, boundary in zip(LOOKS, SHARES, t_boundaries(LOOKS, SHARES), strict=True):
        sample = values[:, :n]
        t = np.abs(sample.mean(1)) / (sample.std(1, ddof=1) / np.sqrt(n))
        crossed |= t > -special.stdtrit(n - 1, boundary.level(alpha) / 2)
        wanted = float(spent(alpha, share))
        assert abs(crossed.mean() - wanted) < 4 * np.sqrt(wanted / draws) + 1e-5


def test_a_single_look_tests_at_the_whole_level() -> None:
    for found in (t_boundaries((6,), (1.0,)), any_boundaries((1.0,))):
        assert found[0].level(0.05) == pytest.approx(0.05, rel=1e-3)
        assert found[0].family_p(0.0123) == pytest.approx(0.0123, rel=0.001)


def test_levels_of_any_test_add_up_to_the_whole() -> None:
    total = sum(one.level(0.05) for one in any_boundaries(SHARES))
    assert total == pytest.approx(0.05, rel=0.01)


def test_a_look_with_nothing_to_spend_cannot_decide() -> None:
    first = t_boundaries((4, 16), (0.04, 1.0))[0]
    assert first.level(0.05) == 0.0
    assert first.family_p(0.0) > 0.05


@pytest.mark.parametrize(
    ("looks", "shares"),
    [((4, 4), (0.5, 1.0)), ((1, 4), (0.5, 1.0)), ((4, 5), (0.5, 1.5)), ((4,), (0.5, 1.0))],
)
def test_looks_that_make_no_sense_are_refused(
    looks: tuple[int, ...], shares: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match=r"shares|looks"):
        t_boundaries(looks, shares)


@st.composite
def schedules(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[float, ...]]:
    most = draw(st.integers(4, 14))
    looks = sorted(draw(st.sets(st.integers(3, most), min_size=1, max_size=6)))
    ended = draw(st.booleans())
    shares = [n / most for n in looks]
    return tuple(looks), (*shares[:-1], 1.0 if ended else shares[-1])


@settings(max_examples=examples(40))
@given(schedules(), st.floats(0, 1), st.floats(1e-8, 0.3), st.floats(1e-8, 0.3))
def test_levels_and_p_belong_together(
    schedule: tuple[tuple[int, ...], tuple[float, ...]], p: float, one: float, other: float
) -> None:
    strict, loose = sorted((one, other))
    for boundary in (*t_boundaries(*schedule), *any_boundaries(schedule[1])):
        assert 0 <= boundary.level(strict) <= boundary.level(loose) <= loose * (1 + 1e-9)
        family = boundary.family_p(p)
        assert p * (1 - 1e-9) <= family <= 1
        if 1e-8 < family < 0.3:
            assert boundary.level(family) >= p * (1 - 1e-6)
        if boundary.level(strict):
            assert boundary.family_p(boundary.level(strict)) == pytest.approx(strict, rel=1e-6)


@pytest.mark.long
def test_the_table_is_finer_than_it_need_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of twice as many steps gives the same levels."""
    coarse = [one.level(0.05) for one in t_boundaries(LOOKS[:4], SHARES[:4])]
    edges = np.linspace(0.0, 8.0, 481)
    monkeypatch.setattr(alpha_spending, "_EDGES", edges)
    monkeypatch.setattr(alpha_spending, "_MIDDLES", (edges[1:] + edges[:-1]) / 2)
    monkeypatch.setattr(alpha_spending, "_tails", alpha_spending._tails.__wrapped__)
    fine = alpha_spending._t_boundaries.__wrapped__(LOOKS[:4], SHARES[:4])
    assert coarse == pytest.approx([one.level(0.05) for one in fine], rel=0.003)
