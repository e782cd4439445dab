"""`--for TIME`: the workload from the statements that the server of `--on` counts meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from dbdyno.cli.logs.reading import EVERY_S, Progress, seconds
from dbdyno.cli.terminal import login
from dbdyno.digest import document
from dbdyno.digest.servers import chosen, sources, watch
from dbdyno.digest.servers.counted import Source
from dbdyno.digest.servers.watch import Sampled
from dbdyno.digest.workload import coverage
from dbdyno.digest.workload import experiment as workload
from dbdyno.digest.workload.counts import counted, shape
from dbdyno.digest.workload.counts.columns import Columns, limit
from dbdyno.digest.workload.counts.shape import Schema
from dbdyno.digest.workload.experiment import Workload
from dbdyno.digest.workload.schema import reading as schema_reading
from dbdyno.errors import DynoError
from dbdyno.execute.control import Interrupted
from dbdyno.experiment.targets import server_url
from dbdyno.systems.server_errors import understanding

COUNTED_MIN = 0.8  # of what clients sent, below which the counts are of another load
INSTEAD = "give a log that has the values: --log FILE"


def made(typed: Mapping[str, Any]) -> Workload:
    """The workload. click.UsageError for options that do not go together; DynoError for a server
    whose counts make none; Interrupted by Ctrl-C."""
    url = _url(typed)
    source = sources.open_source(url, login.credentials(typed), typed["tls"])
    try:
        with understanding(source.place, "its statements"):
            sampled = _sampled(source, typed)
            _refuse_uncounted(source.place, sampled, accepts=typed["accepts_censored"])
            choice = chosen.make(
                group_by=None,
                order_by=None,
                limit="all",
                db=server_url.parse(url).schema,
                user=None,
            )
            found = document.parse(watch.document(source, sampled, choice))
    finally:
        source.close()
    if not typed["quiet"]:
        for note in found.notes:
            click.echo(f"{source.place}: {note}", err=True)
    written = _written(url, typed, found, [*counted.statements(sampled, choice)])
    if not typed["accepts_partial"]:
        coverage.refuse_little(written.coverage, "the server's", INSTEAD)
    return written


def _url(typed: Mapping[str, Any]) -> str:
    url = typed["on"] or ""
    if not server_url.is_url(url):
        raise click.UsageError("--for watches the server of --on URL: name it")
    if typed["logs"] or typed["workload"] is not None:
        raise click.UsageError("--for, --log and --workload are several workloads: give one")
    if typed["dry_run"]:
        raise click.UsageError("--dry-run reads no server, and --for watches one")
    if typed["db"] is not None:
        raise click.UsageError("--db is for logs: counts are of the database of --on URL/NAME")
    if not server_url.parse(url).schema:
        raise click.UsageError("of which database is the workload? --on URL/NAME")
    return str(url)


def _sampled(source: Source, typed: Mapping[str, Any]) -> Sampled:
    for_s = seconds("--for", typed["for_"])
    every_s = seconds("--every", typed["every"]) if typed["every"] else None
    progress, interrupts = Progress(), list[bool]()
    try:
        sampled = watch.sample(
            source,
            for_s,
            every_s or min(for_s, seconds("--every", EVERY_S)),
            on_step=lambda done: progress.seconds(done, for_s),
            on_interrupt=lambda: interrupts.append(True),
        )
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        progress.end()
    if interrupts:
        raise Interrupted
    return sampled


def _refuse_uncounted(place: str, sampled: Sampled, *, accepts: bool) -> None:
    share = watch.counted_share(sampled.seen)
    if share >= COUNTED_MIN or accepts:
        return
    raise DynoError(
        f"{place}: the server counts {share:.0%} of the statements that its clients send",
        cause=" ".join(sampled.notes),
        fix=f"{INSTEAD}; or take what it counts with --accept-censored",
    )


def _written(
    url: str,
    typed: Mapping[str, Any],
    found: document.Document,
    statements: list[counted.Statement],
) -> Workload:
    server = sources.open_server(url, login.credentials(typed), typed["tls"])
    try:
        limit(server)
        in_url = server_url.parse(url).schema
        catalogs = schema_reading.of_databases(server, in_url, found)
        with understanding(server.place, "its tables"):
            schemas = {
                database: Schema.of(catalog, Columns(server, catalog.schema))
                for database, catalog in catalogs.items()
            }
            shaped = shape.shape(statements, schemas, found.seconds)
    finally:
        server.stop()
    return workload.made(found, shaped, accepts_censored=True, catalogs=catalogs, paced=False)
