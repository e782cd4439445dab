"""With any content of a file: an experiment, or an error with a sentence for people."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.experiment import Spec, load
from effort import examples

EXPERIMENTS = Path(__file__).parent / "experiments"
JOURNAL = (EXPERIMENTS / "journal.yaml").read_text()
_YAML = ["null", "[]", "{}", "-1", "1e9", "on", "~", "''", "*a", "&a", ": ", "- ", "\n", "\t"]
_WORDS = ["db", "workload", "sessions", "levels", "set", "!x ", "<<", "{a: 1}", "[1, 2]", "|", "#"]
SNIPPETS = st.sampled_from([*_YAML, *_WORDS])


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The journal experiment with up to four pieces of it replaced."""
    text = JOURNAL
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.one_of(SNIPPETS, st.text(max_size=3))) + text[end:]
    return text + "\n"


def loaded_or_refused(text: str, *overrides: str) -> Spec | DynoError:
    try:
        return load(text, overrides)
    except DynoError as error:
        return error


@settings(max_examples=examples(200), deadline=None)
@given(damaged())
def test_damaged_files_load_or_are_refused(text: str) -> None:
    result = loaded_or_refused(text)
    assert result.what if isinstance(result, DynoError) else result.cells


@settings(max_examples=examples(80), deadline=None)
@given(path=st.text(max_size=20), value=st.one_of(SNIPPETS, st.text(max_size=8)))
def test_any_override_applies_or_is_refused(path: str, value: str) -> None:
    for setting in (f"{path}={value}", f"workload.{path}={value}", f"blocks={value}"):
        result = loaded_or_refused(JOURNAL, setting)
        if isinstance(result, DynoError):
            assert result.what
        else:
            assert load(result.text).cells == result.cells
