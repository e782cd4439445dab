"""Leaving root, for good, with the one right that reading needs.

Sources: credentials(7), capabilities(7), prctl(2), capset(2).
"""

from __future__ import annotations

import ctypes
import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dbdyno.cli.unprivileged import landlock
from dbdyno.cli.unprivileged.libc import LIBC

NOBODY = 65534  # Linux's overflow id: needs no entry in /etc/passwd, and owns nothing
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 1, 8, 38
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2
_VERSION_3 = 0x20080522  # of capset(2): two words of 32 capabilities each


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Word(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def leave_root(parent: int, reads: Sequence[Path], temporary: Path) -> None:
    """Drops this process to the user nobody, who may read `reads`, and the programs and libraries
    of this machine, and write in `temporary`. It ends with the process `parent`.

    OSError where the machine does not allow a change of account. Landlock is omitted where the
    kernel has none.
    """
    _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _keep_reading()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of account had made the kernel forget it
    if os.getppid() != parent:
        os._exit(1)
    tempfile.tempdir = str(temporary)
    landlock.restrict(reads, temporary)


def _keep_reading() -> None:
    """Leaves one capability: to read all files; containers that were denied it have one for all
    access instead."""
    header = _Header(_VERSION_3, 0)
    words = (_Word * 2)()
    _check(LIBC.capget(ctypes.byref(header), words))
    had = words[0].permitted
    reading, any_access = 1 << _CAP_DAC_READ_SEARCH, 1 << _CAP_DAC_OVERRIDE
    kept = had & reading or had & any_access
    words = (_Word * 2)(_Word(kept, kept, 0), _Word(0, 0, 0))
    _check(LIBC.capset(ctypes.byref(header), words))


def _prctl(what: int, value: int) -> None:
    _check(LIBC.prctl(what, ctypes.c_ulong(value), *(ctypes.c_ulong(0),) * 3))


def _check(done: int) -> None:
    if done < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
