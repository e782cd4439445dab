"""`dyno lab up`, `status`, `down`, and what is done to nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from dbdyno.cli.labs import shown
from dbdyno.errors import DynoError
from dbdyno.lab import asking, nodes, registry, starting, wanted
from dbdyno.lab.registry import Record
from dbdyno.lab.wanted import Wanted

_OF_TARGET = ("version", "basedir", "memory", "durability")
_PAST = {
    "kill": "killed",
    "stop": "stopped",
    "start": "started",
    "restart": "restarted",
    "pause": "paused",
    "resume": "resumed",
}


def there() -> list[Record]:
    """The labs that are up or come up. Says which ones a power cut has ended."""
    for name in registry.clear():
        click.echo(
            f"lab `{name}` ended with its machine, or with all its processes at once; what it left"
            " is removed",
            err=True,
        )
    return registry.listed()


def chosen(word: str | None) -> tuple[Record, str]:
    """The lab and the name of the node that a word means now; without one the primary."""
    records = there()
    if word is None:
        record, node = nodes.lab(records, None), nodes.TO_PRIMARY
    else:
        record, node = nodes.found(records, word)
    if not record.nodes:
        raise DynoError(f"lab `{record.name}` comes up just now", fix="ask again in a moment")
    if node in nodes.WORDS:
        node = nodes.by_role(record.name, node, asking.status(record)["nodes"])
    return record, node


def up(*, as_json: bool, settings: Sequence[str], **options: Any) -> int:
    """Starts a lab, and shows it."""
    asked = _wanted(settings, options)
    wanted.target(asked)  # mistakes are reported before a process is started
    for name in registry.clear():
        click.echo(f"what lab `{name}` had left is removed", err=True)
    registry.refuse_taken(asked.lab)
    click.echo(f"{asked.lab}: coming up", err=True)

    def say(text: str) -> None:
        click.echo(f"{asked.lab}: {text}", err=True)

    starting.start(asked, say)
    facts = asking.status(nodes.lab(registry.listed(), asked.lab))
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return 0
    click.echo(shown.lab(facts))
    for line in shown.next_steps(facts):
        click.echo(line, err=True)
    return 0


def _wanted(settings: Sequence[str], options: dict[str, Any]) -> Wanted:
    keys = {key: options[key] for key in _OF_TARGET if options[key] is not None}
    if "basedir" in keys:
        keys["basedir"] = wanted.absolute(keys["basedir"])
    if settings:
        keys["config"] = dict(map(_setting, settings))
    return Wanted(
        what=options["what"],
        name=options["name"],
        for_s=options["for_s"],
        kind=options["kind"],
        nodes=options["nodes"],
        wait_for_replicas=options["wait_for_replicas"],
        replication=options["replication"],
        router=options["router"],
        primaries=options["primaries"],
        arbitrator=options["arbitrator"],
        sst=options["sst"],
        scratch=wanted.absolute(options["scratch"]),
        target=keys,
    )


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise click.UsageError(f"--config {text}: write NAME=VALUE")
    return name.strip(), value.strip()


def status(name: str | None, as_json: bool) -> int:
    """Shows one lab, or all."""
    records = there()
    if name is not None:
        records = [nodes.lab(records, name)]
    facts = [asking.status(record) for record in records]
    if as_json:
        click.echo(json.dumps(facts, indent=1))
    elif facts:
        click.echo("\n\n".join(map(shown.lab, facts)))
    else:
        click.echo("no lab is up", err=True)
    return 0


def down(names: Sequence[str], *, every: bool, as_json: bool) -> int:
    """Ends labs."""
    records = there()
    if names:
        records = [nodes.lab(records, name) for name in dict.fromkeys(names)]
    elif records and not every:
        records = [nodes.lab(records, None)]
    for record in records:
        asking.down(record)
        click.echo(f"{record.name}: down, and removed", err=True)
    if not records:
        click.echo("no lab is up", err=True)
    if as_json:
        click.echo(json.dumps({"down": [record.name for record in records]}))
    return 0


def act(action: str, words: Sequence[str], *, as_json: bool) -> int:
    """Does something to nodes, one after the other."""
    done = []
    for word in words:
        record, node = chosen(word)
        said = asking.act(record, action, node)
        click.echo(f"{node}: {said or _PAST[action]}", err=True)
        done.append({"lab": record.name, "node": node, "action": action, "said": said})
    if as_json:
        click.echo(json.dumps(done, indent=1))
    return 0
