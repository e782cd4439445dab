"""JSON of strangers: what the writers of dbdyno never write is refused where it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.store.text import files
from dbdyno.store.text import json as jsontext


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": [1, 2.5, "NaN and Infinity in a text"]},
        [0.1234567890123456789, 1e-300, -(2**63), 2**64 - 1, 2**70, 1e200],
        {"deep": [[[[{"a": []}]]]] * 40},
        "\U0001f600 and \u00fc",
    ],
)
def test_what_is_written_is_read(value: Any) -> None:
    assert jsontext.loads(json.dumps(value).encode()) == value
    assert jsontext.loads(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"NaN", b'{"a": Infinity}', b"[-Infinity]", b"1e999", b"[-1E+400]"),
        *(b"9" * 40, b"9" * 5000, b'"\\ud800"', b"\xff", b"\xef\xbb\xbf{}"),
        *(b"[" * 65 + b"]" * 65, b"[" * 200_000, b'{"a":' * 300 + b"1" + b"}" * 300),
    ],
)
def test_everything_else_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsontext.loads(raw)


def test_a_stream_without_end_is_refused_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text('{"event": "a"}\n' + '{"event": "' + "b" * 100 + '"}\n')
    assert len(list(files.read_ndjson(path))) == 2
    monkeypatch.setattr(files, "LINE_BYTES_MAX", 50)
    with pytest.raises(DynoError, match=r"events\.ndjson:2: .*endless"):
        list(files.read_ndjson(path))
    monkeypatch.setattr(files, "LINES_MAX", 1)
    with pytest.raises(DynoError, match=r"events\.ndjson:2: .*endless"):
        list(files.read_ndjson(path))


def test_a_stream_is_read_while_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text('{"event": "a"}\nbroken\n{"event": "b"}\n')
    lines = files.read_ndjson(path)
    assert next(lines) == {"event": "a"}
    with pytest.raises(DynoError, match=r"events\.ndjson:2: not a JSON object"):
        next(lines)
