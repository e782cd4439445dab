"""A network namespace of this process's own, with nothing in it but loopback."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914  # netdevice(7)
IFF_UP = 1
REQUEST = "16sh22x"  # struct ifreq with the member ifr_flags


def make_own() -> None:
    """For this process and those that it starts from now on. Takes root; OSError where the kernel
    refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        given = fcntl.ioctl(asking, SIOCGIFFLAGS, struct.pack(REQUEST, b"lo", 0))
        _, flags = struct.unpack(REQUEST, given)
        fcntl.ioctl(asking, SIOCSIFFLAGS, struct.pack(REQUEST, b"lo", flags | IFF_UP))
