"""What every refusal has in common: exit code 2, and words for people instead of a traceback."""

from __future__ import annotations

import subprocess


def refused(done: subprocess.CompletedProcess[str], *words: str) -> str:
    """Asserts that `dyno` refused with a message that holds all `words`; returns the message."""
    said = done.stderr
    assert done.returncode == 2, f"exit {done.returncode}\n{done.stdout}\n{said}"
    plain_words(said)
    assert "dyno: " in said
    assert done.stdout == ""
    missing = [word for word in words if word not in said]
    assert not missing, f"{missing} not in:\n{said}"
    return said


def plain_words(text: str) -> None:
    """Asserts that a text is for people: no traceback, no panic, no admitted defect of dbdyno."""
    for sign in ("Traceback", "panicked", "a defect in dbdyno", "[Errno", "Error(", "0x7f"):
        assert sign not in text, text
