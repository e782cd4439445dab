"""Arrows run one way: who may import whom, in both languages (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from fixtures.sources import source

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dbdyno"

# A package may import itself and what its row names.
PYTHON = {
    "kinds": set(),
    "sql": set(),
    "hosts": set(),
    "experiment": set(),
    "systems": {"experiment"},
    "topology": {"experiment", "systems"},
    "samplers": {"experiment", "systems"},
    "faults": {"experiment", "systems"},
    "storage": {"experiment", "systems"},
    "models": {"experiment"},
    "plan": {"experiment", "systems", "topology", "samplers"},
    "store": {"audit", "experiment", "systems", "samplers", "plan"},
    "audit": set(),
    "facts": {"sql", "experiment", "systems", "samplers", "plan", "store"},
    "rules": {"sql", "experiment", "systems", "samplers", "models", "plan", "store", "facts"},
    "share": {"audit", "experiment", "systems", "samplers", "plan", "store"},
    "imports": {"experiment", "systems", "samplers", "plan", "store"},
    "digest": {"sql", "experiment", "systems", "samplers", "plan", "store"},
    "copies": {"sql", "experiment", "systems", "samplers", "plan", "store"},
    "execute": {
        *("audit", "experiment", "systems", "topology", "samplers", "faults", "storage", "plan"),
        *("store", "facts", "rules"),
    },
    "analysis": {"experiment", "systems", "samplers", "models", "plan", "store"},
    "wording": {
        *("experiment", "systems", "samplers", "models", "plan", "store", "digest", "analysis"),
    },
    "report": {
        *("experiment", "systems", "samplers", "models", "plan", "store", "facts", "rules"),
        *("audit", "share", "digest", "analysis", "wording"),
    },
    "web": {
        *("experiment", "systems", "samplers", "models", "plan", "store", "facts", "rules"),
        *("share", "digest", "analysis", "wording", "report"),
    },
    "prove": {
        *("sql", "experiment", "systems", "plan", "store", "facts"),
        *("digest", "execute", "analysis", "wording"),
    },
    "lab": {"experiment", "systems", "topology", "samplers", "faults", "plan", "execute"},
    "cli": {
        *("experiment", "systems", "topology", "storage", "samplers", "models", "plan", "store"),
        *("facts", "rules", "share", "imports", "digest", "copies", "execute", "analysis"),
        *("wording", "report", "web", "prove", "lab"),
    },
    "api": {
        *("experiment", "systems", "samplers", "models", "plan", "store", "facts", "rules"),
        *("share", "imports", "digest", "execute", "analysis", "wording", "report", "cli"),
    },
}
# Of `wording`, numbers and counted nouns lie on the ground floor; its sentences above `analysis`.
GROUND = {"wording.numbers", "wording.plurals"}
EVERYBODY = {"errors", "installed", *GROUND, "kinds", "hosts", "diskfiles"}
EVERYBODY |= {"userconfig", "__version__"}

RUST = {
    "dyno-core": set(),
    "dyno-protocol": {"dyno-core"},
    "dyno-drivers": {"dyno-core", "dyno-protocol"},
    "dyno-workloads": {"dyno-core"},
    "dyno-generator": {"dyno-core", "dyno-drivers", "dyno-workloads"},
    "dyno-digest": {"dyno-core", "dyno-protocol"},
    "dyno-tablespace": set(),
    "dyno-sysbench": {"dyno-core", "dyno-drivers", "dyno-generator"},
    "dyno-relay": {"dyno-core", "dyno-protocol", "dyno-generator"},
    "dyno-engine": {
        *("dyno-core", "dyno-protocol", "dyno-drivers", "dyno-workloads", "dyno-generator"),
        *("dyno-sysbench", "dyno-digest", "dyno-tablespace", "dyno-relay"),
    },
}


def imported(path: Path) -> set[str]:
    """First components below `dbdyno` that a file imports; modules of the ground floor whole."""
    found: set[str] = set()
    for node in source(path).imports:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.level == 0 and node.module in ("dbdyno", "dbdyno.wording"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif node.level == 0:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            if name.startswith("dbdyno."):
                below = ".".join(name.split(".")[1:3])
                found.add(below if below in GROUND else below.split(".")[0])
    return found


@pytest.mark.parametrize("package", sorted(PYTHON))
def test_python_packages_import_only_what_lies_below(package: str) -> None:
    allowed = PYTHON[package] | EVERYBODY | {package}
    files = sorted((PACKAGE / package).rglob("*.py"))
    assert files, f"{package} has no files"
    for path in files:
        assert imported(path) <= allowed, path.relative_to(ROOT)


@pytest.mark.parametrize("module", sorted(GROUND))
def test_the_ground_floor_of_wording_imports_nothing_above(module: str) -> None:
    path = PACKAGE / f"{module.replace('.', '/')}.py"
    assert imported(path) <= EVERYBODY


def test_every_python_package_has_a_place_in_the_order() -> None:
    found = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found == set(PYTHON)


def test_every_package_and_crate_has_a_row_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = {line.split("`")[1].split(".")[0] for line in text.splitlines() if line[:3] == "| `"}
    crates = {path.parent.name for path in (ROOT / "engine").glob("*/Cargo.toml")}
    assert (crates | set(PYTHON)) - rows == set()


@pytest.mark.parametrize("manifest", sorted((ROOT / "engine").glob("*/Cargo.toml")), ids=str)
def test_rust_crates_depend_only_on_what_lies_below(manifest: Path) -> None:
    data = tomllib.loads(manifest.read_text())
    ours = {name for name in data.get("dependencies", {}) if name.startswith("dyno-")}
    assert ours <= RUST[data["package"]["name"]]


FILES_MAX = 12  # of a folder, besides its `__init__.py`


def test_no_python_folder_has_more_files_than_a_reader_can_hold() -> None:
    folders = Counter(
        str(path.parent.relative_to(ROOT))
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    )
    large = {folder: count for folder, count in folders.items() if count > FILES_MAX}
    assert large == {}


def test_no_python_modules_import_each_other_in_a_circle() -> None:
    modules = {name(path): path for path in PACKAGE.rglob("*.py")}
    arrows = {module: modules_of(path, modules) - {module} for module, path in modules.items()}
    TopologicalSorter(arrows).prepare()  # CycleError names the circle


def name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def modules_of(path: Path, modules: Mapping[str, Path]) -> set[str]:
    """Modules that a file imports, anywhere in it, also for types alone."""
    found = set()
    for node in source(path).imports:
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                one = f"{node.module}.{alias.name}"
                found.add(one if one in modules else node.module)
    return found & modules.keys()
