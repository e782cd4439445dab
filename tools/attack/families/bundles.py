"""Bundles of somebody else: damaged archives, archives that lie, and damaged runs packed well."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tools.attack import damage, victim
from tools.attack.commands import Case, attack
from tools.attack.families import run_directories
from tools.attack.row import Effort, Row, Tally

from dbdyno.share import bundle
from dbdyno.store.run import Run

NAME = "run.bundle"
COMMANDS = (
    ("report", NAME, "--to", "reports", "--json"),
    ("status", NAME, "--json"),
    ("history", ".", "--json"),
    ("pool", NAME),
    ("run", "--check", "own.yaml", "--against", NAME),
)
_RUN_CASES = 600  # damaged runs that are packed: the directories have a row of their own


def _run(effort: Effort) -> Tally:
    return attack(cases(victim.run(effort.scratch), effort.scratch), effort)


def cases(whole: Path, scratch: Path) -> Iterator[Case]:
    """All damage."""
    sound = scratch / NAME
    bundle.pack(Run.open(whole), sound)
    raw = sound.read_bytes()
    for seed in range(8):
        for how, change in damage.of_bytes(seed).items():
            yield _case(f"bytes ({seed}): {how}", partial(_changed, raw, change))
    for how, place in damage.of_places().items():
        yield _case(how, partial(_placed, raw, place))
    for how, make in _lies(raw):
        yield _case(how, make)
    yield from _packed(whole, raw)


def _case(name: str, put: Callable[[Path], object]) -> Case:
    def both(place: Path) -> None:
        (place / "own.yaml").write_text(run_directories.OWN)
        put(place)

    return Case(name, both, COMMANDS[:3] if name.startswith("bytes") else COMMANDS)


def _raw(raw: bytes, place: Path) -> None:
    (place / NAME).write_bytes(raw)


def _changed(raw: bytes, change: damage.Bytes, place: Path) -> None:
    _raw(change(raw), place)


def _lines(raw: bytes, stream: str, line: bytes, size: int, place: Path) -> None:
    many = line * (size // len(line))
    entries = _entries(raw)
    _raw(_archive(list({**entries, stream: many}.items())), place)


def _placed(raw: bytes, how: damage.Place, place: Path) -> None:
    (place / NAME).write_bytes(raw)
    how(place / NAME, place / "outside.txt")


def _entries(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(entries: list[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return made.getvalue()


def _lies(raw: bytes) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Archives that no bundle is."""
    entries = _entries(raw)
    own = list(entries.items())
    stream = next(name for name in entries if name.endswith("events.ndjson"))
    names = ("../escaped", "/tmp/escaped", "trials/../../escaped", "trials/x/y", "C:\\x", "a\0b")
    for name in names:
        yield f"an entry {name!r}", partial(_raw, _archive([*own, (name, b"x")]))
    link = zipfile.ZipInfo("result.json")
    link.external_attr = 0o120777 << 16
    rest = [(name, content) for name, content in own if name != "result.json"]
    yield "an entry that is a link", partial(_raw, _archive([*rest, (link, b"/etc/passwd")]))
    yield "the mark is last", partial(_raw, _archive([*own[1:], own[0]]))
    yield "an entry of zeros, 2 GiB", partial(_bomb, own, stream, 2 << 30)
    yield "an entry of zeros, 200 MiB", partial(_bomb, own, stream, 200 << 20)
    outage = b'{"event":"outage","group":"a","session":1,"start_s":0,"cause":""}\n'
    for line in (b'{"event":""}\n', outage):
        for megabytes in (15, 100):
            put = partial(_lines, raw, stream, line, megabytes << 20)
            yield f"{megabytes} MB of {line[:16]!r}", put
    for at in (14, 18, 22, 26, 28):
        yield f"a local header lies at {at}", partial(_raw, _patched(raw, b"PK\3\4", at))
    for at in (8, 10, 16, 20, 24, 28, 42):
        yield f"the directory lies at {at}", partial(_raw, _patched(raw, b"PK\1\2", at))
    for at in (8, 10, 12, 16):
        yield f"the end lies at {at}", partial(_raw, _patched(raw, b"PK\5\6", at))
    yield "300,000 entries", partial(_many, own)


def _patched(raw: bytes, mark: bytes, offset: int) -> bytes:
    at = raw.rfind(mark) + offset
    return raw[:at] + struct.pack("<H", 0xFFFF) + raw[at + 2 :]


def _bomb(own: list[tuple[str, bytes]], stream: str, size: int, place: Path) -> None:
    with zipfile.ZipFile(place / NAME, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in own:
            if name != stream:
                archive.writestr(name, content)
                continue
            with archive.open(name, "w", force_zip64=True) as entry:
                for _ in range(size >> 20):
                    entry.write(bytes(1 << 20))


def _many(own: list[tuple[str, bytes]], place: Path) -> None:
    with zipfile.ZipFile(place / NAME, "w") as archive:
        for name, content in own:
            archive.writestr(name, content)
        for number in range(300_000):
            archive.writestr(f"trials/t{number}/trial.json", b"{}")


def _packed(whole: Path, raw: bytes) -> Iterator[Case]:
    """Runs whose JSON is damaged, in a sound archive."""
    found = []
    entries = _entries(raw)
    for name in run_directories.files(whole):
        if name not in entries:
            continue
        for how, text in run_directories.values(whole / name):
            found.append((f"packed: {name}: {how}", name, text))
    for case, name, text in random.Random(0).sample(found, min(_RUN_CASES, len(found))):
        yield _case(case, partial(_with, entries, name, text))


def _with(entries: dict[str, bytes], name: str, text: damage.Made, place: Path) -> None:
    changed = {**entries, name: text().encode("utf-8", "surrogatepass")}
    (place / NAME).write_bytes(_archive(list(changed.items())))


ROW = Row(
    name="bundles",
    attack="bundles that are damaged, lie about sizes and names, unpack to gigabytes, or hold"
    " damaged runs",
    survived="as for run directories; nothing is unpacked outside of a temporary directory, and"
    " none takes more than 1 GiB",
    run=_run,
)
