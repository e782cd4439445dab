"""Separate runs: compared, judged by their predecessors, over time; on SQLite."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from ending import LONG, Watched, ended
from running import Place, place

from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError

pytestmark = pytest.mark.live

EXPERIMENT = f"""
experiment: nightly
targets:
  db: {{kind: sqlite, durability: none, isolation: serializable, memory: 64Mi}}
workload: {{kind: oltp, preset: write_only, tables: 1, rows: 100, sessions: 1}}
blocks: 1
warmup: 0s
duration: {LONG}
interval: 100ms
"""
FEW = 400  # transactions: twice as many as a p95 needs
GATE = "--fail-on-regression=900%"
REGRESSION_SUSPECTED = 4

DAY_S = 86_400.0


@pytest.fixture(scope="module")
def there() -> Iterator[Place]:
    """A place with six runs of one plan in `runs`: a real one, and copies of it on days before."""
    with place() as made:
        made.experiment(EXPERIMENT)
        done = measured(made, "runs/day6")
        assert done.returncode == 0, done.stderr
        for day, factor in enumerate((1.0, 1.02, 0.97, 1.01, 0.99), start=1):
            copy = made.path / "runs" / f"day{day}"
            shutil.copytree(made.path / "runs" / "day6", copy)
            alter(copy, factor)
            manifest = json.loads((copy / "manifest.json").read_text())
            manifest["created_unix_s"] -= (6 - day) * DAY_S
            (copy / "manifest.json").write_text(json.dumps(manifest))
        yield made


def measured(there: Place, directory: str, *options: str) -> subprocess.CompletedProcess[str]:
    """`dyno run`, as long as it takes for a few transactions."""

    def few(watched: Watched) -> bool:
        return watched.commits() >= FEW

    with ended(there.path / directory, few):
        return there.dyno("run", "experiment.yaml", "--dir", directory, *options)


def here(there: Place, *arguments: str) -> Result:
    """The same in this process, which is quicker; `return_value` is the exit code."""
    before = Path.cwd()
    os.chdir(there.path)
    try:
        return CliRunner().invoke(dyno, arguments, standalone_mode=False)
    finally:
        os.chdir(before)


def alter(run: Path, factor: float) -> None:
    """Makes a run another time as fast."""
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text())
        record["metrics"]["transactions_per_s"] *= factor
        record["metrics"]["service_ms_p95"] /= factor
        file.write_text(json.dumps(record))


def test_two_runs_have_a_ratio_and_no_verdict(there: Place) -> None:
    done = here(there, "compare", "runs/day1", "runs/day2")
    assert done.return_value == 0, done.stderr
    assert "(unblocked; spread between runs not known)" in done.stdout
    gate = here(there, "compare", "runs/day1", "runs/day2", "--fail-on-regression")
    assert gate.return_value == 2
    assert "is inconclusive: two separate runs" in gate.stderr


def test_a_history_gives_a_verdict_also_on_a_bundle(there: Place) -> None:
    packed = here(there, "report", "runs/day6", "--bundle", "day6.zip")
    assert packed.return_value == 0, packed.stderr
    done = there.dyno("compare", "runs/day5", "day6.zip", "--history", "runs", "--json")
    found = json.loads(done.stdout)
    assert found["judged"] and found["before"] == [f"day{day}" for day in range(1, 6)]
    assert all(row["verdict"] for row in found["rows"])


def test_the_gate_fails_on_a_run_a_hundred_times_slower(there: Place) -> None:
    for name, factor, days in (("slow", 1e-6, 1), ("again", 1e-6, 2), ("fast", 100.0, 1)):
        shutil.copytree(there.path / "runs" / "day6", there.path / name)
        alter(there.path / name, factor)
        manifest = json.loads((there.path / name / "manifest.json").read_text())
        manifest["created_unix_s"] += days * DAY_S
        (there.path / name / "manifest.json").write_text(json.dumps(manifest))
    options = ("--history", "runs", "--metric", "tps")
    slow = here(there, "compare", "runs/day5", "slow", *options, "--fail-on-regression=10%")
    assert slow.return_value == 4, slow.stdout + slow.stderr
    assert "regression suspected in 1 of 1 rows, the first transactions_per_s" in slow.stderr
    assert "at most 0.75 a month are suspected and 0.38 confirmed" in slow.stderr
    second = here(there, "compare", "slow", "again", *options, "--fail-on-regression=10%")
    assert second.return_value == 1, second.stdout + second.stderr
    assert "confirmed by a second run" in second.stderr
    fast = here(there, "compare", "runs/day5", "fast", *options, "--fail-on-regression")
    assert fast.return_value == 0, fast.stdout + fast.stderr
    assert "better" in fast.stdout
    assert "unblocked" in fast.stdout


def test_a_run_is_judged_by_its_history(there: Place) -> None:
    # Next to busy neighbours a run may be ten times as slow as the last one: these were slower.
    for day in range(1, 7):
        shutil.copytree(there.path / "runs" / f"day{day}", there.path / "slower" / f"day{day}")
        alter(there.path / "slower" / f"day{day}", 1e-3)
    done = measured(there, "slower/day7", "--history", "slower", GATE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "by the 6 runs before B (day1 to day6)" in " ".join(done.stdout.split())
    changed = ("--set", "workload.rows=200", "--fail-on-regression")
    other = measured(there, "slower/other", "--history", "slower", *changed)
    assert other.returncode == 2
    assert "history: 0 of the 5 earlier runs" in other.stderr
    assert "is inconclusive: no earlier run of this plan" in other.stderr


@pytest.mark.parametrize("earlier", [0, 1, 4])
def test_a_short_history_is_no_pass(there: Place, tmp_path: Path, earlier: int) -> None:
    for day in range(1, earlier + 1):
        shutil.copytree(there.path / "runs" / f"day{day}", tmp_path / f"day{day}")
    gate = ("--history", str(tmp_path), GATE)
    done = here(there, "compare", "runs/day5", "runs/day6", *gate)
    assert done.return_value == 2, done.stdout + done.stderr
    assert "--fail-on-regression is inconclusive: " in done.stderr
    run = measured(there, f"after-{earlier}", *gate)
    assert run.returncode == 2, run.stdout + run.stderr
    assert "--fail-on-regression is inconclusive: " in run.stderr


def test_a_history_shows_runs_by_plan_and_what_cannot_be_read(there: Place) -> None:
    newer = there.path / "runs" / "newer"
    newer.mkdir(exist_ok=True)
    (newer / "manifest.json").write_text(json.dumps({"schema_version": 99}))
    done = here(there, "history", "runs", "--html", "page.html")
    assert done.return_value == 0, done.stderr
    assert "`dyno compare --history` can judge a further run" in done.stdout
    assert "skipped: newer" in done.stdout and "schema_version 99" in done.stdout
    page = (there.path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and "<svg" in page
    shutil.rmtree(newer)


IMPORTED = Path(__file__).parents[1] / "fixtures" / "imported"
ORIGINS = {
    "sysbench": IMPORTED / "sysbench-1.0" / "ro-1-1.txt",
    "pgbench": IMPORTED / "pgbench" / "pg-4.txt",
    "fio": IMPORTED / "fio" / "fio-mix.json",
    "hammerdb": IMPORTED / "by-hand" / "hammerdb-4.txt",
    "dyno-sysbench": IMPORTED / "sysbench-record.ndjson",
}


@pytest.fixture
def mixed(there: Place) -> Iterator[Place]:
    """The history with an imported run of each tool, and one of `dyno sysbench`, in it."""
    there.path.joinpath("own.lua").write_text("function event() end\n")
    for name, file in ORIGINS.items():
        done = here(there, "import", str(file), "--dir", f"runs/{name}")
        assert done.return_value == 0, done.stderr
    options = ("--db-driver=sqlite", "--sqlite-db=own.db", "--time=1", "--dyno-out=runs/own")
    made = there.dyno("sysbench", "own.lua", *options, "run")
    assert made.returncode == 0, made.stderr
    yield there
    for name in (*ORIGINS, "own"):
        shutil.rmtree(there.path / "runs" / name)


def test_one_run_of_each_origin_ends_no_command(mixed: Place) -> None:
    others = {*ORIGINS, "own"}
    listed = here(mixed, "history", "runs", "--json")
    assert listed.return_value == 0, listed.stderr
    found = json.loads(listed.stdout)
    reasons = {one["what"]: one["why"] for one in found["left_out"]}
    assert others <= reasons.keys()
    assert all("imported results of " in reasons[name] for name in others)
    assert [run["name"] for run in found["groups"][0]["runs"]][:6] == [
        f"day{n}" for n in range(1, 7)
    ]
    judged = here(
        mixed, "compare", "runs/day5", "runs/day6", "--history", "runs", "--json",
        "--fail-on-regression=900%",
    )  # fmt: skip
    assert judged.return_value == 0, judged.stderr
    assert others <= {one["what"] for one in json.loads(judged.stdout)["left_out"]}
    gate = measured(mixed, "after", "--history", "runs", GATE)
    assert gate.returncode in (0, REGRESSION_SUSPECTED), gate.stdout + gate.stderr
    assert "imported results of fio" in " ".join(gate.stdout.split())


def test_imported_runs_are_compared_with_each_other_only(mixed: Place) -> None:
    shutil.copytree(mixed.path / "runs" / "pgbench", mixed.path / "pgbench-again")
    manifest = mixed.path / "pgbench-again" / "manifest.json"
    facts = json.loads(manifest.read_text())
    facts["created_unix_s"] += DAY_S
    manifest.write_text(json.dumps(facts))
    both = here(mixed, "compare", "runs/pgbench", "pgbench-again")
    assert both.return_value == 0, both.exception
    assert "unblocked" in both.stdout
    for other, why in (("day1", "another tool"), ("fio", "did not measure the same thing")):
        refused = here(mixed, "compare", "runs/pgbench", f"runs/{other}")
        assert isinstance(refused.exception, DynoError)
        assert why in str(refused.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "runs/day1", "runs/day1"), "the same run"),
        (("compare", "runs/day1", "nothing"), "does not exist"),
        (("compare", "runs/day1", "runs/day2", "--metric", "speed"), "no metric is called `speed`"),
        (("compare", "runs/day1", "runs/day2", "--fail-on-regression=x"), "not a percentage"),
        (("compare", "runs/day1", "runs/day2", "--history", "nothing"), "is no directory"),
        (("history", "nothing"), "is no directory"),
        (("history", "runs", "--html", "no/such/page.html"), "cannot write"),
        (("run", "experiment.yaml", "--history", "runs", "--quick"), "never judged"),
    ],
)
def test_what_cannot_be_done_is_said(there: Place, arguments: tuple[str, ...], said: str) -> None:
    done = here(there, *arguments)
    assert isinstance(done.exception, DynoError | click.ClickException)
    assert said in str(done.exception)


def test_nothing_is_left_behind(there: Place) -> None:
    assert there.until_clean() == []
