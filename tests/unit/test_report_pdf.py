"""Printing by Chromium: how it is called, and what is said where it fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Completed, TimedOut
from dbdyno.report import pdf

PROGRAM = Path("/usr/bin/chromium")


@dataclass
class Machine:
    """A host on which Chromium writes `made`, or says why not."""

    version: str = "Chromium 156.0.8078.108"
    made: bytes = b"%PDF-1.4"
    stderr: str = ""
    ended: list[tuple[list[str], dict[str, Any]]] = field(default_factory=list)

    def run(self, command: Sequence[str | Path], **options: Any) -> Completed:
        words = [str(word) for word in command]
        if "--version" in words:
            return Completed(words, 0, self.version, "")
        self.ended.append((words, options))
        written = next(w for w in words if w.startswith("--print-to-pdf=")).partition("=")[2]
        if self.made:
            Path(written).write_bytes(self.made)
        return Completed(words, 0, "", self.stderr)


def printed(machine: Any) -> bytes:
    return pdf.printed(b"<p>page</p>", PROGRAM, machine)


def test_a_page_is_printed_without_a_network_and_without_root() -> None:
    machine = Machine()
    assert printed(machine) == b"%PDF-1.4"
    [(words, options)] = machine.ended
    assert "--no-sandbox" not in words
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in words
    assert words[-1].startswith("file:///")
    assert options["ids"] == ((pdf.NOBODY, pdf.NOBODY) if os.geteuid() == 0 else None)
    assert options["timeout_s"] == pdf.TIMEOUT_S
    assert not Path(options["environment"]["HOME"]).exists()


@pytest.mark.parametrize(("version", "own"), [("Chromium 131.0.1", True), ("Chrome 130.9", False)])
def test_the_pages_header_takes_the_place_of_chromiums(version: str, own: bool) -> None:
    machine = Machine(version)
    printed(machine)
    assert ("--no-pdf-header-footer" in machine.ended[0][0]) is own


def test_a_missing_sandbox_has_a_cure_of_its_own() -> None:
    said = "[1:2:ERROR:x.cc(3)] dbus\n[1:2:FATAL:zygote(4)] No usable sandbox! See the docs\n"
    with pytest.raises(DynoError) as found:
        printed(Machine(made=b"", stderr=said))
    assert found.value.cause == "No usable sandbox! See the docs"
    assert "user namespaces" in found.value.fix


def test_a_chromium_that_hangs_or_cannot_be_started_is_named() -> None:
    class Hanging(Machine):
        def run(self, command: Sequence[str | Path], **options: Any) -> Completed:
            raise TimedOut("chromium", 1.0)

    class Absent(Machine):
        def run(self, command: Sequence[str | Path], **options: Any) -> Completed:
            raise PermissionError(13, "Permission denied")

    for machine, cause in ((Hanging(), "not done after 120 s"), (Absent(), "Permission denied")):
        with pytest.raises(DynoError, match="cannot print to PDF by /usr/bin/chromium") as found:
            printed(machine)
        assert cause in found.value.cause


def test_without_chromium_the_cure_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(DynoError) as found:
        pdf.find()
    assert "apt-get install chromium" in found.value.fix
    browser = tmp_path / "chromium-1200" / "chrome-linux64" / "chrome"
    browser.parent.mkdir(parents=True)
    browser.touch()
    assert pdf.find() == browser
    monkeypatch.setenv("CHROMIUM", "/no/such/program")
    with pytest.raises(DynoError, match="CHROMIUM=/no/such/program is no program"):
        pdf.find()
