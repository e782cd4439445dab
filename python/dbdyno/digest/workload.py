"""`dyno digest LOG... --workload OUT.yaml`: a log as an experiment that can be run.

Carried over: statements, what sessions send together and how often, how values are spread,
sessions, pace, databases. Whatever is not is said in the file, with its share of calls and time. No
literal of the log is in it but the ends of ranges of numbers, dates and times, and hints.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from dbdyno import __version__
from dbdyno.digest import carried, censoring, pace
from dbdyno.digest.carried import Chosen
from dbdyno.digest.document import Document
from dbdyno.digest.parameters import Names, Parameters
from dbdyno.digest.shape import Shape, Unit
from dbdyno.digest.yamltext import comment, quoted, scalar, visible
from dbdyno.errors import DynoError
from dbdyno.nouns import count
from dbdyno.spec import sqltext

LEFT_SHOWN = 20  # classes listed for each reason
FINGERPRINT_MAX = 120
PORTS = {"mariadb": 3306, "mysql": 3306, "postgres": 5432}


def made(document: Document, shape: Shape, *, accepts_censored: bool) -> str:
    """The experiment. `document` must list all classes. DynoError for what cannot be a workload."""
    check(document, accepts_censored=accepts_censored)
    chosen = carried.choose(document, shape)
    units = sum(unit.count for each in chosen.units.values() for unit in each)
    if not units:
        reasons = "; ".join(list(chosen.left.calls)[:3]) or "there is no statement"
        raise DynoError(
            "nothing in these logs can be run as a workload",
            cause=reasons,
            fix="look at their digest: `dyno digest LOG...`",
        )
    return "\n".join(_file(document, chosen, pace.pace(document, shape, units))) + "\n"


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
            fix="look at their digest: `dyno digest LOG...`",
        )
    if accepts_censored:
        return
    censoring.refuse_censored(document, "--workload")
    if any(one.format == "mysql-binlog" for one in document.inputs):
        raise DynoError(
            "--workload: a binary log lacks statements: those that only read are not there",
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


def _file(document: Document, chosen: Chosen, paced: pace.Pace) -> Iterator[str]:
    kind = _kind(document)
    total = sum(unit.count for units in chosen.units.values() for unit in units)
    targets = _targets(chosen)
    yield from _head(document, chosen, kind, targets)
    yield "experiment: from-log"
    yield 'question: "How does a server do under a load like the one in the log?"'
    yield "targets:"
    for name, database in targets.items():
        yield from _target(name, database, kind, chosen, document)
    for why in paced.why:
        yield from comment(why)
    yield "groups:"
    for name, database in targets.items():
        share = sum(unit.count for unit in chosen.units[database]) / total
        yield from _group(name, database, chosen, paced, share)
    yield f"duration: {_length(paced.duration_s)}"
    is_schedule = paced.rates is not None and len(paced.rates) > 1
    yield f"warmup: {'0s' if is_schedule else '5s'}"
    yield from comment(
        "Data that is there is not restored, so that each trial finds what the last one left."
    )
    yield "state: {data: reuse}"
    yield "blocks: 1"


def _kind(document: Document) -> str:
    first = document.inputs[0]
    if first.format.startswith("postgres"):
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
    document: Document, chosen: Chosen, kind: str, targets: Mapping[str, str]
) -> Iterator[str]:
    yield from comment(f"A load like the one in the logs below, by dyno digest {__version__}.")
    yield "#"
    for one in document.inputs:
        server = "".join(f", {visible(name, 80)}" for name in one.all_servers)
        filtered = (
            f", {one.filtered:,} of them left out by filters (--since, --until, --user, --host,"
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
            f"CENSORED: this log lacks {missing}. All proportions below are of what is there."
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
    yield from _left(document, chosen)
    if chosen.unplaced:
        yield "#"
        yield from comment(
            f"Of {count(chosen.unplaced, 'call')} the log does not tell the session (PostgreSQL's"
            " does by %p or %c in log_line_prefix): each stands by itself, outside of transactions."
        )
    yield "#"
    for line in (
        "Values of different places are drawn independently of each other, but for those that were"
        " the same within a transaction (`per: transaction`), and ends of ranges (`sum`).",
        "Texts are made up, so that a search for one finds nothing: where it matters put"
        " `column: TABLE.COLUMN` for its generator. Patterns of LIKE lose their wildcards.",
    ):
        yield from comment(line)


def _changes(chosen: Chosen, database: str) -> bool:
    steps = [step for unit in chosen.units[database] for step in unit.steps]
    return any(not _reads(chosen.statements[step.statement].template) for step in steps)


_LOCKS = re.compile(
    r"\bfor\s+(?:no\s+key\s+)?(?:update|share|key\s+share)\b|\block\s+in\s+share\s+mode\b"
    r"|\b(?:next|set)val\s*\(",
    re.IGNORECASE,
)


def _reads(sql: str) -> bool:
    """Whether it may go to a session that is read-only: locks and sequences may not."""
    return sqltext.reads(sql) and not _LOCKS.search(sql)


def _left(document: Document, chosen: Chosen) -> Iterator[str]:
    """What is carried over, and each reason for what is not, with shares of calls and time."""
    calls_all, time_all = document.overall.count, document.overall.time_s
    left = {
        reason: (sum(by.values()), sum(chosen.time_s(id_, n) for id_, n in by.items()), by)
        for reason, by in chosen.left.calls.items()
    }
    if document.rest is not None:
        calls, time_s, by = left.get(carried.NOT_KEPT, (0, 0.0, {}))
        left[carried.NOT_KEPT] = (calls + document.rest.count, time_s + document.rest.time_s, by)

    def shares(calls: float, time_s: float) -> str:
        of_time = f" and {time_s / time_all:.2%} of the query time" if time_all else ""
        return f"{calls / calls_all:.2%} of the calls{of_time}"

    kept = calls_all - sum(one[0] for one in left.values())
    kept_s = time_all - sum(one[1] for one in left.values())
    yield from comment(f"Carried over: {shares(max(0, kept), max(0.0, kept_s))}.")
    for reason, (calls, time_s, by) in sorted(left.items(), key=lambda item: -item[1][0]):
        how = "Sent by dyno in its own way" if reason in carried.OURS else "Left out"
        yield from comment(f"{how}, {shares(calls, time_s)}: {reason}")
        ranked = sorted(by.items(), key=lambda item: -item[1])
        for id_, n in ranked[:LEFT_SHOWN]:
            text = chosen.classes[id_].fingerprint if id_ in chosen.classes else "?"
            yield f"#   {id_[:8]} {n:,} x {visible(text, FINGERPRINT_MAX)}"
        if len(ranked) > LEFT_SHOWN:
            more = sum(n for _, n in ranked[LEFT_SHOWN:])
            yield f"#   and {len(ranked) - LEFT_SHOWN:,} classes more, {count(more, 'call')}"
    if not left:
        yield from comment("Nothing is left out.")


def _target(
    name: str, database: str, kind: str, chosen: Chosen, document: Document
) -> Iterator[str]:
    yield f"  {name}:"
    schema = re.sub(r"[\x00-\x1f/`\"'\\]", "_", database)[:64]
    if not schema:
        yield "    # The log does not name the database: put its name for `your_schema`, twice."
        schema = "your_schema"
    url = f"{kind}://app@127.0.0.1:{PORTS[kind]}/{quote(schema, safe='')}"
    yield f"    url: {quoted(url)}  # put yours; passwords: password_env, ~/.my.cnf, ~/.pgpass"
    yield f"    data: {{existing: {scalar(schema)}}}"
    if _changes(chosen, database):
        named = visible(schema, 64)
        yield f"    may: {{write: yes}}  # the command line must say it, too: --write-to {named}"
    else:
        yield "    # It only reads."
    is_prepared = kind == "postgres" and _is_prepared(chosen)
    if is_prepared:
        yield "    protocol: prepared  # as most values stand beside the statements in the log"
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
    """Whether PostgreSQL was sent values apart from most statements: classes with `$1` in them say
    so by quoting all numbers."""
    quoted_calls = plain = 0
    for one in chosen.statements:
        for summary in one.parameters:
            if summary.kind in ("whole", "decimal"):
                quoted_calls += summary.count * summary.is_quoted
                plain += summary.count * (not summary.is_quoted)
    return quoted_calls > plain


def _group(
    name: str, database: str, chosen: Chosen, paced: pace.Pace, share: float
) -> Iterator[str]:
    params = Parameters(chosen, database)
    body = list(_body(database, chosen, params, Names()))
    yield f"  {'app' if name == 'db' else name.replace('db_', 'app_', 1)}:"
    yield "    kind: mix"
    yield f"    target: {name}"
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


def _body(database: str, chosen: Chosen, params: Parameters, names: Names) -> Iterator[str]:
    units = chosen.units[database]
    alone = [unit for unit in units if _is_alone(unit)]
    if alone:
        yield "    statements:"
    for unit in alone:
        number = unit.steps[0].statement
        yield from _about(chosen, number, 6)
        mapping = _statement(chosen, number, params.of_unit(unit)[number])
        mapping["weight"] = unit.count
        yield f"      {names.new(_word(chosen, number))}: {scalar(mapping)}"
    together = [unit for unit in units if not _is_alone(unit)]
    if together:
        yield "    transactions:"
    for unit in together:
        words = list(dict.fromkeys(_word(chosen, step.statement) for step in unit.steps))
        if unit.steps in chosen.merged:
            yield from comment("Repetitions differed; these are their means.", 6)
        yield f"      {names.new('_then_'.join(words))}:"
        yield f"        weight: {unit.count}"
        if not unit.is_transaction:
            yield "        atomic: false  # each commits by itself; the first is always followed so"
        yield "        steps:"
        given: dict[int, str] = {}
        texts = params.of_unit(unit)
        for step in unit.steps:
            number = step.statement
            if number not in given:
                yield from _about(chosen, number, 10)
                given[number] = names.new(_word(chosen, number))
            mapping = {"name": given[number], **_statement(chosen, number, texts[number])}
            if step.repeat > 1:
                mapping["repeat"] = step.repeat
            yield f"          - {scalar(mapping)}"


def _is_alone(unit: Unit) -> bool:
    return not unit.is_transaction and len(unit.steps) == 1 and unit.steps[0].repeat == 1


def _word(chosen: Chosen, number: int) -> str:
    """What to call a statement: its verb and its first table."""
    statement = chosen.statements[number]
    one = chosen.classes.get(statement.id)
    verb = sqltext.keyword(statement.template)
    table = one.tables[0].rpartition(".")[2] if one is not None and one.tables else ""
    return f"{verb}_{table}" if table else verb


def _about(chosen: Chosen, number: int, indent: int) -> Iterator[str]:
    statement = chosen.statements[number]
    one = chosen.classes.get(statement.id)
    said = f"{statement.id[:8]}: {count(statement.count, 'call')}"
    if one is not None and one.time_s:
        said += f", {1000 * one.time_s / one.count:.3g} ms in the mean"
    if statement.template_share < 0.9995:
        said += (
            f"; this form is {statement.template_share:.1%} of them, others differ in NULLs or the"
            " like"
        )
    yield from comment(said, indent)


def _statement(chosen: Chosen, number: int, made: Mapping[str, Any]) -> dict[str, Any]:
    template = chosen.statements[number].template
    reads = _reads(template)
    return {**made} | ({} if reads == sqltext.reads(template) else {"reads": reads})


def _per_s(rate: float) -> str:
    """Without an exponent, at least four digits."""
    return f"{rate:.0f}" if rate >= 1000 else f"{rate:.6f}".rstrip("0").rstrip(".") or "0"


def _length(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds == round(seconds) else f"{round(seconds * 1000)}ms"
