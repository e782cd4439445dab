"""Configuration: settings that a server refuses, ignores or misreads, and what they add up to."""

from __future__ import annotations

from dbdyno.rules.check.configuration import (
    lists,
    memory,
    mongod,
    mongod_first_start,
    querycache,
    refused,
    removed,
    twice,
)

FAMILIES = (lists, memory, mongod, mongod_first_start, querycache, refused, removed, twice)
