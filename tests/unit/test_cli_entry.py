"""What `dyno` sets up before its commands are there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli import main as commands

ROOT = Path(__file__).parents[2]

# Collected while a signal comes in: whatever the handler raises there, Python drops.
DROPPED = """
import signal, sys, time
from dbdyno.cli.entry import ask_again
sys.unraisablehook = ask_again

class Short:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

try:
    short = Short()
    del short
    print("went on", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted")
"""
OTHER = """
import sys
from dbdyno.cli.entry import ask_again
sys.unraisablehook = ask_again

class Wrong:
    def __del__(self):
        raise ValueError("told")

Wrong()
"""


def said(script: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=180, check=True
    )
    return done.stdout, done.stderr


def test_an_interrupt_that_python_drops_comes_again() -> None:
    assert said(DROPPED) == ("went on\ninterrupted\n", "")


def test_other_errors_that_python_drops_are_told() -> None:
    out, err = said(OTHER)
    assert out == "" and "ValueError: told" in err


@pytest.mark.parametrize(
    ("limit", "word"),
    [("RLIMIT_AS, (300 << 20, 300 << 20)", "ulimit -v"), ("RLIMIT_NOFILE, (3, 3)", "ulimit -n")],
)
def test_too_little_of_the_machine_is_said_at_once(limit: str, word: str) -> None:
    script = f"""
import resource, sys
from dbdyno.cli import entry
from dbdyno.cli.terminal import limits, streams
sys.argv = ["dyno", "run", "x"]
resource.setrlimit(resource.{limit})
entry.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert word in done.stderr and "Traceback" not in done.stderr


class Refused:
    """Runs commands in this process: what begins before them is tested above."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *args: str) -> tuple[int, Any, str]:
        """The exit code of `dyno ARGS`, the document on its standard output, and what it says."""
        self.monkeypatch.setattr(sys, "argv", ["dyno", *args])
        with pytest.raises(SystemExit) as ended:
            commands.main()
        out, err = self.capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return code, json.loads(out or "null"), err


@pytest.fixture
def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Refused]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield Refused(monkeypatch, capsys)
    for number, handler in handlers.items():  # a command ends with both ignored
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("args", "what", "fix"),
    [
        (("status", "nowhere"), "nowhere", ""),
        (("run",), "name an experiment, or see --list", "dyno run --help"),
        (("compare", "a"), "Missing argument 'B'.", "dyno compare --help"),
        (("run", "nowhere"), "nowhere: no such file, and no study of that name", "one of:"),
        (("model", "nothing"), "no model is called `nothing`", "dyno model"),
    ],
)
def test_with_json_each_error_is_an_object(
    args: tuple[str, ...], what: str, fix: str, refused: Refused
) -> None:
    code, found, said = refused(*args, "--json")
    assert (code, found["ok"], found["exit_code"]) == (2, False, 2)
    assert what in found["error"]["what"] and fix in found["error"]["fix"]
    assert found["error"]["what"] in said
    assert refused(*args)[1] is None


def test_an_error_names_its_place_in_json(tmp_path: Path, refused: Refused) -> None:
    file = tmp_path / "x.yaml"
    text = (ROOT / "studies" / "quickstart.yaml").read_text()
    file.write_text(f"{text}\nmatters: many\n")
    _, found, _ = refused("run", str(file), "--check", "--json")
    line = text.count("\n") + 2
    assert (found["error"]["where"]["file"], found["error"]["where"]["line"]) == (str(file), line)


def test_a_format_that_is_json_counts_and_words_behind_dashes_do_not(refused: Refused) -> None:
    assert refused("model", "nothing", "--format", "json")[1]["ok"] is False
    assert refused("status", "nowhere", "--", "--json")[1] is None
