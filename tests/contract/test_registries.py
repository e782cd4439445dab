"""Each member of a family is registered, found by its name, and does what its table says.

`tests/contract/test_docs.py` asks for its documentation.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dbdyno import samplers, systems
from dbdyno.analysis.causes import rules
from dbdyno.cli import studies
from dbdyno.execute.engine import job
from dbdyno.experiment import faults as written_faults
from dbdyno.experiment import load, workloads
from dbdyno.experiment.workloads import lua
from dbdyno.experiment.workloads.base import FLAG, INTEGER, NUMBER, SIZE, TEXT, WORD, Option
from dbdyno.faults import DRAWN, FAULTS
from dbdyno.imports import formats
from dbdyno.kinds import KINDS
from dbdyno.kinds.kind import IO
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from dbdyno.rules import machine as machine_checks
from dbdyno.store.metrics import reduce
from dbdyno.systems import backups
from dbdyno.systems.base import System, TargetPlan

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dbdyno"
TWO_CORES = Machine(cores=2, memory_bytes=16 << 30, kernel="", cpu_model="", cpus=(0, 1))
STUDY_MAX_S = 15 * 60


@pytest.fixture(scope="module")
def listed() -> dict[str, Any]:
    done = subprocess.run(
        [job.find(), "list", "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


# Of `engine/workloads/src` and `engine/drivers/src`: what the members share, and is none itself.
PARTS = {"choice", "digits", "evenly", "generator", "node", "options"} | {
    "allowance",
    "guard",
    "policy",
    "results",
    "slots",
    "tasks",
    "tsv",
}


def members(folder: Path) -> set[str]:
    """Names of the modules of a Rust folder: `x.rs`, or a folder `x/`."""
    files = {path.stem for path in folder.glob("*.rs")} - {"lib", *PARTS}
    return files | {path.name for path in folder.iterdir() if path.is_dir()} - PARTS


def covered(word: str, *places: str) -> bool:
    """Whether a test file of these places speaks of a member."""
    files = [path for place in places for path in ROOT.glob(place) if path.is_file()]
    assert files, places
    return any(word in path.read_text() for path in files)


# -- drivers -------------------------------------------------------------------------------------


def test_every_driver_is_listed_and_tested(listed: dict[str, Any]) -> None:
    drivers = {driver["name"] for driver in listed["drivers"]}
    assert drivers == members(ROOT / "engine/drivers/src")
    for driver in listed["drivers"]:
        assert driver["about"]
        own = f"engine/drivers/src/{driver['name']}"
        assert covered("#[test]", f"{own}.rs", f"{own}/tests.rs"), driver["name"]


def probe(driver: str, options: dict[str, Any], directory: Path) -> dict[str, Any]:
    """The last event of a run with these driver options against a place where nothing answers."""
    addresses = {
        "null": "none",
        "sqlite": {"file": str(directory / "absent.db")},
        "files": {"file": str(directory / "absent")},
        "mysql": {"unix": str(directory / "absent.sock")},
        "postgres": {"unix": str(directory / "absent.sock")},
        "redis": {"unix": str(directory / "absent.sock")},
    }
    if driver == "files":
        plan = null_plan(directory, {}, "io")
    else:
        plan = null_plan(directory, {"preset": "a", "records": 1000}, "kv")
    plan["targets"]["db"] = {
        "driver": driver,
        "address": addresses[driver],
        "user": "u",
        "database": "1",
        "options": options,
    }
    return sent(plan)[-1]


def test_drivers_take_the_options_they_list_and_no_others(
    listed: dict[str, Any], tmp_path: Path
) -> None:
    for driver in listed["drivers"]:
        name = driver["name"]
        plain = probe(name, {}, tmp_path)
        for option in driver["options"]:
            value = json.loads(option["default"])
            event = probe(name, {option["name"]: value}, tmp_path)
            assert event["event"] == plain["event"], (name, option["name"], event)
            assert option["name"] not in event.get("what", ""), event
        refused = probe(name, {"no_such_option": 1}, tmp_path)
        assert (refused["event"], refused["kind"]) == ("failed", "plan"), refused
        assert "no_such_option" in refused["what"]
        for option in driver["options"]:
            assert option["name"] in refused["hint"], (name, refused["hint"])


# -- workloads -----------------------------------------------------------------------------------


def null_plan(directory: Path, options: dict[str, Any], workload: str = "oltp") -> dict[str, Any]:
    """A trial of some milliseconds against nothing."""
    return {
        "schema_version": 1,
        "job": "run",
        "trial": "t",
        "directory": str(directory),
        "seed": 1,
        "targets": {"db": {"driver": "null", "address": "none", "options": {"delay_us": 500}}},
        "duration_s": 0.1,
        "interval_s": 0.1,
        "groups": [
            {
                "name": "workload",
                "target": "db",
                "workload": workload,
                "sessions": 1,
                "options": options,
            }
        ],
    }


def sent(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Events that a plan gives."""
    done = subprocess.run(
        [job.find(), "run"], input=json.dumps(plan), capture_output=True, text=True, timeout=60
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def example(option: Option) -> Any:
    """A value that the table allows."""
    if option.words:
        return option.words[-1]
    low = option.low if option.low is not None else 0
    whole = int(max(low, 1))
    return {INTEGER: whole, SIZE: whole, NUMBER: max(low, 0.5), FLAG: True, TEXT: ""}[option.type]


def beyond(option: Option) -> list[Any]:
    """Values that the table refuses."""
    if option.type == WORD:
        return ["no_such_word"]
    if option.type in (FLAG, TEXT):
        return [7]
    return [option.low - 1, option.high + 1] if option.low is not None and option.high else []


def test_every_workload_is_listed_in_both_languages(listed: dict[str, Any]) -> None:
    names = {workload["name"] for workload in listed["workloads"]}
    stated = members(ROOT / "engine/workloads/src")
    assert names == stated | {workloads.SCRIPT}
    assert names == {*workloads.WORKLOADS, *workloads.LOAD_ONLY}
    assert set(listed["scripts"]) == {*lua.BUILTIN, *lua.MODULES}
    assert covered("#[test]", "engine/sysbench/src/trial/*")
    for name in stated:
        assert covered("#[test]", f"engine/workloads/src/{name}*", f"engine/workloads/src/{name}/*")


TABLED = [(name, each) for name, of in workloads.WORKLOADS.items() for each in of.options]
PRESETS = [(name, each) for name, of in workloads.WORKLOADS.items() for each in of.presets]


@pytest.mark.parametrize(
    ("workload", "option"), TABLED, ids=lambda each: getattr(each, "name", each)
)
def test_the_engine_takes_what_the_table_allows(
    workload: str, option: Option, tmp_path: Path
) -> None:
    size = {
        "oltp": {"rows": 1000},
        "kv": {"records": 1000},
        "tpcc": {"customers": 30, "items": 100},
        "register": {"keys": 100},
        "append": {"rows": 100, "lists": 1},
        "bank": {"accounts": 10},
        "io": {"files": 1, "total_size": 1 << 20},
    }[workload]
    given: dict[str, Any] = {**size, option.name: example(option)}
    if option.of_distribution:
        given["distribution"] = option.of_distribution
    events = sent(null_plan(tmp_path, given, workload))
    assert events[-1]["event"] == "end", events[-1]
    for value in beyond(option):
        event = sent(null_plan(tmp_path, {**given, option.name: value}, workload))[-1]
        assert (event["event"], event["kind"]) == ("failed", "plan"), (value, event)
        assert option.name in event["what"], event


@pytest.mark.parametrize(("workload", "preset"), PRESETS)
def test_presets_send_what_the_table_says(workload: str, preset: str, tmp_path: Path) -> None:
    events = sent(null_plan(tmp_path, {"preset": preset}, workload))
    meaning = workloads.meaning(workload, {"preset": preset})
    spelt_out = sent(null_plan(tmp_path, meaning, workload))
    classes = [e["class"] for e in events if e["event"] == "statement"]
    assert bool(classes) == (IO not in workloads.of(workload).needs), "only SQL is shown"
    assert classes == [e["class"] for e in spelt_out if e["event"] == "statement"]


@pytest.mark.parametrize("workload", workloads.WORKLOADS)
def test_an_unknown_option_is_refused_with_the_known_ones(workload: str, tmp_path: Path) -> None:
    event = sent(null_plan(tmp_path, {"point_selcts": 1}, workload))[-1]
    assert (event["event"], event["kind"]) == ("failed", "plan")
    assert "point_selcts" in event["what"]
    of = workloads.of(workload)
    for name in of.sent(dict.fromkeys(of.model.model_fields, 0)):
        assert name in event["hint"]


# -- systems -------------------------------------------------------------------------------------


def modules(package: str) -> set[str]:
    folder = ROOT / "python" / "dbdyno" / package
    return {path.stem for path in folder.glob("*.py")} - {"__init__"}


def test_every_system_is_listed_with_its_kind() -> None:
    folder = ROOT / "python/dbdyno/systems"
    holding = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if re.search(r"^SYSTEM\b", path.read_text(), re.MULTILINE)
    }
    assert holding == {kind.module for kind in KINDS.values()}


@pytest.mark.parametrize("system", systems.registry(), ids=lambda system: system.kind)
def test_a_system_is_found_by_name_and_driven_by_a_known_driver(
    system: System, listed: dict[str, Any]
) -> None:
    assert systems.load(system.kind) is system
    assert system.kind in KINDS[system.kind].module
    assert system.driver in {driver["name"] for driver in listed["drivers"]}
    assert system.about
    assert system.resolve(TargetPlan("db", system.kind)) is not None
    assert covered(system.kind, "tests/unit/test_systems_*.py", "tests/live/*.py")


NAMES = set(KINDS) - {"null", "files"}  # which YAML, JSON and English have, too
NAMED = {
    "kinds": "their facts",
    "systems": "their servers",
    "topology": "whose servers each wires",
    "models": "models of one kind of server say so in their inputs",
    "cli/starter.py": "examples for each kind",
    "cli/init.py": "the kind of an example that needs no server",
    "facts": "whose facts they are",
    "execute/needle/writing.py": "how a kind encrypts a table",
    "rules/check": "which engines a rule is for",
    "digest/servers/mysql.py": "which schema has a server's counters",
    "digest/workload/experiment.py": "which kind wrote a log",
    "digest/workload/schema/reading.py": "how a kind keeps its schema",
}


def test_a_kind_is_named_where_its_facts_are_and_nowhere_else() -> None:
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    found = {
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, text in texts.items()
        if any(name in text for name in NAMES)  # parsing takes long, and most texts have none
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in NAMES
    }
    assert {one for one in found if not one.startswith(tuple(NAMED))} == set()
    assert all(any(one.startswith(name) for one in found) for name in NAMED)


# -- causes --------------------------------------------------------------------------------------


def test_every_family_of_causes_is_listed_and_tested() -> None:
    folder = ROOT / "python/dbdyno/analysis/causes/rules"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(rules.FAMILIES)
    for rule in rules.RULES:
        assert covered(f'"{rule.name}"', "tests/unit/test_analysis_causes.py"), rule.name


# -- checks of the machine -----------------------------------------------------------------------


def test_every_family_of_checks_is_listed_and_tested() -> None:
    families = {family.__name__.rpartition(".")[2] for family in machine_checks.FAMILIES}
    assert modules("rules/machine") - {"activity", "finding"} == families
    for rule in machine_checks.CHECKS:
        assert covered(f'"{rule.name}"', "tests/unit/test_rules_machine.py"), rule.name


# -- samplers ------------------------------------------------------------------------------------


def test_every_sampler_is_listed_and_tested() -> None:
    listed = {f"{of}.{name}" for of in ("machine", "server") for name in modules(f"samplers/{of}")}
    assert listed == set(samplers.SAMPLERS)
    runner = (ROOT / "python/dbdyno/samplers/runner.py").read_text()
    for name in samplers.SAMPLERS:
        assert f"from dbdyno.samplers.{name} import" in runner, f"{name} is never read"
        assert covered(f"{name.rpartition('.')[2]}.", "tests/unit/test_samplers*.py"), name


# -- studies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", studies.names())
def test_a_study_is_valid_and_takes_a_quarter_of_an_hour_at_most(name: str) -> None:
    loaded = load(studies.find(name), [])
    assert loaded.name == name
    assert loaded.question.endswith("?")
    assert loaded.claims
    plan = make(loaded, TWO_CORES)
    assert estimate.of(plan).total_s <= STUDY_MAX_S
    assert covered(name, "tests/live/*.py") or covered("studies.names()", "tests/live/*.py")


# -- formats to import ---------------------------------------------------------------------------


def test_every_format_is_listed_tested_and_in_the_guide() -> None:
    files = {path.stem for path in (ROOT / "python/dbdyno/imports/formats").glob("*.py")} - {
        "__init__"
    }
    assert {type(one).__module__.rpartition(".")[2] for one in formats.FORMATS} == files
    guide = (ROOT / "docs/guide/imported-results.md").read_text().lower()
    for name in files:
        word = name.partition("_")[0]
        assert word in guide, name
        assert covered(word, "tests/unit/test_imports_formats.py"), name


def test_capabilities_and_needs_are_those_of_the_engine(listed: dict[str, Any]) -> None:
    can = {entry["name"]: entry["capabilities"] for entry in listed["drivers"]}
    for name, kind in KINDS.items():
        assert list(kind.capabilities) == can[systems.load(name).driver], name
    needed = {entry["name"]: entry["needs"] for entry in listed["workloads"]}
    for name, workload in workloads.WORKLOADS.items():
        assert list(workload.needs) == needed[name], name


# -- faults --------------------------------------------------------------------------------------


def test_every_fault_is_listed_may_be_written_and_is_tested() -> None:
    files = {path.stem for path in (PACKAGE / "faults").rglob("*.py")} - {"__init__", "base"}
    assert files == {*FAULTS, DRAWN} == set(written_faults.KEYS)
    for name in files:
        assert covered(f"do: {name}", "tests/live/test_faults*.py"), name
    assert all(each.name == name and each.about for name, each in FAULTS.items())


def test_every_backup_is_one_that_its_kind_names_and_is_tested() -> None:
    for name, kind in KINDS.items():
        assert {tool.name for tool in backups.TOOLS if tool.kind == name} == set(kind.backups)
        assert set(kind.backups_with_logs) <= set(kind.backups)
        if kind.backups:
            assert backups.of(name).name == kind.backups[0]
    for tool in backups.TOOLS:
        assert covered(f'("{tool.kind}", "{tool.name}")', "tests/live/test_backups.py"), tool.name


def test_metrics_know_every_fault_that_ends_a_server() -> None:
    assert {name for name, each in FAULTS.items() if each.ends} == reduce.ENDING
