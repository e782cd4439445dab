"""Values from a process that parsed foreign bytes: what it says is taken for data, never for code.

A pickle may call anything. Here it may make the classes that are listed, each of which only holds
what it is given, and arrays of numbers; anything else is refused.
"""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

import numpy as np

BYTES_MAX = 1 << 30
_ALLOWED = {
    *(("dbdyno.imports.found", name) for name in ("Found", "Part", "Interval")),
    *(("dbdyno.imports.files", name) for name in ("Collected", "Source")),
    ("dbdyno.store.metrics.histogram", "Histogram"),
    ("pathlib", "PosixPath"),
}
_NUMBERS = ("<i8", "<u8", "<f8")


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, np.ndarray):
            return None
        assert obj.ndim == 1 and obj.dtype.str in _NUMBERS, "arrays of numbers only"
        return obj.dtype.str, obj.tobytes()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is no value")
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        kind, raw = pid
        if kind not in _NUMBERS or not isinstance(raw, bytes):
            raise pickle.UnpicklingError("no array of numbers")
        return np.frombuffer(raw, dtype=kind)


def write(value: Any, file: IO[bytes]) -> None:
    """Writes a value for `read`."""
    _Pickler(file, protocol=5).dump(value)


def read(file: IO[bytes]) -> Any:
    """The value in a file. ValueError for anything that `write` does not write."""
    raw = file.read(BYTES_MAX + 1)
    if len(raw) > BYTES_MAX:
        raise ValueError(f"a value of more than {BYTES_MAX >> 20} MiB")
    try:
        return _Unpickler(io.BytesIO(raw)).load()
    except Exception as error:  # a pickle that was made up raises what it likes
        raise ValueError(f"no value: {error}") from None
