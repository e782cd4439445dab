"""How fast does a backup stream to S3, and how much memory does it take?

A stream is cut into parts that several threads send at once. Each part is a request: it waits for
round trips, then flows at the speed of one connection. So the speed of many small parts falls with
the distance, and memory grows with part size times threads, since a part is held until it has
arrived. Threads for which there is no part have nothing to do.

Formula:
    parts [count] = ceil(total / chunk)
        parts of the whole backup
    per_part [duration] = round_trips * rtt + chunk / stream
        how long a whole part takes
    rounds [count] = ceil(parts / threads)
        how often each thread sends a part, at most
    last [size] = min(chunk, total - (rounds - 1) * threads * chunk)
        largest part of the last round
    by_threads [duration] = (rounds - 1) * per_part + round_trips * rtt + last / stream
        how long the threads take, if the link has room for all of them
    takes [duration] = max(by_threads, total / link)
        how long the backup takes
    speed [throughput] = total / takes
        what arrives
    memory [size] = min(threads + 1, parts) * chunk
        parts under way, and the one that is being filled
    largest [size] = 10000 * chunk
        the largest object of such parts
    waiting [share] = round_trips * rtt / per_part
        part of a thread's time in which it only waits
    kept [share] = far / near if near > 0 and far > 0 else unknown
        what is left of a measured speed over the distance
    added [duration] = threads * chunk / far - threads * chunk / near if kept > 0 else unknown
        how much longer each part took there, if it was measured with these threads and parts

Assumptions:
    No part is sent twice; what makes the backup keeps up. `stream` is what one connection reaches
    over that distance.

    Some tools hold each part twice (for its checksum): double the memory.

Versions:
    Amazon S3's limits of a multipart upload: 10,000 parts of 5 MiB to 5 GiB, so an object of
    48.8 TiB (5 TiB until December 2025). Other stores have others.

Source:
    Amazon S3 User Guide, "multipart upload limits", read 2026-11. Own derivation, 2026-11. Golden
    figures of `kept`: a published comparison of eight ways to stream a backup, each near and far.

Trap:
    In the published table the rows of one tool are identical near and far (97 and 108 MiB/s). Of
    the other six speeds 34 to 92 % are left (20 of 59 MiB/s, 123 of 134). A longer round trip
    cannot cost nothing, unless the link, or what makes the backup, was the limit both times: such
    rows want to be measured again.

    The article's "+101 %" compares two tools far from the store (123 against 61 MiB/s: 101.6 %).
    Near it the same two are 3 % apart (134 against 130).
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("chunk", "size", "a part", "10Mi", "5Mi", "5Gi"),
    Input("threads", "count", "parts under way at once", "4", "1", "1000", whole=True),
    Input("total", "size", "the backup", "100Gi", "1"),
    Input("rtt", "duration", "round trip to the store", "1ms", "0s", "10s"),
    Input("round_trips", "number", "round trips of a part", "2", "0", "100"),
    Input("stream", "throughput", "speed of one connection", "50MiB/s", "1KiB/s"),
    Input("link", "throughput", "speed of the link", "1250MB/s", "1KiB/s"),
    Input("near", "throughput", "speed measured near the store; 0: none", "0MiB/s", "0MiB/s"),
    Input("far", "throughput", "speed measured far from it; 0: none", "0MiB/s", "0MiB/s"),
)
OUTPUTS = ("speed", "memory", "takes", "parts", "largest", "waiting", "kept", "added")
SAYS = (("", "{speed} with {memory} of memory: {total} take {takes}."),)
REFUSALS = (
    Note("near > 0 and far <= 0 or near <= 0 and far > 0",
         "near={near} and far={far}: give both speeds, or none"),
)  # fmt: skip
NOTES = (
    Note("parts > 10000", "{parts} parts are more than the store takes (10,000): with such parts"
         " the largest object is {largest}"),
    Note("total > 5 * TiB", "until December 2025 an object of S3 had at most 5 TiB, and other"
         " stores may still have that limit"),
    Note("by_threads <= total / link",
         "the link is the limit: more threads or larger parts bring nothing"),
    Note("threads > parts", "the number of parts is {parts}: more threads have nothing to send"),
    Note("kept > 0", "`added` holds for {threads} threads and parts of {chunk}: give those that"
         " were measured"),
    Note("near > 0 and far == near", "the same speed near and far: a longer round trip costs"
         " nothing only if the link, or what makes the backup, was the limit both times; measure"
         " again"),
    Note("near > 0 and far > near", "faster far than near: were the two mixed up? A longer round"
         " trip speeds nothing up; measure again"),
    Note("waiting > 0.5 and parts > threads and by_threads > total / link",
         "threads wait {waiting} of the time: larger parts help"),
)  # fmt: skip
_TABLE = (
    (130, 61, "46.9%"),
    (141, 66, "46.8%"),
    (59, 20, "33.9%"),
    (139, 77, "55.4%"),
    (97, 97, "100%"),
    (108, 108, "100%"),
    (25, 10, "40%"),
    (134, 123, "91.8%"),
)
GOLDEN = (
    Golden({"chunk": "8Mi", "threads": "4", "rtt": "100ms", "stream": "20MiB/s"},
           {"speed": "53.3MiB/s", "waiting": "33.3%", "memory": "40Mi"}, "by hand"),
    Golden({"chunk": "10Mi", "threads": "16"}, {"memory": "170Mi", "largest": "97.66Gi"},
           "by hand"),
    Golden({"chunk": "5Mi", "total": "1Ti", "link": "100MB/s"},
           {"parts": "209716", "speed": "100MB/s"}, "by hand"),
    Golden({"chunk": "10Mi", "total": "10Mi"},
           {"takes": "202ms", "memory": "10Mi", "speed": "49.5MiB/s"}, "by hand: one part"),
    Golden({"chunk": "10Mi", "total": "45Mi"}, {"takes": "304ms", "parts": "5"},
           "by hand: four parts, then half of one"),
    Golden({"chunk": "5Gi", "threads": "1000"},
           {"parts": "20", "memory": "100Gi", "speed": "1000MiB/s", "takes": "102.4s",
            "largest": "48.8Ti"}, "by hand; Amazon S3's largest object"),
    Golden({"chunk": "10Mi", "threads": "4", "near": "130MiB/s", "far": "61MiB/s"},
           {"added": "348ms"}, "by hand"),
    *(Golden({"near": f"{near}MiB/s", "far": f"{far}MiB/s"}, {"kept": kept}, "published table")
      for near, far, kept in _TABLE),
)  # fmt: skip
