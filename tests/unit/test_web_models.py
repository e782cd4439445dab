"""Models as forms: each answers what it is given, or says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from webbed import client

from dbdyno import models


@pytest.mark.parametrize("name", models.names())
def test_every_model_answers_with_its_example_and_draws_a_sweep(tmp_path: Path, name: str) -> None:
    with client(tmp_path) as browser:
        answer = browser.get(f"/models/{name}")
        assert answer.status_code == 200
        form = answer.text
        for one in models.load(name).inputs:
            assert f'id="in-{one.name}"' in form and f'for="in-{one.name}"' in form
        twin = browser.get(f"/models/{name}.json")
        assert twin.status_code == 200 and twin.json()


def test_what_is_typed_is_computed_and_swept(tmp_path: Path) -> None:
    with client(tmp_path) as browser:
        page = browser.get("/models/innodb-growth?rows=3000&sweep=rows").text
        assert "The file takes 9 MiB for 609.4 KiB of rows." in page
        assert "<option selected>rows</option>" in page and "<svg" in page
        twin = browser.get("/models/innodb-growth.json?rows=3000").json()
        assert "609.4 KiB" in str(twin)


@pytest.mark.parametrize("query", ["rows=<script>", "rows=-5", "fill=2000%25", "sweep=none&rows=x"])
def test_what_cannot_be_computed_is_said_beside_the_form(tmp_path: Path, query: str) -> None:
    with client(tmp_path) as browser:
        answer = browser.get(f"/models/innodb-growth?{query}")
        assert answer.status_code == 422
        assert 'id="in-rows"' in answer.text and "<script>" not in answer.text
        assert browser.get(f"/models/innodb-growth.json?{query}").json()["error"]["what"]


def test_there_is_no_other_model(tmp_path: Path) -> None:
    with client(tmp_path) as browser:
        assert browser.get("/models/none").status_code == 404
        assert browser.get("/models/..%2f..").status_code == 404
        assert len(browser.get("/models.json").json()) == len(models.names())
