"""`dyno export`: a run's numbers for other programs."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from dbdyno import diskfiles
from dbdyno.cli import completing
from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal import output

if TYPE_CHECKING:
    from dbdyno.share.tables import Source, Table

STDOUT = "-"
CSV, PARQUET = ".csv", ".parquet"
TABLES = ("trials", "intervals", "samples")
Write = Callable[["Source", "Table", BinaryIO], int]


@click.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option(
    "--csv", "csv_to", metavar="DIR|FILE|-", help="Tables as CSV: one file each, or one table."
)
@click.option(
    "--parquet", "parquet_to", metavar="DIR|FILE|-", help="The same as Parquet (an extra)."
)
@click.option(
    "--openmetrics",
    "openmetrics_to",
    metavar="FILE|-",
    help="Intervals and samples with timestamps, for a time series database.",
)
@click.option(
    "--table",
    "wanted",
    type=click.Choice(TABLES),
    multiple=True,
    help="Which tables; may be repeated [default: all into DIR, trials into FILE].",
)
@click.option("--json", "as_json", is_flag=True, help="List the written files as JSON.")
def export(
    run: Path,
    csv_to: str | None,
    parquet_to: str | None,
    openmetrics_to: str | None,
    wanted: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write a run's numbers for other programs.

    RUN is a run directory or a bundle; tables or OpenMetrics come out of it. A name that ends in
    .csv or .parquet is a file, and so is - (standard output); any other is a directory, which gets
    a file for each table.
    """
    # All of it here, and not in a child that has given root up, which can read no modules.
    from dbdyno.cli import unprivileged
    from dbdyno.share import csvfile, openmetrics, parquet, tables  # noqa: F401
    from dbdyno.share.opened import opened

    ways = [way for way in (csv_to, parquet_to, openmetrics_to) if way is not None]
    if not ways:
        raise click.UsageError("give --csv, --parquet or --openmetrics")
    if ways.count(STDOUT) + (as_json and STDOUT in ways) > 1:
        raise click.UsageError("only one thing can go to standard output")
    if openmetrics_to is not None and wanted and len(ways) == 1:
        raise click.UsageError("--table is for --csv and --parquet")
    if parquet_to is not None:
        parquet.library()  # what is missing is reported before anything is written
    named = [openmetrics_to or STDOUT]
    for to, suffix in ((csv_to, CSV), (parquet_to, PARQUET)):
        named += _places(to, suffix, wanted).values() if to is not None else ()
    makes = [Path(place) for place in named if place != STDOUT]

    def write() -> list[dict[str, object]]:
        written: list[dict[str, object]] = []
        with opened(run) as source:
            if csv_to is not None:
                written += _tables(source, csv_to, wanted, CSV, _csv)
            if parquet_to is not None:
                written += _tables(source, parquet_to, wanted, PARQUET, parquet.write)
            if openmetrics_to is not None:
                with _sink(openmetrics_to) as raw, _as_text(raw) as out:
                    samples = openmetrics.write(source, out)
                written.append({"file": openmetrics_to, "samples": samples})
        return written

    with stored(run):
        written = unprivileged.reading(write, [run], makes)
    _tell(written, as_json)
    return 0


def _places(to: str, suffix: str, wanted: tuple[str, ...]) -> dict[str, str]:
    """Where each table goes."""
    from dbdyno.share import tables

    if to == STDOUT or to.endswith(suffix):
        chosen = wanted or ("trials",)
        if len(chosen) > 1:
            raise click.UsageError(f"{to} takes one table: give one --table, or a directory")
        return {chosen[0]: to}
    return {table.name: str(Path(to) / f"{table.name}{suffix}") for table in tables.named(wanted)}


def _tables(
    source: Source, to: str, wanted: tuple[str, ...], suffix: str, write: Write
) -> list[dict[str, object]]:
    from dbdyno.share import tables

    if to != STDOUT and not to.endswith(suffix):
        with output.explained(Path(to)):
            diskfiles.make_directory(Path(to), 0o777)
    written: list[dict[str, object]] = []
    for name, place in _places(to, suffix, wanted).items():
        with _sink(place) as out:
            rows = write(source, tables.TABLES[name], out)
        written.append({"file": place, "table": name, "rows": rows})
    return written


def _csv(source: Source, table: Table, raw: BinaryIO) -> int:
    from dbdyno.share import csvfile

    with _as_text(raw) as out:
        return csvfile.write(source, table, out)


@contextlib.contextmanager
def _as_text(raw: BinaryIO) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.flush()
        text.detach()


@contextlib.contextmanager
def _sink(place: str) -> Iterator[BinaryIO]:
    """Standard output, or a file written whole or not at all."""
    if place == STDOUT:
        if sys.stdout.isatty():  # a pipe gets the bytes, a terminal what can be shown
            shown = io.BytesIO()
            yield shown
            click.echo(shown.getvalue().decode("utf-8", "backslashreplace"), nl=False)
            return
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(place)
    with output.explained(path), diskfiles.replacing(path) as file:
        yield file  # type: ignore[misc]


def _tell(written: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(written, indent=1))
        return
    for entry in written:
        if entry["file"] != STDOUT:
            count = entry.get("rows", entry.get("samples"))
            click.echo(
                f"{entry['file']}: {count:,} {'rows' if 'rows' in entry else 'samples'}", err=True
            )
