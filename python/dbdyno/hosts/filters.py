"""Whether this process may lose packets by socket filters, as the relay does.

Linux lets every process attach a filter to its own sockets (socket(7), SO_ATTACH_FILTER); some
kernels and sandboxes ask for CAP_NET_ADMIN.
"""

from __future__ import annotations

import ctypes
import socket
import struct

from dbdyno.errors import DynoError

SO_ATTACH_FILTER = 26  # asm-generic/socket.h
RETURN_K = 0x06  # BPF_RET | BPF_K: linux/bpf_common.h


def check(what: str) -> None:
    """DynoError if the kernel refuses a filter. `what` needs it, for the message."""
    with socket.socket() as probe:
        try:
            attach(probe)
        except OSError as error:
            raise DynoError(
                f"{what} is not possible here: the kernel refuses socket filters",
                cause=f"{error.strerror}: CAP_NET_ADMIN is missing, which containers often lack",
                fix="run dyno as root, or the container with --cap-add NET_ADMIN; `link` with"
                " `delay`, `jitter` and `bytes_per_s` needs neither",
            ) from None


def attach(probe: socket.socket) -> None:
    """Has a socket lose all packets. OSError where the kernel refuses it."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", RETURN_K, 0, 0, 0))
    filters = struct.pack("HL", 1, ctypes.addressof(program))
    probe.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filters)
