"""How much of MongoDB's data has to come from disk, with its two caches?

WiredTiger's own cache holds pages as they are used, uncompressed. What memory is left is the
kernel's file cache, which holds the files as they are on disk, compressed. A page that is in
neither is read from disk. So a smaller cache of WiredTiger's may keep more data in memory
altogether, at the price of decompressing it.

Formula:
    on_disk [size] = data / compression
        the data in its files
    cache [size] = share * ram if share > 0 else max(0.5 * (ram - GiB), 256 * MiB)
        WiredTiger's cache
    file_cache [size] = max(0, ram - cache - other)
        what is left for the file cache
    uncached_on_disk [size] = max(0, on_disk - file_cache)
        part of the files that does not fit into the file cache
    uncached [size] = uncached_on_disk * compression
        the data in that part
    uncached_share [share] = uncached_on_disk / on_disk
        its share of all data
    in_cache_share [share] = min(1, cache / data)
        share of the data that fits into WiredTiger's cache

Assumptions:
    All data is used equally often, so that the file cache holds any part of it. Pages in
    WiredTiger's cache are not counted as saved from disk a second time: in the worst case they are
    those that the file cache holds too.

    One compression ratio for all; indexes are part of the data (prefix compression of theirs is a
    ratio too).

Versions:
    WiredTiger, MongoDB 3.4 and later, files read through the file cache (the default).

Source:
    MongoDB manual, "WiredTiger Storage Engine: Memory Use". Own derivation, 2026-11.

Trap:
    The article rounds the default cache of 64 GB to half of memory, 32 GB, and so finds 28 GB of
    file cache and 2 GB (8 GB of data) on disk. It is half of what is above 1 GB: 31.5, 28.5,
    1.5 GB and 6 GB of data. At 80 % of memory it is right: 8.8 GB are left, and 21.2 GB of the
    files (85 GB of data) have to come from disk. The larger cache makes it worse.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("ram", "size", "memory of the machine", None, "512Mi", "64Ti", example="64Gi"),
    Input("data", "size", "data and indexes, uncompressed", None, "1Mi", "1000Ti",
          example="120Gi"),
    Input("compression", "number", "uncompressed by compressed size", "4", "1", "100"),
    Input("share", "share", "WiredTiger's share of memory; 0: mongod's default", "0%", "0%",
          "100%"),
    Input("other", "size", "operating system, connections, other processes", "4Gi", "0"),
)  # fmt: skip
OUTPUTS = ("uncached", "uncached_share", "on_disk", "cache", "file_cache", "uncached_on_disk",
           "in_cache_share")  # fmt: skip
SAYS = (
    ("uncached_on_disk <= 0",
     "All {on_disk} of files fit into the file cache of {file_cache}, beside a cache of {cache}."),
    ("", "{uncached} of data ({uncached_share}) fit neither into the cache of {cache} nor into the"
     " file cache of {file_cache}, and come from disk."),
)  # fmt: skip
REFUSALS = (
    Note("other + cache > ram", "share={share} and other={other} leave nothing of ram={ram}"),
)
NOTES = (
    Note("share > 0.8", "above 80 % of memory mongod warns, and the kernel may kill it"),
    Note("data <= cache", "all data fits into WiredTiger's cache: nothing is read twice"),
)
GOLDEN = (
    Golden({"ram": "64Gi", "data": "120Gi"},
           {"on_disk": "30Gi", "cache": "31.5Gi", "file_cache": "28.5Gi",
            "uncached_on_disk": "1.5Gi", "uncached": "6Gi"}, "the manual's default, by hand"),
    Golden({"ram": "64Gi", "data": "120Gi", "share": "80%"},
           {"cache": "51.2Gi", "file_cache": "8.8Gi", "uncached_on_disk": "21.2Gi",
            "uncached": "85Gi"}, "the article, recomputed"),
)  # fmt: skip
