"""Manual pages (man(7)) of `dyno` and of each command, from click itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

import click

from dbdyno import __version__
from dbdyno.cli.main import dyno
from reference_pages.commands import EXIT_CODES, VARIABLES

NOTE = '.\\" Written by tools/reference.py: change the program, then run `make reference`.'
_CODE = re.compile(r"`+([^`]*)`+")


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    found = {"dyno.1": _main()}
    for name, command in dyno.every().items():
        found[f"dyno-{name}.1"] = _command(name, command)
    return found


def _main() -> str:
    about, _, rest = inspect.cleandoc(dyno.help or "").partition("\n\n")
    return _page(
        "dyno",
        about,
        [
            _section("SYNOPSIS", [r"\fBdyno\fR [\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGS\fR]..."]),
            _section("DESCRIPTION", _prose(f"{about}\n\n{rest}")),
            _section("OPTIONS", _items(_options(dyno, _context()))),
            _section(
                "COMMANDS",
                _items(
                    (f"dyno-{name}(1)", (command.help or "").partition("\n\n")[0])
                    for name, command in dyno.every().items()
                ),
            ),
            _section("EXIT STATUS", _items((str(code), text) for code, text in EXIT_CODES)),
            _section("ENVIRONMENT", _items(VARIABLES)),
            _section(
                "FILES",
                _items([("~/.config/dbdyno/config.toml", "the user's settings: `dyno config`")]),
            ),
        ],
    )


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name, parent=_context())
    usage = " ".join(command.collect_usage_pieces(context))
    help_text = inspect.cleandoc(command.help or "")
    sections = [
        _section("SYNOPSIS", [rf"\fBdyno {_text(name)}\fR {_text(usage)}"]),
        _section("DESCRIPTION", _prose(help_text)),
    ]
    if options := _options(command, context):
        sections.append(_section("OPTIONS", _items(options)))
    for below, one in command.commands.items() if isinstance(command, click.Group) else ():
        sections.append(_section(f"DYNO {name} {below}".upper(), _inner(f"{name} {below}", one)))
    sections.append(_section("SEE ALSO", [r"\fBdyno\fR(1)"]))
    return _page(f"dyno-{name}", help_text.partition("\n\n")[0], sections)


def _inner(name: str, command: click.Command) -> list[str]:
    """A command of a group: usage, description, options."""
    context = click.Context(command, info_name=name, parent=_context())
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [".PP", rf"\fBdyno {_text(name)}\fR {_text(usage)}"]
    lines += _prose(inspect.cleandoc(command.help or ""))
    return lines + _items(_options(command, context))


def _context() -> click.Context:
    return dyno.make_context("dyno", [], resilient_parsing=True)


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    records = (
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
    )
    return [record for record in records if record]


def _page(name: str, about: str, sections: Sequence[str]) -> str:
    line = " ".join(about.split()).rstrip(".")
    head = f'.TH "{_text(name.upper())}" 1 "" "dbdyno {__version__}" "dbdyno"'
    first = _section("NAME", [rf"{_text(name)} \- {_text(line)}"])
    return "\n".join([NOTE, head, first, *sections]) + "\n"


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f'.SH "{title}"', *lines])


def _items(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Terms with their meanings."""
    lines = []
    for term, meaning in pairs:
        lines += [".TP", rf"\fB{_text(term)}\fR", _text(" ".join(meaning.split()))]
    return lines


def _prose(text: str) -> list[str]:
    lines = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b\n"):  # examples, which click does not rewrap either
            lines += [".PP", ".nf", *map(_text, paragraph.splitlines()[1:]), ".fi"]
        elif paragraph.strip():
            lines += [".PP", _text(" ".join(paragraph.split()))]
    return lines


def _text(text: str) -> str:
    """A text of one line for roff: no character of it is a command."""
    plain = _CODE.sub(r"\1", text).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
