"""MongoDB, and what speaks its protocol. Only `dyno check` reads it: no target has this kind."""

from __future__ import annotations

from dbdyno.kinds.kind import MONGODB, Kind

KIND = Kind(
    name="mongodb",
    title="MongoDB",
    module="",
    untested="no mongod is available to test on, and FerretDB, which speaks its protocol, has"
    " neither replica sets nor its storage engine",
    language=MONGODB,
    schemes=("mongodb",),
    port=27017,
    programs="mongod mongos",
)
