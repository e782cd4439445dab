"""`dyno check`: what is wrong with a server, its files, a manifest or its logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbdyno.cli.logs.reading import seconds
from dbdyno.cli.terminal import login
from dbdyno.errors import DynoError
from dbdyno.rules.check.rule import SEVERITIES

FORMS = ("text", "json", "markdown", "sarif")
FILES = (
    *("ddl", "digest", "log", "manifest", "mongod.conf", "my.cnf", "postgresql.conf"),
    *("redis.conf", "vschema"),
)
_OF_FINDINGS = ("html", "baseline", "write_baseline", "only", "ignored")
_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--collect", is_flag=True,
              help="Print the facts as one JSON document instead, to be checked elsewhere: no rows"
              " of tables, no password, no statement.")  # fmt: skip
@click.option("--statements", is_flag=True,
              help="With --collect: statement classes too, without literals.")  # fmt: skip
@click.option("--only", multiple=True, metavar="RULE|PACK",
              help="Only this rule (* stands for any text) or pack; may be repeated.")  # fmt: skip
@click.option("--ignore", "ignored", multiple=True, metavar="RULE:REASON",
              help="Do not count this rule's findings; the reason is shown.")  # fmt: skip
@click.option("--baseline", type=_PATH, metavar="FILE",
              help="Findings in this file are known and do not count.")  # fmt: skip
@click.option("--write-baseline", type=_PATH, metavar="FILE",
              help="Write the findings of this run as such a file.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(SEVERITIES), default="high", show_default=True,
              help="Exit with 1 on findings of this severity or a higher one.")  # fmt: skip
@click.option("--as", "form_of_file", type=click.Choice(FILES),
              help="What a file is [default: found out].")  # fmt: skip
@click.option("--engine", metavar="ENGINE-VERSION",
              help="Engine and version that a file is for, such as mariadb-10.11.")  # fmt: skip
@click.option("--server", metavar="PROGRAM",
              help="mysqld or mariadbd that reads a my.cnf and names what it refuses.")  # fmt: skip
@click.option("--this-host", is_flag=True,
              help="The servers are of this machine: check owners and modes of their files, their"
              " accounts and processes too.")  # fmt: skip
@click.option("--memory", metavar="SIZE",
              help="Memory of the host [default: this machine's, of a server on it].")  # fmt: skip
@click.option("--for", "for_", metavar="TIME",
              help="How long to watch a server's counters, to judge the query cache.")  # fmt: skip
@click.option("--write-needle", is_flag=True,
              help="Write a random value into a schema of dbdyno on the server, look for it in the"
              " data directory that is named too, and drop the schema.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True,
              help="Format of the findings.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--markdown", "as_markdown", is_flag=True, help="The same as --format markdown.")
@click.option("--sarif", "as_sarif", is_flag=True, help="The same as --format sarif.")
@click.option("--html", type=_PATH, metavar="FILE", help="Write a page too.")
@click.option("--out", type=_PATH, metavar="FILE",
              help="File to write instead of standard output.")  # fmt: skip
@login.options
def check(targets: tuple[str, ...], **typed: Any) -> int:
    """Check servers and their files: findings with evidence, effect, fix and undo.

    TARGET is a server's URL (mysql://, mariadb://, postgres://, redis://, mongodb://), a
    configuration file (my.cnf, postgresql.conf, redis.conf, mongod.conf), a Kubernetes manifest, a
    log (name rotated ones together), a data directory, a schema dump with or without a digest (dyno
    digest --json), or a document of --collect. Servers are only read, by statements that wait at
    most 1 s for a lock and end after 5 s, unless --write-needle is given. A rule without its facts
    is "not known", with the reason.
    """
    import json
    from dataclasses import replace

    from dbdyno.cli.checking import findings
    from dbdyno.cli.runs.stored import stored
    from dbdyno.cli.terminal import output
    from dbdyno.experiment.targets import server_url
    from dbdyno.facts import document
    from dbdyno.facts import targets as reading
    from dbdyno.facts.schema import combined

    ignored = _ignored(typed["ignored"])
    form = _form(typed)
    if typed["collect"] and (form != "text" or any(typed[name] for name in _OF_FINDINGS)):
        raise click.UsageError("--collect only reads: it has no findings to show")
    if typed["statements"] and not typed["collect"]:
        raise click.UsageError("--statements is for --collect: findings are made of them anyway")
    _refuse_idle(targets, typed)
    asked = replace(_asked(typed), packs=findings.packs(typed["only"]))
    for target in targets:
        server_url.refuse_unknown(target, for_check=True)
    files = [target for target in targets if reading.is_file(target)]
    with stored(*files or targets):
        with findings.progress() as progress:
            asked = replace(asked, progress=progress)
            read = findings.read(targets, asked)
        facts = combined.with_digests(reading.read_late(read, asked))
        if typed["write_needle"]:
            facts = findings.with_needle(targets, facts, asked)
        if typed["memory"] and not any(one.source in reading.HAS_MEMORY for one in facts):
            raise click.UsageError(
                "--memory is for a server or its configuration file, and no target is one"
            )
        if typed["collect"]:
            if not typed["statements"]:
                facts = [combined.without_statements(one) for one in facts]
            made = json.dumps(document.document(facts), indent=1, allow_nan=False) + "\n"
            output.put(made, typed["out"], "facts")
            return 0
        judged = findings.judged(facts, typed["only"], ignored, typed["baseline"])
        drawn = findings.drawn(judged, form, output.width(typed["out"]))
        output.put(drawn, typed["out"], "findings")
        if typed["html"] is not None:
            findings.write_page(judged, typed["html"])
        if typed["write_baseline"] is not None:
            findings.write_baseline(judged, typed["write_baseline"])
    return 1 if judged.at_least(typed["fail_on"]) else 0


def _refuse_idle(targets: tuple[str, ...], typed: dict[str, Any]) -> None:
    """click.UsageError for options that no target has a use for."""
    from dbdyno.experiment.targets import server_url
    from dbdyno.facts import targets as reading

    used = (
        ("a server's URL", ("for_", *login.NAMES), map(server_url.is_url, targets)),
        ("a file", ("engine", "form_of_file", "server"), map(reading.is_file, targets)),
    )
    if typed["write_needle"]:
        servers = sum(map(server_url.is_url, targets))
        if servers != 1 or sum(map(reading.is_directory, targets)) != 1:
            raise click.UsageError("--write-needle is for one server's URL and its data directory")
    for what, names, has in used:
        idle = [name for name in names if typed[name] is not None]
        if idle and not any(has):
            option = {"form_of_file": "as"}.get(idle[0], idle[0]).strip("_").replace("_", "-")
            raise click.UsageError(f"--{option} is for {what}, and no target is one")


def _form(typed: dict[str, Any]) -> str:
    short = [name for name in ("json", "markdown", "sarif") if typed[f"as_{name}"]]
    if len(short) > 1 or (short and typed["form"] not in ("text", *short)):
        raise click.UsageError("one format at a time")
    return short[0] if short else str(typed["form"])


def _ignored(texts: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in texts:
        rule, _, reason = text.partition(":")
        if not reason.strip():
            raise DynoError(
                f"`--ignore {text}` has no reason",
                cause="who reads the answer later must know why a finding does not count",
                fix=f"--ignore '{rule}:why it does not matter here'",
            )
        found[rule.strip()] = reason.strip()
    return found


def _asked(typed: dict[str, Any]) -> Any:
    from dbdyno.experiment.values import units
    from dbdyno.facts import targets as reading

    engine, version = reading.engine_of(typed["engine"]) if typed["engine"] else ("", ())
    try:
        memory = units.size_bytes(typed["memory"]) if typed["memory"] else None
    except ValueError as error:
        raise DynoError(f"`--memory {typed['memory']}` {error}", fix="such as 16Gi") from None
    return reading.Asked(
        credentials=login.credentials(typed),
        tls=typed["tls"],
        form=typed["form_of_file"],
        engine=engine,
        version=version,
        memory_bytes=memory,
        server=typed["server"],
        statements=typed["statements"] or not typed["collect"],
        this_host=typed["this_host"],
        for_s=seconds("--for", typed["for_"]) if typed["for_"] else 0.0,
    )
