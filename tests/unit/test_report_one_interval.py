"""A ratio has one interval in all places of a page: in claims, tables, sentences and JSON."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import records
from plans import plan as make_plan

from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import RATIO, Findings, Ratio
from dbdyno.plan.types import Plan
from dbdyno.report import Report
from dbdyno.wording.findings import analyse
from dbdyno.wording.numbers import bound
from dbdyno.wording.quantities import edge
from fixtures.printed import printed
from fixtures.synthetic.run import ENVIRONMENT, SyntheticRun

# As in studies/quickstart.yaml: three claims, two of which ask of one ratio.
FACTORS = {"journal": ("rollback", "wal"), "sync": ("full", "off"), "sessions": ("1", "4")}
CLAIMS = (
    "tps[wal] / tps[rollback] >= 1.5 at sync=full, sessions=1",
    "tps[off] > tps[full] at journal=wal, each sessions",
    "tps[wal] > tps[rollback] at each sync, each sessions",
    "tps[sync=full] / tps[sync=off] < 2 at journal=wal, sessions=1",
)
TRUTH = {
    ("rollback", "full", "1"): 400.0,
    ("rollback", "full", "4"): 390.0,
    ("rollback", "off", "1"): 9000.0,
    ("rollback", "off", "4"): 5000.0,
    ("wal", "full", "1"): 1900.0,
    ("wal", "full", "4"): 1950.0,
    ("wal", "off", "1"): 20000.0,
    ("wal", "off", "4"): 5020.0,
}
Sides = tuple[tuple[int, str], tuple[int, str]]


@pytest.fixture(scope="module")
def judged() -> tuple[SyntheticRun, Findings]:
    plan = make_plan(FACTORS, blocks=6, claims=CLAIMS)
    kept = records(plan, TRUTH, noise=0.05)
    manifest = {"schema_version": 1, "status": "complete"}
    run = SyntheticRun(Path("RUN"), plan, dict(ENVIRONMENT), manifest, kept)
    return run, analyse(plan, kept)


def ratios(plan: Plan, findings: Findings) -> Iterator[tuple[Sides, Ratio]]:
    """Every ratio with an interval, and its sides."""
    for claim in findings.claims:
        for part in claim.parts:
            if part.kind == RATIO and part.estimate:
                assert part.left_cell is not None
                assert part.right_cell is not None
                sides = (part.left_cell, part.metric), (part.right_cell, part.right_metric)
                yield sides, part.estimate
    cells = {tuple(cell.levels.items()): cell.index for cell in plan.cells}
    for row in findings.comparisons:
        levels = [
            {name: row.at.get(name, level) for name in FACTORS}
            for level in (row.level, row.baseline)
        ]
        left, right = (cells[tuple(one.items())] for one in levels)
        yield ((left, row.metric), (right, row.metric)), row.ratio


def ends(ratio: Ratio) -> tuple[float, float]:
    assert ratio.ci_low
    assert ratio.ci_high
    return ratio.ci_low, ratio.ci_high


def test_each_ratio_has_one_interval(judged: tuple[SyntheticRun, Findings]) -> None:
    run, findings = judged
    found: dict[frozenset[tuple[int, str]], set[tuple[float, float]]] = defaultdict(set)
    for (left, right), ratio in ratios(run.plan, findings):
        low, high = ends(ratio)
        if left > right:
            low, high = 1 / high, 1 / low
        found[frozenset((left, right))].add((float(f"{low:.9g}"), float(f"{high:.9g}")))
    assert len(found) == 24  # 12 pairs of cells in throughput and in the 95th percentile
    assert {len(intervals) for intervals in found.values()} == {1}
    asked = sum(len(claim.parts) for claim in findings.claims)
    assert (asked, sum(row.claimed for row in findings.comparisons)) == (8, 6)
    assert findings.together.count == 18
    assert {row.ratio.level for row in findings.comparisons} == {1 - 0.05 / 6, 1 - 0.05 / 18}


def test_every_output_prints_these_and_no_other(judged: tuple[SyntheticRun, Findings]) -> None:
    run, findings = judged
    known = set()
    for _, ratio in ratios(run.plan, findings):
        low, high = ends(ratio)
        for one in ((low, high), (1 / high, 1 / low)):
            for edges in ((1.0,), (1.5,), (2.0,)):
                known.add(tuple(edge(end, *edges) for end in one))
                known.add(tuple(bound(end, *edges) for end in one))
    report = Report(run, findings)  # type: ignore[arg-type]
    said = set(re.findall(r"% interval ([\d.,]+) to ([\d.,]+)\)", findings.answer))
    assert said
    assert said <= known
    outputs = {
        "html": report.html(),
        "markdown": report.markdown(),
        "terminal": printed(report.terminal(), width=200),
    }
    for name, text in outputs.items():
        shown = set(re.findall(r"([\d.,]+)× to ([\d.,]+)×", text))
        shown |= set(re.findall(r"times \([\d.]+ % interval ([\d.,]+) to ([\d.,]+)\)", text))
        assert findings.answer in " ".join(text.split()).replace("\\", ""), name
        assert len(shown) >= 5, name
        assert shown <= known, name


def test_json_holds_the_same(judged: tuple[SyntheticRun, Findings]) -> None:
    run, findings = judged
    value = to_json(findings, run.plan, {})
    claimed = {(row["ci_low"], row["ci_high"]) for row in value["comparisons"] if row["claimed"]}
    parts = {
        (part["ci_low"], part["ci_high"])
        for claim in value["claims"][:3]
        for part in claim["parts"]
    }
    assert claimed == parts
    assert value["together"] == {"count": 18, "confidence": 1 - 0.05 / 18}


def test_values_and_their_ratio_agree(judged: tuple[SyntheticRun, Findings]) -> None:
    """Means are geometric, so that the ratio of two cells' numbers is the number between them."""
    run, findings = judged
    for (left, right), ratio in ratios(run.plan, findings):
        means = [findings.cells[cell].metrics[metric].mean for cell, metric in (left, right)]
        assert means[0] / means[1] == pytest.approx(ratio.ratio, rel=1e-9)


def test_the_summary_says_what_the_winner_loses() -> None:
    plan = make_plan(
        {"journal": ("rollback", "wal")}, blocks=6, claims=("tps[wal] > tps[rollback]",)
    )
    worse = {("rollback",): 1.0, ("wal",): 3.5}
    trials = [
        trial.replace(
            metrics={
                **trial.metrics,
                "service_ms_p95": worse[tuple(plan.cells[trial.cell].levels.values())]
                * (1 + 0.01 * trial.block),
            }
        )
        for trial in records(plan, {("rollback",): 1000.0, ("wal",): 4650.0})
    ]
    first, second, last = re.split(r"(?<!\d)\. |(?<=\d)\. (?=[A-Z])", analyse(plan, trials).answer)
    assert first.startswith("Journal wal committed 4.6")
    assert "% interval 4." in first
    assert second.startswith("But 95th percentile service time with journal wal is 3.50 times that")
    assert last == "The claim is supported."
