"""The run directory: atomic, locked, resumable, readable while it grows."""

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from plans import plan

from dbdyno.errors import DynoError
from dbdyno.store.catalogue import Catalogue
from dbdyno.store.manifest import SCHEMA_VERSION
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.store.run import Run
from dbdyno.store.text import files
from dbdyno.store.text.scrub import scrub
from fixtures import forked
from fixtures.schemas import valid

ENVIRONMENT = {"kernel": "6.1", "cpus": 2}


def finished(trial: str, block: int = 1, cell: int = 0, status: str = COMPLETE) -> TrialRecord:
    return TrialRecord(
        id=trial,
        block=block,
        cell=cell,
        status=status,
        started_unix_s=1.5,
        metrics={"transactions_per_s": 100.25},
        warnings=("generator-bound",),
        outages=({"event": "outage", "start_s": 1.0},),
        statements={"workload/select": "SELECT 1"},
        explain={"workload/select": "const"},
        targets={"db": {"version": "1", "settings": {"a": "1"}, "words": []}},
        void_reason="too many temporary tables" if status == VOID else "",
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    made = plan()
    with Run.create(tmp_path / "run", made, ENVIRONMENT) as run:
        run.begin("b01-t001", {"targets": {"db": {"password": "s3cret", "user": "u"}}})
        run.complete(finished("b01-t001"))
        run.trial_dir("b01-t002")
        run.complete(finished("b01-t002", cell=1, status=VOID))
        run.set_status("complete", blocks_done=1)
    again = Run.open(tmp_path / "run")
    assert again.plan == made
    assert again.environment == ENVIRONMENT
    assert again.records() == [finished("b01-t001"), finished("b01-t002", cell=1, status=VOID)]
    assert again.status == "complete"
    assert again.manifest["blocks_done"] == 1
    assert again.pid is None
    text = (tmp_path / "run" / "manifest.json").read_text()
    valid("manifest", json.loads(text))
    assert text.lstrip("{ \n").startswith('"schema_version"')
    stored = (tmp_path / "run/trials/b01-t001/plan.json").read_text()
    assert "s3cret" not in stored
    assert json.loads(stored)["targets"]["db"] == {"password": "***", "user": "u"}


def test_a_reader_sees_a_run_that_is_going(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT):
        reader = Run.open(tmp_path / "run")
        assert reader.status == "running"
        assert reader.pid == os.getpid()
        with pytest.raises(RuntimeError, match="reading only"):
            reader.complete(finished("b01-t001"))
    assert Run.open(tmp_path / "run").status == "interrupted"


def test_a_directory_whose_status_was_asked_while_it_was_empty_is_unused(tmp_path: Path) -> None:
    Catalogue(tmp_path).close()
    assert [*tmp_path.iterdir()]
    Run.create(tmp_path, plan(), {}).close()
    assert Run.open(tmp_path).records() == []


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("precious")
    with pytest.raises(DynoError, match=r"not empty \(it has thesis\.tex\)"):
        Run.create(other, plan(), ENVIRONMENT)
    assert sorted(entry.name for entry in other.iterdir()) == ["thesis.tex"]
    Run.create(tmp_path / "run", plan(), ENVIRONMENT).close()
    with pytest.raises(DynoError, match="already contains a run"):
        Run.create(tmp_path / "run", plan(), ENVIRONMENT)


def test_a_second_process_is_told_who_holds_the_run(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", plan(), ENVIRONMENT).close()

    def hold(begun: Callable[[], None]) -> None:
        with Run.resume(tmp_path / "run"):
            begun()
            time.sleep(60)

    with forked.working(hold) as other:
        with pytest.raises(DynoError, match=f"process {other.pid} is working in"):
            Run.resume(tmp_path / "run")
        assert Run.open(tmp_path / "run").status == "running"
    assert Run.open(tmp_path / "run").status == "interrupted"  # the lock died with its holder
    Run.resume(tmp_path / "run").close()


def test_resume_moves_half_a_trial_aside_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with Run.create(path, plan(), ENVIRONMENT) as run:
        run.begin("b01-t001")
        run.complete(finished("b01-t001"))
        (run.begin("b01-t002") / "events.ndjson").write_text("first\n")
    with Run.resume(path) as run:
        assert [record.id for record in run.records()] == ["b01-t001"]
        assert (path / "trials/b01-t002.partial-1/events.ndjson").read_text() == "first\n"
        (run.begin("b01-t002") / "events.ndjson").write_text("second\n")
    with Run.resume(path, {"kernel": "6.2"}) as run:
        names = sorted(entry.name for entry in (path / "trials").iterdir())
        assert names == ["b01-t001", "b01-t002.partial-2"]
        assert (path / "trials/b01-t002.partial-2/events.ndjson").read_text() == "second\n"
        sessions = run.manifest["sessions"]
        assert [entry["environment"]["kernel"] for entry in sessions] == ["6.1", "6.1", "6.2"]
        assert run.environment == ENVIRONMENT
        with pytest.raises(RuntimeError, match="is complete"):
            run.begin("b01-t001")


def test_void_attempts_are_kept_but_never_counted(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT) as run:
        for attempt in range(5):
            (run.begin("b01-t001") / "events.ndjson").write_text(f"{attempt}\n")
            run.set_aside(finished("b01-t001", status=VOID))
        assert run.records() == []
        assert len(run.voided()) == 3
        assert not run.is_complete("b01-t001")
        run.begin("b01-t001")
        run.complete(finished("b01-t001"))
        assert len(run.records()) == 1
    assert (tmp_path / "run/trials/b01-t001.void-5/events.ndjson").read_text() == "4\n"


def test_a_break_becomes_the_boundary_of_a_block(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with Run.create(path, plan(), ENVIRONMENT) as run:
        for trial in run.plan.trials[:3]:  # block 1 whole, block 2 half
            run.begin(trial.id)
            run.complete(finished(trial.id, trial.block, trial.cell))
    with Run.resume(path) as run:
        assert run.void_partial_blocks("another kernel") == 1
        assert [record.id for record in run.records()] == ["b01-t001", "b01-t002"]
        (aside,) = run.voided()
        assert (aside.id, aside.status, aside.void_reason) == ("b02-t001", VOID, "another kernel")
        run.begin("b02-t001")
        assert run.void_partial_blocks("nothing is left to set aside") == 0


def test_a_resumed_run_is_held_against_where_it_was_last_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    clock = [1000.0]
    monkeypatch.setattr("dbdyno.store.run.time.time", lambda: clock[0])

    def measure(run: Run, nth: int, at_s: float) -> None:
        trial = run.plan.trials[nth]
        run.begin(trial.id)
        record = finished(trial.id, trial.block, trial.cell)
        run.complete(record.replace(started_unix_s=at_s))

    with Run.create(path, plan(), {"kernel": "a"}) as run:
        assert run.latest_environment == {"kernel": "a"}
        measure(run, 0, 1010.0)
        measure(run, 1, 1060.0)
    clock[0] = 2000.0
    with Run.resume(path, {"kernel": "b"}) as run:
        assert run.latest_environment == {"kernel": "a"}  # nothing was measured on b yet
        assert run.spent_s() == 1060 - 1000 + 10 + 30
        measure(run, 2, 2010.0)
        assert run.latest_environment == {"kernel": "b"}
    assert Run.open(path).latest_environment == {"kernel": "b"}
    assert Run.open(path).environment == {"kernel": "a"}


def test_a_plan_is_only_ever_cut_and_noted(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT) as run:
        before = run.plan
        run.amend("cut", blocks=2)
    after = Run.open(tmp_path / "run").plan
    assert (after.blocks, after.notes) == (2, (*before.notes, "cut"))
    assert after.trials == tuple(trial for trial in before.trials if trial.block <= 2)
    assert after.cells == before.cells


def test_streams_tolerate_a_cut_off_last_line_only(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT) as run:
        directory = run.begin("b01-t001")
        (directory / "events.ndjson").write_text('{"event": "start"}\n{"event": "inter')
        samples = [{"t_s": t_s, "source": "cpu", "gap": "late"} for t_s in (1.0, 2.0)]
        (directory / "metrics.ndjson").write_text("\n\n".join(map(json.dumps, samples)))
        assert run.events("b01-t001") == [{"event": "start"}]
        assert run.samples("b01-t001") == samples
        assert run.events("b01-t002") == []
        assert run.histograms("b01-t002") == []
        (directory / "events.ndjson").write_text('{"event": "st\n{"event": "end"}\n')
        with pytest.raises(DynoError, match=r"events\.ndjson:1: not a JSON object"):
            run.events("b01-t001")


def test_a_manifest_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", plan(), ENVIRONMENT).close()
    file = tmp_path / "run/manifest.json"
    manifest = json.loads(file.read_text())
    manifest["schema_version"] = SCHEMA_VERSION + 1
    manifest["versions"]["dbdyno"] = "9.9"
    file.write_text(json.dumps(manifest))
    with pytest.raises(DynoError, match=f"schema_version {SCHEMA_VERSION + 1}") as caught:
        Run.open(tmp_path / "run")
    assert "dbdyno 9.9" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "no schema_version"),
        ('{"a": 1}', "no schema_version"),
        ('{"schema_version": 1}', "is without status, plan, environment"),
        (
            '{"schema_version": 1, "status": "running", "plan": {}, "environment": {}}',
            "plan has version",
        ),
    ],
)
def test_a_strange_manifest_is_an_error_not_a_traceback(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DynoError, match=message):
        Run.resume(tmp_path)
    assert not (tmp_path / "lock").exists()


def test_no_run_at_all(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="does not exist"):
        Run.open(tmp_path / "nowhere")


def test_a_full_disk_says_what_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT) as run:
        run.begin("b01-t001")
        run.complete(finished("b01-t001"))
        run.begin("b01-t002")

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(files.os, "fsync", full)
            with pytest.raises(DynoError, match="no space left") as caught:
                run.complete(finished("b01-t002"))
        assert "complete before are safe" in caught.value.cause
        assert f"dyno run --resume {tmp_path / 'run'}" in caught.value.fix
        left = sorted(entry.name for entry in run.trial_dir("b01-t002").iterdir())
        assert left == []
        assert [record.id for record in Run.open(run.path).records()] == ["b01-t001"]


def test_an_error_marks_the_run_failed_and_an_interrupt_interrupted(tmp_path: Path) -> None:
    with pytest.raises(DynoError), Run.create(tmp_path / "a", plan(), ENVIRONMENT):
        raise DynoError("the server died")
    failed = Run.open(tmp_path / "a")
    assert failed.status == "failed"
    assert failed.manifest["failure"] == "the server died"
    with pytest.raises(KeyboardInterrupt), Run.create(tmp_path / "b", plan(), ENVIRONMENT):
        raise KeyboardInterrupt
    assert Run.open(tmp_path / "b").status == "interrupted"


def test_ids_cannot_leave_the_run(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT) as run:
        for bad in ("..", "../x", "/etc", "", ".hidden", "a/b"):
            with pytest.raises(ValueError, match="not the id"):
                run.trial_dir(bad)


def test_scrub_hides_secrets_and_nothing_else() -> None:
    given = {
        "targets": {"db": {"password": "a", "user": "b", "options": {"token": "c", "n": 1}}},
        "empty": {"password": ""},
        "session_sql": ["SET PASSWORD = 'hunter2'", "CREATE USER x IDENTIFIED BY 'it''s'"],
        "url": "postgres://me:secret@127.0.0.1:5432/db",
        "coded": "mysql://me%3Asecret@db1/x mysql://a%20b:secret@db1 http://h/x:1",
        "passwordless": True,
        "text": "the password of the day",
    }
    cleaned = scrub(given)
    assert cleaned == {
        "targets": {"db": {"password": "***", "user": "b", "options": {"token": "***", "n": 1}}},
        "empty": {"password": ""},
        "session_sql": ["SET PASSWORD = '***'", "CREATE USER x IDENTIFIED BY '***'"],
        "url": "postgres://me:***@127.0.0.1:5432/db",
        "coded": "mysql://me%3A***@db1/x mysql://a%20b:***@db1 http://h/x:1",
        "passwordless": True,
        "text": "the password of the day",
    }
    assert given["targets"]["db"]["password"] == "a"


def test_a_record_never_holds_what_json_cannot() -> None:
    with pytest.raises(ValueError, match="not finite: tps"):
        TrialRecord("a", 1, 0, COMPLETE, 0.0, {"tps": float("nan")})
    with pytest.raises(ValueError, match="status"):
        TrialRecord("a", 1, 0, "done", 0.0, {})


def test_a_broken_record_names_its_file(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan(), ENVIRONMENT) as run:
        (run.begin("b01-t001") / "trial.json").write_text('{"schema_version": 1}')
        with pytest.raises(DynoError, match=r"b01-t001/trial\.json is not a trial"):
            run.records()
