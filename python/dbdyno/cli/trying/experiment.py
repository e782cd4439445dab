"""The file that `dyno try` writes: an experiment like any other, to be changed and run again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.cli.trying import servers as places
from dbdyno.cli.trying.sent import Sent
from dbdyno.cli.trying.servers import Server
from dbdyno.cli.trying.timing import Times
from dbdyno.digest.workload.yamltext import comment, length, scalar, visible
from dbdyno.wording.numbers import listed

_PARAMS = "params"  # key of a mix
_DRAWN = "   # `:id` in a statement: drawn again for each transaction"
SERVER, STATEMENT = "server", "statement"  # names of factors


@dataclass(frozen=True)
class Try:
    """What was asked for. `options`: further keys of the workload."""

    name: str
    command: str
    sent: Sent
    servers: tuple[Server, ...]
    sessions: tuple[int, ...]
    options: Mapping[str, Any]
    setup: str = ""  # path of a file of SQL, as the experiment names it
    write_to: tuple[str, ...] = ()


def text(tried: Try, file: Path, times: Times, budget_s: float | None) -> str:
    """The YAML, with comments."""
    return "\n".join(_lines(tried, file, times, budget_s)) + "\n"


def _lines(tried: Try, file: Path, times: Times, budget_s: float | None) -> Iterator[str]:
    yield from comment(f"Written by: {tried.command}")
    yield "# Change it, and run it again:"
    yield f"#   dyno run {file} --check      is the file valid?"
    yield f"#   dyno run {file} --dry-run    what would happen, how long would it take?"
    yield f"#   dyno run {file}"
    yield ""
    yield f"experiment: {tried.name}"
    yield f"question: {scalar(question(tried))}"
    yield ""
    yield from _target(tried)
    yield ""
    yield from _workload(tried)
    if factors := list(_factors(tried)):
        yield ""
        yield "# What varies: every combination of levels is measured once in each block."
        yield "factors:"
        yield from factors
    yield ""
    yield from _measuring(tried, times, budget_s)


def question(tried: Try) -> str:
    """The question of the report, in one sentence."""
    servers = listed([one.level for one in tried.servers])
    variants = listed([one.level for one in tried.sent.variants])
    what = variants if tried.sent.is_sql else f"{tried.sent.kind} {variants}"
    if tried.sent.is_sql and len(tried.sent.variants) == 1:
        what = visible(tried.sent.variants[0].text, 60)
    if len(tried.servers) > 1:
        return f"How do {servers} differ at {what}?"
    if len(tried.sent.variants) > 1:
        return f"How do {what} differ on {servers}?"
    if len(tried.sessions) > 1:
        counts = listed([str(number) for number in tried.sessions])
        return f"What do {counts} sessions get done of {what} on {servers}?"
    return f"How fast is {what} on {servers}?"


def _target(tried: Try) -> Iterator[str]:
    yield "targets:"
    if len(tried.servers) > 1:
        common = _common(tried) if all(one.is_settable for one in tried.servers) else {}
        if not common and not tried.setup:
            yield "  db: {}"
            return
        yield "  db:"
    else:
        yield "  db:"
        common = _keys(tried, tried.servers[0])
    for key, value in common.items():
        yield f"    {key}: {scalar(value)}{_NOTES.get(key, '')}"
    if tried.setup:
        yield "    setup:"
        yield f"      sql: [{scalar(tried.setup)}]"


_NOTES = {
    "durability": "   # each commit survives a power cut | os_crash_unsafe | none",
    "data": "   # read, never dropped; written only with `may` and --write-to",
}


def _common(tried: Try) -> dict[str, Any]:
    """What all servers promise alike."""
    return {
        "durability": "full",
        "memory": places.MEMORY,
        **({"isolation": isolation} if (isolation := places.isolation(tried.servers)) else {}),
    }


def _keys(tried: Try, server: Server) -> dict[str, Any]:
    """Keys of a target that is this server alone."""
    keys = dict(server.keys)
    if server.is_settable:
        common = _common(tried)
        if not server.kind.speaks_sql:
            common.pop("isolation", None)
        return keys | common
    url = server.url
    if url is not None and url.schema and tried.sent.is_sql and not tried.setup:
        keys["data"] = {"existing": url.schema}
        if url.schema in tried.write_to:
            keys["may"] = {"write": True}
    return keys


def _workload(tried: Try) -> Iterator[str]:
    sent = tried.sent
    yield "workload:"
    yield f"  kind: {sent.kind}"
    if len(sent.variants) == 1:
        yield from variant_lines(sent.variants[0].options, "  ")
    for key, value in tried.options.items():
        yield f"  {key}: {scalar(value)}"
    if sent.is_sql and not any(_PARAMS in one.options for one in sent.variants):
        yield f"  # params: {{id: {{uniform: [1, 1000]}}}}{_DRAWN}"
    if len(tried.sessions) == 1:
        yield f"  sessions: {tried.sessions[0]}"


def variant_lines(options: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Keys of a workload that sends a variant."""
    for key, value in options.items():
        if key == _PARAMS:
            yield f"{indent}{key}: {scalar(value)}{_DRAWN}"
        elif isinstance(value, Mapping):
            yield f"{indent}{key}:"
            for name, part in value.items():
                yield f"{indent}  {name}:"
                yield from _part(part, f"{indent}    ")
        else:
            yield f"{indent}{key}: {scalar(value)}"


def _part(part: Mapping[str, Any], indent: str) -> Iterator[str]:
    """A statement, or a transaction with its steps."""
    for key, value in part.items():
        if isinstance(value, list):
            yield f"{indent}{key}:"
            for step in value:
                yield from _sql(f"{indent}  - ", step["sql"], f"{indent}    ")
        elif isinstance(value, str):
            yield from _sql(f"{indent}{key}: ", value, f"{indent}  ")
        else:
            yield f"{indent}{key}: {scalar(value)}"


def _sql(head: str, sql: str, indent: str) -> Iterator[str]:
    """A statement as it was written, where YAML's block keeps it; else quoted."""
    lines = sql.splitlines()
    plain = all(line.isprintable() for line in lines) and not lines[0].startswith(" ")
    if len(lines) > 1 and plain:
        yield f"{head}|-"
        yield from (f"{indent}{line}".rstrip() for line in lines)
    else:
        yield f"{head}{scalar(sql)}"


def _factors(tried: Try) -> Iterator[str]:
    if len(tried.servers) > 1:
        yield f"  {SERVER}:"
        settable = all(one.is_settable for one in tried.servers)
        for server in tried.servers:
            keys = dict(server.keys) if settable else _keys(tried, server)
            patch = {f"db.{key}": value for key, value in keys.items()}
            yield f"    {scalar(server.level)}: {scalar(patch)}"
    variants = tried.sent.variants
    if len(variants) > 1 and tried.sent.is_sql:
        yield f"  {STATEMENT}:"
        for variant in variants:
            yield f"    {variant.level}:"
            for key, value in variant.options.items():
                if key == _PARAMS:
                    yield f"      workload.{key}: {scalar(value)}{_DRAWN}"
                    continue
                yield f"      workload.{key}:"
                for name, part in value.items():
                    yield f"        {name}:"
                    yield from _part(part, "          ")
    elif len(variants) > 1:
        yield f"  preset: {scalar([one.level for one in variants])}"
    if len(tried.sessions) > 1:
        yield f"  sessions: {scalar(list(tried.sessions))}"


def _measuring(tried: Try, times: Times, budget_s: float | None) -> Iterator[str]:
    yield f"blocks: {times.blocks}   # each cell once in every block; fewer than 3 are never judged"
    yield f"warmup: {length(times.warmup_s)}"
    yield f"duration: {length(times.duration_s)}   # of a trial; longer ones measure more exactly"
    yield f"interval: {length(times.interval_s)}"
    if budget_s is not None:
        yield f"budget: {length(budget_s)}   # no block is begun that would end later"
    yield "matters: 3%   # smaller differences are not interesting"
    if tried.write_to:
        yield "state: {data: reuse}   # existing data cannot be restored"
    yield ""
    yield "# What you expect; each claim gets a verdict. Put your own in its place."
    yield f"# claims: [{scalar(_claim(tried))}]"


def _claim(tried: Try) -> str:
    """A claim that this experiment can judge."""
    levels: Sequence[str] = ()
    for found in (
        [one.level for one in tried.servers],
        [one.level for one in tried.sent.variants],
        [f"sessions={number}" for number in tried.sessions],
    ):
        if len(found) > 1:
            levels = found
            break
    if not levels:
        return "p95 <= 10"
    others = [
        f"each {name}"
        for name, count in (
            (SERVER, len(tried.servers)),
            (STATEMENT if tried.sent.is_sql else "preset", len(tried.sent.variants)),
            ("sessions", len(tried.sessions)),
        )
        if count > 1
    ][1:]
    at = f" at {', '.join(others)}" if others else ""
    return f"tps[{levels[1]}] > tps[{levels[0]}]{at}"
