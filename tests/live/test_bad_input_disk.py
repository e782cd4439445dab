"""Full disks: small ones made for the test, and limits on the size of files."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Sequence

import pytest
from private_servers import binaries
from refusals import plain_words, refused
from running import DYNO, Event, Place, complete_trials, disk

pytestmark = pytest.mark.live

SMALL = """\
experiment: small
targets:
  db: {kind: sqlite, durability: none}
workload: {kind: oltp, preset: insert, tables: 1, rows: 100}
factors:
  sessions: [1, 2]
blocks: 4
warmup: 0s
duration: 300ms
interval: 100ms
"""


def test_a_run_directory_that_is_full_loses_no_complete_trial(there: Place) -> None:
    file = there.experiment(SMALL)
    with disk(there, "100k") as full:
        run = full / "out"
        said = refused(there.dyno("run", file, "--dir", run), "no space left", f"--resume {run}")
        assert said.count("next step") == 1
        kept = complete_trials(run)
        assert 1 <= len(kept) < 8
        assert there.until_clean() == []
        subprocess.run(["mount", "-o", "remount,size=8m", full], check=True)
        done = there.dyno("run", "--resume", run)
        assert done.returncode == 0, done.stderr
        after = complete_trials(run)
        assert len(after) == 8
        assert all(after[name] == text for name, text in kept.items())


def test_a_disk_without_any_room_is_named_and_left_as_it_was(there: Place) -> None:
    with disk(there, "4k") as full:
        said = refused(
            there.dyno("run", there.experiment(SMALL), "--dir", full / "out"),
            "no space left",
            "--dir",
        )
        assert "--resume" not in said
        assert not list((full / "out").glob("*"))


@pytest.mark.parametrize(
    ("kind", "size"), [("sqlite", "2m"), ("mariadb", "20m"), ("postgres", "20m")]
)
def test_storage_under_test_that_is_too_small_is_named(there: Place, kind: str, size: str) -> None:
    if kind != "sqlite":
        binaries(kind)
    text = SMALL.replace("rows: 100", "rows: 20000").replace(
        "{kind: sqlite, durability: none}", f"{{kind: {kind}}}"
    )
    with disk(there, size) as full:
        refused(
            there.dyno("run", there.experiment(text), "--dir", "out", "--scratch", full),
            f"the disk that holds {full} is full",
            "--scratch",
        )
        assert not list(full.iterdir())
        assert there.until_clean() == ["disk"] or there.leftovers() == []


def test_a_disk_that_fills_in_mid_trial_is_counted_and_said(there: Place) -> None:
    text = SMALL.replace("blocks: 4", "blocks: 1").replace("duration: 300ms", "duration: 60s")

    def is_full(events: Sequence[Event]) -> bool:
        return any(one["event"] == "error" and one["code"] == "SQLITE_FULL" for one in events)

    with disk(there, "1m") as full:
        file = there.experiment(text)
        done = there.dyno_until(is_full, "run", file, "--dir", "out", "--scratch", full)
        assert done.returncode == 0, done.stderr
        plain_words(done.stderr)
        assert "SQLITE_FULL" in done.stderr
        assert len(complete_trials(there.path / "out")) == 2
        report = (there.path / "out/report.md").read_text().replace("\\", "")
        assert "most often: SQLITE_FULL" in report
        assert not list(full.iterdir())


def test_a_limit_on_file_sizes_is_named(there: Place) -> None:
    text = SMALL.replace("{kind: sqlite, durability: none}", '{kind: "null"}')
    text = text.replace("duration: 300ms", "duration: 30s").replace(
        "sessions: [1, 2]", "sessions: [1, 4]"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9216, 9216))

    file = there.experiment(text.replace("blocks: 4", "blocks: 1"))
    done = subprocess.run(
        [DYNO, "run", file, "--dir", "out"],
        cwd=there.path,
        env=there.environment,
        capture_output=True,
        text=True,
        timeout=240,
        preexec_fn=limit,
    )
    refused(done, "File too large", "ulimit -f")
    assert there.until_clean() == []
