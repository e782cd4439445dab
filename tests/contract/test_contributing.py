"""CONTRIBUTING's table "to add X, write Y, add it to Z" by counting: outside its own files a member
is referred to at Z, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from dbdyno.kinds import KINDS

ROOT = Path(__file__).parents[2]
ENGINE, PACKAGE = "engine", "python/dbdyno"
EXAMPLES = ("examples", "tests", "benches", "tests.rs")  # outside of the product, as tests are


@dataclass(frozen=True)
class Row:
    """`own`: where a member's files are. `reference`: how others refer to `{name}`. `places`: who
    does. `more`: files that need one member in particular, and why."""

    own: str
    members: str  # pattern of names below `own`
    tree: str
    reference: str
    places: tuple[str, ...]
    skipped: frozenset[str] = frozenset()
    more: dict[str, str] = field(default_factory=dict)


SHARED = frozenset({"allowance", "guard", "policy", "results", "slots", "tasks", "tsv"})
SHARED |= {"choice", "digits", "evenly", "generator", "node", "options", "lib", "base"}
SHARED |= {"arrivals", "measuring", "recorded"}

ROUTERS = frozenset(path.stem for path in (ROOT / PACKAGE / "topology/routers").glob("*.py"))

ROWS = {
    "a driver": Row(
        "engine/drivers/src",
        "*",
        ENGINE,
        r"&{name}::KIND\b|drivers::{name}::KIND\b",
        ("engine/drivers/src/lib.rs",),
        SHARED,
    ),
    "a workload": Row(
        "engine/workloads/src",
        "*",
        ENGINE,
        r"&{name}::KIND\b|workloads::{name}::KIND\b",
        ("engine/workloads/src/lib.rs",),
        SHARED,
    ),
    "a workload's keys": Row(
        "python/dbdyno/experiment/workloads",
        "*",
        PACKAGE,
        r"\b{name}\.WORKLOAD\b",
        ("python/dbdyno/experiment/workloads/__init__.py",),
        SHARED,
        {
            "python/dbdyno/cli/running/before/schema_checks.py": "only mix has SQL of the user's",
            "python/dbdyno/execute/servers/columns.py": "only mix takes values from columns",
            "python/dbdyno/execute/statements.py": "only mix has SQL of the user's",
        },
    ),
    "a system": Row(
        "python/dbdyno/kinds",
        "*.py",
        PACKAGE,
        r"\b{name}\.KIND\b",
        ("python/dbdyno/kinds/__init__.py",),
        frozenset({"kind", "counter", "mysqlfamily"}),
    ),
    "a topology": Row(
        "python/dbdyno/topology",
        "**/*.py",
        PACKAGE,
        r"\b{name}\.WIRING\b",
        ("python/dbdyno/topology/__init__.py",),
        frozenset(
            {"base", "cluster", "failover", "locks", "mysqlfamily", "names", "nodes", "planned"}
        )
        | {"arbitrator", "statetransfer"}  # of Galera
        | ROUTERS,
    ),
    "a router": Row(
        "python/dbdyno/topology/routers",
        "*.py",
        PACKAGE,
        r"\b{name}\.ROUTER\b",
        ("python/dbdyno/topology/routers/__init__.py",),
        frozenset({"base", "client", "roles", "running"}),
    ),
    "a sampler": Row(
        "python/dbdyno/samplers",
        "*/*.py",
        PACKAGE,
        r"from dbdyno\.samplers\.\w+\.{name} import \(?\s*[A-Z][a-z]|\"(machine|server)\.{name}\"",
        ("python/dbdyno/samplers/__init__.py", "python/dbdyno/samplers/runner.py"),
        frozenset({"feed", "prometheus", "remote"}),
    ),
    "a fault": Row(
        "python/dbdyno/faults",
        "*.py",
        PACKAGE,
        r"\b{name}\.FAULT\b",
        ("python/dbdyno/faults/__init__.py",),
        frozenset({"base", "nemesis"}),  # which draws faults, and is none
    ),
    "a backup": Row(
        "python/dbdyno/systems/backups",
        "*/*.py",
        PACKAGE,
        r"\b{name}\.TOOL\b",
        ("python/dbdyno/systems/backups/__init__.py",),
        frozenset({"sessions", "binlog", "wal"}),
    ),
    "a cause": Row(
        "python/dbdyno/analysis/causes/rules",
        "*.py",
        "python/dbdyno/analysis",
        r"causes\.rules\.{name} import RULES|^    \*\(.*\"{name}\"",
        ("python/dbdyno/analysis/causes/rules/__init__.py",),
    ),
    "a check of the machine": Row(
        "python/dbdyno/rules/machine",
        "*.py",
        PACKAGE,
        r"from dbdyno\.rules\.machine import [^(\n]*\b{name}\b",
        ("python/dbdyno/rules/machine/__init__.py",),
        frozenset({"activity", "finding"}),
    ),
    "a rule of `dyno check`": Row(
        "python/dbdyno/rules/check",
        "*/*.py",
        PACKAGE,
        r"from dbdyno\.rules\.check\.\w+ import (?:\([^)]*|[^(\n]*)\b{name}\b",
        ("__init__.py",),
        frozenset(
            {
                *("gtids", "layers", "manifest", "matrix", "mysql_logins", "sessions"),
                *("settings", "told", "topology"),
                *("advice", "cluster", "locality", "placement"),
                *("dropping", "expressions", "hidden", "known", "names", "ranges"),
            }
        ),
    ),
    "a form of file to check": Row(
        "python/dbdyno/facts/files",
        "*.py",
        PACKAGE,
        r"^    \"[a-z.]+\": {name},$",
        ("python/dbdyno/facts/targets.py",),
        frozenset({"text", "datadir", "redisusers"}),
    ),
    "a format to import": Row(
        "python/dbdyno/imports/formats",
        "*.py",
        PACKAGE,
        r"\b{name}\.FORMAT\b",
        ("python/dbdyno/imports/formats/__init__.py",),
        more={"python/dbdyno/imports/files.py": "pgbench writes its log in several files"},
    ),
    "a model": Row(
        "python/dbdyno/models/catalog", "*/*.py", PACKAGE, r"catalog\.\w+\.{name}\b", ()
    ),
    "a section of the report": Row(
        "python/dbdyno/report/sections",
        "*/*.py",
        PACKAGE,
        r"\b{name}\.SECTION\b",
        ("python/dbdyno/report/sections/__init__.py",),
    ),
    "a row of the proof": Row(
        "tools/proof/rows",
        "*/*.py",
        "tools/proof/rows",
        r'^    "{name}",$|^NAMES.*"{name}"',
        ("__init__.py",),
    ),
    "a row of attacks": Row(
        "tools/attack/families",
        "*.py",
        "tools/attack",
        r'^    "{name}",$|^NAMES.*"{name}"|families\.{name}\b',
        ("tools/attack/families/__init__.py",),
    ),
    "a study": Row("studies", "*.yaml", PACKAGE, r"studies/{name}\.yaml", ()),
}


@cache
def texts(tree: str) -> dict[str, str]:
    files = (path for ext in ("rs", "py") for path in sorted((ROOT / tree).rglob(f"*.{ext}")))
    shown = {path.relative_to(ROOT): path for path in files}
    return {str(p): path.read_text() for p, path in shown.items() if not {*EXAMPLES} & {*p.parts}}


def members(row: Row) -> Iterator[Path]:
    for path in sorted((ROOT / row.own).glob(row.members)):
        if path.stem not in {*row.skipped, "__init__", "__pycache__"}:
            yield path


def told() -> dict[str, str]:
    """The table: what to add, and the whole line."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## One file each")[1]
    lines = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("| a ")]
    return {line.split("|")[1].strip(): line for line in lines}


def test_every_row_of_the_table_is_counted() -> None:
    assert set(told()) == set(ROWS) - {"a workload's keys"}


@pytest.mark.parametrize("name", ROWS)
def test_a_member_is_referred_to_where_the_table_says_and_nowhere_else(name: str) -> None:
    row, line = ROWS[name], told()[name.removesuffix("'s keys")]
    found: set[str] = set()
    for path in members(row):
        own = str(path.relative_to(ROOT).with_suffix(""))
        pattern = re.compile(row.reference.format(name=re.escape(path.stem)), re.MULTILINE)
        at = {
            file
            for file, text in texts(row.tree).items()
            if path.stem in text  # which is quick, and most texts have it nowhere
            and not file.startswith((f"{own}.", f"{own}/"))
            and pattern.search(text)
        }
        places = set(row.places)
        if places == {"__init__.py"}:  # of the member's own family
            places = {str(path.with_name("__init__.py").relative_to(ROOT))}
        assert places <= at, (path.stem, places - at)
        assert at <= places | set(row.more), (path.stem, at - places)
        found |= at
    assert set(row.more) <= found, "an exception that is none any more"
    for place in row.places:
        file = Path(place)
        assert file.name in line and file.parent.name in line, (place, "the table leaves it out")


def test_every_path_of_the_table_is_there() -> None:
    named = re.findall(r"`((?:engine|python|studies|tools|tests)/[^`]*)`", "".join(told().values()))
    assert len(named) > 20
    for path in named:
        wild = re.sub(r"NAME|FAMILY|PACK", "*", path).rstrip("/")
        assert any(ROOT.glob(wild)), path


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_two_files_and_two_lines(kind: str) -> None:
    lists = (ROOT / "python/dbdyno/kinds/__init__.py").read_text()
    names = lists.split("KindName = ")[1].splitlines()[0]
    assert names.count(f'"{kind}"') == 1, "in `KindName`"
    assert lists.count(f"{kind}.KIND") == 1, "in `KINDS`"
