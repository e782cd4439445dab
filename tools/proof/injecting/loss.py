"""Loses all packets that arrive for a socket, by a filter (socket(7), SO_ATTACH_FILTER).

The kernel drops them before TCP sees them, as if they had been lost on the way: the other end hears
nothing and sends them again. A filter takes no privilege and touches no other socket.
"""

from __future__ import annotations

import ctypes
import socket

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27  # asm-generic/socket.h
RETURN_NOTHING = (0x06, 0, 0, 0)  # BPF_RET | BPF_K: of the packet 0 bytes are kept


class _Instruction(ctypes.Structure):
    """struct sock_filter"""

    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


def lose(end: socket.socket) -> None:
    """From now on nothing arrives."""
    instruction = _Instruction(*RETURN_NOTHING)
    program = _Program(1, ctypes.pointer(instruction))
    end.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, bytes(program))


def restore(end: socket.socket) -> None:
    """Ends that."""
    end.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
