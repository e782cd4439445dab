"""Shared memory that killed servers of PostgreSQL left, made by small programs in their place."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno.systems.process import guardian

PROGRAM = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
header = bytes.fromhex(sys.argv[1])
segment = libc.shmget(0, 4096, 0o1600)
ctypes.memmove(libc.shmat(segment, None, 0), header, len(header))
print(segment)
"""
LIBC = ctypes.CDLL(None)
LIBC.shmat.restype = ctypes.c_void_p
LIBC.shmdt.argtypes = [ctypes.c_void_p]


@dataclass(frozen=True)
class Left:
    """A segment whose maker is dead."""

    segment: int
    pid: int

    def exists(self) -> bool:
        rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        return str(self.segment) in [row.split()[1] for row in rows]


@pytest.fixture
def leave() -> Iterator[Callable[[bytes], Left]]:
    """Has a process make a segment with that header, and end."""
    made: list[Left] = []

    def make(header: bytes = b"") -> Left:
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, header.hex()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            said, _ = process.communicate(timeout=60)
        made.append(Left(int(said), process.pid))
        return made[-1]

    yield make
    for left in made:
        LIBC.shmctl(left.segment, guardian.IPC_RMID, None)


def header_of(
    data: Path, control: int = 0, magic: int = guardian.PG_SHMEM_MAGIC, creator: int = 7
) -> bytes:
    """PostgreSQL's for a data directory; its fields as PGShmemHeader has them."""
    info = data.stat()
    values = (magic, creator, 4096, 56, control, 0, info.st_dev, info.st_ino)
    return guardian.PG_SHMEM_HEADER.pack(*values)


def test_a_segment_is_removed_if_a_process_of_the_server_made_it(
    leave: Callable[[bytes], Left],
) -> None:
    begun = time.time()
    ours, other = leave(b""), leave(b"")
    guardian.remove_shared_memory({ours.pid}, begun, None)
    assert (ours.exists(), other.exists()) == (False, True)


def test_a_segment_that_names_the_data_directory_is_removed_with_its_files(
    leave: Callable[[bytes], Left], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, files = time.time(), tmp_path / "shm"
    monkeypatch.setattr(guardian, "SHM_DIRECTORY", files)
    data, other_data = tmp_path / "data", tmp_path / "other"
    for directory in (data, other_data, files):
        directory.mkdir()
    listed = [4100, 4200]
    words = b"".join(number.to_bytes(4, "little") for number in (1, *listed, 2))
    (files / "PostgreSQL.4000").write_bytes(words)
    for number in (*listed, 4300):
        (files / f"PostgreSQL.{number}").write_bytes(b"rows")
    ours, other = leave(header_of(data, control=4000)), leave(header_of(other_data))
    no_server = leave(header_of(data, magic=1))
    guardian.remove_shared_memory(set(), begun, guardian.identity(str(data)))
    assert not ours.exists()
    assert other.exists()
    assert no_server.exists()
    assert [path.name for path in files.iterdir()] == ["PostgreSQL.4300"]


def test_a_segment_that_is_used_or_older_than_the_server_stays(
    leave: Callable[[bytes], Left], tmp_path: Path
) -> None:
    begun, identity = time.time(), guardian.identity(str(tmp_path))
    left = leave(header_of(tmp_path))
    address = LIBC.shmat(left.segment, None, guardian.SHM_RDONLY)
    guardian.remove_shared_memory({left.pid}, begun, identity)
    assert left.exists()
    assert LIBC.shmdt(address) == 0
    guardian.remove_shared_memory({left.pid}, time.time() + 3600, identity)
    assert left.exists()
    guardian.remove_shared_memory({left.pid}, begun, identity)
    assert not left.exists()
