"""`dyno model`: what can be computed instead of measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dbdyno.cli import completing
from dbdyno.cli.terminal import login as logins
from dbdyno.cli.terminal import output

FORMATS = ("text", "json", "html")


@click.command()
@click.argument("name", required=False, shell_complete=completing.models)
@click.argument("inputs", nargs=-1, metavar="[FILE | NAME=VALUE...]")
@click.option("--from", "sources", multiple=True, metavar="FILE|URL",
              help="Take missing inputs from my.cnf, cr.yaml or a live server.")  # fmt: skip
@click.option("--sweep", "swept", metavar="NAME=FROM..TO", help="Compute the model over a range.")
@click.option("--points", type=int, metavar="N", help="Points of the sweep [default: 200].")
@click.option("--solve", metavar="NAME[=FROM..TO]",
              help="Find the value of this input that gives --for.")  # fmt: skip
@click.option("--for", "target", metavar="OUTPUT=VALUE", help="Target value of --solve.")
@click.option("--explain", is_flag=True, help="Show each step with its numbers.")
@click.option("--sensitivity", is_flag=True, help="Show what each input does to the answer.")
@click.option("--about", is_flag=True, help="Describe the model's inputs and its sources.")
@logins.options
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
              help="Output format.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="File to write instead of standard output.")  # fmt: skip
def model(name: str | None, inputs: tuple[str, ...], form: str, as_json: bool, out: Path | None,
          **typed: Any) -> int:  # fmt: skip
    """Compute an answer: how much memory, how many nodes, what it costs, how long.

    Without a NAME, list the models. Inputs carry their units: limit=3Gi (3 x 2^30 bytes) is not
    limit=3G (3 x 10^9), a duration is 50ms, a rate 4000/s, a price 2035.49 USD/month, lists are
    separated by commas. cluster-timeline and certification also take a FILE instead of inputs: a
    cluster with a script of events, a log of transactions (CSV), sessions on hot rows (YAML).
    """
    from dbdyno import models
    from dbdyno.cli.models import files
    from dbdyno.report.models import text

    form = output.form(form, as_json)
    if name is None:
        _only_listed(typed)
        if form == "html":
            raise click.UsageError("--format html needs the name of a model")
        output.put(_listing(form), out, "model")
        return 0
    chosen = models.load(name)
    if (file := files.taken(name, inputs)) is not None:
        if used := [key for key, value in typed.items() if value]:
            raise click.UsageError(f"--{used[0].replace('_', '-')} is not for a file")
        output.put(files.answer(name, file, form, output.width(out)), out, "model")
        return 0
    if typed["about"] and form != "text":
        raise click.UsageError("--about is text")
    alone = form == "text" and not inputs and not any(typed.values())
    if typed["about"] or (alone and _asks(chosen)):
        output.put(text.about(chosen, output.width(out)), out, "model")
        return 0
    output.put(_answer(chosen, inputs, form, out, **typed), out, "model")
    return 0


def _only_listed(typed: dict[str, Any]) -> None:
    """Options that need a model are refused without one."""
    given = [option for option, value in typed.items() if value]
    if given:
        spelt = {"sources": "from", "swept": "sweep", "target": "for"}
        names = ", ".join(f"--{spelt.get(name, name)}" for name in given)
        raise click.UsageError(f"{names.replace('_', '-')} needs the name of a model")


def _asks(model: Any) -> bool:
    """Whether something must be given."""
    return any(one.default is None for one in model.inputs)


def _listing(form: str) -> str:
    from dbdyno import models
    from dbdyno.report.models import text

    every = [models.load(name) for name in models.names()]
    if form == "json":
        return (
            json.dumps([{"name": m.name, "question": m.document.question} for m in every], indent=1)
            + "\n"
        )
    return text.listing(every, output.width(None))


def _answer(model: Any, inputs: tuple[str, ...], form: str, out: Path | None, *,
            sources: tuple[str, ...], swept: str | None, points: int | None, solve: str | None,
            target: str | None, explain: bool, sensitivity: bool, about: bool,
            **login: Any) -> str:  # fmt: skip
    from dbdyno.models import calculate, given, sweep
    from dbdyno.models import solve as solving
    from dbdyno.report.models import document, page, text
    from dbdyno.wording.models import words

    typed = given.assignments(inputs, model)
    wanted = _wanted(model, solve, target, swept, typed)
    over = sweep.parse(model, swept) if swept is not None else None
    if points is not None and over is None:
        raise click.UsageError("--points is for --sweep")
    if over is not None and model.input(over.name).default is None:
        typed.setdefault(over.name, over.written[0])
    read = _read(model, sources, login)
    asked = given.take(model, typed, read)
    if over is not None and model.kind_of(over.name).name == "price":
        asked = given.in_currency(asked, over.written)
    if wanted is not None:
        asked = solving.solve(model, asked, wanted)
    answer = calculate.answer(model, asked)
    values = words.all_shown(answer)
    if wanted is not None:
        goal = words.one(model, wanted.output, wanted.value, asked.currency)
        said = solving.sentence(answer, wanted, values, goal)
        answer = replace(answer, sentence=f"{said} {answer.sentence}")
    curve = sweep.sweep(model, asked, over, points or sweep.POINTS) if over else None
    effects = sweep.sensitivity(model, asked, answer.values)
    if form == "json":
        made = document.to_json(answer, values, effects if sensitivity else None, curve)
        return json.dumps(made, indent=1, allow_nan=False) + "\n"
    if form == "html":
        return page.page(answer, values, effects, curve)
    return text.text(answer, values, width=output.width(out), explain=explain,
                     effects=effects if sensitivity else None, sweep=curve)  # fmt: skip


def _wanted(model: Any, solve: str | None, target: str | None, swept: str | None,
            typed: dict[str, str]) -> Any:  # fmt: skip
    """What --solve and --for ask, or None; `typed` gets a place for the input."""
    from dbdyno.models import solve as solving

    if solve is None and target is None:
        return None
    if solve is None or target is None:
        raise click.UsageError("--solve NAME and --for OUTPUT=VALUE go together")
    if swept is not None:
        raise click.UsageError("--solve and --sweep are two questions: ask one at a time")
    wanted = solving.parse(model, solve, target)
    if wanted.name in typed:
        raise click.UsageError(f"`{wanted.name}` is both given and solved for: remove one")
    typed[wanted.name] = solving.place(model, wanted)
    return wanted


def _read(model: Any, sources: tuple[str, ...], login: dict[str, Any]) -> Any:
    if not sources:
        if any(login.values()):
            raise click.UsageError("passwords and TLS are of a server's URL: --from URL")
        return {}
    from dbdyno.cli.models import origins

    return origins.read(model, sources, logins.credentials(login), login["tls"])
