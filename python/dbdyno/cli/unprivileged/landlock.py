"""Landlock: of all files only those that are named, no TCP, no signals to others.

Three system calls of the same numbers on all machines. Source: landlock(7); linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dbdyno.cli.unprivileged.libc import LIBC

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WHICH_VERSION = 1
_BENEATH = 1  # the type of a rule

_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_OF_FILES = 1 << 0 | 1 << 1 | _READ_FILE | 1 << 14 | 1 << 15  # execute, write, truncate, ioctl
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # kinds of access to files by version; then 16
_TCP = (1 << 0 | 1 << 1, 4)  # bind and connect, from version 4
_SCOPE = (1 << 0 | 1 << 1, 6)  # abstract sockets and signals, from version 6
_SIZES = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}  # of the attributes by version; then 24

# What Python and its libraries read while they work, besides what is on sys.path.
_SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/opt", "/nix", "/gnu", "/snap"),
    *("/proc", "/sys", "/dev/null", "/dev/urandom"),
    *("/etc/localtime", "/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"),
)


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def version() -> int:
    """Of Landlock in this kernel; 0: there is none, or it may not be used."""
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_WHICH_VERSION)))


def restrict(reads: Sequence[Path], temporary: Path) -> None:
    """From now on this process reads `reads` and what Python needs, and writes in `temporary`
    alone. Nothing happens where the kernel cannot do it. Needs PR_SET_NO_NEW_PRIVS."""
    found = version()
    if not found:
        return
    every = (1 << _FILE_RIGHTS.get(found, 16)) - 1
    attributes = _Attributes(
        every, *(bits if found >= since else 0 for bits, since in (_TCP, _SCOPE))
    )
    size = ctypes.c_size_t(_SIZES.get(found, 24))
    rules = _call(_CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))
    if rules < 0:
        return
    try:
        for path in _readable(reads):
            _allow(rules, path, _READ_FILE | _READ_DIR)
        _allow(rules, temporary, every)
        _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)


def _readable(reads: Iterable[Path]) -> Iterator[Path]:
    yield from reads
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    own = (*sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix, *libraries)
    yield from map(Path, dict.fromkeys((*_SYSTEM, *filter(None, own))))


def _allow(rules: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there: then it is unnecessary
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _OF_FILES
        beneath = _Beneath(access, descriptor)
        _call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_BENEATH), ctypes.byref(beneath), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    """A system call; negative if it fails."""
    return int(LIBC.syscall(ctypes.c_long(number), *arguments))
