"""The gallery: each row has its page, pages are what the evidence says, and commands can be run."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.gallery import bundles, packing, page
from tools.gallery.article import Conclusion, articles, measurements
from tools.gallery.evidence import figures, models, plans, proofs, read, runs
from tools.gallery.inputs import LOGS
from tools.gallery.places import EXPERIMENTS, PAGES, ROOT, RUNS
from tools.gallery.verdict import (
    COMPUTED,
    ELSEWHERE,
    MEASURED,
    MODELLED,
    NOT_TESTED,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    Judged,
    joined,
)
from tools.proof.rows import rows as proof_rows

import dbdyno
from dbdyno.cli import studies
from dbdyno.cli.main import dyno

ROWS = [
    f"{letter}{n:02}"
    for letter, last in (("A", 22), ("B", 12), ("C", 20))
    for n in range(1, last + 1)
]
BUNDLES = sorted(RUNS.glob("*.zip"))
# The bounds of what a checkout carries along.
BUNDLE_BYTES_MAX, ALL_BYTES_MAX = 200_000, 1_500_000


def test_every_row_has_an_article_and_a_page() -> None:
    assert [one.row for one in articles()] == ROWS
    assert {path.name for path in PAGES.glob("*.md")} == {
        "README.md",
        *(f"{row.lower()}.md" for row in ROWS),
    }


def test_pages_are_what_the_evidence_says() -> None:
    for name, text in page.pages().items():
        assert (PAGES / name).read_text() == text, f"docs/articles/{name} is stale: make gallery"


def conclusions() -> list[tuple[str, Conclusion]]:
    """Each with its row."""
    return [(one.row, conclusion) for one in articles() for conclusion in one.conclusions]


def test_a_row_is_whole() -> None:
    for one in articles():
        assert one.question.endswith("?"), one.row
        assert one.said.endswith(".") and one.trap.endswith("."), one.row
        assert one.conclusions, one.row


def test_no_verdict_is_without_evidence() -> None:
    for row, conclusion in conclusions():
        where = f"{row}: {conclusion.says}"
        if not conclusion.by:
            untested = NOT_TESTED if conclusion.untested else ELSEWHERE
            assert conclusion.judge().verdict == untested, where
        assert conclusion.judge().here, where


def test_another_page_judges_the_same_words() -> None:
    own = {(row, one.says, one.whose) for row, one in conclusions() if one.by}
    referred = {(one.judged, one.says, one.whose) for _, one in conclusions() if one.judged}
    assert referred and referred <= own


def test_a_figure_is_judged_on_one_page() -> None:
    pages: dict[tuple[object, ...], set[str]] = {}
    for row, conclusion in conclusions():
        for figure in (figure for one in conclusion.by for figure in figures_of(one)):
            pages.setdefault(figure, set()).add(row)
    assert {figure: rows for figure, rows in pages.items() if len(rows) > 1} == {}


def figures_of(one: object) -> list[tuple[object, ...]]:
    """What a piece of evidence asks: outputs of a model, a cell of the proof, claims of a run."""
    if isinstance(one, models.Modelled):
        given = tuple(sorted(one.given.items()))
        return [(one.model, given, name) for name in (*one.gives, *one.at_least)]
    if isinstance(one, proofs.Proved) and one.against is None:
        return [(one.proof, one.table, tuple(one.row.items()), one.column)]
    if isinstance(one, runs.Claimed):
        return [(one.run, claim) for claim in one.claims]
    return []


def test_a_verdict_follows_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    part = {"at": {"n": "1"}, "kind": "ratio", "ratio": 0.5, "ci_low": 0.4, "ci_high": 0.6}
    claim = {"text": "tps[a] > tps[b] at each n", "verdict": UNDECIDED, "figures": "contradict"}
    absent = part | {"at": {"n": "2"}, "ratio": None, "why": "not estimable: too few"}
    parts = [part | {"verdict": SUPPORTED}, absent | {"verdict": UNDECIDED}]
    monkeypatch.setattr(bundles, "result", lambda run: {"claims": [claim | {"parts": parts}]})
    monkeypatch.setattr(bundles, "path", lambda run: Path(__file__))
    text = str(claim["text"])
    assert runs.Claimed("some", [text]).judge() == Judged(
        UNDECIDED, f"`{text}`: 0.5 (0.4 to 0.6) at n 1, not estimable: too few at n 2"
    )
    assert runs.Claimed("some", [text], figures="yes").judge().word == "not consistent"
    with pytest.raises(ValueError, match="no claim"):
        runs.Claimed("some", ["tps[b] > tps[a]"]).judge()


def test_a_verdict_follows_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {"visibility": "vacuumed", "plan": "count-star"}
    asked = plans.Planned(plan="index-only-scans", at=at, has="Index Only Scan")
    for plan, verdict in (("->  Index Only Scan", SUPPORTED), ("->  Seq Scan", REFUTED)):
        monkeypatch.setattr(bundles, "explained", lambda run, at, p=plan: {"count": p})
        assert asked.judge().verdict == verdict


def test_a_run_that_was_not_measured_tests_nothing() -> None:
    assert runs.Claimed("no-such-run", ["a > b"]).judge().verdict == NOT_TESTED
    assert plans.Planned(plan="no-such-run", at={}, has="x").judge().verdict == NOT_TESTED


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ((SUPPORTED, REFUTED, UNDECIDED), REFUTED),
        ((SUPPORTED, UNDECIDED), UNDECIDED),
        ((SUPPORTED, NOT_TESTED), SUPPORTED),
        ((NOT_TESTED,), NOT_TESTED),
    ],
)
def test_evidence_against_decides_first(verdicts: tuple[str, ...], whole: str) -> None:
    assert joined([Judged(one, "") for one in verdicts]).verdict == whole


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ([(SUPPORTED, MODELLED)], "follows from the model"),
        ([(SUPPORTED, MODELLED), (SUPPORTED, COMPUTED)], "consistent"),
        ([(SUPPORTED, MODELLED), (SUPPORTED, MEASURED)], "supported"),
        ([(REFUTED, MODELLED), (SUPPORTED, MEASURED)], "contradicts the model"),
        ([(SUPPORTED, MODELLED), (NOT_TESTED, MEASURED)], "follows from the model"),
        ([(UNDECIDED, MEASURED), (SUPPORTED, COMPUTED)], "undecided"),
    ],
)
def test_only_what_was_measured_is_supported(parts: list[tuple[str, str]], word: str) -> None:
    assert joined([Judged(verdict, "", ground=ground) for verdict, ground in parts]).word == word


def test_measured_and_computed_are_counted_apart() -> None:
    computed = read({"computed": "3000 * 16 * KiB / MB", "said": "46.9"}).judge()
    assert (computed.verdict, computed.word) == (REFUTED, "not consistent")
    counted = [
        int(cell)
        for line in page.pages()["README.md"].splitlines()
        if line.startswith(tuple(f"| {who} |" for who in page.WHO.values()))
        for cell in line.strip("| ").split(" | ")[1:]
    ]
    assert sum(counted) == sum(not one.judged for _, one in conclusions())


@pytest.mark.parametrize(
    ("figure", "value", "verdict"),
    [
        (figures.Figure(said="46.9"), 46.875, SUPPORTED),
        (figures.Figure(said="46.9"), 49.15, REFUTED),
        (figures.Figure(said="20"), 16.87, REFUTED),
        (figures.Figure(said="900", within="5%"), 943.7, SUPPORTED),
        (figures.Figure(said="900", within="4%"), 943.7, REFUTED),
        (figures.Figure(at_least="10", at_most="20"), 10.5, SUPPORTED),
        (figures.Figure(at_least="10", at_most="20"), 8.2, REFUTED),
    ],
)
def test_a_figure_is_right_if_the_number_rounds_to_it(
    figure: figures.Figure, value: float, verdict: str
) -> None:
    assert figure.verdict(value) == verdict


@pytest.mark.parametrize(
    "entry",
    [
        {"says": "nothing"},
        {"computed": "1", "model": "cost"},
    ],
)
def test_evidence_of_no_kind_or_two_is_refused(entry: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="evidence is one of"):
        read(entry)


@pytest.mark.long
def test_every_command_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    commands = {
        line
        for path in PAGES.glob("*.md")
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL)
        for line in block.splitlines()
    }
    assert len(commands) > 50
    for command in commands:
        runs_at_all(command)


def runs_at_all(command: str) -> None:
    words = shlex.split(command)
    if words[:2] == ["make", "proof"]:
        assert words[2].removeprefix("ROWS=") in {row.name for row in proof_rows()}
    elif words[:2] == ["python", "-m"]:
        assert words[2:4] == ["tools.gallery", "--log"] and words[4] in LOGS
        assert "dyno digest" in command
    elif words[:2] == ["dyno", "import"]:
        assert studies.find_imported(words[3]).is_file()
    else:
        assert words[0] == "dyno" and words[1] in ("run", "model")
        further = "--check" if words[1] == "run" else "--json"
        done = CliRunner().invoke(dyno, [*words[1:], further], standalone_mode=False)
        assert done.exception is None, (command, done.exception)


def test_nothing_lies_about_that_no_row_needs() -> None:
    used = {one.run for _, c in conclusions() for one in c.by if isinstance(one, runs.Claimed)}
    assert used == measurements().keys()
    assert {path.stem for path in BUNDLES} <= used
    experiments = {run.experiment for run in measurements().values()}
    assert {path.stem for path in EXPERIMENTS.glob("*")} <= experiments


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_bundle_is_small_and_tells_nothing_of_its_machine(bundle: Path) -> None:
    assert bundle.stat().st_size <= BUNDLE_BYTES_MAX
    with zipfile.ZipFile(bundle) as archive:
        assert json.loads(archive.read("dbdyno-bundle.json"))["redacted"]
        text = b"\n".join(archive.read(name) for name in archive.namelist())
    assert re.findall(rb"(?<![\w.])/(?:root|home|work|tmp|var|usr|etc|srv|mnt|opt)\b", text) == []


def test_a_bundle_s_verdicts_are_those_of_its_records() -> None:
    """Of the article's own table, which is analysed fast; no series are left in it."""
    again = dbdyno.open(bundles.path("cost-published")).verdicts()
    found = [(claim["text"], claim["figures"]) for claim in again]
    kept = bundles.result("cost-published")["claims"]
    assert found == [(claim["text"], claim["figures"]) for claim in kept]


def test_a_bundle_keeps_the_counters_that_claims_name() -> None:
    metrics = {"transactions_per_s": 1.0, "status.Qcache_hits": 2.0, "db.status.Uptime": 3.0}
    record = {"metrics": metrics, "targets": {"db": {"version": "1", "settings": {"a": "b"}}}}
    assert packing.reduced(record, '["status.Qcache_hits[on] >= 1"]') == {
        "metrics": {"transactions_per_s": 1.0, "status.Qcache_hits": 2.0},
        "targets": {"db": {"version": "1", "settings": {}}},
    }


def test_bundles_are_small_together() -> None:
    assert sum(path.stat().st_size for path in BUNDLES) <= ALL_BYTES_MAX
