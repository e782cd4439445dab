"""Redis. Counters: its `INFO`."""

from __future__ import annotations

from dbdyno.kinds.counter import Amount, Quotient, Share
from dbdyno.kinds.kind import (
    IDENTIFIED_WRITES,
    KEY_VALUE,
    PIPELINING,
    POPULATE,
    REDIS,
    Kind,
)

KIND = Kind(
    name="redis",
    title="Redis",
    module="redis.system",
    capabilities=(KEY_VALUE, POPULATE, PIPELINING, IDENTIFIED_WRITES),
    language=REDIS,
    schemes=("redis", "rediss"),
    schemes_with_tls=("rediss",),
    port=6379,
    topologies=("sentinel", "cluster"),
    waits_for_replicas=8,
    programs="redis-server valkey-server",
    clients="redis-cli valkey-cli",
    client_package="redis-tools",
    start_s=0.5,
    initialise_s=0.1,
    directory_bytes=1_000_000,
    drop_schema="redis-cli --scan --pattern '{}:*' | xargs redis-cli unlink",
    password_variable="REDISCLI_AUTH",
    example_setting="maxmemory-policy: allkeys-lru",
    counters=(
        Amount("commands/s", "status.total_commands_processed"),
        Share("keyspace misses %", "status.keyspace_misses", ("status.keyspace_hits",)),
        Amount("memory MiB", "status.used_memory", 1 / 1048576.0),
        Amount("evicted keys/s", "status.evicted_keys"),
        Quotient("bytes sent/op", ("status.total_net_output_bytes",), "operations"),
        Amount("delayed log syncs/s", "status.aof_delayed_fsync"),
        Amount("saves and rewrites/s", "status.total_forks"),
        Amount("error replies/s", "status.total_error_replies"),
    ),
)
