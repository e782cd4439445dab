"""What do field names cost in a document store?

A document carries the names of its fields, a relational row does not. In BSON each field has a byte
for its type, its name and a zero byte before its value; each document has a length of four bytes
and a zero byte at its end. Block compression takes most of the repeated names away on disk, and
nothing in memory.

Formula:
    names_total [size] = documents * names
        names, in memory and on the wire
    raw [size] = documents * document
        all documents, uncompressed
    names_share [share] = names / document
        part of a document that is names
    short [size] = documents * (document - names + fields * short_name)
        all documents with short names
    saved [size] = raw - short
        what short names save in memory and on the wire
    stored [size] = raw / compression
        documents on disk
    saved_stored [size] = saved / compression
        what they save on disk at most: names repeat, and compress better than values

Assumptions:
    `names` are the bytes of the names themselves, once each; `document` is all of BSON. All
    documents have the same fields. Names differ, so that one of them at most is empty.

    The file has no holes; of old padded engines it has.

Versions:
    BSON 1.1, any engine. Padding: MMAPv1, gone since MongoDB 4.2.

Source:
    BSON specification 1.1 (bsonspec.org). Golden figures: a published comparison with 10 million
    documents of 209 bytes, of which 76 are names. Read 2026-11.

Trap:
    "Names cost a third": of the document, yes, 36 %. The article's own sizes of 10 million
    documents are 1.4 GB as relational rows, 2.97 GB in the padded MMAPv1, but 1.14 GB with snappy
    and 0.69 GB with zlib in WiredTiger: less than the relational table, names and all. The first
    two were measured and are not computed here: a row has a header of its own (140 bytes, where a
    document without its names has 133), and padding adds 42 % to the documents' 2.09 GB.

    "On disk short names save as much as in memory, by the ratio": names repeat, and compress far
    better than values. Measured, they saved a quarter of that bound with snappy, a fifth with zlib.

    Short names still pay where documents are not compressed: in WiredTiger's cache, in the oplog's
    memory, on the wire to drivers that do not ask for compression.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Measured, Note

INPUTS = (
    Input("documents", "count", "documents", "10M", "1", "1e15", whole=True),
    Input("document", "size", "a document in BSON", "209", "5", "16Mi"),
    Input("names", "size", "bytes of its field names", "76", "0", "16Mi"),
    Input("fields", "count", "fields of it", "10", "0", "1e6", whole=True),
    Input("short_name", "size", "a short name instead", "2", "1", "100"),
    Input("compression", "number", "uncompressed by compressed size", "1.83", "1", "100"),
)
OUTPUTS = ("names_share", "names_total", "raw", "stored", "saved", "saved_stored")
SAYS = (
    ("saved > 0", "Names are {names_share} of a document, {names_total} of {raw}. Short ones save"
     " {saved} in memory and at most {saved_stored} of {stored} on disk."),
    ("", "Names are {names_share} of a document, {names_total} of {raw}; names of {short_name} are"
     " no shorter."),
)  # fmt: skip
REFUSALS = (
    Note("names + (2 * fields + 5) * byte > document",
         "names={names} and fields={fields} do not fit into document={document}: each field has a"
         " type and a zero byte, a document 5 bytes more"),
    Note("names < (fields - 1) * byte",
         "names={names} are too few bytes for fields={fields}: each name but one has a byte at"
         " least"),
)  # fmt: skip
NOTES = (Note("names_share > 0.5", "more than half of what is read is names"),)
GOLDEN = (
    Golden({}, {"names_share": "36.4%", "raw": "2.09GB", "names_total": "0.76GB",
                "stored": "1.14GB"}, "the published sample; 1.83 is its ratio with snappy"),
    Golden({"compression": "3.03"}, {"stored": "0.69GB"}, "the same with zlib"),
    Golden({"documents": "1", "document": "22", "names": "5", "fields": "1"}, {"saved": "3"},
           "BSON specification: {hello: \"world\"} is 22 bytes"),
)  # fmt: skip
MEASURED_ON = (
    "WiredTiger 3.2.1 by its own program `wt`, leaf pages of 32 KiB as mongod has them, 2026-11:"
    " the file of 300,000 documents of 209 bytes with ten fields (names of 76 bytes; words,"
    " numbers, times), and the file of the same with names of two bytes. The ratios 1.83 and 3.03"
    " are the published ones; 2.14 and 3.06 are those of these files, 59.8 MiB of documents by the"
    " 27.94 MiB (snappy) and 19.53 MiB (zlib) that were measured. No mongod was measured."
    " `tests/live/test_wiredtiger_sizes.py` measures 10,000 documents again; pymongo 4.20 writes"
    " the same bytes for them."
)
_DOCUMENTS = {"documents": "300000"}
MEASURED = (
    Measured({**_DOCUMENTS, "compression": "1"}, {"stored": "65.84MB", "saved": "17.10MB"}, 0.06,
             "uncompressed"),
    Measured({**_DOCUMENTS, "compression": "1.83"}, {"stored": "29.30MB"}, 0.2, "snappy"),
    Measured({**_DOCUMENTS, "compression": "3.03"}, {"stored": "20.48MB"}, 0.1, "zlib"),
    Measured({**_DOCUMENTS, "compression": "2.14"}, {"saved_stored": "1.89MB"}, 4.0,
             "snappy: a bound"),
    Measured({**_DOCUMENTS, "compression": "3.06"}, {"saved_stored": "1.16MB"}, 4.0,
             "zlib: a bound"),
)  # fmt: skip
