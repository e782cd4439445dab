"""`dyno digest LOG... --workload OUT.yaml`: a log as an experiment that can be run.

Carried over: statements, what sessions send together and how often, how values are spread,
sessions, pace, databases. What is not is listed in the file, with its share of calls and time. No
literal of the log is in it but the ends of ranges of numbers, dates and times, and hints.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from dbdyno import __version__, kinds
from dbdyno.digest import censoring
from dbdyno.digest.document import Document
from dbdyno.digest.workload import carried, coverage, pace, statements
from dbdyno.digest.workload.carried import Chosen
from dbdyno.digest.workload.coverage import Coverage
from dbdyno.digest.workload.profile import Shape
from dbdyno.digest.workload.schema.catalog import Catalog
from dbdyno.digest.workload.values.parameters import Names, Parameters
from dbdyno.digest.workload.yamltext import comment, quoted, scalar, visible
from dbdyno.errors import DynoError
from dbdyno.wording.plurals import count

LEFT_SHOWN = 20  # classes listed for each reason
FINGERPRINT_MAX = 120
USERS_MAX = 16  # that have a group each


@dataclass(frozen=True)
class Workload:
    """An experiment, and how much of the log is in it."""

    text: str
    coverage: Coverage


@dataclass(frozen=True)
class Part:
    """What one user sent."""

    user: str
    document: Document
    shape: Shape


def made(
    document: Document,
    shape: Shape,
    *,
    accepts_censored: bool,
    catalogs: Mapping[str, Catalog] | None = None,
    by_user: Sequence[Part] = (),
    paced: bool = True,
) -> Workload:
    """The experiment. `document` must list all classes; `catalogs`: what a server says of the
    schema of each database; `by_user`: parts of the log that have a group each; `paced`: at the
    log's rate, if it has one, else a closed loop. DynoError for what cannot be a workload."""
    check(document, accepts_censored=accepts_censored)
    chosen = carried.choose(document, shape, catalogs)
    parts = {part.user: carried.choose(part.document, part.shape, catalogs) for part in by_user}
    covered = coverage.of(document, chosen)
    if parts:
        of = zip((part.document for part in by_user), parts.values(), strict=True)
        covered = coverage.of_several(document, list(of))
    parts = parts or {"": chosen}
    units = sum(_sent(each) for each in parts.values())
    if not units:
        reasons = "; ".join(list(chosen.left.calls)[:3]) or "there is no statement"
        raise DynoError(
            f"nothing in these {'counts' if document.is_sampled else 'logs'} can be run as a"
            " workload",
            cause=reasons,
            fix="check their digest: `dyno digest LOG...`",
        )
    found = pace.pace(document, shape, units)
    if not paced:
        found = replace(found, rates=None)
    return Workload("\n".join(_file(document, chosen, parts, covered, found)) + "\n", covered)


def users(document: Document) -> list[str]:
    """The users with the most calls."""
    calls: dict[str, int] = defaultdict(int)
    for one in document.classes:
        for user, of in one.users.items():
            calls[user] += of
    return sorted(filter(None, calls), key=lambda user: -calls[user])[:USERS_MAX]


def check(document: Document, *, accepts_censored: bool) -> None:
    """DynoError for logs that make no workload: of no SQL, or without some of the statements."""
    if any(one.format == "mongodb" for one in document.inputs):
        raise DynoError(
            "MongoDB's commands make no workload",
            cause="`mix`, the workload that is written, sends SQL",
            fix="give a log of MySQL, MariaDB or PostgreSQL",
        )
    if not document.overall.count:
        raise DynoError(
            "there is no statement in these logs",
            cause="they are empty, of another format, or all is filtered out",
            fix="check their digest: `dyno digest LOG...`",
        )
    if accepts_censored:
        return
    censoring.refuse_censored(document, "--workload")
    if any(one.format == "mysql-binlog" for one in document.inputs):
        raise DynoError(
            "--workload: a binary log omits statements that only read",
            cause="it is written for replicas",
            fix=f"give a slow or general log, or take the writes with {censoring.ACCEPT}",
        )


def _missing(document: Document) -> str:
    """Which statements are missing, in words; empty if none are."""
    said = []
    for one in document.censored:
        how = "as the log says" if one.evidence == "said" else "as it looks"
        if one.kind == "threshold":
            said.append(f"those faster than {one.value:g} s, {how}")
        else:
            said.append(f"all but one in {one.value:g}, {how}")
    if any(one.format == "mysql-binlog" for one in document.inputs):
        said.append("all that change nothing, since a binary log has writes only")
    return "; ".join(dict.fromkeys(said))


def _sent(chosen: Chosen) -> int:
    """How many units are carried over."""
    return sum(unit.count for units in chosen.units.values() for unit in units)


def _file(
    document: Document,
    chosen: Chosen,
    parts: Mapping[str, Chosen],
    covered: Coverage,
    paced: pace.Pace,
) -> Iterator[str]:
    kind = _kind(document)
    total = sum(map(_sent, parts.values()))
    targets = _targets(chosen)
    yield from _head(document, chosen, covered, kind, targets)
    yield "experiment: from-log"
    yield 'question: "How does a server do under a load like the one in the log?"'
    yield "targets:"
    for name, database in targets.items():
        yield from _target(name, database, kind, chosen, document)
    for why in paced.why:
        yield from comment(why)
    yield "groups:"
    names = Names()
    for user, part in parts.items():
        for name, database in targets.items():
            if not part.units.get(database):
                continue
            share = sum(unit.count for unit in part.units[database]) / total
            called = "app" if name == "db" else name.replace("db_", "app_", 1)
            called = names.new(f"{called}_{user}") if user else called
            yield from _group(called, name, database, part, paced, share)
    yield f"duration: {_length(paced.duration_s)}"
    is_schedule = paced.rates is not None and len(paced.rates) > 1
    yield f"warmup: {'0s' if is_schedule else '5s'}"
    yield from comment(
        "Existing data is not restored: each trial starts from the data of the last one."
    )
    yield "state: {data: reuse}"
    yield "blocks: 1"


def _kind(document: Document) -> str:
    first = document.inputs[0]
    if first.format.startswith(("postgres", "pg_stat")):
        return "postgres"
    servers = " ".join(_servers(document))
    return "mariadb" if "mariadb" in servers.lower() else "mysql"


def _servers(document: Document) -> tuple[str, ...]:
    """All that wrote the logs, each once."""
    return tuple(dict.fromkeys(name for one in document.inputs for name in one.all_servers))


def _targets(chosen: Chosen) -> dict[str, str]:
    """A target's name for each database, the one with the most transactions first."""
    order = sorted(chosen.units, key=lambda name: -sum(u.count for u in chosen.units[name]))
    names = Names()
    return {names.new(f"db_{database}" if len(order) > 1 else "db"): database for database in order}


def _head(
    document: Document,
    chosen: Chosen,
    covered: Coverage,
    kind: str,
    targets: Mapping[str, str],
) -> Iterator[str]:
    yield from comment(f"A load like the one in the logs below, by dyno digest {__version__}.")
    yield "#"
    for one in document.inputs:
        server = "".join(f", {visible(name, 80)}" for name in one.all_servers)
        filtered = (
            f", {one.filtered:,} of them omitted by filters (--since, --until, --user, --host,"
            " --db, --where): proportions and pace are those of the others"
            if one.filtered
            else ""
        )
        events = count(one.events, "event")
        yield from comment(f"{visible(one.path)}: {one.format}{server}, {events}{filtered}")
    if len(_servers(document)) > 1:
        yield from comment(
            "Several servers, or versions of one, wrote these logs: what was sent to them is put"
            " together as one load."
        )
    if missing := _missing(document):
        yield from comment(
            f"CENSORED: this log is without {missing}. All proportions below are of the rest."
        )
    yield "#"
    first = next(iter(targets))
    writes = [name for name in targets.values() if _changes(chosen, name)]
    yield from comment(
        f"Needs: a server with the tables of the log and their rows. Say which and as whom:"
        f" dyno run THIS.yaml --set {first}.url={kind}://USER@HOST/SCHEMA"
    )
    if writes:
        yield from comment(
            "It writes. dyno refuses to run it until the command line names what may be written to"
            " (--write-to SCHEMA), and neither drops nor restores anything there: use a copy."
        )
    yield "#"
    yield from _left(covered, chosen)
    if chosen.unplaced:
        yield "#"
        yield from comment(
            f"Of {count(chosen.unplaced, 'call')} the log does not tell the session (PostgreSQL's"
            " does by %p or %c in log_line_prefix): each stands by itself, outside of transactions."
        )
    if chosen.catalogs:
        yield "#"
        yield from comment(
            "Values of ENUMs, keys that rows refer to, unique values and lengths are as the schema"
            " says that --schema-of named; keys that the server makes are handed on."
        )
    yield "#"
    for line in (
        "Values of different places are drawn independently of each other, but for those that were"
        " the same within a transaction (`per: transaction`), and ends of ranges (`sum`).",
        "Texts that are written are made up. Patterns of LIKE lose their wildcards.",
    ):
        yield from comment(line)


def _changes(chosen: Chosen, database: str) -> bool:
    steps = [step for unit in chosen.units[database] for step in unit.steps]
    return any(not statements.reads(chosen.statements[step.statement].template) for step in steps)


def _left(covered: Coverage, chosen: Chosen) -> Iterator[str]:
    """What is carried over, and each reason for what is not, with shares of calls and time."""
    yield from comment(covered.carried)
    for one in covered.gone:
        how = "Sent differently by dyno" if one.is_ours else "Omitted"
        yield from comment(f"{how}, {covered.shares(one.calls, one.time_s)}: {one.reason}")
        ranked = sorted(one.by.items(), key=lambda item: -item[1])
        for id_, n in ranked[:LEFT_SHOWN]:
            text = chosen.classes[id_].fingerprint if id_ in chosen.classes else "?"
            yield f"#   {id_[:8]} {n:,} x {visible(text, FINGERPRINT_MAX)}"
        if len(ranked) > LEFT_SHOWN:
            more = sum(n for _, n in ranked[LEFT_SHOWN:])
            yield f"#   and {len(ranked) - LEFT_SHOWN:,} classes more, {count(more, 'call')}"
    if not covered.gone:
        yield from comment("Nothing is omitted.")
    for sentence in coverage.looked_for(covered):
        yield from comment(sentence)


def _target(
    name: str, database: str, kind: str, chosen: Chosen, document: Document
) -> Iterator[str]:
    yield f"  {name}:"
    schema = re.sub(r"[\x00-\x1f/`\"'\\]", "_", database)[:64]
    if not schema:
        yield "    # The log does not name the database: put its name for `your_schema`, twice."
        schema = "your_schema"
    url = f"{kind}://app@127.0.0.1:{kinds.of(kind).port}/{quote(schema, safe='')}"
    yield f"    url: {quoted(url)}  # put yours; passwords: password_env, ~/.my.cnf, ~/.pgpass"
    yield f"    data: {{existing: {scalar(schema)}}}"
    if _changes(chosen, database):
        named = visible(schema, 64)
        yield f"    may: {{write: yes}}  # the command line must say it, too: --write-to {named}"
    else:
        yield "    # It only reads."
    is_prepared = kinds.of(kind).language == kinds.POSTGRES and _is_prepared(chosen)
    if is_prepared:
        yield "    protocol: prepared  # as most values are separate from the statements in the log"
    else:
        yield "    protocol: text  # values in the statements, as in the log; or `prepared`"
    others: dict[str, int] = defaultdict(int)
    for one in document.classes:
        for other, calls in one.databases.items():
            if other not in chosen.units and other:
                others[other] += calls
    if database and chosen.homeless and name == next(iter(_targets(chosen))):
        said = f"{chosen.homeless:,} calls were in no database that the log names"
        yield from comment(f"{said}: they are taken to be of this one.", 4)
    if others and name == next(iter(_targets(chosen))):
        listed = ", ".join(
            f"{visible(n, 64)} ({calls:,})" for n, calls in list(others.items())[:20]
        )
        yield from comment(f"Statements ran in other databases too, with these calls: {listed}", 4)


def _is_prepared(chosen: Chosen) -> bool:
    """Whether PostgreSQL was sent values apart from most statements: numbers are all quoted if a
    class has `$1`."""
    quoted_calls = plain = 0
    for one in chosen.statements:
        for summary in one.parameters:
            if summary.kind in ("whole", "decimal"):
                quoted_calls += summary.count * summary.is_quoted
                plain += summary.count * (not summary.is_quoted)
    return quoted_calls > plain


def _group(
    called: str, target: str, database: str, chosen: Chosen, paced: pace.Pace, share: float
) -> Iterator[str]:
    params = Parameters(chosen, database)
    body = list(statements.written(database, chosen, params))
    yield f"  {called}:"
    yield "    kind: mix"
    yield f"    target: {target}"
    yield f"    sessions: {max(1, round(paced.sessions * share))}"
    if paced.rates is not None:
        if len(paced.rates) == 1:
            yield f"    rate: {_per_s(paced.rates[0][1] * share)}/s"
        else:
            yield "    rate:"
            for length_s, rate in paced.rates:
                yield f"      - {{for: {_length(length_s)}, at: {_per_s(rate * share)}/s}}"
        yield f"    arrivals: {paced.arrivals}"
    if params.made:
        yield "    params:"
    for param, (generator, note) in params.made.items():
        yield f"      {param}: {scalar(generator)}  # {note}"
    yield from body


def _per_s(rate: float) -> str:
    """Without an exponent, at least four digits."""
    return f"{rate:.0f}" if rate >= 1000 else f"{rate:.6f}".rstrip("0").rstrip(".") or "0"


def _length(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds == round(seconds) else f"{round(seconds * 1000)}ms"
