"""The report's parts: layout, names, series, servers, tables, what was tested."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.analysis.types import (
    UNDECIDED,
    VALUE,
    CellResult,
    ClaimPart,
    ClaimResult,
    Findings,
    Inside,
    MoreBlocks,
    Partial,
    Ratio,
)
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.report import Report, layout
from dbdyno.report.context import Context
from dbdyno.report.sections.load import classes, counters, stalls, waits
from dbdyno.report.sections.load import results as tables
from dbdyno.report.sections.setting import plans, reproduce, settings, tested, warnings
from dbdyno.report.sections.verdicts import claims, ratios
from dbdyno.report.text import escaping
from dbdyno.report.trials import cells as latencies
from dbdyno.report.trials import series
from dbdyno.report.trials.read import Trials
from dbdyno.store.metrics.histogram import Histogram, Tagged
from dbdyno.wording import names
from dbdyno.wording.verdicts import verdict_text
from dbdyno.wording.visible import visible
from fixtures import synthetic


def engines() -> synthetic.SyntheticRun:
    return synthetic.engines(Path("."))[0]


def engine_findings() -> Findings:
    return synthetic.engines(Path("."))[1]


def cache() -> synthetic.SyntheticRun:
    return synthetic.cache_run(Path("."))[0]


def cache_findings() -> Findings:
    return synthetic.cache_run(Path("."))[1]


def with_cell(cell: CellResult) -> Context:
    """The cache's run with one cell."""
    return Context(cache(), replace(cache_findings(), cells=(cell,)))  # type: ignore[arg-type]


def test_sessions_make_the_axis_and_engines_the_lines() -> None:
    roles = layout.choose(engines().plan)
    assert roles.x is not None
    assert roles.x.name == "workload.sessions"
    assert [f.name for f in roles.series] == ["engine"]
    assert roles.x_label == "sessions (threads)"
    assert roles.cell(engines().plan.cells[0].levels) == "mariadb · sessions 1"
    assert sorted(roles.styles.values()) == [0, 1, 2]


def test_without_a_numeric_axis_rows_are_drawn_and_bare_levels_named() -> None:
    roles = layout.choose(cache().plan)
    assert roles.x is None
    assert roles.cell(cache().plan.cells[0].levels) == "cache on · id range 10,000"


def test_many_lines_become_panels() -> None:
    plan = engines().plan
    extra = replace(plan.factors[0], name="durability", levels=("full", "none", "os"))
    cells = tuple(
        replace(c, levels={**c.levels, "durability": level})
        for c in plan.cells
        for level in extra.levels
    )
    roles = layout.choose(replace(plan, factors=(*plan.factors, extra), cells=cells))
    assert [f.name for f in roles.panels] == ["durability"]
    assert [f.name for f in roles.series] == ["engine"]


def test_metric_names_have_words_and_units() -> None:
    groups = ("readers", "updater")
    p95 = names.describe("readers.service_ms_p95", groups)
    assert (p95.group, p95.column, p95.unit, p95.better) == ("readers", "readers p95 ms", "ms", -1)
    assert names.describe("status.Com_select").label == "Server: Com_select"
    assert names.describe("disk.write_bytes_per_s").unit == "bytes/s"
    ordered = names.order(
        ["cpu.user", "updater.service_ms_p95", "readers.operations_per_s"], groups
    )
    assert ordered == ["readers.operations_per_s", "updater.service_ms_p95", "cpu.user"]


def test_thinning_keeps_the_mean_and_the_bound() -> None:
    values = [float(i) for i in range(1000)]
    thin = series.thin(values, 100)
    assert len(thin) == 100
    known = [v for v in thin if v is not None]
    assert sum(known) / len(known) == pytest.approx(499.5, rel=1e-3)
    assert series.thin([None, None, 3.0], 10) == [None, None, 3]
    assert series.thin([None] * 20, 10) == [None] * 10


def test_samples_shown_are_bounded_and_telling_ones_lead() -> None:
    metrics = [{f"status.Counter_{i}": float(i + j) for i in range(300)} for j in range(3)]
    metrics[0]["status.Innodb_row_lock_waits"] = 5.0
    metrics[0]["cpu.user"] = 0.5
    metrics[0]["cpu.busy"] = 0.7
    metrics[0]["db.server.rss_bytes"] = 1.0
    chosen = series.choose_samples(metrics)
    assert ("cpu", "user") in chosen
    assert ("cpu", "busy") not in chosen
    assert ("db.server", "rss_bytes") in chosen
    counters = [key for key in chosen if key[0] == "status"]
    assert counters[0] == ("status", "Innodb_row_lock_waits")
    assert len(counters) == series.COUNTERS


def test_a_trial_is_read_with_its_warm_up() -> None:
    record = engines().kept[0]
    chosen = [("cpu", "user"), ("status", "Com_select"), ("status", "absent")]
    trial = series.read_trial(engines().events(record.id), engines().samples(record.id), chosen)
    assert trial.t[0] < 0 < trial.t[-1]
    compact = series.compact(trial, chosen, 240)
    assert len(compact["groups"]["workload"]["tps"]) == len(trial.t)
    assert all(v is None for v in compact["sources"]["status"]["v"]["absent"])
    assert "errors" not in compact["groups"]["workload"]


def test_settings_that_differ_are_found_and_volatile_ones_left_out() -> None:
    roles = layout.choose(cache().plan)
    rows = settings.different_settings(cache().kept, cache().plan.cells, roles)
    assert [row.name for row in rows] == ["query_cache_size", "query_cache_type"]
    assert dict(rows[1].values) == {"ON": "cache on", "OFF": "cache off"}
    rows = settings.different_settings(
        engines().kept, engines().plan.cells, layout.choose(engines().plan)
    )
    assert rows == []  # engines are different kinds: their settings are not one another's


def test_plans_that_differ_are_flagged_and_put_first() -> None:
    views = plans.view(Context(cache(), cache_findings()))
    assert views[0].differs
    assert {where for where, _ in views[0].plans} == {"cache on", "cache off"}
    views = plans.view(Context(engines(), engine_findings()))
    assert not views[0].differs  # three kinds of server speak three languages


def test_plans_that_differ_in_numbers_only_are_one() -> None:
    assert plans.shape("cost=0.4..8.44 rows=1") == plans.shape("cost=0.5..9  rows=100")
    assert plans.shape("Seq Scan") != plans.shape("Index Scan")


def test_csv_has_a_row_a_trial_and_no_formula() -> None:
    roles = layout.choose(engines().plan)
    rows = list(csv.reader(io.StringIO(tables.trials_csv(engines().kept, engines().plan, roles))))
    assert len(rows) == 1 + len(engines().kept)
    assert len({len(row) for row in rows}) == 1
    cells = list(csv.DictReader(io.StringIO(tables.cells_csv(engine_findings().cells, roles))))
    tps = [r for r in cells if r["metric"] == "transactions_per_s"]
    assert len(tps) == len(engines().plan.cells)
    assert float(tps[0]["ci_low"]) < float(tps[0]["mean"]) < float(tps[0]["ci_high"])
    assert tables._safe("=1+1") == "'=1+1"


def test_ratio_tables_lead_with_the_headline_and_the_main_factor() -> None:
    roles = layout.choose(engines().plan)
    shown = ratios.ratio_tables(engine_findings(), roles, ("workload",))
    assert shown[0].metric.name == "transactions_per_s"
    assert [t.factor for t in shown[:2]] == ["engine", "sessions"]


def test_what_was_tested_and_what_was_not() -> None:
    plan = engines().plan
    said = " ".join(tested.setting(plan, engines().kept, engines().environment).values())
    assert "12 cells × 6 blocks, 72 trials measured" in said
    assert "20 s each after 5 s of warm-up" in said
    assert "8 CPUs" in said
    roles = layout.choose(plan)
    so_far = warnings.not_tested(plan, engines().kept[:-2], roles, running=True)
    assert "has not come to them yet" in so_far[-1].why and not so_far[-1].fix
    missing = warnings.not_tested(plan, engines().kept[:-2], roles)
    assert [m.what for m in missing] == ["engine=mysql", plan.claims[3], "2 planned trials"]
    void = [engines().kept[0].replace(status="void", void_reason="tmp tables"), *engines().kept[1:]]
    assert "void: tmp tables" in warnings.not_tested(plan, void, roles)[-1].why


def test_cpus_are_written_as_ranges() -> None:
    assert "on CPU 0-1, the servers on CPU 2-7" in tested.split(engines().plan)
    shared = tested.split(replace(engines().plan, generator_cpus=(), server_cpus=()))
    assert "shared all CPUs" in shared


def test_warnings_are_said_once_with_their_cells() -> None:
    rows = warnings.warning_rows((), engines().kept, engines().plan, layout.choose(engines().plan))
    assert (synthetic.GENERATOR_BOUND, "6 trials: mariadb · sessions 64 (6 trials)") in rows


def test_warnings_that_differ_in_numbers_are_one() -> None:
    plan, kept = cache().plan, cache().kept[:3]
    late = [
        record.replace(warnings=(f"generator-bound (lag): 1 % lay unread for {us} µs or more",))
        for record, us in zip(kept, ("1.2", "42", "3.5"), strict=True)
    ]
    rows = warnings.warning_rows((), late, plan, layout.choose(plan))
    assert len(rows) == 1
    assert rows[0][0].endswith("1.2 µs or more")
    assert rows[0][1].startswith("this or like it in 3 trials: ")


FEW = "too few operations for it"
THIN = {
    name: Partial(FEW, trials, 6, f"of {trials} of 6 trials: of the others: {FEW}")
    for name, trials in (
        ("readers.service_ms_p95", 1),
        ("readers.service_ms_p99", 4),
        ("stalls_per_min", 2),  # shown nowhere
    )
}


def test_a_row_is_marked_for_the_metrics_that_it_shows_only() -> None:
    cells = [replace(cell, warnings=(), partial=THIN) for cell in cache_findings().cells]
    cells[0] = replace(cells[0], partial={"stalls_per_min": THIN["stalls_per_min"]})
    findings = replace(cache_findings(), cells=tuple(cells))
    roles, groups = layout.choose(cache().plan), ("readers", "updater")
    readers, updater = tables.cell_tables(findings, roles, groups, cache().plan, cache().kept)
    assert readers.rows[0].warnings == ()
    assert readers.rows[1].warnings == (
        "readers p95 ms: of 1 of 6 trials: of the others: too few operations for it",
        "readers p99 ms: of 4 of 6 trials: of the others: too few operations for it",
    )
    assert all(row.warnings == () for row in updater.rows)
    shown = [metric.name for metric in readers.metrics]
    ((escaping, where),) = warnings.partial_rows(findings, shown, roles, groups)
    assert escaping.startswith("readers p95 ms and readers p99 ms: means of some trials only")
    assert where.startswith("3 cells: ")


def test_texts_that_differ_in_numbers_are_one_with_their_span() -> None:
    short = [f"{length} s are too short to tell steps" for length in (0.999521, 1, 1.00145)]
    assert escaping.alike(short) == "1.00 s are too short to tell steps"
    assert escaping.alike([*short, "1,500 s are too short to tell steps"]) == (
        "1.00 to 1,500 s are too short to tell steps"
    )
    assert escaping.alike(["one", "two 2"]) == "one"


def test_what_could_not_be_told_of_trials_is_grouped_by_reason() -> None:
    lengths = (0.999521, 0.999918, 1.00145)
    inside = tuple(
        Inside(
            f"t{i}", 0, i, length, 0.0, 0.0, False, 0.0, 0.0, problem=f"{length} s are too short"
        )
        for i, length in enumerate(lengths)
    )
    rows = stalls.design(replace(cache_findings(), inside=inside, stalls=()))
    assert rows == [("Over time", "3 trials: 1.00 s are too short")]


@pytest.mark.parametrize("name", ["html", "md"])
def test_every_link_to_the_warnings_has_an_end(tmp_path: Path, name: str) -> None:
    run, findings = synthetic.cache_run(tmp_path)
    quiet = [replace(cell, warnings=(), partial=THIN) for cell in findings.cells]
    claimed = [replace(one, warnings=()) for one in findings.claims]
    findings = replace(findings, warnings=(), cells=tuple(quiet), claims=tuple(claimed))
    run = replace(run, kept=[record.replace(warnings=()) for record in run.kept])
    Report(run, findings).write()
    shown = (tmp_path / f"report.{name}").read_text()
    assert "means of some trials only" in shown
    if name == "html":
        assert shown.count('id="warnings"') == 1
    bare = replace(findings, cells=tuple(replace(cell, partial={}) for cell in quiet))
    Report(run, bare).write()
    page = (tmp_path / "report.html").read_text()
    assert page.count('id="warnings"') == 1 and 'class="warnmark"' not in page


def test_void_attempts_are_all_listed() -> None:
    plan, roles = cache().plan, layout.choose(cache().plan)
    done, lost = cache().kept[0], cache().kept[1].replace(status="void", void_reason="x is 9")
    aside = [
        record.replace(status="void", void_reason=f"x is {i}")
        for i, record in enumerate((lost, done, done))
    ]
    found = warnings.void_attempts(aside, [done, lost], plan, roles)
    assert [one.reason for one in found if one.trial == done.id] == ["x is 1", "x is 2"]
    assert {one.after for one in found if one.trial == done.id} == {"repeated, then complete"}
    assert [one.reason for one in found if one.trial == lost.id] == ["x is 0", "x is 9"]
    assert {one.after for one in found if one.trial == lost.id} == {"never complete"}


def test_counters_say_hit_ratio_and_amounts_per_transaction() -> None:
    means = {
        "status.Qcache_hits": 300.0,
        "status.Qcache_inserts": 90.0,
        "status.Qcache_not_cached": 10.0,
        "status.Innodb_data_fsyncs": 50.0,
        "status.Innodb_log_waits": 0.0,
        "readers.transactions_per_s": 20.0,
        "updater.transactions_per_s": 5.0,
        "cpu.busy": 0.5,
        "network.retransmits_per_s": 3.0,
    }
    cell = replace(
        cache_findings().cells[0],
        metrics={name: synthetic.estimate([mean], [1]) for name, mean in means.items()},
    )
    mariadb, machine = counters.view(with_cell(cell)) or ()
    shown = dict(zip((c.short for c in mariadb.columns), mariadb.rows[0][1], strict=True))
    # Zeros are omitted.
    assert shown == {"query cache hits %": "75.0", "fsyncs/s": "50.0", "fsyncs/tx": "2.00"}
    assert [column.short for column in machine.columns] == ["CPU busy %", "retransmits/s"]
    assert machine.rows[0][1] == ("50.0", "3.00")


def test_classes_share_out_a_transactions_time() -> None:
    ms = 1_000_000
    cell = latencies.CellLatency(
        0,
        {"workload": Histogram.of([10 * ms] * 100)},
        {
            "workload/select": Histogram.of([ms] * 500),
            "workload/commit": Histogram.of([5 * ms] * 100),
            "elsewhere/commit": Histogram.of([5 * ms] * 100),
        },
        {},
    )
    run = Context(engines(), engine_findings())  # type: ignore[arg-type]
    vars(run)["trials"] = Trials([cell], {}, [])
    (found,) = classes.view(run) or ()
    assert {(r.name, r.statements, r.share) for r in found.rows} == {
        ("select", "5.00", "50 %"),
        ("commit", "1.00", "50 %"),
    }
    assert found.rows[0].quantiles[2] == "too few"  # for a p99
    alone = replace(cell, classes={"workload/select": Histogram.of([ms])})
    vars(run)["trials"] = Trials([alone], {}, [])
    assert classes.view(run) is None


def test_latency_of_classes_leaves_out_errors_and_the_warm_up() -> None:
    one = Histogram.of([1_000_000] * 20)
    tags = ("workload", "workload/commit", "workload/!warmup", "workload/!errors", "!lag")
    lines = [Tagged(tag, 0.0, 1.0, one) for tag in tags]
    plan_cell = engines().plan.cells[0]
    assert set(latencies.collect(plan_cell, [lines]).classes) == {"workload/commit"}


def test_qps_is_left_out_where_it_is_tps_again() -> None:
    cells = tuple(
        replace(c, metrics={"transactions_per_s": e, "operations_per_s": e})
        for c in engine_findings().cells
        for e in [c.metrics["transactions_per_s"]]
    )
    same = replace(engine_findings(), cells=cells, headline_metric="operations_per_s")
    assert tables.twins(same, ()) == {"transactions_per_s"}
    assert tables.twins(replace(same, headline_metric="service_ms_p95"), ()) == {"operations_per_s"}
    assert tables.twins(engine_findings(), ()) == frozenset()


def test_sessions_by_state_keep_the_largest_states() -> None:
    cell = cache_findings().cells[0]
    many = {f"sessions.state {i}": synthetic.estimate([i + 1.0], [1]) for i in range(20)}
    figure = waits.view(with_cell(replace(cell, metrics=many)))
    assert figure is not None
    assert "other" in figure.wide
    assert "state 19" in figure.wide
    assert "state 0<" not in figure.wide
    assert waits.view(with_cell(replace(cell, metrics={}))) is None


def test_claims_say_ratio_interval_threshold_and_blocks() -> None:
    roles = layout.choose(cache().plan)
    ratio = Ratio(1.2, 0.9, 1.6, 0.975, 6, 0.2)
    part = ClaimPart(
        {}, "a", "b", ">=", 2.5, ratio, UNDECIDED, False, MoreBlocks(9, None), "It is open."
    )
    value = replace(part, kind=VALUE, metric="readers.service_ms_p95", blocks_needed=None)
    claim = ClaimResult("a / b >= 2.5", UNDECIDED, (part,), "", ())
    findings = replace(cache_findings(), claims=(claim, replace(claim, parts=(value,))))
    shown = claims.views(cache().plan, findings, roles)
    assert shown[0].parts[0].words == "97.5 % interval 0.900 to 1.60×, against ≥ 2.5"
    assert shown[0].parts[0].why == (
        "It is open. To decide it takes from 9 more blocks to never, depending on how large the"
        " difference truly is."
    )
    assert shown[1].parts[0].words == "97.5 % interval 0.900 to 1.60 ms, against ≥ 2.5"


def test_a_small_effect_says_so() -> None:
    shown = claims.views(engines().plan, engine_findings(), layout.choose(engines().plan))
    assert shown[2].verdict_text == "supported, but too small to matter"
    assert shown[0].foot.endswith("against > 1")


def test_hostile_text_is_made_visible() -> None:
    assert visible("a\x1b[31m\x00\u202e\tb\n") == "a␛[31m␀�\tb\n"
    packed = escaping.script_json({"a": "</script><!--&"})
    assert "<" not in packed
    assert json.loads(packed) == {"a": "</script><!--&"}
    assert escaping.markdown("a|b\n<i> `c`") == "a\\|b \\<i\\> \\`c\\`"
    assert escaping.fence("```\nx").startswith("````\n")
    assert escaping.slug("../Ä b") == "b"


def test_the_command_is_the_recorded_one() -> None:
    assert reproduce.command(engines()) == "dyno run engines.yaml"  # type: ignore[arg-type]
    assert reproduce.command(cache()) == "dyno run query-cache.yaml"  # type: ignore[arg-type]


def test_warnings_beside_a_claim_are_one_line() -> None:
    said = claims.short_warning(f"{synthetic.GENERATOR_BOUND} [6 of 48 trials]")
    assert said == "generator-bound: the load generator was a bottleneck [6 of 48 trials]"
    assert claims.short_warning("plain") == "plain"


def test_the_factor_of_the_first_claim_is_the_main_one() -> None:
    part = replace(cache_findings().claims[0].parts[0], left_cell=1, right_cell=0)
    claim = replace(cache_findings().claims[0], parts=(part,))
    roles = layout.choose(cache().plan, replace(cache_findings(), claims=(claim,)))
    assert roles.main is not None
    assert roles.main.name == "id_range"


def test_several_groups_get_a_table_each() -> None:
    groups = names.groups_of(cache().plan)
    shown = tables.cell_tables(
        cache_findings(), layout.choose(cache().plan), groups, cache().plan, cache().kept
    )
    assert [t.title for t in shown] == ["readers", "updater"]
    assert "server CPU µs/op" in [m.short for m in shown[0].metrics]
    assert shown[0].rows[1].levels == ("on", "1,000,000")


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("outage_s", "ended before the server committed again"),
        ("writer.failover_s", "ended before the server committed again"),
        ("service_ms_p99", "no answer by the end"),
        ("rate_max_per_s", "a rate that holds"),
    ],
)
def test_a_bound_says_what_would_give_a_value(metric: str, words: str) -> None:
    part = engine_findings().claims[0].parts[0]
    assert part.estimate is not None
    bound = replace(part, metric=metric, estimate=replace(part.estimate, bound=AT_LEAST))
    assert words in verdict_text.more(bound)
