"""What models refuse, and their notes on an answer."""

from __future__ import annotations

import pytest

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import calculate, given
from dbdyno.wording.models import words


def answer(line: str) -> calculate.Answer:
    name, *typed = line.split()
    model = models.load(name)
    return calculate.answer(model, given.take(model, given.assignments(typed, model), {}))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("covering-index rows=1M matching=1000 row=20 entry=3500", "entry=3500 is more than"),
        ("covering-index rows=1M matching=1000 row=16Ki page=4Ki", "does not fit page=4Ki"),
        ("covering-index rows=1M matching=1000 row=64Ki", "at most 16Ki"),
        ("innodb-growth rows=10 row=8200", "at most 8100"),
        ("cost price=9/month rate=1/s,2/s within=5ms", "needs the response time"),
        ("cost price=9/month rate=1/s,2/s latency=5ms", "not equally many"),
        ("cost price=9/month rate=1/s latency=0s,0s", "not equally many"),
        ("claims speedup=2 base=1us", "base=1us is no more than rtt=100us"),
        ("claims speedup=2 base=100us", "base=100us is no more than rtt=100us"),
        ("storage-waste allocated=2Gi used=1Gi today=9999-12-31", "at most 2999-12-31"),
    ],
)
def test_what_cannot_be_is_refused(line: str, said: str) -> None:
    with pytest.raises(DynoError, match=said):
        answer(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("consistency tps=1000/s sessions=20 stated=20ms p95=19.9ms", "below the mean of 20 ms"),
        ("consistency tps=1000/s sessions=20 p95=10ms", "(stalls)"),
        ("consistency tps=1000/s sessions=20 stated=21ms p95=20.5ms", "21 ms that is stated"),
        ("consistency tps=1000/s sessions=20 p95=401ms", "cannot be more than 20 times"),
        ("consistency tps=1000/s sessions=20 stated=20ms p95=400ms", ""),
        ("covering-index rows=1M matching=1000 cached=95%", "little is read from disk"),
        ("innodb-growth rows=1", "MySQL takes 112 KiB"),
        ("commit-ceiling fsyncs=200/s sessions=64", "real groups are smaller"),
        ("claims speedup=80", "the server must answer in 25 us"),
    ],
)
def test_notes_say_what_limits_an_answer(line: str, said: str) -> None:
    found = answer(line)
    notes = "\n".join(words.notes(found, words.all_shown(found)))
    assert said in notes if said else not notes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cost price=9/month rate=1000/s utilization=50%", "at 500/s."),
        ("storage-waste allocated=100Gi used=30Gi growth=1 today=2026-01-01", "within 1,000 years"),
        ("storage-waste allocated=100Gi used=30Gi growth=0 today=2026-01-01", "never has to grow"),
        ("claims speedup=300 base=30ms", "less than 300 times"),
    ],
)
def test_an_answer_says_what_it_is_of(line: str, said: str) -> None:
    found = answer(line)
    assert said in words.sentence(found, words.all_shown(found))


def test_without_a_load_no_machines_are_counted() -> None:
    found = answer("cost price=9/month rate=1000/s")
    shown = words.all_shown(found)
    assert shown["machines"] == shown["fleet"] == shown["fleet_per_billion"] == "–"
