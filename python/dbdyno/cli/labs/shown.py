"""A lab as text."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno import kinds
from dbdyno.cli.running.watching.text import duration
from dbdyno.experiment.types import DOWN
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

_HEAD = ("node", "role", "port", "pid", "memory", "lag", "for")
DASH = "-"


def lab(facts: Mapping[str, Any]) -> str:
    """A line on the lab, and one a node."""
    return "\n".join([head(facts), *_table(facts["nodes"])])


def head(facts: Mapping[str, Any]) -> str:
    """`galera: MariaDB 10.11.14, galera of 3 nodes; up for 5 min, until 07:30 (in 7 h 55 min)`."""
    now = time.time()
    kind, until = kinds.of(facts["kind"]).title, facts["until_unix_s"]
    version = visible(facts["version"]).removeprefix(f"{kind} ").removesuffix(f"-{kind}")
    form = ""
    if facts["topology"]:
        form = f", {facts['topology']} of {count(facts['node_count'], 'node')}"
        form += ", logical replication" if facts.get("logical") else ""
        form += ", all of them primaries" if facts.get("multi_primary") else ""
        form += " and an arbitrator" if facts.get("arbitrator") else ""
        waits = facts["wait_for_replicas"]
        form += f", commits wait for {count(waits, 'replica')}" if waits else ""
        form += f", behind {facts['router']}" if facts.get("router") else ""
    doing = visible(facts["doing"])
    state = f"{facts['state']}{f' ({doing})' if doing else ''}"
    return (
        f"{facts['name']}: {kind} {version}{form}; {state} for"
        f" {duration(max(0.0, now - facts['since_unix_s']))}, until {_clock(until, now)}"
        f" (in {duration(max(0.0, until - now))})"
    )


def _clock(unix_s: float, now: float) -> str:
    at = time.localtime(unix_s)
    same_day = time.strftime("%F", at) == time.strftime("%F", time.localtime(now))
    return time.strftime("%H:%M" if same_day else "%F %H:%M", at)


def _table(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    if not nodes:
        return []
    rows = [_HEAD, *(_row(node) for node in nodes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = []
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def _row(node: Mapping[str, Any]) -> tuple[str, ...]:
    since, memory = node["since_unix_s"], node["rss_bytes"]
    return (
        node["name"],
        _role(node),
        str(node["port"]),
        str(node["pid"] or DASH),
        f"{memory / 2**20:.0f} MiB" if memory else DASH,
        f"{node['lag_s']:g} s" if node["lag_s"] is not None else DASH,
        duration(max(0.0, time.time() - since)) if since else DASH,
    )


def _role(node: Mapping[str, Any]) -> str:
    """A server that runs and has no role does not answer, or is apart from the others."""
    if node["state"] != "running":
        return str(node["state"])
    return str(node["role"]) if node["role"] != DOWN else "not ready"


def next_steps(facts: Mapping[str, Any]) -> list[str]:
    """What can be done with a lab that has come up."""
    name = facts["name"]
    return [
        f"dyno lab shell {name}    the client at the first node",
        f"dyno lab url {name}      its address, for programs",
        f"dyno lab down {name}     ends it, and removes its data",
    ]
