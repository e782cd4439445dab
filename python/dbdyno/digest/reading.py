"""Running `dyno-engine digest` over logs: its events in, its document out.

Logs are read by the engine alone; here are its process, its progress, and its errors for people.
"""

from __future__ import annotations

import contextlib
import json
import signal
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import PIPE, Process
from dbdyno.installed import find

Raw = dict[str, Any]
Progress = Callable[[int, int | None], None]  # bytes read, bytes in all if known
Shown = Callable[[Raw], None]
INTERRUPTED = 3


def read(
    arguments: Sequence[str],
    *,
    on_progress: Progress,
    on_document: Shown | None = None,
    made: str = "digest",
) -> tuple[Raw, int]:
    """The document of `dyno-engine digest ARGUMENTS`, and the exit code it asks for: 1 if
    `--strict` found something unrecognised, 3 where Ctrl-C ended it early.

    `made` is the event that holds it; `shape`, `parallelism`: those of the options so named.
    `on_document` gets each document of a log that is followed, except for the last, which is
    returned. Ctrl-C asks the engine to end with what it has. DynoError if it fails.
    """
    last: Raw | None = None
    failed: Raw | None = None
    with tempfile.TemporaryFile() as stderr:
        # In a session of its own: dbdyno passes Ctrl-C on.
        process = LOCAL.start([find(), "digest", *arguments], stdout=PIPE, stderr=stderr)
        try:
            for event in _events(process):
                kind = event.get("event")
                if kind == "progress":
                    on_progress(int(event.get("bytes", 0)), event.get("bytes_total"))
                elif kind == made:
                    if last is not None and on_document is not None:
                        on_document(last)
                    last = event["document" if made == "digest" else made]
                elif kind == "failed":
                    failed = event
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        stderr.seek(0)
        tail = stderr.read()[-2000:].decode("utf-8", "replace").strip()
    if failed is not None or last is None or code not in (0, 1, INTERRUPTED):
        raise _failed(failed, code, tail)
    return last, code


def _events(process: Process) -> Any:
    """Events until the engine's end; the first Ctrl-C is passed on, the second ends dbdyno."""
    assert process.stdout is not None
    passed_on = False
    while True:
        try:
            line = process.stdout.readline()
        except KeyboardInterrupt:
            if passed_on:
                raise
            passed_on = True
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            continue
        if not line:
            return
        try:
            event = json.loads(line)
        except ValueError:  # a line that a dying engine left half-written
            continue
        if isinstance(event, dict):
            yield event


def _failed(failed: Raw | None, code: int, tail: str) -> DynoError:
    if failed is not None:
        return DynoError(str(failed.get("what", "the digest failed")), fix=failed.get("hint") or "")
    if code in (-signal.SIGINT, -signal.SIGTERM):
        raise KeyboardInterrupt
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    last = tail.removeprefix("error: ")
    if code == 2 and last:  # its own words about the command line
        return DynoError(last.splitlines()[0], fix="see `dyno digest --help`")
    return DynoError(
        f"dyno-engine digest {how} without a document",
        cause=last.splitlines()[-1] if last else "somebody killed it, or memory ran out",
        fix="try it with a part of the log",
    )
