"""`python hog.py DIRECTORY`: writes past the page cache as fast as the device takes it, until it is
killed. A process of its own, as a backup or another tenant would be."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import threading

FILE_BYTES = 512 << 20
CHUNK_BYTES = 8 << 20
THREADS = 16


def write(file: int, first: int) -> None:
    """Overwrites the file from chunk number `first` on, again and again."""
    chunk = mmap.mmap(-1, CHUNK_BYTES)  # O_DIRECT wants memory on a page boundary
    offset = first * CHUNK_BYTES
    while True:
        os.pwrite(file, chunk, offset % FILE_BYTES)
        offset += CHUNK_BYTES


def main() -> None:
    """Says `ready` when the file has its blocks, begins at a line on standard input, ends by a
    signal."""
    with tempfile.NamedTemporaryFile(dir=sys.argv[1]) as made:
        file = os.open(made.name, os.O_WRONLY | os.O_DIRECT)
        os.unlink(made.name)  # nothing is left behind, however this ends
        os.posix_fallocate(file, 0, FILE_BYTES)
        print("ready", flush=True)
        if not sys.stdin.readline():
            os._exit(0)
        for number in range(THREADS):
            threading.Thread(target=write, args=(file, number * 4), daemon=True).start()
        sys.stdin.read()  # until the other end is gone
        os._exit(0)


if __name__ == "__main__":
    main()
