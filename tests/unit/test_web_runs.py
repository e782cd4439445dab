"""Pages of runs: list, report, progress, comparison, history; each with its twin."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import anyio
import plans
import pytest
from webbed import add_trial, client, ids, make_run, measured

from dbdyno.share import bundle
from dbdyno.store.run import Run
from dbdyno.web import live
from dbdyno.web.progress import Watch


def test_the_list_finds_filters_and_turns_pages(tmp_path: Path) -> None:
    for number in range(53):
        make_run(tmp_path, f"r{number:02}")
    (tmp_path / "r07" / "result.json").write_text(
        json.dumps({"answer": "It is.", "claims": [{"verdict": "refuted"}]})
    )
    with client(tmp_path) as browser:
        first = browser.get("/runs").text
        assert "53 runs, page 1 of 2" in first and first.count('class="name"') == 50
        assert browser.get("/runs?page=2").text.count('class="name"') == 3
        found = browser.get("/runs.json?verdict=refuted").json()
        assert [one["name"] for one in found["runs"]] == ["r07"]
        assert found["runs"][0]["verdicts"] == {"refuted": 1}
        assert browser.get("/runs.json?q=r1&from=2000-01-01&to=2000-01-02").json()["total"] == 0
        assert browser.get("/runs.json?from=yesterday").status_code == 422
        for odd in ("page=-1", "page=0", "page=9999999999999999999999", "page=x", "a=none"):
            assert browser.get(f"/runs?{odd}").status_code == 200


def test_the_list_has_claims_in_words_behind_their_verdicts(tmp_path: Path) -> None:
    words = "The <b>cache</b> helps"
    parts = [{"small": False}, {"small": True}]
    told = [
        {"verdict": verdict, "say": words, "parts": parts} for verdict in ("refuted", "supported")
    ]
    claims = [*told, {"verdict": "supported", "say": "", "parts": parts}]
    (make_run(tmp_path, "a") / "result.json").write_text(json.dumps({"claims": claims}))
    (make_run(tmp_path, "many") / "result.json").write_text(json.dumps({"claims": told * 5}))
    with client(tmp_path) as browser:
        page = browser.get("/runs?q=a").text
        shown = page[page.index('class="runs"') :]
        safe = "The &lt;b&gt;cache&lt;/b&gt; helps"
        said = [f"Refuted: {safe}", f"Supported, but too small to matter: {safe}"]
        assert re.findall(r">([^<>]*The &lt;[^<>]*)</p>", shown)[-2:] == said
        assert browser.get("/runs").text.count("Refuted: ") == 3  # two of many
        twin = {one["name"]: one["claims"] for one in browser.get("/runs.json").json()["runs"]}
        assert twin["a"][1] == {"verdict": "supported", "small": True, "say": words}


def test_the_list_is_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.web.site.FRESH_S", -1.0)
    with client(tmp_path) as browser:
        assert browser.get("/runs.json").json()["total"] == 0
        make_run(tmp_path, "later")
        assert browser.get("/runs.json").json()["total"] == 1


def test_a_run_is_its_report(tmp_path: Path) -> None:
    measured(tmp_path, "one")
    with client(tmp_path) as browser:
        address = f"/runs/{ids(browser)['one']}"
        page = browser.get(address).text
        for anchor in ("results", "ratios", "environment", "reproduce"):
            assert f'id="{anchor}"' in page
        assert not re.search(r"<script>[^<]", page), "scripts are files of ours"
        twin = browser.get(f"{address}.json").json()
        assert twin["result"]["schema_version"] == 2 and twin["progress"] is None
        assert twin["run"]["name"] == "one"


def test_a_run_has_a_short_form(tmp_path: Path) -> None:
    measured(tmp_path, "one")
    with client(tmp_path) as browser:
        address = f"/runs/{ids(browser)['one']}"
        assert f'href="{address}/brief"' in browser.get(address).text
        page = browser.get(f"{address}/brief").text
        assert f'href="{address}"' in page and 'class="brief"' in page
        assert 'id="results"' not in page
        twin = browser.get(f"{address}/brief.json").json()
        assert twin == browser.get(f"{address}.json").json()


def test_a_run_under_way_shows_how_far_it_is(tmp_path: Path) -> None:
    with Run.create(tmp_path / "now", plans.plan(), {"cores": 4}) as run, client(tmp_path) as made:
        address = f"/runs/{ids(made)['now']}"
        assert "0 of 6 trials" in made.get(address).text
        assert made.get(f"{address}/brief").status_code == 422
        add_trial(run, run.plan.trials[0].id)
        interval = {"event": "interval", "t_s": 2.0, "length_s": 1.0, "phase": "measure"}
        group = {"transactions": 50, "operations": 50, "errors": 0, "lost": 0}
        place = run.begin(run.plan.trials[1].id)
        line = json.dumps({**interval, "groups": {"workload": group}})
        (place / "events.ndjson").write_text(f"{line}\n{line[:20]}")
        progress = Watch(tmp_path / "now").progress()
        assert (progress.done, progress.trials) == (1, 6)
        assert progress.current is not None and progress.current["t_s"] == 2.0
        assert progress.current["groups"]["workload"]["transactions_per_s"] == 50
        assert [cell["trials"] for cell in progress.cells] == [1, 0]
        assert progress.heads == ("tps", "p95 ms") and progress.left_bound == ""
        assert progress.ratios == ()  # no block has both cells
        text = live.drawn(progress)
        assert "1 of 6 trials" in text and "So far, not judged" in text
        add_trial(run, run.plan.trials[1].id)
        progress = Watch(tmp_path / "now").progress()
        [ratio] = progress.ratios
        assert (ratio["value"], ratio["blocks"]) == (pytest.approx(2.0), 1)
        assert "of 1 block" in live.drawn(progress)


def test_the_stream_ends_with_the_run(tmp_path: Path) -> None:
    with Run.create(tmp_path / "now", plans.plan(), {"cores": 4}) as run:

        async def followed() -> list[str]:
            found: list[str] = []
            async for message in live._stream(tmp_path / "now"):
                found.append(message)
                if len(found) == 1:
                    run.set_status("complete")
            return found

        found = anyio.run(followed)
    assert len(found) == 3
    assert all(line.startswith("data: ") for line in found[0].strip().splitlines())
    assert found[-1].startswith("event: end\n")


def test_the_stream_of_a_run_that_is_over_ends_at_once(tmp_path: Path) -> None:
    measured(tmp_path, "one")
    with client(tmp_path) as browser:
        answer = browser.get(f"/runs/{ids(browser)['one']}/events")
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.text.endswith("event: end\ndata: \n\n")
        assert browser.get("/runs/none/events").status_code == 404


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    measured(tmp_path, "a", 100)
    measured(tmp_path, "b", 110)
    with client(tmp_path) as browser:
        a, b = ids(browser)["a"], ids(browser)["b"]
        listed = browser.get("/runs").text
        assert f'href="/runs?a={a}"' in listed  # the first click
        assert f'href="/compare?a={a}&amp;b={b}"' in browser.get(f"/runs?a={a}").text
        page = browser.get(f"/compare?a={a}&b={b}").text
        assert "B is 1.10 times as fast as A" in page and "No verdict" in page
        twin = browser.get(f"/compare.json?a={a}&b={b}").json()
        assert twin["rows"][0]["ratio"] == pytest.approx(1.1)
        assert browser.get(f"/compare?a={a}&b={a}").status_code == 422
        assert browser.get(f"/compare?a={a}").status_code == 404


def test_runs_of_two_machines_have_ratios_and_a_warning(tmp_path: Path) -> None:
    for name, rate in (("a", 100), ("b", 110)):
        manifest = measured(tmp_path, name, rate) / "manifest.json"
        content = json.loads(manifest.read_text())
        content["environment"]["cpu_model"] = f"processor {name}"
        manifest.write_text(json.dumps(content))
    with client(tmp_path) as browser:
        page = browser.get(f"/compare?a={ids(browser)['a']}&b={ids(browser)['b']}").text
        assert "another machine: cpu_model" in page and "No verdict" in page


def test_a_bundle_is_shown_like_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    bundle.pack(Run.open(measured(tmp_path, "one")), tmp_path / "one.zip")
    with client(tmp_path) as browser:
        address = f"/runs/{ids(browser)['one.zip']}"
        assert 'id="results"' in browser.get(address).text
        assert browser.get(f"{address}.json").json()["result"]["schema_version"] == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a run away")
def test_as_root_runs_of_other_accounts_are_not_parsed(tmp_path: Path) -> None:
    path = measured(tmp_path, "theirs")
    os.chown(path / "manifest.json", 12345, 12345)
    with client(tmp_path) as browser:
        line = browser.get("/runs.json").json()["runs"][0]
        assert line["status"] == "unreadable" and "another account" in line["problem"]
        assert browser.get(f"/runs/{line['id']}").status_code == 422
        assert browser.get(f"/runs/{line['id']}/events").status_code == 404
        assert browser.get(f"/experiment?run={line['id']}").status_code == 422
        assert browser.get(f"/history.json?experiment={line['experiment']}").status_code in (
            200,
            404,
        )


def test_a_history_judges_and_its_change_points_link_to_runs(tmp_path: Path) -> None:
    for number in range(12):
        measured(tmp_path, f"n{number:02}", 100 + number % 3 if number < 6 else 200 + number % 3)
    with client(tmp_path) as browser:
        runs: dict[str, Any] = ids(browser)
        name = plans.plan().name
        assert browser.get("/history.json").json()[0]["runs"] == 12
        assert f"/history?experiment={name}" in browser.get("/history").text
        page = browser.get(f"/history?experiment={name}").text
        changes = page.split("<h3>Changes</h3>")[1].split("<h3>")[0]
        assert f'href="/runs/{runs["n06"]}"' in changes
        assert browser.get(f"/history.json?experiment={name}").json()["groups"]
        assert browser.get("/history?experiment=none").status_code == 404
        compared = browser.get(f"/compare.json?a={runs['n10']}&b={runs['n11']}").json()
        assert compared["judged"]


@pytest.mark.parametrize("damage", ["manifest", "trial", "gone"])
def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path: Path, damage: str) -> None:
    path = measured(tmp_path, "one")
    with client(tmp_path) as browser:
        address = f"/runs/{ids(browser)['one']}"
        if damage == "manifest":
            (path / "manifest.json").write_text("{}")
        elif damage == "trial":
            trial = next(path.glob("trials/*/trial.json"))
            trial.write_text("{}")
        else:
            path.rename(tmp_path.parent / f"{tmp_path.name}-gone")
        answer = browser.get(f"{address}.json")
        assert answer.status_code in (404, 422)
        assert answer.json()["error"]["what"]
        assert "<h1>" in browser.get(address).text
