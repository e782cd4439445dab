"""What `dyno report` adds to a run for the readers of its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.store import annotation

FILE_BYTES_MAX = 1 << 20  # more than any text or logo may have
_FILE = click.Path(path_type=Path, dir_okay=False)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--set`, `--recommend` and `--logo`; read them with `given`."""
    names = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=TEXT",
        help=f"Add to the run for its report: {', '.join(annotation.NAMES[:-1])}; kept in"
        " annotations.json. `NAME=` removes it.",
    )
    recommend = click.option(
        "--recommend",
        type=_FILE,
        metavar="FILE",
        help="The same with the recommendation in a text file, in plain paragraphs.",
    )
    logo = click.option(
        "--logo",
        type=_FILE,
        metavar="FILE",
        help="The same with an image for the head of the report: PNG, JPEG, GIF or WebP, at most"
        f" {annotation.LOGO_BYTES_MAX >> 10} KiB. `--set logo=` removes it.",
    )
    return names(recommend(logo(command)))


def given(settings: tuple[str, ...], recommend: Path | None, logo: Path | None) -> dict[str, str]:
    """The texts to add, by name. click.UsageError for a name that is not known or given twice,
    DynoError for a file that cannot be read, or is no text or image."""
    texts: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting}: write NAME=TEXT")
        if name not in annotation.NAMES:
            from dbdyno.experiment.file.names import did_you_mean  # its package loads pydantic

            hint = did_you_mean(name, annotation.NAMES)
            raise click.UsageError(f"--set {name}: a report has no such entry; {hint}")
        if name == "logo" and text:
            raise click.UsageError("--set logo= removes the logo; --logo FILE adds one")
        _add(texts, name, text)
    if recommend is not None:
        _add(texts, "recommendation", _text(recommend))
    if logo is not None:
        _add(texts, "logo", annotation.logo(_read(logo)))
    return texts


def put(run: Path, texts: dict[str, str]) -> None:
    """Adds them to what the run at `run` has. DynoError for a bundle, for a text that is too long,
    and if they cannot be written."""
    annotation.write(run, annotation.read(run).changed(texts))


def _add(texts: dict[str, str], name: str, text: str) -> None:
    if name in texts:
        raise click.UsageError(f"the {name} is given twice")
    texts[name] = text


def _text(path: Path) -> str:
    try:
        return _read(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DynoError(f"{path} is not UTF-8 text", fix="save it as UTF-8") from None


def _read(path: Path) -> bytes:
    try:
        return diskfiles.read(path, FILE_BYTES_MAX, links=True)
    except OSError as error:
        raise DynoError(
            f"cannot read {path}: {error.strerror or error}", fix="name a file that can be read"
        ) from None
