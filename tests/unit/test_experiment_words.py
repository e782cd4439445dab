"""Words and units as people write them: synonyms of keys and metrics, amounts in claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.errors import DynoError, Where
from dbdyno.experiment import load
from dbdyno.experiment.claims.metrics import Scope, canonical
from dbdyno.experiment.claims.parser import parse, parse_condition
from dbdyno.share.redact.aliases import Aliases
from dbdyno.share.redact.claims import claim as redacted
from dbdyno.share.redact.texts import Texts

FILE = """\
experiment: words
question: Do words matter?
targets: {db: {kind: sqlite, isolation: serializable, memory: 64Mi}}
workload: {kind: oltp, sessions: 2, rows: 1000}
factors: {sessions: [1, 4]}
claims: ["tps[sessions=4] > tps[sessions=1]"]
"""
PER = {"s": 1, "min": 60, "h": 3600}

numbers = st.one_of(
    st.integers(1, 10**6).map(str),
    st.decimals(min_value="0.001", max_value=10**5, places=3).map(str),
)


@given(numbers, st.sampled_from([("us", 1e-3), ("ms", 1), ("s", 1e3), ("min", 6e4)]), st.booleans())
def test_times_are_milliseconds(number: str, unit: tuple[str, float], apart: bool) -> None:
    written = f"{number}{' ' * apart}{unit[0]}"
    for text in (f"p95[on] <= {written} at slow", f"{written} >= p95[on] at slow"):
        claim = parse(text)
        assert claim.threshold == pytest.approx(float(number) * unit[1], rel=1e-12)
        assert (claim.operator, claim.right) == ("<=", None)
    halved = parse(f"2 * p95[on] <= {written}")
    assert halved.threshold == pytest.approx(float(number) * unit[1] / 2, rel=1e-12)


@given(numbers, st.sampled_from(["", "k", "M", "G"]), st.sampled_from([None, *PER]))
def test_rates_are_a_second(number: str, prefix: str, per: str | None) -> None:
    value = float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[prefix]
    claim = parse(f"qps[on] > {number}{prefix}{f'/{per}' if per else ''}")
    assert claim.threshold == pytest.approx(value / PER[per or "s"], rel=1e-12)


@given(numbers)
def test_a_ratio_is_a_plain_factor(number: str) -> None:
    plain = parse(f"tps[on] >= {number} * tps[off] at slow")
    for text in (
        f"tps[on] >= {number}x tps[off] at slow",
        f"tps[on] >= {number}x * tps[off] at slow",
        f"tps[on] / tps[off] >= {number}x at slow",
    ):
        claim = parse(text)
        assert (claim.operator, claim.threshold) == (plain.operator, plain.threshold)
        assert claim.right is not None and plain.right is not None
        assert claim.right.metric == plain.right.metric
        assert claim.right.selectors[0].level == plain.right.selectors[0].level
        assert text[claim.right.offset :].startswith("tps[off]")


@given(numbers)
def test_a_percentage_is_a_hundredth(number: str) -> None:
    share = float(number) / 100
    assert parse(f"stalled_share[on] < {number}%").threshold == pytest.approx(share, rel=1e-12)
    assert parse(f"p99[on] <= {number}% * p99[off]").threshold == pytest.approx(share, rel=1e-12)


@given(numbers, st.sampled_from(["us", "ms", "s", "/s", "/min", "x", "%"]), st.integers(0, 20))
def test_a_unit_of_another_kind_is_refused_at_its_place(number: str, unit: str, gap: int) -> None:
    metric = "tps" if unit in ("us", "ms", "s") else "p95"
    text = f"{metric}[on] >{' ' * gap}{number}{unit}"
    with pytest.raises(DynoError, match="is a") as refused:
        parse(text, Where("x.yaml", 7, 5))
    assert refused.value.where == Where("x.yaml", 7, 5 + text.index(number, text.index(">")))


def test_small_units_are_exact() -> None:
    assert parse("dispatch_lag_us_p99 < 0.3ms").threshold == 300.0
    assert parse("p95 <= 500us").threshold == 0.5
    assert parse("drain_s < 1500ms").threshold == 1.5
    assert parse("stalls_per_min < 2/s").threshold == 120.0


def test_conditions_have_units_too() -> None:
    condition = parse_condition("p95 < 5ms", Scope(("app",)))
    assert (condition.metric, condition.threshold) == ("service_ms_p95", 5.0)
    assert condition.text == "service_ms_p95 < 5"


@pytest.mark.parametrize("word", ["latency_p95", "latency_p95_ms", "p95"])
def test_latency_means_what_the_short_form_means(word: str) -> None:
    assert canonical(word, Scope(("app",))) == "service_ms_p95"
    assert canonical(word, Scope(("app",), open_loops=("app",))) == "response_ms_p95"


def test_throughput_is_transactions_a_second() -> None:
    assert canonical("throughput", Scope(("app",))) == "transactions_per_s"


@pytest.mark.parametrize("word", ["threads", "clients"])
def test_sessions_have_the_words_of_other_tools(word: str) -> None:
    found = load(FILE.replace("sessions", word).replace("experiment:", "name:"))
    usual = load(FILE)
    assert found.name == usual.name == "words"
    assert [cell.groups[0].sessions for cell in found.cells] == [1, 4]
    assert [factor.name for factor in found.factors] == [word]
    assert load(FILE.replace("tps[sessions=1]", f"tps[{word}=1]")).claims[0].right is not None


def test_a_key_in_two_words_is_refused_at_the_second() -> None:
    with pytest.raises(DynoError, match="`sessions` and `threads` are the same key") as refused:
        load(FILE.replace("sessions: 2,", "sessions: 2, threads: 3,"))
    assert refused.value.where is not None
    assert (refused.value.where.line, refused.value.where.column) == (4, 37)


def test_set_takes_both_words_and_the_text_keeps_its_own() -> None:
    plain = FILE[: FILE.index("factors")].replace("sessions", "threads")
    for path in ("sessions", "threads", "clients", "workload.threads"):
        found = load(plain, [f"{path}=7", "name=other"])
        assert (found.cells[0].groups[0].sessions, found.name) == (7, "other")
        again = load(found.text)
        assert (again.cells[0].groups[0].sessions, again.name) == (7, "other")
        assert "threads: 7" in found.text and "sessions" not in found.text


def test_redaction_leaves_amounts() -> None:
    texts = Texts(Aliases())
    text = "p95 <= 5ms and tps[on] >= 1.5x tps[off] and qps > 10k/s"
    assert " ".join(redacted(texts, text).split("[")[0].split()) == "p95 <= 5ms and tps"
    assert "1.5x tps" in redacted(texts, text) and redacted(texts, text).endswith("qps > 10k/s")
