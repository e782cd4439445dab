"""What people add to a run for the readers of its report: for whom and by whom it is, what they
recommend, a logo. A file of its own, so that nothing that was measured is touched.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.store.text import files

ANNOTATIONS = "annotations.json"
SCHEMA_VERSION = 1
TEXT_MAX = 20_000  # characters of a text
LOGO_BYTES_MAX = 512 << 10
_IMAGES = {  # how files of these types begin
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
_LOGO = re.compile(rf"data:(?:{'|'.join(_IMAGES)});base64,[A-Za-z0-9+/]+={{0,2}}")


@dataclass(frozen=True)
class Annotations:
    """Texts, empty where nothing was added. `logo`: an image as a data: URL."""

    customer: str = ""
    author: str = ""
    recommendation: str = ""
    logo: str = ""

    def __post_init__(self) -> None:
        """ValueError says what is none of this."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str):
                raise ValueError(f"`{field.name}` is no text")
            if field.name != "logo" and len(value) > TEXT_MAX:
                raise ValueError(f"`{field.name}` has more than {TEXT_MAX:,} characters")
        if len(self.logo) > LOGO_BYTES_MAX * 2 or (self.logo and not _LOGO.fullmatch(self.logo)):
            raise ValueError("`logo` is no image")

    def changed(self, texts: Mapping[str, str]) -> Annotations:
        """These with other texts under some of `NAMES`; an empty one removes what was there.
        DynoError for a text that is too long."""
        plain = {name: text.replace("\r\n", "\n").strip() for name, text in texts.items()}
        try:
            return replace(self, **plain)
        except ValueError as error:
            raise DynoError(f"{error}", fix="shorten it") from None


NAMES = tuple(field.name for field in fields(Annotations))


def read(run: Path) -> Annotations:
    """Those of a run directory; empty ones if it has none. DynoError for a damaged file."""
    path = run / ANNOTATIONS
    if not path.exists() and not path.is_symlink():
        return Annotations()
    found: Any = files.read_json(path)
    try:
        if not isinstance(found, dict) or found.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"it is not of schema_version {SCHEMA_VERSION}")
        texts = {key: value for key, value in found.items() if key != "schema_version"}
        if unknown := [key for key in texts if key not in NAMES]:
            raise ValueError(f"`{unknown[0][:60]}` is none of {', '.join(NAMES)}")
        return Annotations(**texts)
    except ValueError as error:
        raise DynoError(
            f"{path}: {error}",
            cause="the file was edited or damaged, or another version wrote it",
            fix="write the annotations again, or remove the file",
        ) from None


def write(run: Path, annotations: Annotations) -> None:
    """Replaces those of a run directory. DynoError if they cannot be written, or it is a bundle."""
    if run.is_file():
        raise DynoError(
            f"{run.name} is a bundle, which is not changed",
            fix="annotate the run that it was made of, and make the bundle again",
        )
    path = run / ANNOTATIONS
    text = files.dumps({"schema_version": SCHEMA_VERSION, **asdict(annotations)})
    with files.explained(path, run):
        files.write_atomically(path, text)


def logo(raw: bytes) -> str:
    """An image's bytes as a data: URL. DynoError for anything else."""
    kind = next((name for name, head in _IMAGES.items() if raw.startswith(head)), None)
    if kind is None or len(raw) > LOGO_BYTES_MAX:
        raise DynoError(
            "the logo is no image that can be shown",
            cause="it is of another type, or too large",
            fix=f"a PNG, JPEG, GIF or WebP of at most {LOGO_BYTES_MAX >> 10} KiB",
        )
    return f"data:{kind};base64,{base64.b64encode(raw).decode('ascii')}"
