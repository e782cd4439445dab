"""What mongod with MMAPv1 allocates at its first start, before any data.

    journal = 3 x 1 GiB                   128 MiB each with smallfiles; none without a journal
    local   = 16 MiB + 64 MiB             local.ns and local.0; 16 MiB + 16 MiB with smallfiles
    oplog   = ceil(size / 2 GiB) x 2 GiB  of a replica set's member; 512 MiB with smallfiles

The oplog's size is `oplogSizeMB`, else 5 % of the free disk and at least 990 MB. 120 GB of free
disk give three files: 9.7 GB in all. Journals are allocated where mongod finds at its start that
this is faster than letting them grow.

MMAPv1 is the only engine before 3.0, the default before 3.2, and gone in 4.2. WiredTiger allocates
nothing beforehand.

Sources: the MongoDB manual 2.6, "Journaling Mechanics", "FAQ: MongoDB Storage", "Replica Set Oplog"
and "Configuration File Options" (smallFiles); that of 3.2, "Storage Engines".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.rules.check.rule import Found, Rule, setting

MIB, GIB = 1 << 20, 1 << 30
JOURNALS = 3
OPLOG_SHARE, OPLOG_LEAST_MB = 0.05, 990
EXAMPLE_FREE = 120e9
_ENGINE = ("storage.engine", "storageEngine")
_SMALL = ("storage.mmapv1.smallFiles", "storage.smallFiles", "smallfiles")
_REPLICAS = ("replication.replSetName", "replication.replSet", "replSet")
_OPLOG = ("replication.oplogSizeMB", "oplogSize")
_JOURNAL, _NO_JOURNAL = ("storage.journal.enabled", "journal"), ("nojournal",)
_ROUTER = ("sharding.configDB", "configdb")  # mongos has no data


def allocated(*, small: bool, journal: bool, oplog_bytes: float) -> float:
    """Bytes of files before any data; an oplog of 0 is that of no replica set."""
    piece = (512 * MIB) if small else 2 * GIB
    journals = JOURNALS * (128 * MIB if small else GIB) if journal else 0
    local = 16 * MIB + (16 * MIB if small else 64 * MIB)
    return journals + local + math.ceil(oplog_bytes / piece) * piece


def oplog_of_disk(free_bytes: float) -> float:
    """The default size."""
    return max(OPLOG_SHARE * free_bytes, OPLOG_LEAST_MB * MIB)


def _judge(facts: Facts) -> Iterator[Found]:
    if _first(facts, _ROUTER) or not _is_mmapv1(facts):
        return
    small = _first(facts, _SMALL)
    on, off = _first(facts, _JOURNAL), _first(facts, _NO_JOURNAL)
    if (small and small.on) or (on and not on.on) or (off and off.on):
        return  # without a journal `mongodb-journal-off` has more to say
    replicas, oplog = _first(facts, _REPLICAS), _first(facts, _OPLOG)
    size = oplog.number * MIB if oplog else oplog_of_disk(EXAMPLE_FREE)
    whole = allocated(small=False, journal=True, oplog_bytes=size if replicas else 0)
    less = allocated(small=True, journal=True, oplog_bytes=size if replicas else 0)
    assumed = ", with an oplog of 5 % of 120 GB of free disk" if replicas and not oplog else ""
    dotted = any("." in fact.key.removeprefix("setting.") for fact in facts.settings())
    name = "smallfiles"
    if dotted:
        name = _SMALL[0] if facts.version >= (3,) else _SMALL[1]
    yield Found(
        what=f"the first start allocates {whole / 1e9:.1f} GB before any data{assumed}",
        evidence=(*(one for one in (replicas, oplog, on, off, small) if one), _engine(facts)),
        effect=f"{whole / 1e9:.1f} GB and minutes of writing; {less / 1e9:.1f} GB with smallfiles."
        " nojournal saves the space too, and gives up durability",
        fix=setting(name, "true"),
        undo=setting(name, small.text if small else None),
    )


def _is_mmapv1(facts: Facts) -> bool:
    engine = _first(facts, _ENGINE)
    if engine is not None:
        return engine.text.lower() == "mmapv1"
    if not facts.version:
        raise Missing("version", "the default engine depends on it: see --engine")
    return facts.version < (3, 2)


def _engine(facts: Facts) -> Fact:
    named = ".".join(map(str, facts.version)) or "not known"
    return _first(facts, _ENGINE) or Fact("version", named, facts.subject)


def _first(facts: Facts, names: tuple[str, ...]) -> Fact | None:
    """The setting, whichever of its names the file has."""
    return next((fact for name in names if (fact := facts.get(f"setting.{name}"))), None)


RULES = (
    Rule(
        id="mongodb-first-start-size",
        pack="configuration",
        title="Gigabytes before any data",
        about="What MMAPv1 allocates at the first start: three journals of 1 GiB, the database"
        " `local`, and of a replica set the oplog. WiredTiger allocates nothing beforehand.",
        severity="low",
        applies=("mongodb <4.2",),
        sources=("file",),
        needs=("options",),
        judge=_judge,
        source="https://www.mongodb.com/docs/v3.0/faq/storage/",
    ),
)
