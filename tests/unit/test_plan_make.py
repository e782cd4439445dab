"""Plans: cells, order, hard factors, budget, quick, what is omitted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno import plan
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Looks, Spec
from dbdyno.plan import Machine, Plan, order
from dbdyno.plan.outlook import estimate
from dbdyno.systems.base import TargetPlan
from effort import examples

EXPERIMENTS = Path(__file__).parent / "experiments"
GIB = 2**30


def machine(cpus: int = 16, memory_bytes: int = 64 * GIB) -> Machine:
    return Machine(cpus, memory_bytes, "6.1", "some CPU", tuple(range(cpus)))


def make(
    source: str | Spec,
    *,
    cpus: int = 16,
    memory_bytes: int = 64 * GIB,
    quick: bool = False,
    missing: tuple[str, ...] = (),
    overrides: tuple[str, ...] = (),
) -> Plan:
    if isinstance(source, str):
        file = EXPERIMENTS / f"{source}.yaml"
        source = load(source if "\n" in source else file, overrides)
    return plan.make(
        source,
        machine(cpus, memory_bytes),
        quick=quick,
        available=lambda target: f"no {target.kind}" if target.kind in missing else None,
        data_settings=lambda target: {k: v for k, v in target.config.items() if "page" in k},
    )


BASE = """\
experiment: demo
targets:
  db: {kind: mariadb}
workload: {kind: oltp, preset: PRESET, rows: 5000}
factors:
  FACTOR
blocks: 2
"""


def demo(factor: str, preset: str = "read_only", more: str = "") -> str:
    return BASE.replace("PRESET", preset).replace("FACTOR", factor) + more


# --- hard and easy ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "hard"),
    [
        ("sessions: [1, 2]", False),
        ("workload.preset: [read_only, point_select]", False),
        ("workload.id_range: [10, 100]", False),
        ("workload.rate: [10/s, 20/s]", False),
        ("db.protocol: [text, prepared]", False),
        ("db.tls: [off, require]", False),
        ("db.transport: [tcp, socket]", False),
        ("duration: [1s, 2s]", False),
        ("workload.rows: [10, 100]", True),
        ("workload.tables: [1, 2]", True),
        ("db.config.x: [1, 2]", True),
        ("db.memory: [1Gi, 2Gi]", True),
        ("db.durability: [full, none]", True),
        ("db.isolation: [serializable, read_committed]", True),
        ("db.kind: [mariadb, postgres]", True),
        ("f: {a: {}, b: {sessions: 4, db.config.x: 1}}", True),
    ],
)
def test_hard_and_easy_factors(factor: str, hard: bool) -> None:
    p = make(demo(factor))
    assert p.factors[0].hard is hard
    assert len({cell.hard for cell in p.cells}) == (2 if hard else 1)


def test_a_factor_stays_hard_where_only_one_of_its_systems_is_installed() -> None:
    p = make("engines", missing=("mysql",))
    assert [f.hard for f in p.factors] == [True, False]


# --- order --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["query-cache", "engines", "journal"])
def test_every_block_runs_every_cell_once_nested(name: str) -> None:
    p = make(name)
    assert [t.position for t in p.trials] == list(range(1, len(p.trials) + 1))
    assert len({t.id for t in p.trials}) == len(p.trials)
    assert len({t.seed for t in p.trials}) == len(p.trials)
    for block in range(1, p.blocks + 1):
        trials = [t for t in p.trials if t.block == block]
        assert Counter(t.cell for t in trials) == Counter(range(len(p.cells)))
        runs = [p.cells[t.cell].hard for t in trials]
        starts = [h for h, before in zip(runs, [None, *runs], strict=False) if h != before]
        assert len(starts) == len(set(runs)), "a hard combination was left and entered again"
        fresh = [p.cells[t.cell].hard for t in trials if t.fresh_servers]
        assert fresh == starts


def test_the_order_follows_from_the_seed() -> None:
    one, same = make("query-cache"), make("query-cache")
    other = make("query-cache", overrides=("seed=43",))
    assert one == same
    assert [t.cell for t in one.trials] != [t.cell for t in other.trials]
    assert {t.seed for t in one.trials}.isdisjoint(t.seed for t in other.trials)
    blocks = [tuple(t.cell for t in one.trials if t.block == b) for b in range(1, 7)]
    assert len(set(blocks)) > 1


def test_fewer_blocks_are_a_prefix() -> None:
    p = make("query-cache")
    for blocks in range(1, p.blocks):
        assert order.trials(p.cells, blocks, p.seed) == p.trials[: blocks * len(p.cells)]


def test_a_cell_keeps_its_seed_when_another_is_dropped() -> None:
    def seeds(p: Plan) -> dict[tuple[tuple[tuple[str, str], ...], int], int]:
        return {(tuple(p.cells[t.cell].levels.items()), t.block): t.seed for t in p.trials}

    whole, less = seeds(make("engines")), seeds(make("engines", missing=("mysql",)))
    assert less.items() < whole.items()


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**53 - 1), st.integers(1, 20))
def test_seeds_are_exact_in_json(seed: int, block: int) -> None:
    p = make("journal")
    assert all(0 <= order.trial_seed(seed, block, cell) < 2**53 for cell in p.cells)


# --- data and state -----------------------------------------------------------------------------


def test_cells_share_data_where_nothing_on_disk_differs() -> None:
    p = make("query-cache")
    assert len({cell.data_key for cell in p.cells}) == 1
    assert len({c.data_key for c in make(demo("db.config.x: [1, 2]")).cells}) == 1
    assert len({c.data_key for c in make(demo("db.config.page_size: [1, 2]")).cells}) == 2
    assert len({c.data_key for c in make(demo("workload.rows: [10, 20]")).cells}) == 2
    assert len({c.data_key for c in make(demo("db.kind: [mariadb, postgres]")).cells}) == 2


def test_data_is_restored_if_any_group_changes_it() -> None:
    p = make(demo("sessions: [1, 2]"))
    assert (p.cells[0].state.data, p.notes) == ("reuse", ())
    p = make(demo("sessions: [1, 2]", "insert"))
    assert p.cells[0].state.data == "restore"
    assert p.notes == ("data: restore, since data is changed by group workload.",)
    p = make(demo("workload.preset: [read_only, delete]"))
    assert {cell.state.data for cell in p.cells} == {"restore"}
    p = make(demo("sessions: [1, 2]", "insert", "state: {data: reuse}\n"))
    assert p.cells[0].state.data == "reuse"
    assert "reuse, although data is changed by group workload" in p.notes[0]


# --- what is available --------------------------------------------------------------------------


def test_an_optional_system_that_is_missing_drops_its_cells_visibly() -> None:
    p = make("engines", missing=("mysql",))
    assert [s.what for s in p.skipped] == ["engine=mysql"]
    assert p.skipped[0].why == "no mysql"
    assert p.factors[0].levels == ("sqlite", "mariadb", "postgres")
    assert [cell.index for cell in p.cells] == list(range(6))
    assert p.untested == {
        "tps[mysql] > 1.1 * tps[mariadb] at sessions=8": "engine=mysql was skipped: no mysql"
    }
    tested = [claim for claim in plan.resolved_claims(p) if not claim.untested]
    assert [len(claim.parts) for claim in tested] == [2, 1]


def test_a_system_that_is_missing_and_not_optional_is_an_error() -> None:
    with pytest.raises(DynoError, match=r"`maria` \(mariadb\) cannot be used here") as caught:
        make("engines", missing=("mariadb",))
    assert "optional: true" in caught.value.fix


def test_what_a_system_refuses_is_said_with_cell_and_place() -> None:
    def refuse(target: TargetPlan) -> dict[str, str]:
        if target.config["x"] == 2:
            raise DynoError("db: x cannot be 2", fix="use 1")
        return {}

    loaded = load(demo("db.config.x: [1, 2]"))
    with pytest.raises(DynoError, match=r"x cannot be 2 \(in cell db.config.x=2\)") as caught:
        plan.make(loaded, machine(), data_settings=refuse)
    assert caught.value.where is not None
    assert caught.value.where.line == 3


def test_studies_are_accepted_by_their_systems() -> None:
    for path in sorted((Path(__file__).parents[2] / "studies").glob("*.yaml")):
        assert plan.make(load(path), machine()).cells


def test_no_cell_left_is_an_error() -> None:
    text = demo("sessions: [1, 2]").replace("mariadb", "mariadb, optional: true")
    with pytest.raises(DynoError, match="no cell can run here: no mariadb"):
        make(text, missing=("mariadb",))


def test_each_system_is_looked_for_once() -> None:
    asked: list[str] = []

    def available(target: TargetPlan) -> None:
        asked.append(target.kind)

    loaded = load(EXPERIMENTS / "engines.yaml")
    plan.make(loaded, machine(), available=available, data_settings=lambda target: {})
    assert sorted(asked) == ["mariadb", "mysql", "postgres", "sqlite"]


def test_needs_beyond_the_machine_leave_claims_untested() -> None:
    p = make("query-cache", cpus=2)
    assert set(p.untested) == set(p.claims)
    assert set(p.untested.values()) == {"needs 16 cores, and there are 2"}
    assert not make("query-cache").untested
    p = make("journal", memory_bytes=GIB, overrides=("needs.memory=2Gi",))
    assert set(p.untested.values()) == {"needs 2 GiB of memory, and there are 1 GiB"}


def test_a_single_claim_may_need_more_than_the_experiment() -> None:
    claims = """\
claims:
  - tps[2] > tps[1]
  - {claim: "tps[2] / tps[1] > 1.5", needs: {cores: 400}}
"""
    p = make(demo("sessions: [1, 2]", more=claims))
    assert p.untested == {"tps[2] / tps[1] > 1.5": "needs 400 cores, and there are 16"}


def test_memory_beyond_the_machine_is_said() -> None:
    assert any("lower `memory`" in n for n in make("query-cache", memory_bytes=GIB).notes)


# --- budget and quick ---------------------------------------------------------------------------


def test_a_budget_cuts_whole_blocks() -> None:
    whole = make("query-cache")
    cost = estimate.of(whole)
    budget_s = int(cost.setup_s + 2.5 * cost.block_s)
    p = make("query-cache", overrides=(f"budget={budget_s}s",))
    assert p.blocks == 2
    assert p.trials == whole.trials[: 2 * len(whole.cells)]
    assert any("holds about 2 of 6 blocks" in note for note in p.notes)


def test_a_budget_below_one_block_is_an_error() -> None:
    with pytest.raises(DynoError, match="is too short for one block") as caught:
        make("query-cache", overrides=("budget=60s",))
    assert caught.value.where is not None
    assert str(caught.value.where.file) == "--set budget=60s"
    with pytest.raises(DynoError, match="is too short for one block") as caught:
        make(demo("sessions: [1, 2]", more="budget: 5s\n"))
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (8, 9)


MANY = """\
experiment: many
targets: {db: {kind: mariadb}}
workload: {kind: oltp, rows: 1e7, tables: 64, sessions: 4}
factors:
  db.config.a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  mode: {a: {db.config.b: 1}, b: {db.config.b: 2}, c: {db.config.b: 3}, d: {db.config.b: 4}}
  sessions: [1, 2, 4, 8, 16]
"""


@pytest.mark.parametrize("source", ["query-cache", "engines", "journal", MANY])
def test_quick_takes_less_than_a_minute(source: str) -> None:
    p = make(source, quick=True)
    assert p.quick
    assert p.blocks == 1
    assert estimate.of(p).total_s < 60
    assert any("quick" in note for note in p.notes)
    for cell in p.cells:
        assert cell.warmup_s <= 1
        assert cell.duration_s <= 2
        assert cell.interval_s <= cell.duration_s
        for group in cell.groups:
            assert group.options["rows"] <= 10_000
            assert group.options.get("id_range", 1) <= group.options["rows"]


def test_quick_keeps_systems_and_settings_before_easy_levels() -> None:
    p = make("engines", quick=True)
    assert {cell.levels["engine"] for cell in p.cells} == {"sqlite", "mariadb", "postgres", "mysql"}
    left_out = [claim for claim in p.claims if claim in p.untested]
    assert all("--quick" in p.untested[claim] for claim in left_out)
    plan.resolved_claims(p)


# --- CPUs and notes -----------------------------------------------------------------------------


def test_cpus_are_parted_where_there_are_enough() -> None:
    text = demo("sessions: [1, 2]")
    assert make(text, cpus=2).generator_cpus == ()
    p = make(text, cpus=4)
    assert (p.generator_cpus, p.server_cpus) == ((0,), (1, 2, 3))
    p = make(text, cpus=16)
    assert (p.generator_cpus, p.server_cpus) == ((0, 1, 2, 3), tuple(range(4, 16)))
    assert make(text.replace("mariadb", "sqlite")).generator_cpus == ()
    assert make("engines").generator_cpus == (), "SQLite would get the generator's share only"


def test_threads_of_a_core_stay_together() -> None:
    loaded = load(demo("sessions: [1, 2]"))
    siblings = ((0, 4), (1, 5), (2, 6), (3, 7))
    here = Machine(8, GIB, "6.1", "CPU", tuple(range(8)), siblings)
    p = plan.make(loaded, here, data_settings=lambda target: {})
    assert (p.generator_cpus, p.server_cpus) == ((0, 4), (1, 2, 3, 5, 6, 7))


def test_cpus_by_hand() -> None:
    p = make("query-cache")
    assert (p.generator_cpus, p.server_cpus) == ((0,), (1,))
    with pytest.raises(DynoError, match="CPU 1 cannot be used here") as caught:
        make("query-cache", cpus=1)
    assert caught.value.where is not None


def test_words_left_open_between_kinds_come_first() -> None:
    p = make(demo("db.kind: [mariadb, postgres]", more="duration: 1s\n"))
    assert p.notes[0].startswith(
        "This compares mariadb and postgres without fixing durability, isolation and memory"
    )
    fixed = "mariadb, durability: full, isolation: serializable, memory: 1Gi"
    assert make(demo("db.kind: [mariadb, postgres]").replace("mariadb}", fixed + "}")).notes == ()
    unequal = demo("f: {a: {}, b: {db: {kind: postgres, memory: 2Gi}}}").replace(
        "mariadb}", fixed + "}"
    )
    assert make(unequal).notes == ("This compares mariadb and postgres at different memory.",)
    assert make(demo("sessions: [1, 2]")).notes == ()


def test_metric_scopes_of_a_plan_are_those_of_its_spec() -> None:
    from dbdyno.plan.claims import scope

    for name in ("query-cache", "engines", "journal"):
        loaded = load(EXPERIMENTS / f"{name}.yaml")
        assert scope(make(loaded)) == loaded.scope


# --- until all is decided -----------------------------------------------------------------------

LOOKED = demo("cache: {on: {db.config: {a: 1}}, off: {db.config: {a: 2}}}").replace(
    "blocks: 2", "trials: {min: 5, max: 9, until: decided}\nclaims: ['tps[on] > tps[off]']"
)


def test_the_plan_holds_the_most_blocks_there_can_be() -> None:
    p = make(LOOKED)
    assert (p.blocks, p.looks) == (9, Looks(5, 9))
    fixed = make(LOOKED, overrides=("trials=null", "blocks=5"))
    assert p.trials[: len(fixed.trials)] == fixed.trials
    cost = estimate.of(p)
    assert cost.total_s_min == pytest.approx(estimate.of(fixed).total_s)
    assert cost.total_s_min < cost.total_s


def test_a_quick_run_looks_at_nothing() -> None:
    assert make(LOOKED, quick=True).looks is None


def test_a_budget_is_a_nearer_end() -> None:
    block_s = estimate.of(make(LOOKED)).block_s
    setup_s = estimate.of(make(LOOKED)).setup_s
    p = make(LOOKED, overrides=(f"budget={int((setup_s + 7.5 * block_s) * 1000)}ms",))
    assert (p.blocks, p.looks) == (7, Looks(5, 7))
    p = make(LOOKED, overrides=(f"budget={int((setup_s + 3.5 * block_s) * 1000)}ms",))
    assert (p.blocks, p.looks) == (3, Looks(3, 3))
