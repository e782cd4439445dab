"""Bundles: the same run gives the same bytes and the same report; forgeries are refused."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import plans
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.cli.runs.report import report
from dbdyno.cli.runs.status import status
from dbdyno.errors import DynoError
from dbdyno.share import bundle
from dbdyno.share.opened import opened
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Three blocks of two cells, one trial void."""
    made = Run.create(tmp_path / "run", plans.plan(claims=("tps[on] > tps[off]",)), {"cores": 2})
    for trial in made.plan.trials:
        directory = made.begin(trial.id, {"trial": trial.id})
        (directory / "events.ndjson").write_text('{"event":"ready","measure_unix_s":1.0}\n')
        (directory / "engine.log").write_text("talk")
        record = TrialRecord(
            trial.id,
            trial.block,
            trial.cell,
            "complete",
            float(trial.position),
            {"transactions_per_s": 100.0 - 20 * trial.cell + trial.block},
        )
        if trial.position == 1:
            made.set_aside(record.replace(status="void", void_reason="too noisy"))
            made.begin(trial.id)
        made.complete(record)
    made.set_status("complete")
    made.close()
    return Run.open(made.path)


def test_a_bundle_is_the_run_again(run: Run, tmp_path: Path) -> None:
    bundle.pack(run, tmp_path / "b.zip")
    with opened(tmp_path / "b.zip") as found:
        assert found.plan == run.plan
        assert found.records() == run.records()
        assert [one.void_reason for one in found.voided()] == ["too noisy"]
        assert found.events("b01-t001") == run.events("b01-t001")
        assert found.environment == run.environment
        where = found.path
        assert not list(found.path.rglob("engine.log"))
    assert not where.exists()


def test_the_same_run_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    bundle.pack(run, tmp_path / "a.zip")
    (run.path / "trials" / "b01-t001" / "trial.json").touch()
    bundle.pack(run, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_the_report_is_drawn_elsewhere(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    there = CliRunner().invoke(report, [str(run.path), "--bundle", "shared.zip"])
    assert there.exit_code == 0, there.output
    here = CliRunner().invoke(report, ["shared.zip"])
    assert here.exit_code == 0, here.output
    for name in ("result.json", "report.md", "report.html"):
        drawn = elsewhere / "shared" / name
        assert drawn.read_bytes() == (run.path / name).read_bytes(), name
    shown = CliRunner().invoke(status, ["shared.zip"])
    assert "6 of 6 trials done" in shown.output


def test_a_redacted_report_leaves_the_ordinary_one_alone(run: Run, tmp_path: Path) -> None:
    CliRunner().invoke(report, [str(run.path)])
    before = (run.path / "report.html").read_bytes()
    done = CliRunner().invoke(
        report, [str(run.path), "--redact", "--bundle", str(tmp_path / "r.zip"), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert (run.path / "report.html").read_bytes() == before
    assert (run.path / "redacted" / "report.html").is_file()
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert json.loads(archive.read(bundle.MARK))["redacted"] is True


def test_no_foreign_file_is_replaced(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.zip"
    mine.write_text("mine")
    with pytest.raises(DynoError, match="is not a bundle"):
        bundle.pack(run, mine)
    assert mine.read_text() == "mine"
    other = Run.create(tmp_path / "other", plans.plan(), {})
    other.close()
    done = CliRunner().invoke(report, [str(run.path), "--to", str(other.path)])
    assert "another run" in str(done.exception)
    with pytest.raises(DynoError, match="cannot write"):
        bundle.pack(run, tmp_path / "no" / "such" / "b.zip")
    assert not list(tmp_path.glob(".*.tmp"))


# -- forgeries -----------------------------------------------------------------------------------

Change = Callable[[zipfile.ZipFile], None]
MARK_TEXT = json.dumps({"bundle_version": 1, "dbdyno": "0"})


def archive(path: Path, *entries: tuple[str | zipfile.ZipInfo, str], mark: str = MARK_TEXT) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(bundle.MARK, mark)
        for name, text in entries:
            made.writestr(name, text)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "../manifest.json",
        "/etc/passwd",
        "trials/../../x/trial.json",
        "trials/b01-t001/../../../x",
        "trials/.hidden/trial.json",
        "trials\\b01\\trial.json",
        "lock",
        "aliases.json",
        "trials/b01-t001/",
        "hooks/../x",
    ],
)
def test_other_names_are_refused(name: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "f.zip", (name, "x"))
    target = tmp_path / "in" / "target"
    target.mkdir(parents=True)
    with pytest.raises(DynoError, match="which is not part of a bundle"):
        bundle.unpack(path, target)
    assert [p.name for p in (tmp_path / "in").rglob("*")] == ["target"]


def test_links_twins_and_liars_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("manifest.json")
    link.external_attr = 0o120777 << 16
    path = archive(tmp_path / "link.zip", (link, "/etc/passwd"))
    (tmp_path / "a").mkdir()
    bundle.unpack(path, tmp_path / "a")
    assert not (tmp_path / "a" / "manifest.json").is_symlink()  # a file that holds that text

    with pytest.warns(UserWarning, match="Duplicate"):
        path = archive(tmp_path / "twice.zip", ("manifest.json", "a"), ("manifest.json", "b"))
    with pytest.raises(DynoError, match="twice"):
        bundle.unpack(path, tmp_path / "b")


def test_sizes_are_bounded_whatever_headers_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "bomb.zip", ("manifest.json", "0" * 1_000_000))
    assert path.stat().st_size < 10_000
    for limit, why in (("ENTRY_BYTES_MAX", "of 1,000,000 bytes"), ("TOTAL_BYTES_MAX", "more than")):
        with monkeypatch.context() as patch:
            patch.setattr(bundle, limit, 1000)
            with pytest.raises(DynoError, match=why):
                bundle.unpack(path, tmp_path / "x")
    monkeypatch.setattr(bundle, "ENTRIES_MAX", 1)
    with pytest.raises(DynoError, match="more than 1 entries"):
        bundle.unpack(path, tmp_path / "x")


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ('{"bundle_version": 2, "dbdyno": "9.9"}', "bundle of version 2"),
        ("{}", "broken mark"),
        ("no json", "broken mark"),
        ("[]", "broken mark"),
    ],
)
def test_marks_are_checked(mark: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=why):
        bundle.unpack(archive(tmp_path / "m.zip", mark=mark), tmp_path / "x")


def test_another_zip_is_no_bundle(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as made:
        made.writestr("readme", "x")
    assert not bundle.is_bundle(tmp_path / "z.zip")
    with pytest.raises(DynoError, match="no bundle of dbdyno"):
        bundle.unpack(tmp_path / "z.zip", tmp_path / "x")


def packed(run: Run) -> bytes:
    path = run.path / "whole.zip"
    bundle.pack(run, path)
    return path.read_bytes()


def test_a_damaged_bundle_is_refused_or_whole(run: Run, tmp_path: Path) -> None:
    whole = packed(run)

    @given(st.integers(0, len(whole) - 1), st.integers(1, 255), st.booleans())
    def damaged(at: int, flip: int, cut: bool) -> None:
        raw = whole[:at] if cut else whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]
        broken = tmp_path / "broken.zip"
        broken.write_bytes(raw)
        try:
            with opened(broken) as found:
                found.records()
        except DynoError:
            pass  # said; any other exception fails the test

    damaged()


@given(st.text(max_size=40), st.dictionaries(st.sampled_from("abc"), st.floats(0, 1e9), max_size=3))
def test_any_record_survives(
    tmp_path_factory: object, text: str, metrics: dict[str, float]
) -> None:
    record = TrialRecord("b01-t001", 1, 0, "complete", 1.0, metrics, warnings=(text,))
    directory = tmp_path_factory.mktemp("r")  # type: ignore[attr-defined]
    made = Run.create(directory / "run", dataclasses.replace(plans.plan(), notes=(text,)), {})
    made.begin(record.id)
    made.complete(record)
    made.close()
    bundle.pack(made, directory / "b.zip")
    with opened(directory / "b.zip") as found:
        assert found.records() == made.records()
        assert found.plan == made.plan


def test_nothing_at_all_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(DynoError, match="not a bundle"), opened(tmp_path / "empty"):
        pass
