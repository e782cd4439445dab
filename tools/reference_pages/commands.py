"""Every command of `dyno`, from click itself."""

from __future__ import annotations

import inspect
import re
import textwrap

import click

from dbdyno import userconfig
from dbdyno.cli.main import dyno
from reference_pages.markdown import block, code, sections, table

EXAMPLE = textwrap.dedent((userconfig.__doc__ or "").split("\n\n")[1])

_EXAMPLES = re.compile("\b\n(.*?)(?=\n\n|\\Z)", re.DOTALL)  # what click does not rewrap

EXIT_CODES = (
    (0, "done"),
    (
        1,
        'the answer is "no": a claim was refuted and `--strict` was given, or something is worse and'
        " `--fail-on-regression` was",
    ),
    (
        2,
        "you must change something: a file, an option, the machine; the message says what."
        " Also where nothing was measured: no trial is complete, or all are void; and where a claim"
        " has no verdict and `--fail-on-undecided` was given",
    ),
    (3, "interrupted; `dyno run --resume DIR` goes on"),
    (
        4,
        "one run is worse than its history, and `--fail-on-regression` was given: measure once more;"
        " a second run confirms it (1) or does not (0)",
    ),
)
COMPLETION = """A Tab completes commands, options, experiments (studies and files), runs (the newest first), models, labs with their nodes, and keys of `--set`, once the
shell has read a script. One line in its start file does it; the script can be kept in a file as well, which starts the shell sooner.

Manual pages come with the package: `man dyno`, `man dyno-run`."""
SHELLS = (
    ("bash, in `~/.bashrc`", 'eval "$(_DYNO_COMPLETE=bash_source dyno)"'),
    ("zsh, in `~/.zshrc`", 'eval "$(_DYNO_COMPLETE=zsh_source dyno)"'),
    ("fish, in `~/.config/fish/completions/dyno.fish`", "_DYNO_COMPLETE=fish_source dyno | source"),
)
VARIABLES = (
    ("DYNO_ENGINE", "the `dyno-engine` to use; else the one next to `dyno`, else the one on PATH"),
    (
        "DYNO_SCRATCH",
        "where servers keep their files, unless `--scratch` says so; else the user's settings, else"
        " /var/tmp",
    ),
    ("XDG_CONFIG_HOME", "where `dbdyno/config.toml` is, the user's settings; else ~/.config"),
    (
        "XDG_STATE_HOME",
        "where `dbdyno/labs` is, which holds sockets and passwords of labs; else ~/.local/state",
    ),
    ("DYNO_MYSQL_BASEDIR", "prefix of a MySQL server, unless the target has `basedir:`"),
    ("DYNO_PREFIX", "folder in which `make servers` puts servers that have a prefix of their own"),
    (
        "DYNO_TRACEBACK",
        "if set and not empty, the error of an inconsistent stored file names the place in the"
        " program",
    ),
    ("NO_COLOR", "if set and not empty, nothing is coloured"),
)


def page() -> str:
    """docs/reference/commands.md"""
    about = inspect.cleandoc(dyno.help or "").partition("\n")[0]
    return sections(
        "# Commands",
        about,
        "Data goes to standard output, messages to standard error. With `--json` an error is an object"
        " on standard output too, unless a document is there already: `ok` (false), `exit_code`, and"
        " `error` with `what`, `where` (`file`, `line`, `column`, or null), `cause` and `fix`;"
        " `errors` lists all mistakes of a file, by line.",
        table(("option", "meaning"), _options(dyno, _context())),
        *(_command(name, command) for name, command in dyno.every().items()),
        "## Completion",
        COMPLETION,
        table(("shell", "line"), ((shell, code(line)) for shell, line in SHELLS)),
        "## Exit codes",
        table(("code", "meaning"), EXIT_CODES),
        "## Settings of the user",
        "`~/.config/dbdyno/config.toml` (TOML). What a command line, an environment variable or an experiment says comes before it."
        " A file that others may write is refused, since it may name commands. `dyno config` shows what is in force.",
        block(EXAMPLE, "toml"),
        "A source is one of `env`, `file`, `command` and `defaults_group`, as the keys `password_*` of a target. Of entries for a server the one that"
        " says most of `USER@HOST:PORT` counts.",
        "## Environment variables",
        table(("variable", "meaning"), ((code(n), text) for n, text in VARIABLES)),
    )


def _context() -> click.Context:
    """That of `dyno` itself; its settings hold for all commands."""
    return dyno.make_context("dyno", [], resilient_parsing=True)


def _command(name: str, command: click.Command, level: str = "##") -> str:
    context = click.Context(command, info_name=name, parent=_context())
    usage = " ".join([f"dyno {name}", *command.collect_usage_pieces(context)])
    inner = command.commands if isinstance(command, click.Group) else {}
    return sections(
        f"{level} dyno {name}",
        code(usage),
        _EXAMPLES.sub(r"```sh\n\1\n```", inspect.cleandoc(command.help or "")),
        table(("option", "meaning"), _options(command, context)),
        *(_command(f"{name} {below}", one, f"{level}#") for below, one in inner.items()),
    )


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record:
            rows.append((code(record[0]), record[1]))
    return rows
