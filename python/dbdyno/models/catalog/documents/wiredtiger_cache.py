"""How large is MongoDB's WiredTiger cache, set by the Percona operator or by mongod itself?

In a container mongod cannot always be trusted to see the limit of its memory, so the operator
computes the cache and passes it as `--wiredTigerCacheSizeGB`, printed with two decimals. mongod
takes a whole number of mebibytes of it. Without that option mongod takes half of what is above
1 GB.

Formula:
    above [size] = max(0, limit - GiB)
        what the ratio applies to
    operator_gb [number] = max(0.25, floor(ratio * above) / GiB)
        the operator's cache in GB of 2^30 bytes, a quarter at least
    printed_gb [number] = round(operator_gb * 100) / 100 if set_by == "operator" else unknown
        the same as written on mongod's command line, if the option is passed
    operator_cache [size] = min(floor(printed_gb * 1024), 10 * million) * MiB
        what mongod makes of it, 10,000,000 MB at most
    own_cache [size] = min(max(floor(0.5 * above / MiB), 256), 10 * million) * MiB
        what mongod takes without the option, 10,000,000 MB at most
    cache [size] = operator_cache if set_by == "operator" else own_cache
        the cache in effect
    cache_mb [count] = cache / MiB
        the same in MB of 2^20 bytes
    left [size] = limit - cache
        for connections, sorts, aggregation, indexes being built, and the file cache

Assumptions:
    mongod sees the container's limit as its memory (it does so since 3.6.13, 4.0.9 and 4.2; before,
    it saw the host's).

    `old-operator` is the operator up to 1.10 where the replica set has no CPU limit: the option is
    not passed at all, and the ratio has no effect. It looked for a CPU limit by mistake; since 1.11
    it looks for one of memory. The version of the operator itself counts, not the manifest's
    `crVersion`, which a manifest does not contain: say `set_by`. Without any memory limit no
    operator passes the option.

Versions:
    MongoDB 3.4 and later; Percona Operator for MongoDB 1.4 to 1.22, whose rule is the same in each.
    MongoDB 3.2 took 60 % of memory above 1 GB, and at least 1 GB.

    mongod takes no option above 10,000 GB, and no larger cache than 10,000,000 MB (9,765 GB).

Source:
    MongoDB manual, `storage.wiredTiger.engineConfig.cacheSizeGB`; MongoDB's public source (the
    largest cache: `wiredtiger_util.cpp`, `wiredtiger_global_options.idl`; SERVER-104485 says it in
    words); the operator's documentation of
    `cacheSizeRatio` and its public source (`getWiredTigerCacheSizeGB`; the CPU limit:
    K8SPSMDB-603, merged in 2021-12 for 1.11). Read 2026-11.

Trap:
    The article prints 1467 MB for a limit of 3G and a ratio of 0.8. It is 1474: the ratio applies
    to 3 x 10^9 - 2^30 bytes, which gives 1.435 GB, printed as 1.44, of which mongod takes
    1.44 x 1024 = 1474.56. Without the rounding it would be 1469.

    3G is not 3Gi: the same ratio gives 1638 MB for 3Gi.

    The ratio is one of what lies above 1 GB, not of the limit: of 3Gi, 0.8 gives 53 %.

    A limit of memory was not enough up to operator 1.10: without one of CPU, a ratio of 0.8 on 3Gi
    gave mongod's own 1 GB.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

MANIFEST = "psmdb.percona.com/v1"
_RESOURCES = "resources.limits.memory"
_RATIO = "storage.wiredTiger.engineConfig.cacheSizeRatio"
INPUTS = (
    Input("limit", "size", "memory limit of the container, or memory of the machine", None, "256Mi",
          "16Ti", example="3Gi", paths=(f"spec.replsets.0.{_RESOURCES}",)),
    Input("ratio", "number", "`cacheSizeRatio` of the operator", "0.5", "0", "1",
          paths=(f"spec.replsets.0.{_RATIO}", f"spec.mongod.{_RATIO}")),
    Input("set_by", "word", "who sizes the cache", "operator",
          words=("operator", "old-operator", "mongod")),
)  # fmt: skip
OUTPUTS = ("cache", "cache_mb", "printed_gb", "left")
SAYS = (
    ("set_by == 'operator'",
     "mongod gets {cache_mb} MB of cache (--wiredTigerCacheSizeGB={printed_gb}); {left} are left."),
    ("", "mongod takes {cache_mb} MB of cache; {left} are left."),
)  # fmt: skip
REFUSALS = (
    Note("set_by == 'operator' and ratio * (limit - GiB) > 10000 * GiB",
         "ratio={ratio} of limit={limit} is more than 10,000 GB, and with such an option mongod"
         " does not start: give a smaller `ratio`"),
)  # fmt: skip
NOTES = (
    Note("cache >= 10 * million * MiB", "mongod takes no larger cache than 10,000,000 MB"),
    Note("set_by == 'operator' and operator_gb <= 0.25",
         "the ratio has no effect: the cache has its smallest size, 0.25 GB"),
    Note("set_by == 'old-operator'",
         "the ratio has no effect: up to 1.10 the operator asks for a CPU limit"),
    Note("cache > 0.8 * limit",
         "more than 80 % of memory: mongod warns, and the kernel may kill it"),
)  # fmt: skip
GOLDEN = (
    Golden({"limit": "3G", "ratio": "0.8"}, {"printed_gb": "1.44", "cache_mb": "1474"},
           "the operator's rule by hand"),
    Golden({"limit": "500M"}, {"printed_gb": "0.25", "cache": "256Mi"}, "the operator's rule"),
    Golden({"limit": "3Gi", "ratio": "0.8"}, {"printed_gb": "1.60", "cache": "1638Mi"},
           "the operator's rule by hand"),
    Golden({"limit": "4Gi", "set_by": "mongod"}, {"cache": "1.5Gi"}, "MongoDB manual"),
    Golden({"limit": "1280Mi", "set_by": "mongod"}, {"cache": "256Mi"}, "MongoDB manual"),
    Golden({"limit": "3Gi", "ratio": "0.8", "set_by": "old-operator"}, {"cache": "1Gi"},
           "by hand"),
    Golden({"limit": "16Ti", "ratio": "0.6"}, {"printed_gb": "9829.80", "cache_mb": "10000000"},
           "MongoDB's source, by hand"),
)  # fmt: skip
