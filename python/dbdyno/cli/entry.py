"""Where the `dyno` command begins: signals and streams first, then everything that takes long.

Importing what commands need takes half a second; a Ctrl-C in it must end dyno quietly, not with a
traceback.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

AGAIN_S = 0.01


def main() -> None:
    """Entry point of the `dyno` script."""
    if sys.argv[1:2] == ["sysbench"]:  # before anything is parsed and any signal handled
        from dbdyno.cli import sysbench

        sysbench.main(sys.argv[2:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a lost terminal stops nothing
    from dbdyno.cli.terminal import limits, streams
    from dbdyno.errors import DynoError

    streams.install()
    try:
        limits.prepare()
        from dbdyno.cli import main as commands
    except (DynoError, ImportError, OSError, MemoryError) as error:
        print(f"dyno: {limits.lacking(error) or error}", file=sys.stderr)
        sys.exit(2)
    # Both raise KeyboardInterrupt, which removes what is half-written; runs have their own way.
    sys.unraisablehook = ask_again
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    commands.main()


def ask_again(unraisable: sys.UnraisableHookArgs) -> None:
    """A KeyboardInterrupt that came where Python can raise none (a destructor, the lock of an
    import) is not lost: the signal is sent again a moment later."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    again = threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()
