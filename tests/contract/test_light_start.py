"""Help and a Tab are answered at once: what makes a start slow is not imported for them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

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
# Has imported what each start of dyno imports, and becomes `dyno` in a child for each line.
PROBE = """
import json, os, sys
from dbdyno.cli import entry, main
for line in sys.stdin:
    asked = json.loads(line)
    ours, childs = os.pipe()
    if os.fork() == 0:
        os.dup2(childs, 1)
        os.environ.update(asked["variables"])
        sys.argv = ["dyno", *asked["arguments"]]
        try:
            entry.main()
        except SystemExit:
            pass
        print("\\n" + json.dumps([name for name in asked["heavy"] if name in sys.modules]))
        sys.stdout.flush()
        os._exit(0)
    os.close(childs)
    with os.fdopen(ours) as out:
        text = out.read()
    print(json.dumps([os.waitstatus_to_exitcode(os.wait()[1]), text]), flush=True)
"""
Imported = Callable[..., tuple[str, list[str]]]


@pytest.fixture(scope="module")
def imported() -> Iterator[Imported]:
    """Gives what `dyno ARGS` prints, and what it has imported of `HEAVY`."""
    with subprocess.Popen(
        [sys.executable, "-c", PROBE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def of(args: list[str], **variables: str) -> tuple[str, list[str]]:
            asked = {"arguments": args, "variables": variables, "heavy": HEAVY}
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            status, text = json.loads(process.stdout.readline())
            assert status == 0, text
            printed, _, heavy = text.rstrip("\n").rpartition("\n")
            return printed, json.loads(heavy)

        yield of


def test_the_help_of_dyno_imports_nothing_heavy(imported: Imported) -> None:
    printed, heavy = imported(["--help"])
    assert all(f"\n  {name} " in printed for name in COMMANDS)
    assert heavy == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sysbench"])
def test_the_help_of_a_command_imports_nothing_heavy(imported: Imported, name: str) -> None:
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
def test_a_tab_imports_nothing_heavy(imported: Imported, words: str, offered: str) -> None:
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
