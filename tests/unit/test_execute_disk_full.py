"""A full disk in the words of the programs that meet one."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.disk_full import of_write, recognised


@pytest.mark.parametrize(
    "words",
    [
        "cannot load table t: database or disk is full (SQLITE_FULL)",
        "[ERROR] InnoDB: preallocating 1006632 bytes for file ./ib_logfile101 failed with error 28",
        "ERROR 1114: The table 'sbtest1' is full",
        "HINT:  Check free disk space.",
        "cp: error writing 'x': No space left on device",
    ],
)
def test_it_is_recognised_and_the_disk_named(words: str, tmp_path: Path) -> None:
    error = recognised(DynoError(words, cause="something"), tmp_path / "dyno-1")
    assert error.what == words
    assert str(tmp_path) in error.cause
    assert "--scratch" in error.fix


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    error = DynoError("access denied", cause="a wrong password", fix="correct it")
    assert recognised(error, tmp_path) is error


def test_what_dbdyno_itself_cannot_write_is_an_error_of_the_disk(tmp_path: Path) -> None:
    """A write(2) that fails names no file."""
    met = of_write(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    error = recognised(met, tmp_path / "dyno-1")
    assert error.what == "cannot write a file next to the data: No space left on device (ENOSPC)"
    assert f"the disk that holds {tmp_path} is full" in error.cause
    with pytest.raises(PermissionError):
        of_write(PermissionError(errno.EACCES, "Permission denied"))
