"""`dyno`: its commands are in `commands.py`. Data to stdout, talk to stderr."""

from __future__ import annotations

import signal
import sys
import tempfile
import traceback

import click

from dbdyno import __version__
from dbdyno.cli.commands import COMMANDS, Commands
from dbdyno.cli.terminal.limits import lacking
from dbdyno.cli.terminal.refused import as_document, tell
from dbdyno.errors import DynoError


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="dyno")
def dyno() -> None:
    """A dynamometer for databases: experiments on real servers, judged with intervals.

    Exit codes: 0 done, 1 the answer is "no", 2 you must change something, 3 interrupted and
    resumable, 4 worse by one run that no second one confirms yet.
    """


def main() -> None:
    """Turns what users can act on into a message and an exit code. See `entry`."""
    args = sys.argv[1:]
    try:
        code = dyno.main(standalone_mode=False)
    except DynoError as error:
        code = tell(error, args, error.exit_code)
    except click.ClickException as error:
        error.show()
        code = 2
        command = args[0] + " " if args[:1] and args[0] in COMMANDS else ""
        refused = DynoError(error.format_message(), fix=f"dyno {command}--help")
        as_document(refused, args, code)
    except (click.Abort, KeyboardInterrupt):
        code = tell(DynoError("interrupted"), args, 3)
    except Exception as error:
        code = tell(lacking(error) or _defect(error), args, 2)
    for number in (signal.SIGINT, signal.SIGTERM):  # all is done: nothing is left to interrupt
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code if isinstance(code, int) else 0)


def _defect(error: Exception) -> DynoError:
    """A defect of dbdyno as an error for people; the traceback goes to a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="dyno-defect-", suffix=".txt", delete=False
    ) as file:
        traceback.print_exception(error, file=file)
    return DynoError(
        f"{type(error).__name__}: {error}",
        cause="a defect in dbdyno; the measurements are on disk: `dyno report RUN` shows them",
        fix=f"report it with {file.name}",
    )
