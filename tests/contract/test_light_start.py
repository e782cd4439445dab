"""Help and a Tab are answered at once: what makes a start slow is not imported for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.main import dyno
from dbdyno.cli.planning.command import plan
from dbdyno.cli.runs import export
from dbdyno.plan.pilot import Pilot
from dbdyno.share.tables import TABLES

HEAVY = (
    "numpy",
    "scipy",
    "pydantic",
    "rich",
    "ruamel.yaml",
    "jinja2",
    "pg8000",
    "pymysql",
    "ssl",
    "sqlglot",
)
PROBE = """
import json, sys
from dbdyno.cli import entry
sys.argv = ["dyno", *json.loads(sys.argv[1])]
try:
    entry.main()
except SystemExit:
    pass
finally:
    heavy = json.loads(sys.stdin.read())
    print("\\n" + json.dumps([name for name in heavy if name in sys.modules]))
"""


def imported(args: list[str], **variables: str) -> tuple[str, list[str]]:
    """What `dyno ARGS` prints, and what it has imported of `HEAVY`."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(args)],
        input=json.dumps(HEAVY),
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    printed, _, heavy = done.stdout.rstrip("\n").rpartition("\n")
    return printed, json.loads(heavy)


def test_the_help_of_dyno_imports_nothing_heavy() -> None:
    printed, heavy = imported(["--help"])
    assert all(f"\n  {name} " in printed for name in COMMANDS)
    assert heavy == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sysbench"])
def test_the_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    printed, heavy = imported([name, "--help"])
    assert printed.startswith(f"Usage: dyno {name} ")
    assert heavy == []


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("dyno ", "compare"),
        *((f"dyno {name} --", "--help") for name in COMMANDS if name != "sysbench"),
        ("dyno export --table ", "intervals"),
        ("dyno lab up ", "galera"),
    ],
)
def test_a_tab_imports_nothing_heavy(words: str, offered: str) -> None:
    count = str(len(words.split(" ")) - 1)
    printed, heavy = imported(
        [], _DYNO_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count
    )
    assert f"plain,{offered}" in printed.splitlines()
    assert heavy == []


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    for name, command in dyno.every().items():
        paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
        assert COMMANDS[name][0] == paragraph


def test_what_options_repeat_is_what_their_command_means() -> None:
    defaults = {parameter.name: parameter.default for parameter in plan.params}
    assert defaults["pilot_blocks"] == Pilot().blocks
    assert defaults["pilot_duration"] == f"{Pilot().duration_s:g}s"
    assert tuple(TABLES) == export.TABLES
