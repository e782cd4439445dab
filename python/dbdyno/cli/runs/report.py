"""`dyno report`: draws a run again, whatever its state; redacted, or as a file to share."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbdyno import diskfiles
from dbdyno.cli.running import gate as gates
from dbdyno.cli.runs import annotate, latest
from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal import output
from dbdyno.errors import DynoError
from dbdyno.store.annotation import ANNOTATIONS
from dbdyno.store.text import files

if TYPE_CHECKING:
    from dbdyno.report import Report
    from dbdyno.store.run import Run


def _for_ci(name: str, what: str) -> Callable[[Any], Any]:
    """The option of a file for continuous integration."""
    return click.option(
        f"--{name}",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"Also write {what}.",
    )


@click.command()
@latest.arguments
@click.option(
    "--redact", "redacted", is_flag=True, help="Aliases for all names; literals and prose go."
)
@click.option(
    "--bundle",
    "bundle_to",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write one file that `dyno report` draws elsewhere.",
)
@click.option(
    "--to",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory of the reports [default: RUN; RUN/redacted; that of a bundle].",
)
@annotate.options
@click.option(
    "--brief", is_flag=True, help="Also write brief.html: the answer on two printed pages."
)
@click.option(
    "--pdf",
    metavar="[FILE]",
    is_flag=False,
    flag_value="",
    help="Also print to PDF, by the Chromium of this machine; with --brief the short form"
    " [default: report.pdf or brief.pdf, next to the page].",
)
@_for_ci("comment", "the answer as Markdown for a comment on a pull or merge request")
@_for_ci("annotations", "verdicts as workflow commands of GitHub Actions")
@_for_ci("sarif", "refuted and undecided claims as SARIF 2.1.0, at their lines")
@_for_ci("junit", "a test case for each claim as JUnit XML; undecided ones are skipped")
@gates.of_verdicts
@click.option("--json", "as_json", is_flag=True, help="Print result.json to stdout.")
def report(
    run: Path | None,
    directory: Path | None,
    redacted: bool,
    bundle_to: Path | None,
    to: Path | None,
    settings: tuple[str, ...],
    recommend: Path | None,
    logo: Path | None,
    brief: bool,
    pdf: str | None,
    strict: bool,
    decisive: bool,
    as_json: bool,
    **for_ci: Path | None,
) -> int:
    """Draw the report of a run again, or share it.

    Writes result.json, report.html and report.md of RUN, a run directory or a bundle (without
    it, of the latest run), and prints the answer. With --redact, whatever is written or printed is
    redacted. With --set, --recommend or --logo, RUN keeps what is added for later reports.
    """
    # All of it here, and not in a child that has given root up, which can read no modules.
    import dbdyno.wording.findings  # noqa: F401
    from dbdyno.cli import unprivileged
    from dbdyno.cli.running.finish import conclude
    from dbdyno.report import ci
    from dbdyno.report.write import BRIEF, HTML, MARKDOWN, RESULT
    from dbdyno.share import bundle, redact  # noqa: F401
    from dbdyno.share.opened import opened

    added = annotate.given(settings, recommend, logo)
    if added and redacted:
        raise click.UsageError("a redacted report shows nothing that was added: omit --redact")
    meant = latest.chosen(run, directory)
    source = meant.path
    if run is None:
        meant.announce()
    place = to or _default(source, redacted)
    printed = _printing(pdf, place / (BRIEF if brief else HTML))
    wanted = {name: path for name, path in for_ci.items() if path is not None}

    def also(report: Report) -> None:
        if brief:
            output.put(report.brief(), place / BRIEF, "brief")
        for name, path in wanted.items():
            output.put(ci.FORMATS[name](report), path, name)

    def drawn() -> int:
        with stored(source), opened(source) as found, _shared(found, redacted) as shown:
            if added:
                annotate.put(source, added)
            there = _made(place, found)
            code = conclude(
                shown, strict=strict, decisive=decisive, as_json=as_json, to=there, also=also
            )
            if bundle_to is not None:
                if there.resolve() != shown.path.resolve():
                    _copy(there / RESULT, shown.path / RESULT)
                size_bytes = bundle.pack(shown, bundle_to, redacted=redacted)
                click.echo(f"bundle: {bundle_to} ({size_bytes / 2**20:.1f} MiB)", err=True)
        return code

    makes = [*(place / name for name in (RESULT, MARKDOWN, HTML, BRIEF)), *wanted.values()]
    if source.is_dir():  # nothing is made in a bundle
        makes += [source / ANNOTATIONS] if added else []
        makes += [source / RESULT] if bundle_to is not None else []
    makes += [bundle_to] if bundle_to is not None else []
    code = unprivileged.reading(drawn, [source], makes)
    printed()
    return code


def _printing(asked: str | None, page: Path) -> Callable[[], None]:
    """What prints `page` once it is written: not in a child without root, which can start no
    Chromium. Nothing where it was not asked for. DynoError where that is impossible."""
    if asked is None:
        return lambda: None
    from dbdyno.report import pdf

    to = Path(asked) if asked else page.with_suffix(".pdf")
    if to.suffix.lower() != ".pdf":  # `--pdf RUN` would replace a bundle
        raise DynoError(
            f"--pdf {to} does not end in .pdf",
            cause="an argument behind --pdf is the file to write",
            fix="name RUN before --pdf, or a FILE that ends in .pdf",
        )
    program = pdf.find()

    def print_() -> None:
        made = pdf.printed(diskfiles.read(page, files.STREAM_BYTES_MAX), program)
        with output.explained(to), diskfiles.replacing(to) as file:
            file.write(made)
        click.echo(f"pdf: {to}", err=True)

    return print_


@contextlib.contextmanager
def _shared(run: Run, redacted: bool) -> Iterator[Run]:
    if not redacted:
        yield run
        return
    from dbdyno.share import redact

    with tempfile.TemporaryDirectory(prefix="dyno-redacted-") as directory:
        yield redact.redacted(run, Path(directory))


def _copy(source: Path, to: Path) -> None:
    with output.explained(to), diskfiles.opened(source) as made, diskfiles.replacing(to) as copy:
        shutil.copyfileobj(made, copy)


def _default(run: Path, redacted: bool) -> Path:
    """Where reports go. A bundle has no directory: a directory of its name, next to it."""
    if run.is_file():
        stem = run.with_name(run.name.removesuffix(run.suffix) or f"{run.name}-report")
        stem = stem if stem != run else run.with_name(f"{run.name}-report")
        return stem.with_name(f"{stem.name}-redacted") if redacted else stem
    return run / "redacted" if redacted else run


def _made(place: Path, run: Run) -> Path:
    """The directory for the reports, there by now. Another run's reports are never overwritten."""
    from dbdyno.store.manifest import MANIFEST

    if (place / MANIFEST).exists() and place.resolve() != run.path.resolve():
        raise DynoError(
            f"{place} is the directory of another run",
            cause="its reports would be overwritten",
            fix="name another place with --to",
        )
    if place.parent == run.path:
        files.refuse_link(place)
    try:
        diskfiles.make_directory(place)
    except OSError as error:
        raise DynoError(
            f"cannot make {place}: {error.strerror or error}",
            cause="a file is in the way, or the place belongs to someone else",
            fix="name another place with --to",
        ) from None
    return place.absolute()
