"""The documentation cannot rot: the reference is what the programs say, every name appears in it,
and every link leads somewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dbdyno import systems
from dbdyno.cli import studies
from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.main import dyno
from dbdyno.execute.engine import job
from dbdyno.experiment import json_schema, workloads
from dbdyno.experiment.claims import known_metrics
from dbdyno.samplers import SAMPLERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(path.read_text() for path in sorted(DOCS.rglob("*.md")))


def test_the_reference_is_what_the_programs_say() -> None:
    """By a process of its own: click keeps the options of commands as they were called first."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_command_and_option_is_documented(text: str) -> None:
    assert dyno.every()
    for name, command in dyno.every().items():
        assert f"## dyno {name}\n" in text
        inner = command.commands if isinstance(command, click.Group) else {}
        for one in (command, *inner.values()):
            for parameter in one.params:
                if isinstance(parameter, click.Option):
                    for spelling in (*parameter.opts, *parameter.secondary_opts):
                        assert f"`{spelling}" in text or f", {spelling}" in text, spelling
        assert all(f"### dyno {name} {one}\n" in text for one in inner)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff draws manual pages")
@pytest.mark.parametrize("name", ["dyno", *(f"dyno-{name}" for name in COMMANDS)])
def test_each_manual_page_is_drawn_whole_and_without_a_warning(name: str) -> None:
    page = ROOT / "share" / "man" / "man1" / f"{name}.1"
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", page],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    drawn = " ".join(done.stdout.replace("\u2010\n", "").split())
    command = dyno if name == "dyno" else dyno.every()[name.removeprefix("dyno-")]
    assert f"NAME {name} - " in drawn
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[-1] in drawn


def names() -> list[tuple[str, str]]:
    """(family, name) of everything that a user can write."""
    listed = json.loads(
        subprocess.run(
            [job.find(), "list", "--json"], capture_output=True, text=True, check=True
        ).stdout
    )
    found = [("driver", driver["name"]) for driver in listed["drivers"]]
    found += [
        (f"option of {driver['name']}", option["name"])
        for driver in listed["drivers"]
        for option in driver["options"]
    ]
    found += [("workload", workload["name"]) for workload in listed["workloads"]]
    for workload in workloads.WORKLOADS.values():
        found += [("workload option", name) for name in workload.model.model_fields]
        found += [("preset", preset) for preset in workload.presets]
    found += [("system", system.kind) for system in systems.registry()]
    found += [("sampler", sampler.rpartition(".")[2]) for sampler in SAMPLERS]
    found += [("metric", metric.name) for metric in known_metrics.METRICS]
    found += [("short form", alias) for metric in known_metrics.METRICS for alias in metric.aliases]
    found += [("study", study) for study in studies.names()]
    schema = json_schema()
    for part in (schema, *schema["$defs"].values()):
        found += [("key", key) for key in part.get("properties", {})]
    return found


def test_every_name_is_documented(text: str) -> None:
    known = set(re.findall(r"(?<=`)[^`\n]+(?=`)|(?<=# ).+$", text, re.MULTILINE))
    assert [f"{family} {name}" for family, name in names() if name not in known] == []


def test_links_lead_somewhere() -> None:
    lost = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in LINK.findall(page.read_text())
        if not target.startswith(("http://", "https://", "#", "mailto:"))
        and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert lost == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in LINK.findall(page.read_text()):
            linked = (page.parent / target.partition("#")[0]).resolve()
            if linked.suffix == ".md" and linked.is_file():
                waiting.append(linked)
    unreached = {path.resolve() for path in DOCS.rglob("*.md")} - {path.resolve() for path in seen}
    assert unreached == set()


def test_every_decision_is_listed() -> None:
    index = (DOCS / "decisions" / "README.md").read_text()
    for path in (DOCS / "decisions").glob("*.md"):
        assert path.name == "README.md" or f"({path.name})" in index, path.name


def test_the_guide_has_an_index_of_every_page() -> None:
    guide = DOCS / "guide"
    linked = set(LINK.findall((guide / "README.md").read_text()))
    assert linked == {page.name for page in guide.glob("*.md")} - {"README.md"}
