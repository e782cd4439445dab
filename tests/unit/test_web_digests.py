"""Pages of digests: what counts as one, the filter, two side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from webbed import client, measured

from dbdyno.web import documents
from fixtures import digests


def save(directory: Path, name: str, document: object) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def test_only_saved_digests_outside_of_runs_are_found(tmp_path: Path) -> None:
    save(tmp_path, "logs/monday.json", digests.shop())
    save(tmp_path, ".hidden/x.json", digests.shop())
    save(tmp_path, "other.json", {"schema_version": 1})
    (tmp_path / "text.json").write_text("not JSON")
    (tmp_path / "link.json").symlink_to(tmp_path / "logs/monday.json")
    save(measured(tmp_path, "run"), "inside.json", digests.shop())
    assert [one.name for one in documents.below(tmp_path)] == ["logs/monday.json"]


def test_a_digest_is_its_page_and_the_filter_keeps_classes(tmp_path: Path) -> None:
    save(tmp_path, "monday.json", digests.shop())
    with client(tmp_path) as browser:
        one = browser.get("/digests.json").json()[0]
        address = f"/digests/{one['id']}"
        assert f'href="{address}"' in browser.get("/digests").text
        page = browser.get(address).text
        assert "Load over time by class" in page and page.count('<section id="class-') == 4
        found = browser.get(f"{address}?q=ORDERS+select").text
        assert found.count('<section id="class-') == 1 and "1 of 4 classes" in found
        assert "all others" in found
        assert browser.get(f"{address}?q=none").text.count('<section id="class-') == 0
        twin = browser.get(f"{address}.json?q=orders").json()
        assert [each["distill"] for each in twin["classes"]] == ["SELECT orders"]


def test_two_digests_side_by_side(tmp_path: Path) -> None:
    save(tmp_path, "a.json", digests.shop())
    save(tmp_path, "b.json", digests.shop(2.0))
    with client(tmp_path) as browser:
        ids = {one["name"]: one["id"] for one in browser.get("/digests.json").json()}
        a, b = ids["a.json"], ids["b.json"]
        assert f"/digests/compare?a={a}&amp;b={b}" in browser.get(f"/digests?a={a}").text
        assert "1 class slower a call" in browser.get(f"/digests/compare?a={a}&b={b}").text
        assert browser.get(f"/digests/compare.json?a={a}&b={b}").json()
        assert browser.get(f"/digests/compare?a={a}&b={a}").status_code == 422
        assert browser.get(f"/digests/compare?a={a}&b=none").status_code == 404


@pytest.mark.parametrize(
    "raw", ['{"schema_version": 1, "group_by": ', '{"schema_version": 99, "group_by": 1}']
)
def test_a_damaged_digest_is_an_error_in_a_sentence(tmp_path: Path, raw: str) -> None:
    (tmp_path / "a.json").write_text(raw)
    with client(tmp_path) as browser:
        one = browser.get("/digests.json").json()[0]
        answer = browser.get(f"/digests/{one['id']}.json")
        assert answer.status_code == 422 and answer.json()["error"]["what"]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    save(tmp_path, "<b>.json", digests.hostile())
    with client(tmp_path) as browser:
        one = browser.get("/digests.json").json()[0]
        for address in ("/digests", f"/digests/{one['id']}", f"/digests/{one['id']}?q=<script>"):
            text = browser.get(address).text
            assert "<script>alert" not in text and "<b>.json" not in text and "\x1b" not in text
