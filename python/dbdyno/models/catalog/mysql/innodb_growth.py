"""How large is an InnoDB file, for so many rows?

A table's file grows in jumps. Up to 31 pages of leaves it grows page by page; with the 32nd it
takes 2 MiB. From the 33rd on leaves get whole extents of 64 pages, and InnoDB keeps extents free so
that a split can never run out of space: the file jumps to 9 MiB at once. From there it grows by an
extent for each 64 pages of leaves, from 32 MiB on by four at a time, and 1 % more is kept free.

Formula:
    fit [number] = (page * fill - 128) / (row + 18.3)
        rows in so much of a page: 18 bytes more each for header and system columns, and a directory
    per_page [number] = max(2, floor(fit)) if fill >= 0.9375 else max(1, fit)
        rows in a page: at least two fit, if they come in order; else the mean of all pages
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
    are stored whole in their page, as InnoDB does up to about 8,100 bytes (8,107 were measured,
    with a key and columns of fixed length).

    Pages of 16 KiB, so an extent is 64 pages, 1 MiB.

Versions:
    MariaDB 10.11, measured row by row on a live server.

    MySQL 9.7, measured too: from 2 MiB on files are the same. Small files are a page larger, since
    a table's definition is in its file from MySQL 8.0 on; an empty table takes 7 pages (112 KiB).
    Before 8.0 it takes 6 (96 KiB). AUTOEXTEND_SIZE (8.0.23) is left at its default.

Source:
    MySQL manual, "File Space Management" and "Tablespace AUTOEXTEND_SIZE Configuration". Read
    2026-11. The seven extents and the 1 %: as measured (`tests/live/test_models_live.py`). The 96
    KiB: "How much space does empty Innodb table take?", Percona's blog, 2008.

Trap:
    "A table with 1 MB of data takes about 1 MB" is wrong from the 33rd page of leaves on: its file
    is 9 MiB. 100 thousand tables of 1 MB are 900 thousand MiB (944 GB of 10^9 bytes), and not
    100 GB.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Measured, Note

INPUTS = (
    Input("rows", "count", "rows of a table", None, "0", "1e12", whole=True, example="2180"),
    Input("row", "size", "bytes of a row's columns; longer ones are not stored whole", "208", "1",
          "8100"),
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
NOTES = (
    Note("leaves <= 1", "this is MariaDB's size; MySQL takes 112 KiB from 8.0 on, 96 KiB before"),
    Note("leaves > 1 and leaves < 32", "from MySQL 8.0 on the file is a page of 16 KiB larger"),
    Note("overhead > 4 and rows > 0", "most of the file is kept free: {overhead} times the rows"),
    Note("leaves > 16000", "beyond 256 MiB nothing was measured; pages inside the tree and"
         " descriptors are not counted (about 1 %)"),
)  # fmt: skip
GOLDEN = (
    Golden({"rows": "2060"}, {"file": "592Ki", "leaves": "31"}, "published: 37 pages"),
    Golden({"rows": "2120"}, {"file": "2Mi"}, "published: the next size"),
    Golden({"rows": "2180"}, {"file": "9Mi"}, "published: and the one after that"),
    Golden({"rows": "1"}, {"file": "64Ki", "leaves": "1"}, "MariaDB: 4 pages"),
    Golden({"rows": "200", "row": "7600"}, {"per_page": "2", "leaves": "100", "file": "10Mi"},
           "by hand"),
    Golden({"rows": "200", "row": "8000"}, {"per_page": "2", "file": "10Mi"}, "by hand"),
    Golden({"rows": "200", "row": "7000", "fill": "50%"}, {"per_page": "1.149", "leaves": "175"},
           "by hand: 8064 / 7018.3"),
    Golden({"rows": "4807", "tables": "100k"}, {"file": "9Mi", "data": "1MB",
           "all_files": "944GB"}, "published: 100 thousand tables in files of 9 MB each"),
    *(
        Golden({"rows": rows}, {"extents": extents, "needed": needed},
               "published: 1 MB more for each 100 MB")
        for rows, extents, needed in (("430000", "108", "109"), ("860000", "209", "211"))
    ),
)  # fmt: skip
MEASURED_ON = (
    "MariaDB 10.11 and MySQL 9.7, a table of BIGINT and CHAR(200), rows inserted in order, 2026-11:"
    " the file's size as it was first seen. `tests/live/test_models_live.py` measures MariaDB's"
    " again. Rows of 7,000 and 7,600 bytes: BIGINT and BINARY columns; in random order 600 of them"
    " came to 1.6 a page."
)
MEASURED = (
    *(
        Measured({"rows": rows}, {"file": size}, 0.02)
        for rows, size in (
            ("20", "64Ki"), ("120", "128Ki"), ("980", "336Ki"), ("2060", "592Ki"), ("2120", "2Mi"),
            ("2180", "9Mi"), ("6480", "10Mi"), ("28000", "15Mi"), ("58000", "22Mi"),
            ("102000", "32Mi"), ("106000", "36Mi"), ("244000", "68Mi"), ("462000", "120Mi"),
            ("900000", "220Mi"),
        )
    ),
    Measured({"rows": "200", "row": "7600"}, {"file": "10Mi"}, 0.02),
    Measured({"rows": "600", "row": "7000", "fill": "69%"}, {"file": "15Mi"}, 0.1, "random order"),
    *(
        Measured({"rows": rows}, {"file": size}, within, "MySQL 9.7")
        for rows, size, within in (
            ("20", "112Ki", 0.45), ("980", "352Ki", 0.05), ("2060", "608Ki", 0.05),
            ("2120", "2Mi", 0.02), ("2180", "9Mi", 0.02), ("28000", "15Mi", 0.02),
            ("101200", "32Mi", 0.02), ("105200", "36Mi", 0.02),
        )
    ),
)  # fmt: skip
