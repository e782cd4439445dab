"""The whole report: written atomically, nothing executed, nothing hidden, small enough."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dbdyno.report import Report
from dbdyno.report.sections.verdicts import heading
from dbdyno.share.opened import opened
from dbdyno.wording.findings import analyse
from dbdyno.wording.visible import visible
from fixtures import synthetic
from fixtures.printed import printed
from fixtures.reports import page, report

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Elements, ids, scripts and links of a page; fails on tags that do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.words.append(data)


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def render(run: synthetic.SyntheticRun, findings) -> str:  # type: ignore[no-untyped-def]
    Report(run, findings).write()  # type: ignore[arg-type]
    return (run.path / "report.html").read_text(encoding="utf-8")


def test_a_bundle_without_series_says_that_it_has_none() -> None:
    with opened(ROOT / "docs/articles/runs/redis-persistence.zip") as run:
        drawn = Report(run, analyse(run.plan, run.records())).html()
    assert "a bundle may omit them" in drawn


def test_render_writes_three_files(tmp_path: Path) -> None:
    made = report("engines")
    made.write(tmp_path)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "report.md", "result.json"]
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["schema_version"] == 2
    assert len(result["cells"]) == 12
    words = " ".join(" ".join(outline(html).words).split())
    plan, findings = made.run.plan, made.findings
    for said in (plan.question, findings.answer, findings.why, *plan.claims):
        assert said in words
    assert len(html) < 3_000_000


def test_a_template_that_fails_leaves_the_last_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report("cache_run").write(tmp_path)
    before = (tmp_path / "report.html").read_text(encoding="utf-8")
    monkeypatch.setattr(Report, "html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report("cache_run").write(tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == before


def test_nothing_is_loaded_from_anywhere() -> None:
    parsed = outline(page("engines"))
    for tag, name, value in parsed.attributes:
        if name in ("src", "href"):
            assert value.startswith(("data:", "#")), f"{tag} {name}={value[:60]}"
    assert "img" not in parsed.tags
    assert "iframe" not in parsed.tags


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    report("hostile").write(tmp_path)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    parsed = outline(html)
    assert parsed.tags.count("script") == outline(page("cache_run")).tags.count("script")
    assert "img" not in parsed.tags
    assert not [name for _, name, _ in parsed.attributes if name.startswith("on")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", html)
    assert "␛[31m" in html
    assert "{{ 7*7 }}" in "".join(parsed.words)
    data = json.loads(parsed.scripts[0])
    assert data["trials"]["b01-t001"]["outages"][0][2] == visible(synthetic.HOSTILE)
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_hostile_text_stays_text_in_markdown_and_terminal() -> None:
    markdown = report("hostile").markdown()
    outside = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", markdown)
    assert not re.search(r"(?<!\\)<", outside)
    assert "\x1b" not in markdown
    said = printed(report("hostile").terminal())
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_markdown_tables_are_whole() -> None:
    for name in ("engines", "cache_run", "hostile"):
        body = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", report(name).markdown())
        table: list[int] = []
        for line in [*body.split("\n"), ""]:
            if line.startswith("|"):
                table.append(len(re.findall(r"(?<!\\)\|", line)))
            else:
                assert len(set(table)) <= 1, line
                assert len(table) != 1
                table = []


def test_quick_runs_say_so_loudly(tmp_path: Path) -> None:
    made = Report(*synthetic.engines(tmp_path, blocks=1, quick=True))  # type: ignore[arg-type]
    assert heading.QUICK in made.html()
    assert heading.QUICK.replace("*", "") in made.markdown()
    said = printed(made.terminal(), width=200)
    assert heading.QUICK in said
    assert "no clear difference" not in said  # nothing was judged


def test_too_few_blocks_say_so(tmp_path: Path) -> None:
    made = Report(*synthetic.engines(tmp_path, blocks=2))  # type: ignore[arg-type]
    assert heading.TOO_FEW in made.html()


def test_a_caveat_is_the_first_sentence() -> None:
    findings = report("cache_run").findings
    words = "".join(outline(page("cache_run")).words)
    assert words.index(findings.caveat) < words.index(findings.answer)
    assert f"**{findings.caveat}** {findings.answer}" in report("cache_run").markdown()


def test_a_run_without_files_or_factors_still_reports(tmp_path: Path) -> None:
    """An interrupted run: some cells unmeasured, no samples, no histograms, no claims."""
    run, findings = synthetic.engines(tmp_path)
    bare = replace(
        run,
        kept=run.kept[:5],
        event_of={},
        sample_of={},
        histogram_of={},
        plan=replace(run.plan, claims=(), untested={}),
    )
    cells = tuple(replace(c, trials=0, metrics={}) if c.index > 4 else c for c in findings.cells)
    html = render(bare, replace(findings, cells=cells, claims=(), comparisons=()))
    assert "67 planned trials" in html
    one = replace(
        run.plan,
        factors=(),
        cells=(replace(run.plan.cells[0], levels={}),),
        trials=tuple(t for t in run.plan.trials if t.cell == 0),
        claims=(),
        untested={},
    )
    single = replace(run, plan=one, kept=[r for r in run.kept if r.cell == 0])
    html = render(
        single,
        replace(
            findings, cells=(replace(findings.cells[0], levels={}),), claims=(), comparisons=()
        ),
    )
    assert "the only cell" in html


def test_nothing_measured_at_all_still_reports(tmp_path: Path) -> None:
    run, findings = synthetic.engines(tmp_path)
    cells = tuple(replace(c, trials=0, metrics={}) for c in findings.cells)
    empty = replace(run, kept=[], event_of={}, sample_of={}, histogram_of={})
    html = render(empty, replace(findings, cells=cells, claims=(), comparisons=(), judged=False))
    assert "72 planned trials" in html


def test_terminal_ends_with_answer_ratios_claims_and_path(tmp_path: Path) -> None:
    said = printed(report("engines").terminal(to=tmp_path), width=200)
    assert report("engines").findings.answer in " ".join(said.split())
    assert "interval" in said
    assert "Refuted: " in said and "✓ supported" in said
    assert said.rstrip().endswith(f"report: {tmp_path / 'report.html'}")
