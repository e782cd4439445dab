"""How much of MongoDB's data has to come from disk, with its two caches?

WiredTiger's own cache holds pages as they are used, uncompressed. What memory is left is the
kernel's file cache, which holds the files as they are on disk, compressed. A page that is in
neither is read from disk. So a smaller cache of WiredTiger's may keep more data in memory
altogether, at the price of decompressing it.

A page can be in both caches, and then counts once. At worst all that the smaller one holds is in
the larger one too; at best no page is in both.

Formula:
    on_disk [size] = data / compression
        the data in its files
    each [size] = min(10 * million * MiB, share * ram if share > 0 else max(
        0.5 * (ram - GiB), 256 * MiB))
        WiredTiger's cache of one mongod, 10,000,000 MB at most
    cache [size] = mongods * each
        of all mongods on the machine
    file_cache [size] = max(0, ram - cache - other)
        what is left for the file cache
    left_out_on_disk [size] = max(0, on_disk - file_cache)
        part of the files that does not fit into the file cache
    left_out [size] = left_out_on_disk * compression
        the data in that part; WiredTiger's cache may hold some of it
    from_disk [size] = max(0, data - max(cache, file_cache * compression))
        data that is in neither cache at worst: all of the smaller one is in the larger one too
    from_disk_share [share] = from_disk / data
        its share of all data
    from_disk_best [size] = max(0, data - cache - file_cache * compression)
        the same at best: no page is in both caches
    in_cache_share [share] = min(1, cache / data)
        share of the data that fits into WiredTiger's cache

Assumptions:
    All data is used equally often, so that each cache holds any part of it. WiredTiger's cache
    counts whole, though WiredTiger evicts pages once it is 80 % full.

    Several mongods on one machine have an even part of the data each, and the same share. They
    share the file cache.

    One compression ratio for all; indexes are part of the data (prefix compression of theirs is a
    ratio too).

Versions:
    WiredTiger, MongoDB 3.4 and later, files read through the file cache (the default).

Source:
    MongoDB manual, "WiredTiger Storage Engine: Memory Use"; the largest cache: MongoDB's public
    source (`wiredtiger_util.cpp`). Own derivation, 2026-11.

Trap:
    The article rounds the default cache of 64 GB to half of memory, 32 GB, and so finds 28 GB of
    file cache and 2 GB of the files (8 GB of data) that do not fit into it. The default is half of
    what is above 1 GB: 31.5 GB, which leaves 28.5 GB, 1.5 GB of the files and 6 GB of data.

    Several mongods: each takes half of all memory by default, since none knows of the others. Two
    of them leave no file cache, three want more than there is. `share` is of one mongod.

    At 80 % of memory the article's figures hold for the file cache alone: it has 8.8 GB, and
    21.2 GB of the files (85 GB of data) do not fit into it. They need not all come from disk:
    WiredTiger's cache holds 51.2 GB of 120 GB, so 68.8 GB do at worst. Even so the larger cache
    makes it worse: with the default it is 6 GB.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("ram", "size", "memory of the machine", None, "512Mi", "64Ti", example="64Gi"),
    Input("data", "size", "data and indexes, uncompressed", None, "1Mi", "1000Ti",
          example="120Gi"),
    Input("compression", "number", "uncompressed by compressed size", "4", "1", "100"),
    Input("share", "share", "share of memory that WiredTiger's cache of one mongod takes; 0:"
          " mongod's default", "0%", "0%", "100%"),
    Input("mongods", "count", "mongods on the machine", "1", "1", "1000", whole=True),
    Input("other", "size", "operating system, connections, other processes", "4Gi", "0"),
)  # fmt: skip
OUTPUTS = ("from_disk", "from_disk_share", "from_disk_best", "on_disk", "cache", "each",
           "file_cache", "left_out_on_disk", "left_out", "in_cache_share")  # fmt: skip
SAYS = (
    ("left_out_on_disk <= 0",
     "All {on_disk} of files fit into the file cache of {file_cache}, next to a cache of {cache}."),
    ("from_disk <= 0",
     "All {data} of data fit into WiredTiger's cache of {cache}; the file cache has {file_cache}."),
    ("", "{from_disk} of data ({from_disk_share}) come from disk at worst, {from_disk_best} at"
     " best: WiredTiger's cache has {cache}, the file cache {file_cache}."),
)  # fmt: skip
REFUSALS = (
    Note("share > 0 and other + cache > ram",
         "share={share} and other={other} are more than ram={ram} with mongods={mongods}: give a"
         " smaller `share` or `other`, or fewer mongods"),
    Note("share <= 0 and other + cache > ram",
         "WiredTiger's default cache (half of what is above 1 GiB, at least 256 MiB) of each of"
         " mongods={mongods} and other={other} are more than ram={ram}: give a smaller `other`, or"
         " a `share` for each mongod"),
)  # fmt: skip
NOTES = (
    Note(
        "mongods > 1 and share <= 0",
        "each of {mongods} mongods takes {each} by default, as if it"
        " were alone: give each its own --wiredTigerCacheSizeGB",
    ),
    Note("share * mongods > 0.8", "above 80 % of memory mongod warns, and the kernel may kill it"),
    Note("data <= cache", "all data fits into WiredTiger's cache: nothing is read twice"),
    Note("each >= 10 * million * MiB", "mongod takes no larger cache than 10,000,000 MB"),
)
GOLDEN = (
    Golden({"ram": "64Gi", "data": "120Gi"},
           {"on_disk": "30Gi", "cache": "31.5Gi", "file_cache": "28.5Gi",
            "left_out_on_disk": "1.5Gi", "left_out": "6Gi", "from_disk": "6Gi",
            "from_disk_best": "0"}, "the manual's default, by hand"),
    Golden({"ram": "64Gi", "data": "120Gi", "share": "50%"},
           {"cache": "32Gi", "file_cache": "28Gi", "left_out_on_disk": "2Gi", "left_out": "8Gi"},
           "the article, which rounds the default to half"),
    Golden({"ram": "64Gi", "data": "120Gi", "share": "80%"},
           {"cache": "51.2Gi", "file_cache": "8.8Gi", "left_out_on_disk": "21.2Gi",
            "left_out": "85Gi"}, "the article, recomputed"),
    Golden({"ram": "64Gi", "data": "120Gi", "share": "80%"},
           {"from_disk": "68.8Gi", "from_disk_share": "57.3%", "from_disk_best": "33.6Gi"},
           "by hand"),
    Golden({"ram": "64Gi", "data": "10Gi", "share": "100%", "other": "0"},
           {"from_disk": "0", "file_cache": "0", "left_out": "10Gi", "in_cache_share": "100%"},
           "by hand"),
    Golden({"ram": "64Gi", "data": "120Gi", "share": "25%", "mongods": "2"},
           {"each": "16Gi", "cache": "32Gi", "file_cache": "28Gi", "left_out": "8Gi"},
           "by hand: two with half the cache are as one with all of it"),
    Golden({"ram": "64Gi", "data": "120Gi", "mongods": "2", "other": "1Gi"},
           {"cache": "63Gi", "file_cache": "0", "left_out_on_disk": "30Gi"},
           "by hand: two defaults take all memory"),
    Golden({"ram": "64Ti", "data": "120Ti"}, {"cache": "10000000Mi"}, "MongoDB's source"),
)  # fmt: skip
