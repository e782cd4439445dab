"""`document-overhead` compared with WiredTiger: files of documents with long and with short field
names.

Files are made by WiredTiger's own program `wt`, with the options that mongod gives a collection
(leaf pages of 32 KiB), from documents that are written by the BSON specification 1.1."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import needed
from dbdyno import models
from dbdyno.models import calculate, given

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

DOCUMENTS = 10_000
NAMES = ("customer", "street_name", "city", "postcode", "country", "created", "updated",
         "balance", "is_active", "comments")  # fmt: skip
SHORT = tuple(f"f{i}" for i in range(len(NAMES)))
COMPRESSORS = ("none", "snappy", "zlib")
CONFIG = "key_format=u,value_format=u,leaf_page_max=32KB,memory_page_max=10MB,split_pct=90"
LIBRARIES = ("/usr/lib", "/usr/local/lib")


def bson(fields: Sequence[tuple[str, str | int | float | bool]]) -> bytes:
    body = b""
    for name, value in fields:
        key = name.encode() + b"\0"
        if isinstance(value, bool):
            body += b"\x08" + key + bytes([value])
        elif isinstance(value, int):
            body += b"\x12" + key + struct.pack("<q", value)
        elif isinstance(value, float):
            body += b"\x01" + key + struct.pack("<d", value)
        else:
            text = value.encode() + b"\0"
            body += b"\x02" + key + struct.pack("<i", len(text)) + text
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def documents(names: Sequence[str]) -> Iterator[bytes]:
    """Of 209 bytes with the long names, as the published sample's are."""
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(3, 8))) for _ in range(5000)]

    def text(length: int) -> str:
        return " ".join(rng.choices(words, k=2))[:length].ljust(length)

    for i in range(DOCUMENTS):
        values = (text(16), text(14), text(6), f"{rng.randrange(10**5):05d}",
                  rng.choice(("DE", "FR", "UK", "ES")), 1_700_000_000_000 + i * 1000,
                  1_700_000_000_000 + rng.randrange(10**9), rng.random() * 1000,
                  rng.random() < 0.5, text(10))  # fmt: skip
        yield bson(tuple(zip(names, values, strict=True)))


def extensions() -> list[Path]:
    found = []
    for name in COMPRESSORS[1:]:
        places = (p for root in LIBRARIES for p in Path(root).rglob(f"libwiredtiger_{name}.so"))
        place = next(places, None)
        if place is None:
            needed.missing(f"WiredTiger's {name} is not installed: run `make servers`")
        found.append(place)
    return found


@cache
def file_bytes(names: Sequence[str], compressor: str) -> int:
    """Size of the file that WiredTiger makes of all documents."""
    program = shutil.which("wt") or needed.missing("wt is not installed: run `make servers`")
    loaded = ",".join(map(str, extensions()))
    with TemporaryDirectory() as scratch:
        dump = Path(scratch) / "dump"
        with dump.open("w") as file:
            head = ["WiredTiger Dump (WiredTiger Version 3.2.1)", "Format=hex", "Header"]
            head += ["table:docs", f"{CONFIG},block_compressor={compressor}", "Data"]
            file.write("".join(f"{line}\n" for line in head))
            for i, one in enumerate(documents(names)):
                file.write(f"{i:08x}\n{one.hex()}\n")
        home = Path(scratch) / "home"
        home.mkdir()
        options = f"create,cache_size=128MB,checkpoint_sync=false,extensions=[{loaded}]"
        command = [program, "-h", str(home), "-C", options, "load", "-f", str(dump)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return (home / "docs.wt").stat().st_size


def computed(compression: float = 1.0) -> dict[str, float]:
    typed = {"documents": str(DOCUMENTS), "compression": f"{compression:.4f}"}
    model = models.load("document-overhead")
    found = calculate.answer(model, given.take(model, typed, {})).values
    return {name: found[name] for name in ("raw", "saved", "saved_stored")}  # type: ignore[misc]


def test_documents_are_those_that_the_model_has_by_default() -> None:
    sizes = {len(one) for one in documents(NAMES)}
    assert sizes == {209}
    assert sum(map(len, NAMES)) == 76
    assert sum(map(len, documents(NAMES))) == computed()["raw"]


def test_uncompressed_files_are_as_large_as_the_documents_and_short_names_save_all() -> None:
    long, short = file_bytes(NAMES, "none"), file_bytes(SHORT, "none")
    assert long == pytest.approx(computed()["raw"], rel=0.1)
    assert long - short == pytest.approx(computed()["saved"], rel=0.1)


@pytest.mark.parametrize("compressor", ["snappy", "zlib"])
def test_in_compressed_files_short_names_save_less_than_the_bound(compressor: str) -> None:
    long, short = file_bytes(NAMES, compressor), file_bytes(SHORT, compressor)
    ratio = computed()["raw"] / long
    assert ratio > 1.5
    assert 0 <= long - short < computed(ratio)["saved_stored"] / 2
