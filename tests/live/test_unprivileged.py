"""Commands that root runs on files of others: an unprivileged process reads them, root's files are
written as ever."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from running import Place, place

from dbdyno.cli import studies

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up"),
]

THEIR_ACCOUNT = 12345
PLAIN = """
experiment: plain
question: Is a server that answers at once faster than one that does not?
targets:
  db: {kind: null, durability: full, isolation: serializable, memory: 64Mi}
workload: {kind: oltp, preset: read_only, sessions: 2, rows: 100}
factors:
  delay:
    none: {db.options: {delay_us: 100}}
    some: {db.options: {delay_us: 300}}
blocks: 3
warmup: 0s
duration: 300ms
interval: 100ms
"""


@pytest.fixture(scope="module")
def here() -> Iterator[Place]:
    """A place with a run of root's and the same run of somebody else's, for his eyes alone."""
    with place() as made:
        made.experiment(PLAIN)
        done = made.dyno("run", "experiment.yaml", "--dir", "ours")
        assert done.returncode == 0, done.stderr
        again = made.dyno("run", "experiment.yaml", "--dir", "again")
        assert again.returncode == 0, again.stderr
        shutil.copytree(made.path / "ours", made.path / "theirs")
        for path in (made.path / "theirs", *(made.path / "theirs").rglob("*")):
            os.chown(path, THEIR_ACCOUNT, THEIR_ACCOUNT)
            path.chmod(0o700 if path.is_dir() else 0o600)
        (made.path / "closed").mkdir(mode=0o700)
        yield made


def test_a_report_of_a_strangers_run_is_the_report(here: Place) -> None:
    ours = here.dyno("report", "ours", "--json", "--to", "closed/ours")
    theirs = here.dyno("report", "theirs", "--json", "--to", "closed/theirs")
    assert (ours.returncode, theirs.returncode, theirs.stderr) == (0, 0, "")
    assert theirs.stdout == ours.stdout
    written = sorted((here.path / "closed" / "theirs").iterdir())
    assert [path.name for path in written] == ["report.html", "report.md", "result.json"]
    assert {path.stat().st_uid for path in written} == {0}
    assert (here.path / "closed" / "theirs").stat().st_mode & 0o777 == 0o700


def test_by_default_it_goes_where_the_run_is(here: Place) -> None:
    (here.path / "theirs" / "report.html").unlink()
    done = here.dyno("report", "theirs")
    assert done.returncode == 0, done.stderr
    assert "theirs/report.html" in done.stdout.replace("\n", "")
    assert (here.path / "theirs" / "report.html").exists()


def test_bundles_and_redacted_reports_are_made(here: Place) -> None:
    done = here.dyno("report", "theirs", "--bundle", "closed/b.dyno", "--redact")
    assert done.returncode == 0, done.stderr
    assert (here.path / "theirs" / "redacted" / "report.html").exists()
    again = here.dyno("report", "closed/b.dyno", "--json")
    assert again.returncode == 0, again.stderr
    assert (here.path / "closed" / "b" / "report.html").exists()
    assert here.dyno("status", "closed/b.dyno").returncode == 0
    for how in ([], ["--redact"]):
        done = here.dyno("report", "closed/b.dyno", *how, "--bundle", "closed/again.dyno")
        assert done.returncode == 0, done.stderr


def test_damage_is_named_and_nothing_is_left(here: Place) -> None:
    shutil.copytree(here.path / "theirs", here.path / "damaged")
    (here.path / "damaged" / "manifest.json").write_text("{")
    os.chown(here.path / "damaged", THEIR_ACCOUNT, THEIR_ACCOUNT)
    done = here.dyno("report", "damaged", "--to", "closed/damaged")
    assert done.returncode == 2
    assert "damaged/manifest.json is not JSON" in done.stderr
    assert not (here.path / "closed" / "damaged").exists()
    (here.path / "closed" / "none.dyno").write_bytes(b"PK\x03\x04 and no bundle")
    done = here.dyno("report", "closed/none.dyno")
    assert done.returncode == 2
    assert not (here.path / "closed" / "none").exists()


def test_tables_histories_and_comparisons_are_made(here: Place) -> None:
    done = here.dyno("export", "theirs", "--csv", "closed/tables", "--openmetrics", "closed/m.txt")
    assert done.returncode == 0, done.stderr
    assert (here.path / "closed" / "tables" / "trials.csv").stat().st_size > 100
    assert (here.path / "closed" / "m.txt").read_text().endswith("# EOF\n")
    done = here.dyno("export", "theirs", "--csv", "-")
    assert done.returncode == 0 and "transactions_per_s" in done.stdout, done.stderr
    done = here.dyno(
        "export", "theirs", "--csv", "a.csv", "--table", "trials", "--table", "samples"
    )
    assert done.returncode == 2 and "takes one table" in done.stderr
    done = here.dyno("compare", "again", "theirs", "--json")
    assert done.returncode == 0, done.stderr
    done = here.dyno("history", ".", "--html", "closed/history.html")
    assert done.returncode == 0, done.stderr
    assert "<html" in (here.path / "closed" / "history.html").read_text()
    done = here.dyno("pool", "again", "theirs", "--claim", "tps[none] > tps[some]")
    assert done.returncode == 0, done.stderr


def test_results_for_roots_eyes_are_imported(here: Place) -> None:
    head = next(path for path in studies.imported() if path.with_suffix(".csv").is_file())
    table = here.path / "closed" / "results.csv"
    shutil.copy(head.with_suffix(".csv"), table)
    table.chmod(0o600)
    done = here.dyno("import", table, "--experiment", head, "--dir", "closed/imported")
    assert done.returncode == 0, done.stderr
    assert (here.path / "closed" / "imported" / "report.html").stat().st_uid == 0
    table.write_text("not,a\ntable,\x00\n")
    done = here.dyno("import", table, "--dir", "closed/not")
    assert done.returncode == 2
    assert "results.csv" in done.stderr and "Traceback" not in done.stderr
    assert not (here.path / "closed" / "not").exists()
