"""What people add to a run: kept in its own file, shown in its report, never in a redacted one."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from webbed import BASE, TestClient, client, csrf, ids, measured

from dbdyno.errors import DynoError
from dbdyno.report import Report
from dbdyno.share import bundle, redact
from dbdyno.share.opened import opened
from dbdyno.store import annotation
from dbdyno.store.annotation import Annotations
from dbdyno.store.run import Run
from dbdyno.wording.findings import analyse

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def send(browser: TestClient, run: str, logo: bytes | None = None, **fields: str) -> Any:
    files = {"logo": ("logo.png", logo, "image/png")} if logo is not None else None
    address = f"/runs/{run}/annotations"
    sent = {"csrf": csrf(browser), **fields}
    return browser.post(address, data=sent, files=files, headers={"origin": BASE})


def report(run: Run) -> Report:
    found = analyse(run.plan, run.records(), run.trace, run.histograms, void=run.voided())
    return Report(run, found)


def test_they_are_saved_and_shown(tmp_path: Path) -> None:
    path = measured(tmp_path, "one")
    before = (path / "manifest.json").read_bytes()
    with client(tmp_path) as browser:
        run = ids(browser)["one"]
        page = send(
            browser,
            run,
            PNG,
            customer="Müller & <b>Co</b>",
            author="Ann",
            recommendation="Buy\r\nit.",
        ).text
        assert "for Müller &amp; &lt;b&gt;Co&lt;/b&gt;" in page and "by Ann" in page
        assert "Buy\nit." in page and "data:image/png;base64," in page
        twin = browser.get(f"/runs/{run}/annotations.json").json()
        assert twin["recommendation"] == "Buy\nit."
        # The logo stays until it is removed.
        assert 'class="logo"' in send(browser, run, customer="Other").text
        assert 'class="logo"' not in send(browser, run, customer="Other", remove="yes").text
    assert (path / "manifest.json").read_bytes() == before
    assert "for Other" in report(Run.open(path)).markdown()


@pytest.mark.parametrize(
    "logo", [b"<svg onload=alert(1)>", b"", b"\x89PNG\r\n\x1a\n" + b"x" * 600_000]
)
def test_what_is_no_image_is_refused(tmp_path: Path, logo: bytes) -> None:
    path = measured(tmp_path, "one")
    with client(tmp_path) as browser:
        assert send(browser, ids(browser)["one"], logo).status_code == 422
    assert not (path / annotation.ANNOTATIONS).exists()


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    measured(tmp_path, "one")
    with client(tmp_path) as browser:
        answer = send(browser, ids(browser)["one"], recommendation="x" * 20_001)
        assert answer.status_code == 422 and "20,000" in answer.text


@pytest.mark.parametrize(
    "found",
    [
        [],
        {"schema_version": 2},
        {"schema_version": 1, "customer": 5},
        {"schema_version": 1, "costumer": "Blue"},
        {"schema_version": 1, "logo": "javascript:alert(1)"},
        {"schema_version": 1, "logo": 'data:image/png;base64,AA"onload="alert(1)'},
        {"schema_version": 1, "logo": "data:image/svg+xml;base64,AAAA"},
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, found: object) -> None:
    (tmp_path / annotation.ANNOTATIONS).write_text(json.dumps(found))
    with pytest.raises(DynoError, match=r"annotations\.json"):
        annotation.read(tmp_path)


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"schema_version": 1, "customer": "secret"}')
    (tmp_path / annotation.ANNOTATIONS).symlink_to(tmp_path / "secret")
    with pytest.raises(DynoError, match="symbolic link"):
        annotation.read(tmp_path)
    annotation.write(tmp_path, Annotations(customer="x"))
    assert "secret" in (tmp_path / "secret").read_text()


def test_a_bundle_holds_them_and_a_redacted_run_does_not(tmp_path: Path) -> None:
    path = measured(tmp_path, "one")
    annotation.write(path, Annotations(customer="Planted", recommendation="Planted"))
    bundle.pack(Run.open(path), tmp_path / "one.dyno")
    with opened(tmp_path / "one.dyno") as run:
        assert "for Planted" in report(run).markdown()
    (tmp_path / "redacted").mkdir()
    run = redact.redacted(Run.open(path), tmp_path / "redacted")
    assert "Planted" not in report(run).markdown()
    with client(tmp_path) as browser:
        if one := ids(browser).get("one.dyno"):
            assert send(browser, one, customer="x").status_code == 422
