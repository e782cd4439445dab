"""Configuration: settings that a server refuses, ignores or misreads, and what they add up to."""

from __future__ import annotations

from dbdyno.rules.check.configuration import (
    lists,
    memory,
    mongod,
    querycache,
    refused,
    removed,
    twice,
)

FAMILIES = (lists, memory, mongod, querycache, refused, removed, twice)
