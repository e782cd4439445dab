"""`dyno report --set`, `--recommend`, `--logo`: what is added to a run reaches every medium."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from test_web_annotations import PNG
from webbed import measured

from dbdyno.cli.runs.report import report
from dbdyno.errors import DynoError
from dbdyno.share import bundle
from dbdyno.store import annotation
from dbdyno.store.annotation import LOGO_BYTES_MAX, NAMES, TEXT_MAX, Annotations
from dbdyno.store.run import Run

SCHEMA = Path(__file__).parents[2] / "schemas/annotations.schema.json"
TEXT = "Buy <it> from\nthe *cheaper* shop.\n\n- now\n2. here\n===\n/close #1\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return measured(tmp_path, "run")


@pytest.fixture
def recommended(tmp_path: Path) -> Path:
    (tmp_path / "why.txt").write_text(TEXT)
    return tmp_path / "why.txt"


@pytest.fixture
def logo(tmp_path: Path) -> Path:
    (tmp_path / "logo.png").write_bytes(PNG)
    return tmp_path / "logo.png"


def called(run: Path, *words: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(report, [str(run), *map(str, words)])


def refused(run: Path, *words: str | Path) -> str:
    done = called(run, *words)
    assert not (run / annotation.ANNOTATIONS).exists()
    if isinstance(done.exception, DynoError):
        return f"{done.exception.what} {done.exception.fix}"
    assert done.exit_code == 2, done.output
    return done.output


def valid(run: Path) -> Any:
    found = json.loads((run / annotation.ANNOTATIONS).read_text())
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    return found


def test_they_reach_page_markdown_and_terminal(run: Path, recommended: Path, logo: Path) -> None:
    before = (run / "manifest.json").read_bytes()
    words = ("--set", "customer=Müller & Co", "--set", "author=Ann", "--logo", logo)
    done = called(run, *words, "--recommend", recommended, "--comment", run / "comment.md")
    assert done.exit_code == 0, done.output
    assert "for Müller & Co, by Ann" in done.stdout
    assert "Recommendation: Buy <it> from\nthe *cheaper* shop.\n\n- now" in done.stdout
    html = (run / "report.html").read_text()
    assert "for Müller &amp; Co" in html and "by Ann" in html
    assert "Buy &lt;it&gt; from\nthe *cheaper* shop." in html
    assert 'class="logo" src="data:image/png;base64,' in html
    body = (run / "report.md").read_text()
    assert "for Müller & Co, by Ann".replace("&", "\\&") in body
    # Its own lines and paragraphs, and nothing in it is markup.
    assert "**Recommendation:** Buy \\<it\\> from\\\nthe \\*cheaper\\* shop.\n\n" in body
    assert "\\- now\\\n2\\. here\\\n\\===\\\n/close \\#1" in body
    assert "\n\\/close" in (run / "comment.md").read_text()
    assert valid(run)["recommendation"] == TEXT.strip()
    assert (run / "manifest.json").read_bytes() == before


def test_later_reports_keep_them_until_they_are_removed(run: Path, logo: Path) -> None:
    called(run, "--set", "customer=Blue", "--logo", logo)
    assert "for Blue" in called(run).stdout
    assert "for Blue, by Ann" in called(run, "--set", "author=Ann").stdout
    assert valid(run)["logo"].startswith("data:image/png")
    called(run, "--set", "customer=", "--set", "logo=")
    assert (valid(run)["customer"], valid(run)["author"], valid(run)["logo"]) == ("", "Ann", "")


def test_without_them_no_file_is_made(run: Path) -> None:
    assert called(run).exit_code == 0
    assert not (run / annotation.ANNOTATIONS).exists()


def test_unknown_names_are_refused_with_the_known_ones(run: Path) -> None:
    said = refused(run, "--set", "costumer=Blue")
    assert "did you mean `customer`?" in said
    assert all(name in said for name in NAMES)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--set", "customer"), "NAME=TEXT"),
        (("--set", "logo=data:image/png;base64,AAAA"), "--logo FILE"),
        (("--set", "author=Ann", "--set", "author=Bob"), "the author is given twice"),
        (("--set", f"author={'x' * (TEXT_MAX + 1)}"), "20,000 characters"),
        (("--set", "author=Ann", "--redact"), "--redact"),
        (("--recommend", "nowhere.txt"), "cannot read nowhere.txt"),
        (("--logo", "/dev/zero"), "cannot read /dev/zero"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Path, words: tuple[str, ...], why: str) -> None:
    assert why in refused(run, *words)


@pytest.mark.parametrize(
    "content", [b"<svg onload='alert(1)'/>", b"", PNG[:8] + b"x" * LOGO_BYTES_MAX]
)
def test_a_logo_is_a_small_image(run: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "logo").write_bytes(content)
    assert "PNG, JPEG, GIF or WebP" in refused(run, "--logo", tmp_path / "logo")


def test_a_recommendation_is_text_and_given_once(
    run: Path, tmp_path: Path, recommended: Path
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused(run, "--recommend", tmp_path / "binary")
    twice = ("--recommend", recommended, "--set", "recommendation=x")
    assert "given twice" in refused(run, *twice)


def test_a_bundle_is_not_changed(run: Path, tmp_path: Path) -> None:
    bundle.pack(Run.open(run), tmp_path / "a.dyno")
    before = (tmp_path / "a.dyno").read_bytes()
    done = called(tmp_path / "a.dyno", "--set", "author=Ann")
    assert isinstance(done.exception, DynoError) and "bundle" in done.exception.what
    assert (tmp_path / "a.dyno").read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads as nobody")
def test_as_root_a_run_of_another_account_gets_them(run: Path) -> None:
    for path in (run, *run.rglob("*")):
        os.chown(path, 12345, 12345)
    done = called(run, "--set", "customer=Blue", "--to", run.parent / "out")
    assert done.exit_code == 0, done.output
    assert valid(run)["customer"] == "Blue"
    assert "for Blue" in (run.parent / "out/report.html").read_text()


def test_the_schema_has_the_limits_of_the_reader() -> None:
    schema = json.loads(SCHEMA.read_text())
    assert set(schema["properties"]) == {"schema_version", *NAMES}
    texts = {n: schema["properties"][n]["maxLength"] for n in NAMES if n != "logo"}
    assert set(texts.values()) == {TEXT_MAX}
    of_logo = schema["properties"]["logo"]
    assert of_logo["maxLength"] == 2 * LOGO_BYTES_MAX
    assert of_logo["pattern"] == f"^(?:{annotation._LOGO.pattern})?$"
    for text in ("", annotation.logo(PNG)):
        jsonschema.validate({"schema_version": 1, "logo": text}, schema)
        Annotations(logo=text)
    for text in ("javascript:alert(1)", "data:image/svg+xml;base64,AAAA"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"schema_version": 1, "logo": text}, schema)
