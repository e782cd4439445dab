"""The kernel writes dirty pages back, many at once."""

from __future__ import annotations

from dbdyno.wording.cause import CauseText

CAUSES = {
    "write_back": CauseText(
        "write-back of dirty pages",
        "at least 32 MB fewer pages are dirty afterwards, half or more of what the device wrote,"
        " which is twice what it writes otherwise",
        "https://docs.kernel.org/admin-guide/sysctl/vm.html#dirty-background-bytes",
        "The kernel wrote {cleaned:MB} of dirty pages to the disk {here}, at {written.during:MB} a"
        " second, against {written.otherwise:M} {there}.",
        "Lower vm.dirty_background_bytes (or vm.dirty_background_ratio: 10 to 1 cost 2.8 % of"
        " throughput in a published test), so that it writes earlier and less at a time; or"
        " let the server write past the page cache (innodb_flush_method=O_DIRECT).",
    ),
}
