"""`--set path=value`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load

CACHE = Path(__file__).parent / "experiments" / "query-cache.yaml"
TEXT = """\
# a comment that must stay
experiment: demo
targets:
  db: {kind: mariadb, config: {a: 1}}   # beside the target
workload: {kind: oltp, preset: point_select}
factors:
  mode: {on: {db.config.x: 1}, off: {db.config.x: 0}}
  16: {true: {workload.rows: 5000}, false: {}}
  range: {set: workload.id_range, levels: [10, 100]}
blocks: 6
claims:
  - tps[on] > tps[off] at range=10, true
"""


def test_every_kind_of_path() -> None:
    changes = [
        "blocks=2",
        "state.data=reuse",
        "needs.cores=4",
        "db.config.b=on",
        "db.durability=full",
        "workload.tables=3",
        "sessions=7",
        "warmup=1s",
        "matters=5%",
        "factors.range=[20, 30, 40]",
        "factors.mode.off.db.config.x=7",
        "factors.16.true.workload.rows=6000",
        "claims=['tps[on] < 3 at 20, true']",
    ]
    s = load(TEXT, changes)
    assert (s.blocks, s.data, s.needs.cores, s.matters) == (2, "reuse", 4, 0.05)
    cell = s.cells[-1]
    assert cell.warmup_s == 1.0
    assert cell.targets[0].config == {"a": 1, "b": "on", "x": 7}
    assert cell.targets[0].durability == "full"
    assert (cell.groups[0].sessions, cell.groups[0].options["tables"]) == (7, 3)
    assert {c.groups[0].options.get("rows") for c in s.cells} == {6000, None}
    assert s.factors[2].levels == ("20", "30", "40")
    assert s.claims[0].text == "tps[on] < 3 at 20, true"

    again = load(s.text)
    assert again.cells == s.cells
    assert again.factors == s.factors
    assert (again.blocks, again.data, again.needs) == (s.blocks, s.data, s.needs)
    assert "# a comment that must stay" in s.text
    assert "# beside the target" in s.text


def test_without_overrides_the_text_is_untouched() -> None:
    assert load(TEXT).text == TEXT
    assert load(CACHE).text == CACHE.read_text()


def test_null_takes_a_key_back() -> None:
    keys = ["budget", "cpus", "needs", "claims", "require", "warmup", "state", "blocks"]
    s = load(CACHE, [f"{key}=null" for key in keys])
    assert (s.budget_s, s.cells[0].cpus.generator, s.needs.cores, s.claims, s.require) == (
        None,
        (),
        None,
        (),
        (),
    )
    assert (s.cells[0].warmup_s, s.data, s.blocks) == (10.0, None, 6)
    with pytest.raises(DynoError, match="`experiment` is missing"):
        load(CACHE, ["experiment=null"])


def test_overrides_of_a_real_file_reproduce() -> None:
    s = load(CACHE, ["readers.rows=2000000", "updater.rows=2000000", "budget=null"])
    again = load(s.text)
    assert again.cells == s.cells
    assert again.budget_s is None


@pytest.mark.parametrize(
    ("change", "what", "fix"),
    [
        ("blocks", "not `path=value`", ""),
        ("=3", "not `path=value`", ""),
        ("blocks=", "gives no value", "null"),
        ("blokcs=3", "`blokcs` does not exist", "`blocks`"),
        ("state.dta=reuse", "does not exist", "`state.data`"),
        ("blocks.x=3", "does not exist", "`blocks`"),
        ("db.confg.x=3", "no `confg`", "`config`"),
        ("workload.sesions=3", "no `sesions`", "`sessions`"),
        ("factors.mod=[1]", "no factor `mod`", "`mode`"),
        ("factors.mode.onn=3", "no level `onn`", "`on`"),
        ("blocks=[", "not YAML", ""),
        ("workload.id_range=5", "would change nothing", "factors.range"),
        ("blocks=many", "a whole number, not `many`", ""),
        ("factors.range=[1]", "has 1 level", ""),
    ],
)
def test_wrong_overrides(change: str, what: str, fix: str) -> None:
    with pytest.raises(DynoError) as caught:
        load(TEXT, [change])
    assert what in caught.value.what, str(caught.value)
    assert fix in caught.value.fix, str(caught.value)


def test_a_wrong_value_points_at_the_option() -> None:
    with pytest.raises(DynoError) as caught:
        load(TEXT, ["blocks=0"])
    assert str(caught.value).startswith("--set blocks=0:1:1: ")


PRICED = TEXT + "prices: {base: 1/month, 16: {true: 2/month, false: 3/month}}\n"


def test_prices_change_for_a_run() -> None:
    changes = ["prices.16.true=5/month", "prices.base=0/month", "prices.under=[p95 ms < 9]"]
    s = load(PRICED, changes)
    assert s.prices is not None
    assert s.prices.levels == {"16": {"true": 5.0, "false": 3.0}}
    assert (s.prices.base_per_month, s.prices.under) == (0.0, ("service_ms_p95 < 9",))
    assert load(s.text).prices == s.prices


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("prices.17.true=5/month", "`prices.17.true` does not exist"),
        ("prices.16.maybe=5/month", "factor `16` has no level `maybe`"),
        ("prices.16.true=5", "a price with its time"),
    ],
)
def test_a_price_of_nothing_is_refused(change: str, says: str) -> None:
    with pytest.raises(DynoError, match=says):
        load(PRICED, [change])
