"""The editor: mistakes by line, and nothing of it where pages are read-only."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import plans
import pytest
from starlette.routing import Route
from webbed import BASE, TestClient, client, csrf, ids, measured

from dbdyno.errors import DynoError
from dbdyno.store.run import Run
from dbdyno.web import runner
from dbdyno.web.pages.editor import EXAMPLE
from fixtures import forked

SLEEPS = (sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[TestClient]:
    with client(tmp_path) as made:
        yield made


def send(browser: TestClient, address: str, **fields: str) -> Any:
    sent = {"csrf": csrf(browser), **fields}
    return browser.post(address, data=sent, headers={"origin": BASE})


def test_the_example_is_valid(browser: TestClient) -> None:
    assert EXAMPLE.splitlines()[0] in browser.get("/experiment").text
    checked = send(browser, "/experiment.json", text=EXAMPLE, do="check").json()["checked"]
    assert checked == {"ok": True, "experiment": "first", "cells": 2, "blocks": 3}


def test_a_mistake_has_its_line_and_the_text_stays(browser: TestClient) -> None:
    text = EXAMPLE.replace("blocks: 3", "blocks: <b>three</b>")
    checked = send(browser, "/experiment.json", text=text, do="start").json()["checked"]
    line = 1 + text.splitlines().index("blocks: <b>three</b>")
    assert (checked["ok"], checked["line"], checked["column"]) == (False, line, 9)
    page = send(browser, "/experiment", text=text, do="start").text
    assert f"line {line}, column 9" in page
    assert "&lt;b&gt;three" in page and "<b>three" not in page
    assert browser.get("/experiment.json").json()["started"] == []


def test_every_mistake_has_its_line_and_leads_there(browser: TestClient) -> None:
    text = EXAMPLE.replace("blocks: 3", "blocks: three").replace("duration: 5s", "duration: long")
    lines = text.splitlines()
    places = [1 + lines.index(each) for each in ("duration: long", "blocks: three")]
    checked = send(browser, "/experiment.json", text=text, do="check").json()["checked"]
    assert [one["line"] for one in checked["mistakes"]] == places
    assert checked["what"] == checked["mistakes"][0]["what"]
    page = send(browser, "/experiment", text=text, do="check").text
    assert "2 mistakes, by line" in page
    for line in places:
        assert f'data-line="{line}"' in page


@pytest.mark.parametrize(
    "text", ["", "x", "a: [", "\x00", "!!python/object:os.system x", "&a [*a]"]
)
def test_whatever_is_typed_is_an_answer(browser: TestClient, text: str) -> None:
    checked = send(browser, "/experiment.json", text=text, do="check").json()["checked"]
    assert not checked["ok"] and checked["what"]


def test_a_settings_mistake_is_found_too(browser: TestClient) -> None:
    text = EXAMPLE.replace("{db.config.journal_mode: wal}", "{db.config.no_such_pragma: 1}")
    answer = send(browser, "/experiment.json", text=text, do="check").json()["checked"]
    assert not answer["ok"]


def test_the_experiment_of_a_run_is_edited(tmp_path: Path) -> None:
    measured(tmp_path, "one")
    with client(tmp_path) as browser:
        run = ids(browser)["one"]
        assert f"/experiment?run={run}" in browser.get(f"/runs/{run}").text
        assert browser.get(f"/experiment.json?run={run}").json()["text"]
        assert browser.get("/experiment?run=../../etc/passwd").status_code == 404


def test_one_run_at_a_time_which_is_stopped(
    browser: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_DYNO", SLEEPS)
    assert send(browser, "/experiment", text=EXAMPLE, do="start").status_code == 200
    first = browser.get("/experiment.json").json()["started"][0]
    assert first["code"] is None and first["name"].startswith("first-")
    saved = tmp_path / "experiments" / f"{first['name']}.yaml"
    assert saved.read_text().strip() == EXAMPLE.strip()
    again = send(browser, "/experiment.json", text=EXAMPLE, do="start").json()["checked"]
    assert "under way" in again["what"]
    send(browser, "/runs/none/stop", do="now")
    assert browser.get("/experiment.json").json()["started"][0]["code"] is None
    send(browser, f"/runs/{first['id']}/stop", do="now")
    for _ in range(200):
        if browser.get("/experiment.json").json()["started"][0]["code"] is not None:
            break
        time.sleep(0.05)
    assert browser.get("/experiment.json").json()["started"][0]["code"] is not None


def test_nothing_is_started_beside_a_run_of_another_terminal(tmp_path: Path) -> None:
    with Run.create(tmp_path / "other", plans.plan(), {}), client(tmp_path) as browser:
        answer = send(browser, "/experiment.json", text=EXAMPLE, do="start").json()
        assert "other is under way" in answer["checked"]["what"]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[BaseProcess]:
    """A run `other` that another process works in."""

    def work(begun: Callable[[], None]) -> None:
        signal.signal(signal.SIGINT, lambda *_: sys.exit(30))
        with Run.create(tmp_path / "other", plans.plan(), {}):
            begun()
            time.sleep(60)

    with forked.working(work) as process:
        yield process


def test_a_run_of_another_terminal_is_stopped_as_by_ctrl_c(
    terminal: BaseProcess, browser: TestClient
) -> None:
    address = f"/runs/{ids(browser)['other']}"
    assert "Stop after this trial" in browser.get(address).text
    assert send(browser, f"{address}/stop", do="after").status_code == 200
    terminal.join(30)
    assert terminal.exitcode == 30


def test_where_a_run_cannot_be_stopped_the_page_says_why_and_how(
    terminal: BaseProcess, browser: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "other" / "lock").write_text("999999999\n")  # as of another machine's process
    address = f"/runs/{ids(browser)['other']}"
    page = browser.get(address).text
    assert "Stop after this trial" not in page
    assert "cannot be stopped here" in page and "on another machine" in page
    assert "kill -INT 999999999" in page
    answer = send(browser, f"{address}/stop.json", do="now")
    assert answer.status_code == 422 and "not known here" in answer.json()["error"]["what"]
    assert terminal.is_alive()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "experiments").write_text("a file is in the way")
    with pytest.raises(DynoError, match="cannot start"):
        runner.Runner(tmp_path).start(EXAMPLE, "first")


def test_read_only_there_is_no_form(tmp_path: Path) -> None:
    measured(tmp_path, "one")
    with client(tmp_path, read_only=True) as browser:
        routes = browser.app._app.routes  # type: ignore[attr-defined]
        assert not [r for r in routes if isinstance(r, Route) and "POST" in (r.methods or ())]
        assert browser.get("/experiment").status_code == 404
        run = ids(browser)["one"]
        page = browser.get(f"/runs/{run}").text
        assert "/experiment" not in page and 'method="post"' not in page
        answer = browser.post("/experiment", data={"do": "start"}, headers={"origin": BASE})
        assert answer.status_code in (404, 405)
