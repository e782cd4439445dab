"""Should a range be read through its index, by a full scan, or from a covering index?

An index that does not hold all columns sends the server to the row for each entry: a lookup in the
primary key, at a random place. A full scan reads every page once, in order. A covering index holds
what the query needs: its part of the range is read in order, and no row is fetched.

Formula:
    share [share] = matching / rows
        part of the table that the range selects
    lookups [count] = matching
        rows that the plain index looks up one by one
    scan_pages [count] = ceil(rows * row / (page * fill))
        pages of the whole table
    covering_pages [count] = ceil(matching * entry / (page * fill))
        pages of the covering index within the range
    in_order [number] = (1 - cached) + cached * 0.25
        cost of a page that is read in order; one from disk is 1, one in memory a quarter
    at_random [number] = (1 - cached) * random_cost + cached * 0.25
        cost of a lookup
    covering_cost [number] = covering_pages * in_order
        cost of the covering index
    lookup_cost [number] = covering_cost + lookups * at_random
        cost of the plain index: its own pages, and a lookup for each entry
    scan_cost [number] = scan_pages * in_order
        cost of the full scan
    break_even [share] = min(1, scan_cost / (rows * (at_random + in_order * entry / (page * fill))))
        part of the table beyond which the full scan is cheaper than the plain index
    best [word] = "the plain index" if lookup_cost < scan_cost else "the full scan"
        the cheaper one without a covering index
    gain [number] = min(lookup_cost, scan_cost) / covering_cost
        how many times cheaper the covering index is than that

Assumptions:
    Pages are as full as `fill` everywhere. The plain index's entries are as wide as the covering
    one's. Matching rows are spread over the table: where the index runs along the primary key,
    neighbours share pages and a lookup costs much less.

    The same part of all pages is in memory, of those of a scan too: memory alone does not make
    lookups the better choice. A page in memory costs a quarter of one from disk, as the optimizer
    of MySQL 8.0 has it. Work on the rows themselves is not counted.

Versions:
    InnoDB (clustered by primary key); for heap tables a lookup costs the same. The optimizer's own
    rule is a cost model like this one, with more constants. MySQL 5.7 counts a page in memory like
    one from disk.

Source:
    Own derivation, 2026-11; MySQL manual, "Clustered and Secondary Indexes" and "The Optimizer
    Cost Model" (`memory_block_read_cost` 0.25). Golden figures: a published case whose EXPLAIN
    estimates 1,809,458 of 4,111,896 rows.

Trap:
    The article calls the range 45 % of the table; it is 44.0 %. "The optimizer ignores the index"
    is no defect: 1.8 million lookups against about 100 thousand pages of a scan. Forcing the index
    makes it slower; a covering index wins over both.

    It is EXPLAIN's estimate, made of a few index dives: the real share may be another one.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("rows", "count", "rows of the table", None, "1", "1e13", whole=True, example="4111896"),
    Input("matching", "count", "rows in the range", None, "1", "1e13", whole=True,
          example="1809458"),
    Input("row", "size", "a row's size with its overhead", "373", "20", "16Ki"),
    Input("entry", "size", "an entry of the covering index, primary key included", "40", "9",
          "3500"),
    Input("page", "size", "page size", "16Ki", "4Ki", "64Ki", variables=("innodb_page_size",)),
    Input("fill", "share", "how full pages are", "93.75%", "30%", "100%"),
    Input("cached", "share", "part of the pages that is in memory", "0%", "0%", "100%"),
    Input("random_cost", "number", "a random read from disk, in page reads of a scan", "1", "0.1",
          "1000"),
)  # fmt: skip
OUTPUTS = ("best", "gain", "share", "lookups", "scan_pages", "covering_pages", "lookup_cost",
           "scan_cost", "covering_cost", "break_even")  # fmt: skip
SAYS = (
    ("", "For {share} of the table {best} is the cheaper one ({lookups} lookups, {scan_pages} pages"
     " of a scan); a covering index reads {covering_pages} pages and is {gain} times cheaper."),
)  # fmt: skip
REFUSALS = (
    Note("matching > rows", "matching={matching} is more than rows={rows}"),
    Note("entry > row", "entry={entry} is more than row={row}: an entry holds some of a row's"
         " columns"),
    Note("row > page / 2", "row={row} does not fit page={page}: two rows must fit into a page"),
)  # fmt: skip
NOTES = (
    Note("cached > 0.9", "little is read from disk: time goes to processors, of which only a"
         " quarter of a read a page is counted"),
    Note("gain < 1.5", "a covering index hardly pays here"),
)  # fmt: skip
GOLDEN = (
    Golden({"rows": "4111896", "matching": "1809458"},
           {"share": "44.0%", "lookups": "1809458", "best": "the full scan"},
           "published EXPLAIN, recomputed"),
    Golden({"rows": "4111896", "matching": "1809458", "row": "373"}, {"scan_pages": "100k"},
           "about 100K pages are published; the row size is the one that gives them"),
    Golden({"rows": "1M", "matching": "1000", "row": "200", "entry": "20"},
           {"best": "the plain index", "covering_pages": "2", "scan_pages": "13021"}, "by hand"),
    *(
        Golden({"rows": "4111896", "matching": "1809458", "cached": cached},
               {"best": "the full scan", "break_even": "2.42%"}, "by hand: memory helps a scan too")
        for cached in ("0%", "95%", "100%")
    ),
    Golden({"rows": "1M", "matching": "50000", "row": "200", "entry": "20", "cached": "50%",
            "random_cost": "4"},
           {"covering_pages": "66", "covering_cost": "41.25", "scan_cost": "8138.125",
            "lookup_cost": "106291.25", "break_even": "0.383%", "gain": "197.3"}, "by hand"),
    Golden({"rows": "1000", "matching": "1000", "row": "8000", "random_cost": "0.1"},
           {"best": "the plain index", "break_even": "100%"}, "by hand: lookups always win"),
)  # fmt: skip
