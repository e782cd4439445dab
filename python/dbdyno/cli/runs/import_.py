"""`dyno import`: results of other tools become a run with a report."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli import studies
from dbdyno.cli.running import gate as gates
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError

if TYPE_CHECKING:
    from dbdyno.imports import Head

TABLE = ".csv"
UNNAMED = "imported"


@click.command("import")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Levels from file names, such as 'n2-{threads}-{rep}.txt'; may be repeated.",
)
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="COLUMN=METRIC",
    help="Metric of a table's column (`-`: ignore the column); may be repeated.",
)
@click.option(
    "--experiment",
    metavar="FILE",
    help="Question, claims and prices from an experiment file or a shipped one; without FILES, its"
    " table (the .csv next to it) is imported.",
)
@click.option("--name", help="Name of the run [default: the experiment's, or the files'].")
@click.option("--question", help="Question that the results answer.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    help="Directory of the run [default: runs/NAME-TIME].",
)
@click.option("--skip-bad", is_flag=True, help="Skip files that cannot be read, and list them.")
@gates.of_verdicts
@click.option("--json", "as_json", is_flag=True, help="Print result.json to stdout.")
def import_(
    files: tuple[Path, ...],
    patterns: tuple[str, ...],
    columns: tuple[str, ...],
    experiment: str | None,
    name: str | None,
    question: str | None,
    directory: Path | None,
    skip_bad: bool,
    strict: bool,
    decisive: bool,
    as_json: bool,
) -> int:
    """Import existing results as a run, and report on it.

    FILES are results of sysbench, pgbench (output and logs), fio (JSON), HammerDB (job text) or
    tables (CSV with a header), or directories of them.
    """
    from dbdyno.cli import unprivileged
    from dbdyno.cli.running.finish import conclude
    from dbdyno.imports import Pattern, Told, arrange, collect, plan_of, read_head, write
    from dbdyno.store.naming import unnamed

    head = None
    if experiment is not None:
        path = studies.find_imported(experiment)
        head = read_head(path)
        files = files or _table_beside(path)
    if not files:
        raise click.UsageError("give the FILES to import, or --experiment")
    name = _name(files, name, head)
    held = [Pattern.of(pattern) for pattern in patterns]
    with stored(*files):
        mapped = dict(map(_mapped, columns))
        collected = unprivileged.reading(
            lambda: collect(files, mapped, skip_bad=skip_bad), files, always=True
        )
        if columns and not any(found.row for found in collected.results):
            raise DynoError(
                "--map names a table's column, and none of the files is a table",
                fix="remove --map; other formats name their metrics",
            )
        for bad, why in collected.skipped:
            click.echo(f"skipped {bad}: {why}", err=True)
        cells = arrange(collected.results, held)
        told = Told(name, question or (head.model.question.strip() if head else ""), head)
        plan = plan_of(cells, collected, told)
        path = directory or unnamed(plan.name)
        run = write(path, plan, cells, collected, ["dyno", *sys.argv[1:]])
        return conclude(run, strict=strict, decisive=decisive, as_json=as_json)


def _table_beside(path: Path) -> tuple[Path, ...]:
    beside = path.with_suffix(TABLE)
    if not beside.is_file():
        raise DynoError(
            f"no FILES were given, and the directory of {path} has no {beside.name}",
            fix="give the files of results to import",
        )
    return (beside,)


def _mapped(text: str) -> tuple[str, str]:
    """`COLUMN=METRIC`; DynoError for a metric that does not exist."""
    from dbdyno.imports.formats import table

    column, equals, name = text.rpartition("=")
    if not equals or not column.strip() or not name.strip():
        raise DynoError(f"--map {text[:60]}: expected COLUMN=METRIC", fix="such as --map rate=tps")
    if name.strip() != table.LEFT_OUT:
        table.metric(name.strip())
    return column.strip(), name.strip()


def _name(files: Sequence[Path], name: str | None, head: Head | None) -> str:
    """The run's name: as given, the experiment's, or that of the only file or directory."""
    from dbdyno.experiment.model import NAME_PATTERN

    if name is not None and re.fullmatch(NAME_PATTERN, name) is None:
        raise DynoError(
            f"`{name[:60]}` cannot be a run's name",
            fix="use at most 100 small letters, digits and `-`, and begin with a letter or digit",
        )
    if name is not None:
        return name
    if head is not None:
        return head.model.experiment
    return name_of(files[0]) if len(files) == 1 else UNNAMED


def name_of(path: Path) -> str:
    """The name of a run that was made of this file or directory."""
    path = path.absolute()
    own = re.sub(r"[^a-z0-9]+", "-", (path.name if path.is_dir() else path.stem).lower())
    return own[:60].strip("-") or UNNAMED
