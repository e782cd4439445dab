"""How large is an InnoDB file, for so many rows?

A table's file grows in jumps. Up to 32 pages of leaves it grows page by page; then the leaves get
whole extents of 64 pages, and InnoDB keeps extents free so that a split can never run out of space:
the file jumps to 9 MiB at once. From there it grows by an extent for each 64 pages of leaves, from
32 MiB on by four at a time, and 1 % more is kept free.

Formula:
    per_page [count] = floor((page * fill - 128) / (row + 18.3))
        rows in a page: 18 bytes of each are header and system columns, and it needs a directory
    leaves [count] = max(1, ceil(rows / per_page))
        pages of leaves
    small [count] = 4 if leaves <= 1 else leaves + 6
        pages of a small file: leaves, root, three for the file itself, two kept free
    extents [count] = 8 + ceil((leaves - 32) / 64)
        extents in use: one of single pages, those of leaves, and seven that are kept free
    needed [count] = extents + floor(extents / 100)
        with the 1 % that is kept free as well
    grown [count] = needed if needed <= 32 else 32 + 4 * ceil((needed - 32) / 4)
        the file in extents, which grows by four at a time from 32 on
    file [size] = small * page if leaves < 32 else (2 if leaves <= 32 else grown) * MiB
        the file
    data [size] = rows * row
        rows without any overhead
    overhead [number] = file / data
        file by data
    all_files [size] = tables * file
        so many tables alike

Assumptions:
    One index, the primary key; rows come in its order, which leaves pages 15/16 full (in random
    order set `fill` to about 69 %). No secondary index: each has two segments of its own. Rows
    are stored in their page.

    Pages of 16 KiB, so an extent is 64 pages, 1 MiB.

Versions:
    MariaDB 10.11, measured row by row on a live server; MySQL 5.6 to 8.0 up to its AUTOEXTEND_SIZE
    (8.0.23), of which the default is the same.

Source:
    MySQL manual, "File Space Management" and "Tablespace AUTOEXTEND_SIZE Configuration". Read
    2026-11. The seven extents and the 1 %: as measured (`tests/live/test_models_live.py`).

Trap:
    "A table with 1 MB of data takes about 1 MB" is wrong from the 33rd page of leaves on: its file
    is 9 MiB. 100 thousand tables of 1 MB are 900 thousand MiB (944 GB of 10^9 bytes), and not
    100 GB.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Measured, Note

INPUTS = (
    Input("rows", "count", "rows of a table", None, "0", "1e12", whole=True, example="2180"),
    Input("row", "size", "bytes of a row's columns", "208", "1", "8000"),
    Input("fill", "share", "how full pages are", "93.75%", "50%", "100%"),
    Input("page", "size", "page size; others were not measured", "16Ki", "16Ki", "16Ki",
          variables=("innodb_page_size",)),
    Input("tables", "count", "tables alike", "1", "1", "10M", whole=True),
)  # fmt: skip
OUTPUTS = ("file", "leaves", "data", "overhead", "all_files")
SAYS = (
    ("tables <= 1", "The file takes {file} for {data} of rows."),
    ("", "Each file takes {file} for {data} of rows; all {tables} take {all_files}."),
)
REFUSALS = (Note("per_page < 2", "rows of row={row} are not stored whole in a page: two must fit"),)
NOTES = (
    Note("overhead > 4 and rows > 0", "most of the file is kept free: {overhead} times the rows"),
    Note("leaves > 16000", "beyond 256 MiB nothing was measured; pages inside the tree and"
         " descriptors are not counted (about 1 %)"),
)  # fmt: skip
GOLDEN = (
    Golden({"rows": "2060"}, {"file": "592Ki", "leaves": "31"}, "published: 37 pages"),
    Golden({"rows": "2120"}, {"file": "2Mi"}, "published: the next size"),
    Golden({"rows": "2180"}, {"file": "9Mi"}, "published: and the one after that"),
    Golden({"rows": "4807", "tables": "100k"}, {"file": "9Mi", "data": "1MB",
           "all_files": "944GB"}, "published: 100 thousand tables in files of 9 MB each"),
    *(
        Golden({"rows": rows}, {"extents": extents, "needed": needed},
               "published: 1 MB more for each 100 MB")
        for rows, extents, needed in (("430000", "108", "109"), ("860000", "209", "211"))
    ),
)  # fmt: skip
MEASURED_ON = (
    "MariaDB 10.11, a table of BIGINT and CHAR(200), rows inserted in order, 2026-11: the file's"
    " size as it was first seen. `tests/live/test_models_live.py` measures it again."
)
MEASURED = tuple(
    Measured({"rows": rows}, {"file": size}, 0.02)
    for rows, size in (
        ("120", "128Ki"), ("980", "336Ki"), ("2060", "592Ki"), ("2120", "2Mi"), ("2180", "9Mi"),
        ("6480", "10Mi"), ("28000", "15Mi"), ("58000", "22Mi"), ("102000", "32Mi"),
        ("106000", "36Mi"), ("244000", "68Mi"), ("462000", "120Mi"), ("900000", "220Mi"),
    )
)  # fmt: skip
