"""`dyno digest LOG... --workload OUT.yaml`: from logs, and a server's schema, to an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.text import Text

from dbdyno.cli.logs.reading import STDIN, Options, all_classes, read_log
from dbdyno.cli.terminal import login, output
from dbdyno.cli.terminal.console import Shown
from dbdyno.digest import document, reading
from dbdyno.digest.document import Document
from dbdyno.digest.servers import sources as servers
from dbdyno.digest.workload import coverage, profile
from dbdyno.digest.workload import experiment as workload
from dbdyno.digest.workload.schema import reading as schema_reading
from dbdyno.digest.workload.schema.catalog import Catalog
from dbdyno.experiment.targets import server_url


@dataclass(frozen=True)
class Asked:
    """Arguments besides the options of logs: `schema_of`: a server's URL."""

    experiment: Path
    accepts_censored: bool
    accepts_partial: bool
    schema_of: str | None
    keeps_paths: bool
    by_user: bool


class Interrupted(Exception):
    """By Ctrl-C: half a log makes no workload."""


def write(sources: Sequence[str], options: Options, asked: Asked) -> int:
    """Writes the experiment, and says what of the logs is in it; the exit code."""
    try:
        written, code = made(sources, options, asked)
    except Interrupted:
        return reading.INTERRUPTED
    output.put(written.text, asked.experiment, "digest")
    tell(written.coverage)
    _tell_next(asked)
    return code


def made(
    sources: Sequence[str], options: Options, asked: Asked, *, paced: bool = True
) -> tuple[workload.Workload, int]:
    """The experiment, and the exit code of reading the logs. `paced`: at the log's own rate, if it
    has one; else a closed loop. Interrupted by Ctrl-C."""
    _refuse(sources, options)
    logs = replace(options, url=dict.fromkeys(options.url)) if asked.schema_of else options
    found, shaped, code = _looked(sources, logs, asked)
    parts = []
    for user in workload.users(found) if asked.by_user else ():
        only = replace(logs, engine=(*logs.engine, ("--user", user)))
        parts.append(workload.Part(user, *_looked(sources, only, asked)[:2]))
    written = workload.made(
        found,
        shaped,
        accepts_censored=asked.accepts_censored,
        catalogs=_catalogs(asked.schema_of, options, found) if asked.schema_of else None,
        by_user=parts,
        paced=paced,
    )
    if not asked.accepts_partial:
        coverage.refuse_little(written.coverage)
    return written, code


def _refuse(sources: Sequence[str], options: Options) -> None:
    if any(map(server_url.is_url, sources)):
        raise click.UsageError("--workload needs logs: statement counters lack values and order")
    if options.format != "text" or options.out is not None:
        raise click.UsageError(
            "--workload writes an experiment to its own file: no --format, --out"
        )
    senseless = ("--follow", "--group-by", "--merge-names", "--order-by", "--limit", "--samples")
    if typed := options.typed(*senseless):
        raise click.UsageError(f"--workload does not go with {', '.join(typed)}")
    for source in sources:
        if source == STDIN or (Path(source).exists() and not Path(source).is_file()):
            raise click.UsageError("--workload reads logs twice: give files, not pipes")
        if document.saved(Path(source)) is not None:
            raise click.UsageError(f"--workload takes logs, and {source} is a saved digest")


def _looked(
    sources: Sequence[str], options: Options, asked: Asked
) -> tuple[Document, profile.Shape, int]:
    """The digest of logs, what a workload of them is made of, and the exit code."""
    whole = all_classes(options)
    if asked.keeps_paths:
        whole = replace(whole, engine=(*whole.engine, ("--samples", "raw")))
    raw, code = read_log(sources, whole)
    found = document.parse(raw)
    workload.check(found, accepts_censored=asked.accepts_censored)
    if code == reading.INTERRUPTED:
        raise Interrupted
    shaping = replace(options, engine=(*options.engine, ("--shape", True)))
    made, second = read_log(sources, shaping, made="shape")
    if second == reading.INTERRUPTED:
        raise Interrupted
    return found, profile.parse(made), code


def tell(found: coverage.Coverage) -> None:
    """Says what of the logs is in the experiment."""
    console = Shown(stderr=True)
    console.print(Text(found.carried, style="bold"), soft_wrap=True)
    for sentence in coverage.why(found):
        console.print(Text(sentence), soft_wrap=True)


def _tell_next(asked: Asked) -> None:
    file = asked.experiment
    if asked.schema_of is None:
        click.echo(
            "values of ENUMs, keys that rows refer to and keys that the server makes are not known"
            f" without --schema-of URL; to see what will fail: dyno run {file} --dry-run"
            " --with-schema",
            err=True,
        )
    click.echo(f"read its header (requirements, omissions), then: dyno run {file}", err=True)


def _catalogs(url: str, options: Options, found: Document) -> Mapping[str, Catalog]:
    """What a server says of the databases of a log."""
    if not server_url.is_url(url):
        raise click.UsageError("--schema-of takes a server's URL, such as mysql://app@host/shop")
    server = servers.open_server(url, login.credentials(options.url), options.url["tls"])
    try:
        return schema_reading.of_databases(server, server_url.parse(url).schema, found)
    finally:
        server.stop()
