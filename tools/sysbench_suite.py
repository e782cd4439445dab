"""Runs sysbench's own test suite against the engine, from outside, next to sysbench.

    python -m tools.sysbench_suite CHECKOUT [FILE...]

CHECKOUT is a checkout of sysbench's sources (tests/, src/lua/), which we neither carry nor fetch;
`cram` (`pip install cram`) runs its files. Each file runs twice, against a private MariaDB and a
private PostgreSQL: with the engine called `sysbench`, and with the control, an installed sysbench.
Where the control fails in the lines in which we fail, and maybe in others, the reason lies in the
suite's age (a newer server's words, another layout of psql), and the file counts as alike.

Source: the README of the suite, which names the variables that it takes.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process.scratch import Scratch

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "target" / "release" / "dyno-engine"
TIMEOUT_S = 180
SKIPPED = 80  # cram: the exit code of a file that does not apply
DATABASE = "sbtest"
SHELL = Path("/bin/bash")  # what the suite is written for


@dataclass(frozen=True)
class Outcome:
    """What became of one file with one program."""

    word: str  # pass, fail, skip
    differs: tuple[str, ...] = ()  # lines of cram's diff

    def alike(self, other: Outcome) -> bool:
        """Whether both failed, this one in no line in which the other did not; numbers apart."""
        if not self.word == other.word == "fail":
            return False
        return Counter(masked(self)) <= Counter(masked(other))


def masked(outcome: Outcome) -> list[str]:
    """The lines that were added or removed, without what differs between runs and programs:
    numbers, the widths of columns, temporary folders, and who the program is."""
    changed = [line for line in outcome.differs if line[:1] in "+-" and line[:3] not in MARKS]
    for pattern, replacement in MASKS:
        changed = [re.sub(pattern, replacement, line) for line in changed]
    return changed


MARKS = ("+++", "---")
MASKS = (
    (r"\S*/cramtests-\w+", "CRAMTMP"),
    (r"sysbench [\d.]+\S* \(.*\)$", "sysbench VERSION"),
    (r"[\d.]+|(?<=\S)\s+", " "),
)


def called(place: Path, program: Path, extra: Sequence[str]) -> Path:
    """A folder for PATH in which `sysbench` is `program`, with `extra` before its arguments."""
    place.mkdir()
    name = place / "sysbench"
    if extra:
        name.write_text(f'#!{SHELL}\nexec -a sysbench {program} {" ".join(extra)} "$@"\n')
        name.chmod(0o755)
    else:
        name.symlink_to(program)
    return place


def outcome(file: Path, env: Mapping[str, str]) -> Outcome:
    """Runs one file."""
    file.with_suffix(".t.err").unlink(missing_ok=True)
    try:
        done = subprocess.run(
            ["cram", f"--shell={SHELL}", file.name],
            cwd=file.parent,
            env=dict(env),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("fail", (f"+did not end within {TIMEOUT_S} s",))
    if done.returncode == 0:
        return Outcome("skip" if "1 skipped" in done.stdout else "pass")
    return Outcome("fail", tuple((done.stdout + done.stderr).splitlines()))


@contextmanager
def server(kind: str, scratch: Path) -> Iterator[Server]:
    """A private server with an empty database for the suite."""
    system = systems.load(kind)
    binaries = system.find(None)
    plan = TargetPlan(name=kind, kind=kind, durability="none")
    resolved = system.resolve(plan)
    directory = scratch / kind
    system.prepare(binaries, directory, resolved)
    running = system.start(binaries, directory, resolved, cpus=[])
    try:
        yield running
    finally:
        running.stop(discard=True)


def login(running: Server, kind: str) -> dict[str, Any]:
    """Address, user and password of a server."""
    plan = TargetPlan(name=kind, kind=kind)
    target = running.engine_target(plan, systems.load(kind).resolve(plan), DATABASE)
    return {**target["address"]["tcp"], "user": target["user"], "password": target["password"]}


def mysql_environment(running: Server, home: Path) -> dict[str, str]:
    """The suite's arguments; and its client, which is root without a password, finds the server."""
    running.run(
        "mysql",
        [
            f"CREATE DATABASE {DATABASE}",
            "CREATE USER root@localhost",
            f"GRANT ALL ON {DATABASE}.* TO root@localhost",
        ],
    )
    to = login(running, "mariadb")
    socket = running.run("mysql", ["SELECT @@socket"])[0][0]
    (home / ".my.cnf").write_text(f"[client]\nsocket={socket}\n")
    # No port: the suite expects to read the default one in an error message.
    arguments = {"socket": socket, "user": to["user"], "password": to["password"]}
    return {"SBTEST_MYSQL_ARGS": driver_arguments("mysql", arguments)}


def pgsql_environment(running: Server) -> dict[str, str]:
    """The suite's arguments, and those of libpq for its client."""
    running.run("postgres", [f"CREATE DATABASE {DATABASE}"])
    to = {key: str(value) for key, value in login(running, "postgres").items()}
    libpq = {f"PG{key.upper()}": to[key] for key in ("host", "port", "user", "password")}
    arguments = {key: to[key] for key in ("host", "port", "user", "password")}
    return {"SBTEST_PGSQL_ARGS": driver_arguments("pgsql", arguments), **libpq}


def empty(mariadb: Server, postgres: Server) -> None:
    """Makes the suite's databases again: a file that failed leaves its tables to the next one."""
    for running, first in ((mariadb, "mysql"), (postgres, "postgres")):
        running.run(first, [f"DROP DATABASE {DATABASE}"])
        running.run(first, [f"CREATE DATABASE {DATABASE}"])


def driver_arguments(driver: str, arguments: Mapping[str, Any]) -> str:
    words = [f"--{driver}-{key}={value}" for key, value in arguments.items()]
    return " ".join([*words, f"--{driver}-db={DATABASE}"])


def suite_environment(suite: Path, scripts: Path, version: str) -> dict[str, str]:
    """What the suite's files read, with a program of that version (its first line)."""
    (suite / "config.sh").write_text("")
    folders = [scripts, suite / "include"]
    return {
        "SBTEST_ROOTDIR": str(suite),
        "SBTEST_SCRIPTDIR": str(scripts),
        "SBTEST_SUITEDIR": str(suite / "t"),
        "SBTEST_INCDIR": str(suite / "include"),
        "SBTEST_CONFIG": str(suite / "config.sh"),
        "SBTEST_VERSION_STRING": version,
        "SBTEST_VERSION": version.removeprefix("sysbench "),
        "SBTEST_HAS_MYSQL": "yes",
        "SBTEST_HAS_PGSQL": "yes",
        "LUA_PATH": ";".join(f"{folder}/?;{folder}/?.lua" for folder in folders),
    }


def version(place: Path) -> str:
    """What the `sysbench` of a folder calls itself."""
    command = [str(place / "sysbench"), "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def verdict(ours: Outcome, control: Outcome | None) -> str:
    """The word for a file in the table."""
    if control is not None and ours.alike(control):
        return "alike"
    return ours.word


def said(ours: Outcome, control: Outcome | None) -> Iterator[str]:
    """Why a file fails: the lines in which we differ from the control, or from the suite."""
    if control is None or control.word != "fail":
        yield from ours.differs
        return
    yield from difflib.unified_diff(masked(control), masked(ours), "control", "ours", lineterm="")


def compare(arguments: argparse.Namespace, suite: Path) -> Counter[str]:
    """Runs everything and prints a line for each file; how many files of each word."""
    names = arguments.files or sorted(path.name for path in (suite / "t").glob("*.t"))
    theirs = (arguments.checkout / "src" / "lua").absolute()
    scripts = (arguments.scripts or theirs).absolute()
    engine = suite / "engine"
    shutil.copy(arguments.engine, engine)  # another build may replace it meanwhile
    home = suite / "home"
    home.mkdir()
    with server("mariadb", suite) as mariadb, server("postgres", suite) as postgres:
        env = {**os.environ, "HOME": str(home), "TMPDIR": str(home)}
        env |= mysql_environment(mariadb, home) | pgsql_environment(postgres)

        def with_program(
            name: str, program: Path, scripts: Path, extra: Sequence[str]
        ) -> dict[str, str]:
            place = called(suite / name, program, extra)
            own = suite_environment(suite, scripts, version(place))
            return {**env, **own, "PATH": f"{place}:{env['PATH']}"}

        extra = [f"--compat={arguments.compat}"] if arguments.compat else []
        for_ours = with_program("ours", engine, scripts, extra)
        has_control = bool(arguments.control)
        for_control: dict[str, str] = {}
        if has_control:
            for_control = with_program("control", Path(arguments.control), theirs, [])
        counts: Counter[str] = Counter()
        for name in names:
            file = suite / "t" / Path(name).name
            control = outcome(file, for_control) if has_control else None
            empty(mariadb, postgres)
            ours = outcome(file, for_ours)
            empty(mariadb, postgres)
            counts[tell(file.name, ours, control)] += 1
    return counts


def tell(name: str, ours: Outcome, control: Outcome | None) -> str:
    """Prints what became of a file, and why if it fails; returns the word for it."""
    word = verdict(ours, control)
    print(f"{name:40} {word:6} control: {control.word if control else '-'}", flush=True)
    if word == "fail":
        print("\n".join(f"    {line}" for line in said(ours, control)), flush=True)
    return word


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.sysbench_suite", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("checkout", type=Path, help="sysbench's sources")
    parser.add_argument("files", nargs="*", help="names of files in tests/t; all without")
    parser.add_argument("--engine", type=Path, default=ENGINE, help="the engine to be tried")
    parser.add_argument("--compat", help="given to the engine; 1.1 for the development head")
    parser.add_argument(
        "--scripts", type=Path, help="where the engine's scripts are, instead of src/lua"
    )
    parser.add_argument(
        "--control",
        default=shutil.which("sysbench"),
        help="a sysbench to compare with; empty: none",
    )
    return parser.parse_intermixed_args(words)  # files may follow options


def main(words: Sequence[str]) -> int:
    """The exit code: 0 if no file fails by our fault, 1 if one does, 2 if nothing can be run."""
    arguments = parsed(words)
    if not (arguments.checkout / "tests" / "t").is_dir():
        print(f"{arguments.checkout} has no tests/t: name a checkout of sysbench", file=sys.stderr)
        return 2
    if shutil.which("cram") is None:
        print("cram is missing: `pip install cram`, and put it in PATH", file=sys.stderr)
        return 2
    try:
        with Scratch() as scratch:
            suite = scratch.path / "suite"
            shutil.copytree(arguments.checkout / "tests", suite)
            counts = compare(arguments, suite)
    except DynoError as error:
        print(error, file=sys.stderr)
        return 2
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
