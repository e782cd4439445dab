"""Too little of the machine: memory, descriptors, processes. One sentence, in time.

OpenBLAS, which numpy and scipy bring, asks for memory for each of its threads and, where it gets
none, asks again without end, inside of C, where no handler of Python's runs. One thread is as fast
for what dbdyno computes.
"""

from __future__ import annotations

import errno
import mmap
import os

from dbdyno.errors import DynoError

NEEDED_BYTES = 512 << 20  # of address space: OpenBLAS's buffers, and room to work
_THREADS = "OPENBLAS_NUM_THREADS"
_OF_ERRNO = {
    errno.EMFILE: ("this process may open no more files", "raise `ulimit -n`, to 1024 or more"),
    errno.ENFILE: ("the machine is out of file descriptors", "raise the sysctl `fs.file-max`"),
    errno.ENOMEM: ("the machine is out of memory", "free some, or raise `ulimit -v`"),
    errno.EAGAIN: ("no process or thread can be started", "raise `ulimit -u`, or the pids limit"),
}


def prepare() -> None:
    """Before numpy is loaded. DynoError if there is too little memory for it."""
    os.environ.setdefault(_THREADS, "1")
    try:
        mmap.mmap(-1, NEEDED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError, ValueError):
        raise DynoError(
            f"{NEEDED_BYTES >> 20} MiB of memory cannot be allocated",
            cause="a limit on address space (`ulimit -v`), or a machine that is full",
            fix="raise the limit, or free memory",
        ) from None


def lacking(error: BaseException) -> DynoError | None:
    """What the machine has too little of, if an error is about that."""
    if isinstance(error, MemoryError):
        number: int | None = errno.ENOMEM
    elif isinstance(error, RuntimeError) and "start new thread" in str(error):
        number = errno.EAGAIN
    else:
        number = error.errno if isinstance(error, OSError) else None
    if number not in _OF_ERRNO and isinstance(error, ImportError):  # the loader says it in words
        number = next((one for one in _OF_ERRNO if os.strerror(one) in str(error)), None)
    if number not in _OF_ERRNO:
        return None
    what, fix = _OF_ERRNO[number]
    return DynoError(f"{what}: {error}" if str(error) else what, fix=fix)
