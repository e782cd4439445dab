"""The C library, for system calls that Python has no function for."""

from __future__ import annotations

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)
