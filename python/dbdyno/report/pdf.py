"""Prints a page to PDF by the machine's Chromium: headless, in its sandbox, without a network.

Page margins, header and page numbers are the page's own (`@page`), which Chromium knows since
version 131; an older one prints its own header and footer instead. As root Chromium runs as an
account that owns nothing, since its sandbox refuses root. Sources: Chrome's headless command line
reference; CSS Paged Media 3, margin boxes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Command, Completed, Host, Ids, TimedOut

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MARGIN_BOXES = 131  # the first version that draws them
TIMEOUT_S = 120
PDF_BYTES_MAX = 1 << 30
NOBODY = 65534  # Linux's overflow id: needs no entry in /etc/passwd, and owns nothing
ARGUMENTS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--generate-pdf-document-outline",
)
CURE = (
    "install it (apt-get install chromium), or set CHROMIUM to the program; or open the page in a"
    " browser and print it"
)


def find() -> Path:
    """CHROMIUM, then the programs on PATH, then the newest of Playwright. DynoError if there is
    none."""
    if named := os.environ.get("CHROMIUM"):
        if path := shutil.which(named):
            return Path(path)
        raise DynoError(
            f"cannot print to PDF: CHROMIUM={named} is no program",
            cause="the file does not exist or is not executable",
            fix="correct CHROMIUM, or unset it",
        )
    for program in PROGRAMS:
        if path := shutil.which(program):
            return Path(path)
    browsers = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or "~/.cache/ms-playwright"
    own = sorted(Path(browsers).expanduser().glob("chromium-*/chrome-linux*/chrome"))
    if own:
        return own[-1]
    raise DynoError(
        "cannot print to PDF: no Chromium or Chrome was found",
        cause="dbdyno prints its pages by a browser of this machine",
        fix=CURE,
    )


def printed(html: bytes, program: Path, host: Host = LOCAL) -> bytes:
    """A page as PDF. DynoError where Chromium fails, or takes more than two minutes."""
    with tempfile.TemporaryDirectory(prefix="dyno-pdf-") as name:
        place = Path(name)
        page, made = place / "page.html", place / "page.pdf"
        page.write_bytes(html)
        done = _run(
            [
                program,
                *ARGUMENTS,
                *_own_header(program, host),
                f"--user-data-dir={place / 'profile'}",
                f"--print-to-pdf={made}",
                page.as_uri(),
            ],
            place,
            _leave_root(place, page),
            host,
        )
        try:
            # Chromium also ends with 0 after errors.
            return diskfiles.read(made, PDF_BYTES_MAX)
        except OSError:
            said = _last(done.stderr) or f"it ended with {done.returncode} and wrote no file"
            raise _failed(program, said) from None


def _run(command: Command, home: Path, ids: Ids | None, host: Host) -> Completed:
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(home))
    environment, program = {**os.environ, **homes}, Path(command[0])
    try:
        return host.run(
            command, timeout_s=TIMEOUT_S, environment=environment, cwd=str(home), ids=ids
        )
    except TimedOut:
        raise _failed(program, f"it was not done after {TIMEOUT_S} s") from None
    except OSError as error:
        raise _failed(program, error.strerror or str(error)) from None


def _leave_root(place: Path, page: Path) -> Ids | None:
    """The account for Chromium, which owns its directory; None: this process's own."""
    if os.geteuid() != 0:
        return None
    for path in (place, page):
        os.chown(path, NOBODY, NOBODY)
    return NOBODY, NOBODY


def _own_header(program: Path, host: Host) -> list[str]:
    """Omits Chromium's header and footer where it draws the page's."""
    try:
        said = host.run([program, "--version"], timeout_s=TIMEOUT_S).stdout
    except (OSError, TimedOut):
        return []
    version = re.search(r"\b(\d+)\.\d+", said)
    return ["--no-pdf-header-footer"] if version and int(version[1]) >= MARGIN_BOXES else []


def _failed(program: Path, cause: str) -> DynoError:
    fix = CURE
    if "sandbox" in cause.lower():
        fix = (
            "allow user namespaces for Chromium; or set CHROMIUM to a script that starts it with"
            " --no-sandbox, if you trust the run's author; or print the page in a browser"
        )
    return DynoError(f"cannot print to PDF by {program}", cause=cause, fix=fix)


def _last(said: str) -> str:
    """What Chromium says at last, without its stamp."""
    lines = [line for line in said.splitlines() if line.strip() and "dbus" not in line]
    return re.sub(r"^\[[^\]]*\] ?", "", lines[-1].strip()) if lines else ""
