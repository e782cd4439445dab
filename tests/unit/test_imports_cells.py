"""Results to cells, patterns, plans and run directories; the command itself."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno.analysis.types import AGREE, CONTRADICT, REFUTED, SUPPORTED, UNDECIDED
from dbdyno.cli import studies
from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from dbdyno.imports import Found, Part, Pattern, Told, arrange, collect, plan_of, read_head, write
from dbdyno.store.manifest import COMPLETE
from dbdyno.store.run import Run
from dbdyno.wording.findings import analyse
from fixtures.schemas import valid

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "fixtures" / "imported"
SYSBENCH = HERE / "sysbench-1.0"


def found(name: str, tps: float, said: dict[str, str] | None = None, *, row: bool = False) -> Found:
    part = Part({"transactions_per_s": tps})
    return Found("tool", "1", Path(name), 1, {"": part}, said=said or {}, row=row)


# -- patterns ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "levels"),
    [
        ("n2-{threads}-{rep}.txt", "old/n2-16-3.txt", {"threads": "16", "rep": "3"}),
        ("{machine}-{threads:d}.txt", "n2-std-64.txt", {"machine": "n2-std", "threads": "64"}),
        ("{machine}/*_{t}.out", "x/n2/a_4.out", {"machine": "n2", "t": "4"}),
        ("a.{x}", "a.b", {"x": "b"}),
        ("a.{x}", "axb", None),
        ("{threads:d}", "many", None),
    ],
)
def test_patterns(pattern: str, path: str, levels: dict[str, str] | None) -> None:
    assert Pattern.of(pattern).levels(Path(path)) == levels


def test_a_pattern_that_fits_in_two_ways_is_an_error() -> None:
    with pytest.raises(DynoError, match=r"in two ways.*machine=n2-std.*machine=n2"):
        Pattern.of("{machine}-{threads}.txt").levels(Path("n2-std-64.txt"))


@pytest.mark.parametrize("text", ["", "n2.txt", "{", "{}", "{a}{a}", "{rep}{block}", "*" * 9, "}"])
def test_patterns_that_are_none(text: str) -> None:
    with pytest.raises(DynoError, match="is no pattern"):
        Pattern.of(text)


# -- cells ---------------------------------------------------------------------------------------


def test_what_varies_becomes_a_factor_and_what_follows_from_it_does_not() -> None:
    results = [
        found("t.csv", 1, {"machine": m, "cpus": c, "threads": t, "os": "x"}, row=True)
        for m, c in (("b", "8"), ("a", "4"))
        for t in ("16", "2")
    ]
    cells = arrange(results, [])
    assert [(f.name, f.levels, f.values) for f in cells.factors] == [
        ("machine", ("b", "a"), None),
        ("threads", ("2", "16"), (2.0, 16.0)),
    ]
    assert len(cells.levels) == len(cells.trials) == 4
    assert cells.notes == ("Not factors, since they follow from the others: cpus.",)


def test_files_are_repetitions_only_if_their_names_say_so() -> None:
    results = [found(f"n2-{rep}.txt", rep, {"threads": "4"}) for rep in (1, 2, 10)]
    with pytest.raises(DynoError, match=r"nothing tells n2-1\.txt:1 and n2-2\.txt:1 apart"):
        arrange(results, [])
    cells = arrange(results, [Pattern.of("n2-{rep}.txt")])
    assert [trial.repetition for trial in cells.trials] == [1, 2, 3]
    assert not cells.blocked
    blocked = arrange(results, [Pattern.of("n2-{block}.txt")])
    assert blocked.blocked


def test_rows_alike_and_results_of_one_file_are_repetitions() -> None:
    for row in (True, False):
        cells = arrange([found("a", 1, row=row), found("a", 2, row=row)], [])
        assert [trial.repetition for trial in cells.trials] == [1, 2]


def test_results_of_several_tools_never_share_a_cell(tmp_path: Path) -> None:
    files = [HERE / "sysbench-1.0/ro-4-1.txt", HERE / "pgbench/pg-4.txt"]
    run = imported(tmp_path / "run", files, "")
    assert [dict(cell.levels) for cell in run.plan.cells] == [
        {"tool": "sysbench"},
        {"tool": "pgbench"},
    ]
    assert "sysbench and pgbench, which count" in analyse(run.plan, run.records()).caveat


def test_a_groups_own_metrics_can_be_claimed(tmp_path: Path) -> None:
    claims = 'claims: ["read.tool.bytes_per_s > 1", "write.tool.bytes_per_s > 1e12"]'
    run = imported(tmp_path / "run", [HERE / "fio/fio-mix.json"], "", claims)
    findings = analyse(run.plan, run.records())
    assert [claim.figures for claim in findings.claims] == [AGREE, CONTRADICT]


def test_published_figures_say_whether_two_cells_are_equal(tmp_path: Path) -> None:
    claims = """claims:
  - tps[16] ~= tps[1] within 1%
  - tps[16] ~= tps[1] within 100%
  - tps[16] ~= 7000 within 20%
"""
    table = tmp_path / "table.csv"
    table.write_text("threads,tps\n1,4000\n16,7800\n")
    run = imported(tmp_path / "run", [table], "", claims)
    findings = analyse(run.plan, run.records())
    assert [claim.figures for claim in findings.claims] == [CONTRADICT, AGREE, AGREE]
    assert findings.claims[0].why.endswith("say 1.95x, which contradicts it")


def test_names_that_no_pattern_fits_are_listed() -> None:
    with pytest.raises(DynoError, match=r"no pattern fits b\.txt, c\.txt"):
        arrange(
            [found("n-1.txt", 1), found("b.txt", 1), found("c.txt", 1)], [Pattern.of("n-{x}.txt")]
        )


def test_a_name_that_contradicts_the_result_is_an_error() -> None:
    with pytest.raises(DynoError, match="name says threads 8, and the result in it 16") as error:
        arrange([found("n-8.txt", 1, {"threads": "16"})], [Pattern.of("n-{threads}.txt")])
    assert "n-8.txt:1:1" in str(error.value)


def test_blocks_hold_each_cell_once() -> None:
    results = [found("a-1.txt", 1), found("a-1.txt", 2)]
    with pytest.raises(DynoError, match="two results of one cell in block 1"):
        arrange(results, [Pattern.of("a-{block}.txt")])


def test_several_patterns_must_name_the_same() -> None:
    patterns = [Pattern.of("a-{x}.txt"), Pattern.of("b-{y}.txt")]
    with pytest.raises(DynoError, match="names give different factors"):
        arrange([found("a-1.txt", 1), found("b-1.txt", 1)], patterns)


# -- files ---------------------------------------------------------------------------------------


def test_one_bad_file_refuses_all_unless_it_is_skipped(tmp_path: Path) -> None:
    good = tmp_path / "a.txt"
    good.write_text((SYSBENCH / "ro-1-1.txt").read_text())
    (tmp_path / "b.txt").write_text("rubbish\n")
    (tmp_path / "c.txt").write_bytes(b"\0\0")
    (tmp_path / ".hidden").write_text("not looked at")
    with pytest.raises(
        DynoError,
        match=r"b\.txt:1:1: .* \(1 more file cannot be imported: .*c\.txt.*--skip-bad",
    ):
        raise_text([tmp_path])
    collected = collect([tmp_path], {}, skip_bad=True)
    assert [path.name for path, _ in collected.skipped] == ["b.txt", "c.txt"]
    assert not any("txt" in why for _, why in collected.skipped)  # the name is next to it
    assert len(collected.results) == 1
    (source,) = collected.sources
    assert source.sha256 == hashlib.sha256(good.read_bytes()).hexdigest()


def raise_text(paths: list[Path]) -> None:
    """Collects; the whole message of an error, as it is printed, for `match`."""
    try:
        collect(paths, {})
    except DynoError as error:
        raise DynoError(str(error).replace("\n", " ")) from None


def test_nothing_left_is_an_error_although_bad_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("rubbish\n")
    with pytest.raises(DynoError):
        collect([tmp_path], {}, skip_bad=True)


def test_paths_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(DynoError, match=r"no such file|has no file"):
            collect([path], {})


# -- runs ----------------------------------------------------------------------------------------


def imported(path: Path, files: list[Path], pattern: str, claims: str = "") -> Run:
    collected = collect(files, {})
    cells = arrange(collected.results, [Pattern.of(pattern)] if pattern else [])
    head = None
    if claims:
        file = path.with_suffix(".yaml")
        file.write_text(f"experiment: x\n{claims}")
        head = read_head(file)
    plan = plan_of(cells, collected, Told("x", "", head))
    return write(path, plan, cells, collected, ["dyno", "import"])


def test_a_run_is_whole(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [SYSBENCH], "ro-{threads}-{rep}.txt")
    again = Run.open(run.path)
    assert again.status == COMPLETE
    assert again.plan == run.plan
    assert len(again.records()) == len(again.plan.trials) == 9
    manifest = json.loads((run.path / "manifest.json").read_text())
    valid("manifest", manifest)
    assert len(manifest["imported"]["files"]) == 9
    assert manifest["imported"]["tools"] == ["sysbench 1.0.20"]
    first = again.plan.trials[0].id
    events = again.events(first)
    assert [event["t_s"] for event in events] == [1, 2, 3]
    assert events[0]["groups"]["workload"]["latency"].keys() == {"p95_ns"}
    assert again.histograms(first) == []


def test_histograms_are_there_where_the_tool_gave_them(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [HERE / "sysbench-histogram.txt"], "")
    (line,) = run.histograms(run.plan.trials[0].id)
    assert line.tag == "workload"
    assert line.histogram.count > 10_000


def test_reads_and_writes_are_groups_where_a_result_has_both(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [HERE / "fio/fio-mix.json"], "")
    (record,) = run.records()
    assert {"read.operations_per_s", "write.operations_per_s"} <= set(record.metrics)


CLAIMS = """claims:
  - tps[16] > tps[1]
  - tps[1] > tps[16]
  - peak(tps, threads) >= 4
"""


def test_unblocked_repetitions_are_judged_by_two_samples_and_marked(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [SYSBENCH], "ro-{threads}-{rep}.txt", CLAIMS)
    findings = analyse(run.plan, run.records())
    more, less, peak = findings.claims
    assert (more.verdict, less.verdict, peak.verdict) == (SUPPORTED, REFUTED, UNDECIDED)
    assert all(claim.warnings[0].startswith("unblocked: ") for claim in (more, less))
    assert peak.figures == AGREE
    assert findings.why == ""
    assert any(text.startswith("unblocked: ") for text in findings.warnings)


def test_unblocked_repetitions_may_refute_equality(tmp_path: Path) -> None:
    claims = "claims: ['tps[16] ~= tps[1] within 3%']"
    run = imported(tmp_path / "run", [SYSBENCH], "ro-{threads}-{rep}.txt", claims)
    (equal,) = analyse(run.plan, run.records()).claims
    assert equal.verdict == REFUTED
    assert equal.parts[0].detectable is not None


def test_blocked_repetitions_are_paired(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [SYSBENCH], "ro-{threads}-{block}.txt", CLAIMS)
    findings = analyse(run.plan, run.records())
    assert not any("unblocked" in text for claim in findings.claims for text in claim.warnings)
    assert findings.claims[2].figures == ""


def test_claims_and_prices_are_held_against_the_cells(tmp_path: Path) -> None:
    for text, says in (
        ('claims: ["tps[threads=5] > 1"]', "has no level `5`"),
        ('claims: ["tsp[1] > 1"]', "no metric is called `tsp`"),
        ("prices: {machine: {a: 1/month}}", "names a factor `machine`"),
        ("prices: {threads: {1: 1/month}}", "gives no price for"),
        ("clams: []", "unknown key `clams`"),
    ):
        with pytest.raises(DynoError, match=re.escape(says)) as error:
            imported(tmp_path / "run", [SYSBENCH], "ro-{threads}-{rep}.txt", text)
        assert "run.yaml:2:" in str(error.value), text
        assert not (tmp_path / "run").exists()


# -- the article's table -------------------------------------------------------------------------


@pytest.fixture
def cost(tmp_path: Path) -> Run:
    """The shipped experiment on an article's table."""
    path = studies.find_imported("cost-published")
    head = read_head(path)
    collected = collect([path.with_suffix(".csv")], {})
    cells = arrange(collected.results, [])
    plan = plan_of(cells, collected, Told("cost-published", head.model.question, head))
    return write(tmp_path / "cost", plan, cells, collected, ["dyno", "import"])


def test_the_articles_costs_are_right(cost: Run) -> None:
    findings = analyse(cost.plan, cost.records())
    assert findings.costs is not None
    costs = {offer.levels["machine"]: offer.cost for offer in findings.costs.offers}
    assert {name: round(value or 0, 3) for name, value in costs.items()} == {
        "n1-64": 1.892,
        "n2-64": 1.645,
        "n2d-48": 1.899,
        "n2d-64": 1.939,
    }


def test_the_articles_traps_are_exposed(cost: Run) -> None:
    findings = analyse(cost.plan, cost.records())
    assert [claim.verdict for claim in findings.claims] == [UNDECIDED] * 4
    assert [claim.figures for claim in findings.claims] == [CONTRADICT] * 3 + [AGREE]
    peaks, same, penalty, faster = findings.claims
    assert {part.at["machine"]: part.figures for part in peaks.parts} == {
        "n1-64": AGREE,
        "n2-64": AGREE,
        "n2d-48": AGREE,
        "n2d-64": CONTRADICT,
    }
    assert "machine n2d-64 they are highest at 128" in peaks.why
    assert "the figures themselves say 1.18x" in same.why  # n2d-64: 1.939 / 1.645
    assert "the figures themselves say 1.35x" in faster.why  # 598 / 444, the true sentence
    assert [part.left for part in same.parts] == [
        "cost_per_billion_operations[n2d-64, threads=128]"
    ]
    assert "the figures themselves say 0.831x" in penalty.why  # 16.9 % fewer, not 20
    cells = {cell.index for cell in findings.cells}
    assert all(one.ci_low is None for c in findings.cells for one in c.metrics.values()), cells


# -- the command ---------------------------------------------------------------------------------


def test_a_directory_becomes_a_report_in_one_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(
        dyno,
        ["import", str(SYSBENCH), "--pattern", "ro-{threads}-{rep}.txt", "--dir", str(out)],
        standalone_mode=False,
    )
    assert done.exception is None, done.exception
    assert "transactions a second" in done.output
    html = (out / "report.html").read_text()
    assert "imported from sysbench 1.0.20" in html
    assert "a query is not a transaction" in html
    assert "unblocked" in html
    for file in SYSBENCH.iterdir():
        assert file.name in html
    assert json.loads((out / "result.json").read_text())
    assert CliRunner().invoke(dyno, ["report", str(out)], standalone_mode=False).exception is None


def test_the_command_refuses_what_it_cannot_mean(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for arguments, says in (
        (["--experiment", "nonsense"], "no such file"),
        ([str(SYSBENCH), "--name", "A B"], "cannot be a run's name"),
        ([str(SYSBENCH), "--map", "x"], "expected COLUMN=METRIC"),
        ([str(SYSBENCH), "--map", "x=fast"], "no metric is called `fast`"),
        ([str(SYSBENCH)], "nothing tells"),
        ([str(SYSBENCH / "ro-1-1.txt"), "--map", "x=tps"], "none of the files is a table"),
    ):
        done = CliRunner().invoke(dyno, ["import", *arguments, "--dir", out], standalone_mode=False)
        assert isinstance(done.exception, DynoError), arguments
        assert says in str(done.exception)
    assert not os.path.exists(out)


# -- export --------------------------------------------------------------------------------------


def test_intervals_are_exported_at_times_before_the_file_was_last_written(tmp_path: Path) -> None:
    cli, run = CliRunner(), str(tmp_path / "run")
    pattern = "ro-{threads}-{rep}.txt"
    done = cli.invoke(dyno, ["import", str(SYSBENCH), "--pattern", pattern, "--dir", run])
    assert done.exit_code == 0, done.output
    text = cli.invoke(dyno, ["export", run, "--openmetrics", "-"]).stdout
    rates = [
        line
        for line in text.splitlines()
        if line.startswith("dbdyno_transactions_per_second{") and 'level_threads="16"' in line
    ]
    written = max(path.stat().st_mtime for path in SYSBENCH.iterdir())
    assert len(rates) >= 3 and "dbdyno_sessions_lost" not in text
    assert all(0 < float(line.split()[-1]) <= written + 1 for line in rates)
    assert all(float(line.split()[-2]) > 0 for line in rates)
