"""What `dyno` sets up before its commands are there."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
    time.sleep(60)
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
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=True
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
        timeout=50,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert word in done.stderr and "Traceback" not in done.stderr
