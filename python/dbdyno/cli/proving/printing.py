"""What a proof says: its answer as text or JSON, and sentences on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import click
from rich.text import Text

from dbdyno.cli.proving.measuring import Measuring
from dbdyno.cli.terminal.console import Shown
from dbdyno.prove.answer import SHOWN, Answer, document, weight
from dbdyno.prove.candidates import Candidate
from dbdyno.prove.choosing import Ranked
from dbdyno.prove.examining import Examined
from dbdyno.prove.finding import Found
from dbdyno.report.text.escaping import visible
from dbdyno.wording.numbers import listed
from dbdyno.wording.plurals import count

SCHEMA_VERSION = 1
NOTHING = "NOT SHOWN: no index makes the whole mix faster"


def show(
    found: Sequence[Answer],
    measuring: Measuring,
    examined: Found | None,
    left: Mapping[str, str],
    *,
    as_json: bool,
) -> None:
    """Prints the answer to stdout. `examined`, `left`: of candidates that dbdyno has found."""
    run = measuring.path if found else None
    if as_json:
        click.echo(json.dumps(_document(found, measuring, examined, left), indent=1))
        return
    console = Shown()
    for one in found:
        console.print(_text(one), soft_wrap=True)
        for each in one.examined.unordered:
            console.print(f"  {each}: LIMIT chooses other rows among equal ones", soft_wrap=True)
    if not found:
        console.print(Text(NOTHING, style="yellow"))
    for what, why in left.items():
        console.print(Text(visible(f"omitted: {what}: {why}"), style="dim"), soft_wrap=True)
    if run is not None:
        console.print(Text(f"report: {run / 'report.html'}"), soft_wrap=True)


def _text(one: Answer) -> Text:
    style = "bold green" if one.shown else "bold yellow"
    return Text.assemble(visible(one.sentence), "; ", (visible(one.verdict), style))


def _document(
    found: Sequence[Answer], measuring: Measuring, examined: Found | None, left: Mapping[str, str]
) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": SHOWN if found and all(one.shown for one in found) else "NOT SHOWN",
        "run": str(measuring.path) if found else None,
        "experiment": str(measuring.file) if found else None,
        "candidates": document(found),
        "proposed": examined.proposed if examined else None,
        "measured": [
            {
                **_form(one),
                "narrower": None if one.narrower is None else _form(one.narrower),
                "saves_by_planner": one.saves,
                "run": str(measuring.step(number)),
            }
            for number, one in enumerate(examined.ranked if examined else (), 1)
        ],
        "left_out": dict(left),
    }


def _form(one: Ranked) -> dict[str, object]:
    return {
        "what": one.candidate.what,
        "statements": list(one.candidate.after),
        "bytes": one.bytes,
    }


def note(candidate: Candidate, examined: Examined) -> str:
    """What was found out before the measurement, for the report; empty if nothing was."""
    said = []
    if examined.bytes is not None:
        said.append(f"takes {weight(examined.bytes)}")
    if examined.served and not candidate.rewrites:
        classes = listed([key.partition("/")[2] for key in examined.served])
        said.append(f"is used by the plans of {classes}")
    elif candidate.index:
        said.append("is used by no plan")
    if examined.compared:
        said.append(f"leaves {count(examined.compared, 'result')} as they are")
    text = f"{candidate.what} {', '.join(said)}." if said else ""
    return text[:1].upper() + text[1:]


def refusal(candidate: Candidate, examined: Examined) -> str:
    """Why a candidate is not measured."""
    return f"refused: {candidate.what}: other results of {listed([*examined.differing])}"


def differs(differing: Mapping[str, str]) -> str:
    """A warning that should never come: an index changed results."""
    return f"results differ with the indexes in use: {listed([*differing])}"
