"""How fast does a backup stream to S3, and how much memory does it take?

A stream is cut into parts that several threads send at once. Each part is a request: it waits for
round trips, then flows at the speed of one connection. So the speed of many small parts falls with
the distance. Threads for which there is no part have nothing to do.

A part is held until it has arrived. How many are under way is Little's law: what the source makes
while one part travels. Near the store that may be one or two, far from it all threads hold one, so
memory grows with the distance up to (threads + 1) parts. A tool that reads on while all threads are
busy has no such bound: it holds whatever the link has not taken yet.

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
    takes [duration] = max(max(by_threads, total / link), total / source if source > 0 else 0)
        how long the backup takes
    speed [throughput] = total / takes
        what arrives
    travelling [duration] = max(per_part, chunk * threads / link)
        how long a part is under way, if all threads share the link
    under_way [count] = min(min(threads, parts),
        max(1, ceil(source * travelling / chunk)) if source > 0 else threads)
        parts under way at once
    waiting_parts [size] = (total * max(0, 1 - speed / source)
        if source > 0 and ahead == "yes" else 0)
        what was read and has no thread, at the end of reading
    memory [size] = base + copies * min(total, min(under_way + 1, parts) * chunk + waiting_parts)
        parts under way, the one that is being filled, those that wait, and the program
    memory_max [size] = base + copies * min(threads + 1, parts) * chunk
        the same with all threads busy, which is the most that a tool with bounds takes
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

    Some tools hold each part twice, for its checksum or for TLS (`copies=2`). `base` is what the
    program takes with nothing to send.

    `source` is what makes the backup (0: whatever is asked of it), evenly.

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

    The article's tools take 96 to 9,307 MB, which no one product of part and threads gives: most
    of them take more far away than near, for the parts that are under way, and those that read on
    without a bound take what the link does not. A limit of memory that held near the store is not
    one for a store far away: compute `memory` with both round trips, and set the limit by
    `memory_max`.

    The article's "+101 %" compares two tools far from the store (123 against 61 MiB/s: 101.6 %).
    Near it the same two are 3 % apart (134 against 130).
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("chunk", "size", "a part", "16Mi", "5Mi", "5Gi"),
    Input("threads", "count", "parts under way at once", "4", "1", "1000", whole=True),
    Input("total", "size", "the backup", "100Gi", "1"),
    Input("rtt", "duration", "round trip to the store", "1ms", "0s", "10s"),
    Input("round_trips", "number", "round trips of a part", "2", "0", "100"),
    Input("stream", "throughput", "speed of one connection", "50MiB/s", "1KiB/s"),
    Input("link", "throughput", "speed of the link", "1250MB/s", "1KiB/s"),
    Input(
        "source",
        "throughput",
        "what makes the backup; 0: as fast as it is sent",
        "0MiB/s",
        "0MiB/s",
        example="200MiB/s",
    ),
    Input(
        "ahead",
        "word",
        "whether the tool reads on while all threads are busy",
        "no",
        words=("no", "yes"),
    ),
    Input("copies", "number", "copies of a part in memory", "1", "1", "10"),
    Input("base", "size", "memory of the program itself", "0", "0", "64Gi", example="50Mi"),
    Input("near", "throughput", "speed measured near the store; 0: none", "0MiB/s", "0MiB/s"),
    Input("far", "throughput", "speed measured far from it; 0: none", "0MiB/s", "0MiB/s"),
)
OUTPUTS = ("speed", "memory", "memory_max", "takes", "parts", "under_way", "largest", "waiting",
           "kept", "added")  # fmt: skip
SAYS = (("", "{speed} with {memory} of memory: {total} take {takes}."),)
REFUSALS = (
    Note("total > 10000 * 5 * GiB",
         "total={total} is more than an object may be, 10,000 parts of 5 GiB: cut the backup"),
    Note("total > 10000 * chunk",
         "total={total} in parts of chunk={chunk} is more than the 10,000 parts that an object may"
         " have: give a larger `chunk` (total / 10000 at least), or cut the backup"),
    Note("near > 0 and far <= 0 or near <= 0 and far > 0",
         "near={near} and far={far}: give both speeds, or none"),
)  # fmt: skip
NOTES = (
    Note("parts > 9000", "{parts} of at most 10,000 parts: the largest object of such parts is"
         " {largest}"),
    Note("waiting_parts > 0", "{waiting_parts} are read and wait at the end: the tool needs a bound"
         " on what it reads ahead, or memory for it"),
    Note("source > 0 and speed < source and ahead == 'no'",
         "the source waits: it could make {source}"),
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
    Golden({"chunk": "8Mi", "threads": "4", "rtt": "100ms", "stream": "20MiB/s", "total": "64Gi"},
           {"speed": "53.3MiB/s", "waiting": "33.3%", "memory": "40Mi"}, "by hand"),
    Golden({"chunk": "10Mi", "threads": "16", "total": "50Gi"},
           {"memory": "170Mi", "memory_max": "170Mi", "largest": "97.66Gi"}, "by hand"),
    Golden({"chunk": "5Mi", "total": "40Gi", "link": "100MB/s"},
           {"parts": "8192", "speed": "100MB/s"}, "by hand"),
    Golden({"chunk": "10Mi", "total": "10Mi"},
           {"takes": "202ms", "memory": "10Mi", "speed": "49.5MiB/s"}, "by hand: one part"),
    Golden({"chunk": "10Mi", "total": "45Mi"}, {"takes": "304ms", "parts": "5"},
           "by hand: four parts, then half of one"),
    Golden({"chunk": "5Gi", "threads": "1000", "total": "40Ti"},
           {"parts": "8192", "largest": "48.8Ti"}, "Amazon S3's largest object"),
    Golden({"chunk": "10Mi", "total": "50Gi", "threads": "16", "source": "50MiB/s", "rtt": "1ms"},
           {"under_way": "2", "memory": "30Mi", "memory_max": "170Mi", "speed": "50MiB/s"},
           "by hand: 202 ms a part, 10.1 MiB made meanwhile"),
    Golden({"chunk": "10Mi", "total": "50Gi", "threads": "16", "source": "50MiB/s",
            "rtt": "500ms"},
           {"under_way": "6", "memory": "70Mi", "speed": "50MiB/s"},
           "by hand: the same tool far away, 1.2 s a part"),
    Golden({"chunk": "10Mi", "total": "50Gi", "threads": "4", "source": "100MiB/s",
            "rtt": "500ms"}, {"waiting_parts": "0", "memory": "50Mi", "under_way": "4"},
           "by hand: the source waits"),
    Golden({"chunk": "10Mi", "total": "50Gi", "threads": "4", "source": "100MiB/s",
            "rtt": "500ms", "ahead": "yes"},
           {"waiting_parts": "33.3Gi", "memory": "33.4Gi", "under_way": "4"},
           "by hand: 33.3 of 100 MiB/s are sent, two thirds of 50 GiB wait"),
    Golden({"chunk": "10Mi", "total": "50Gi", "copies": "2", "base": "20Mi"}, {"memory": "120Mi"},
           "by hand: five parts, twice, and the program"),
    Golden({"chunk": "10Mi", "threads": "4", "total": "50Gi", "near": "130MiB/s",
            "far": "61MiB/s"}, {"added": "348ms"}, "by hand"),
    *(Golden({"near": f"{near}MiB/s", "far": f"{far}MiB/s"}, {"kept": kept}, "published table")
      for near, far, kept in _TABLE),
)  # fmt: skip
