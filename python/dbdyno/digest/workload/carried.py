"""Which of a log's units a runnable workload has, and what becomes of the others.

Every call of the log is accounted for: it is carried over, or it is omitted for a reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.digest.document import Class, Document
from dbdyno.digest.servers.watch import GONE, LUMPED
from dbdyno.digest.workload.branching import alignment, building, likeness
from dbdyno.digest.workload.branching.slots import Branched
from dbdyno.digest.workload.profile import Counter, Shape, Statement, Step, Tie, Unit
from dbdyno.digest.workload.schema import naming, values
from dbdyno.digest.workload.schema.catalog import Catalog
from dbdyno.digest.workload.values import lengths
from dbdyno.digest.workload.values.kept import looked
from dbdyno.digest.workload.values.places import DOCUMENTS, Place, Places, look
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.workloads.mix.model import BRANCHES_MAX, REPEAT_MAX, SQL_MAX, STATEMENTS_MAX

WORK = ("select", "insert", "update", "delete", "replace", "with", "call", "values", "merge")
FRAME = ("begin", "start", "commit", "end", "rollback", "abort")
SESSION = ("set", "use", "show", "discard", "reset", "deallocate", "savepoint", "release")
# Commands of the protocols, as logs and captures call them: a driver sends its own.
COMMANDS = frozenset(
    {
        "connect", "quit", "init db", "ping", "sleep", "statistics", "field list",
        "set option", "reset connection", "close stmt", "reset stmt", "long data", "fetch",
        "describe", "close", "sync",
    }
)  # fmt: skip
_OUTFILE = re.compile(r"\binto\s+(?:outfile|dumpfile)\b", re.IGNORECASE)
BARE = ("duration", "error", "fatal")  # PostgreSQL's, as with log_duration alone
DATABASES_MAX = 64  # the engine runs no more groups
RARE, BULKY = 10, 50  # calls below which, and values above which, a statement is a bulk load
OPERATIONS_MAX = 5000  # of a transaction; the engine allows twice as many
FORMS_MAX = 4000  # statements with all lengths of their lists; the engine takes 96 more

EDGES = "sent in transactions or pairs that the log's ends cut off, or that are too long to be kept"
ROLLED_BACK = "in transactions that were rolled back"
TOO_MANY = f"beyond the {STATEMENTS_MAX} statements that a group may have"
SMALL = f"in databases beyond the {DATABASES_MAX} to which most was sent"
TOO_LONG = "in transactions that are too long"
MIXED = "in transactions over several databases"
NO_WORK = "statements that define, lock, copy or control: they are not a load that can be repeated"
SESSIONS = "statements about sessions: SET, SHOW and the like"
HINTS = "statements with hints whose values differ from call to call"
SEVERAL = "several statements in one string: dyno sends one at a time"
FRAMES = "begin, commit and rollback"
PREPARATIONS = "preparations, which run nothing"
DRIVERS = "connects, quits, pings and other commands of drivers"
OURS = (SESSIONS, FRAMES, PREPARATIONS, DRIVERS)  # dyno sends its own
UNTOLD = "times and errors without their statement in the log"
NO_TEXT = "statements whose text the server does not tell"
NOT_KEPT = "classes beyond those whose values are analysed"


@dataclass
class Left:
    """Calls that are omitted, by reason and class: reason -> class ID -> calls."""

    calls: dict[str, dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )

    def add(self, reason: str, id_: str, calls: int) -> None:
        if calls > 0:
            self.calls[reason][id_] += calls


@dataclass(frozen=True)
class Chosen:
    """Units by database, the most frequent first, with what they are made of."""

    units: Mapping[str, Sequence[Unit]]
    statements: Sequence[Statement]
    places: Sequence[Places]  # of each statement
    classes: Mapping[str, Class]  # by ID
    left: Left
    ties: Sequence[Tie] = ()  # places with the same value
    counters: Sequence[Counter] = ()  # places that number what a transaction repeats
    unplaced: int = 0  # calls whose session the log does not name
    catalogs: Mapping[str, Catalog] = field(default_factory=dict)  # schemas, by database
    homeless: int = 0  # calls in no database that the log names, taken to be of the first one

    def found(self, statement: Statement, place: Place) -> naming.Found | None:
        """The column of a place, as the schema has it."""
        one = self.classes.get(statement.id)
        known = one.tables if one is not None else ()
        return naming.resolve(self.catalogs.get(statement.database), statement, known, place)

    def time_s(self, id_: str, calls: int) -> float:
        """What so many calls of a class take, by its mean."""
        one = self.classes.get(id_)
        return calls * one.time_s / one.count if one is not None and one.count else 0.0

    def leave(self, unit: Unit, reason: str) -> None:
        """All calls of a unit are omitted."""
        for number, calls in unit.calls():
            self.left.add(reason, self.statements[number].id, calls)


def choose(
    document: Document, shape: Shape, catalogs: Mapping[str, Catalog] | None = None
) -> Chosen:
    """What is carried over. `document` must list all classes; `catalogs`: what a server says of
    the schema of each database. Where the document has samples, texts are kept that are part of
    the question."""
    classes = {one.id: one for one in document.classes}
    samples = {one.id: one.sample.text for one in document.classes if one.sample is not None}
    places = [looked(one, samples.get(one.id)) for one in shape.statements]
    statements = _at_home(shape.statements)
    homeless = sum(one.count for one in shape.statements if not one.database)
    chosen = Chosen(
        units={},
        statements=statements,
        places=places,
        classes=classes,
        left=Left(),
        ties=shape.ties,
        counters=shape.counters,
        unplaced=shape.statements_unplaced,
        homeless=homeless,
        catalogs=catalogs or {},
    )
    refused = [_refused(chosen, number) for number in range(len(statements))]
    _outside(document, shape, chosen.left)
    by_database: dict[str, list[Unit]] = defaultdict(list)
    for unit in shape.units:
        kept = _kept(unit, refused, chosen)
        if kept is not None:
            by_database[statements[kept.steps[0].statement].database].append(kept)
    for number, one in enumerate(shape.statements):
        chosen.left.add(refused[number] or EDGES, one.id, one.in_no_unit)
    units = {
        database: _limited(all_, chosen, shape.one_in)
        for database, all_ in _main(by_database, chosen).items()
    }
    return replace(chosen, units={database: kept for database, kept in units.items() if kept})


def _at_home(statements: Sequence[Statement]) -> Sequence[Statement]:
    """Those that ran in no database that the log names are taken to be of the main one."""
    calls: dict[str, int] = defaultdict(int)
    for one in statements:
        calls[one.database] += one.count * bool(one.database)
    main = max(calls, key=lambda name: calls[name], default="")
    return [one if one.database else replace(one, database=main) for one in statements]


def _refused(chosen: Chosen, number: int) -> str | None:
    """Why a statement is never sent."""
    statement, places = chosen.statements[number], chosen.places[number]
    word = sqltext.keyword(statement.template)
    if word in (*WORK, *FRAME, *SESSION) and len(sqltext.statements(statement.template)) > 1:
        return SEVERAL
    if word not in WORK or _OUTFILE.search(statement.template):
        return NO_WORK
    if statement.refused is not None:
        return statement.refused
    if places.refused is not None and not _takes_documents(chosen, number):
        return places.refused
    if statement.hints_differ:
        return HINTS
    if statement.count < RARE and lengths.values_a_call(statement) > BULKY:
        return f"seen less than {RARE} times, with more than {BULKY} values: bulk loads"
    if len(places.sql) > SQL_MAX // 2:
        return "statements of more than 50,000 characters"
    named = [f"p{place.number}" for place in places.places]
    found = sorted(sqltext.parameters(places.sql))
    if found != sorted(named) or sqltext.out_of_reach(places.sql) or "\0" in places.sql:
        return "statements whose text cannot be parsed with certainty"
    return None


def _takes_documents(chosen: Chosen, number: int) -> bool:
    """Whether documents are all that speaks against a statement, and their columns are of JSON."""
    statement, places = chosen.statements[number], chosen.places[number]
    if places.refused != DOCUMENTS or len(statement.parameters) < len(places.places):
        return False
    rest = [
        replace(one, kind="null")
        if (found := chosen.found(statement, place)) is not None and values.is_document(found, one)
        else one
        for place, one in ((p, statement.parameters[p.number - 1]) for p in places.places)
    ]
    by_place = dict(zip((place.number for place in places.places), rest, strict=True))
    every = [by_place.get(n, one) for n, one in enumerate(statement.parameters, start=1)]
    return look(statement.template, every).refused is None


def _outside(document: Document, shape: Shape, left: Left) -> None:
    """Classes that are no work, or that the shape has no room for."""
    known = {one.id for one in shape.statements}
    for one in document.classes:
        if one.id in known:
            continue
        left.add(_no_statement(one.fingerprint), one.id, one.count)


def _no_statement(fingerprint: str) -> str:
    """What a class is that the shape does not have."""
    if fingerprint.startswith("PREPARE "):  # fingerprints of statements are small
        return PREPARATIONS
    if fingerprint in (GONE, LUMPED) or fingerprint.startswith("<"):
        return NO_TEXT
    if fingerprint.startswith("command: "):
        named = fingerprint.removeprefix("command: ").lower()
        if named in BARE:
            return UNTOLD
        return DRIVERS if named in COMMANDS else NO_WORK
    word = sqltext.keyword(fingerprint)
    return FRAMES if word in FRAME else SESSIONS if word in SESSION else NOT_KEPT


def _kept(unit: Unit, refused: Sequence[str | None], chosen: Chosen) -> Unit | None:
    """The unit without steps that cannot be sent; None if nothing is left of it."""

    def leave(steps: Iterable[Step], reason: str) -> None:
        for step in steps:
            id_ = chosen.statements[step.statement].id
            chosen.left.add(refused[step.statement] or reason, id_, unit.count * step.repeat)

    steps = [step for step in unit.steps if refused[step.statement] is None]
    leave((step for step in unit.steps if refused[step.statement] is not None), "")
    why = None
    if unit.is_rolled_back:
        why = ROLLED_BACK
    elif len({chosen.statements[step.statement].database for step in steps}) > 1:
        why = MIXED
    elif (
        sum(step.repeat for step in steps) > OPERATIONS_MAX
        or max((step.repeat for step in steps), default=0) > REPEAT_MAX
        or len(steps) > 1000
    ):
        why = TOO_LONG
    if why is not None:
        leave(steps, why)
    if why is not None or not steps:
        return None
    return Unit(
        count=unit.count,
        is_transaction=unit.is_transaction,
        is_rolled_back=False,
        steps=tuple(steps),
    )


def _main(
    by_database: Mapping[str, Sequence[Unit]], chosen: Chosen
) -> Mapping[str, Sequence[Unit]]:
    """The databases that have most of the units, as many as there can be groups."""

    def sent(database: str) -> int:
        return sum(unit.count for unit in by_database[database])

    ranked = sorted(by_database, key=sent, reverse=True)
    for database in ranked[DATABASES_MAX:]:
        for unit in by_database[database]:
            chosen.leave(unit, SMALL)
    kept = {*ranked[:DATABASES_MAX]}
    return {database: units for database, units in by_database.items() if database in kept}


def _limited(units: Sequence[Unit], chosen: Chosen, one_in: int) -> Sequence[Unit]:
    """Units that fit into a group: as they are; else those of the same statements put together,
    then those of the same kinds of statements, then those that are most alike."""
    units = _alike(units)
    if not _fits(units, chosen):
        units = _without_rare(units, chosen)
        kinds = likeness.kinds(chosen.statements, chosen.classes)
        for kind in (str, kinds.__getitem__):
            groups = likeness.groups(units, kind)
            made = [building.built(group, one_in) for group in groups]
            if _fits(made, chosen):
                return _ranked(made)
        groups, left = alignment.together(groups, STATEMENTS_MAX)
        for group in left:
            for unit, _ in group.rows:
                chosen.leave(unit, TOO_MANY)
        units = [building.built(group, one_in) for group in groups]
    return _ranked(_most(units, chosen))


def _ranked(units: Iterable[Unit]) -> Sequence[Unit]:
    return sorted(units, key=lambda unit: -unit.count)


def _without_rare(units: Sequence[Unit], chosen: Chosen) -> Sequence[Unit]:
    """Without units that hold one of the least frequent statements, if there are more of these than
    a step may have branches."""
    calls: dict[int, int] = defaultdict(int)
    for unit in units:
        for number, times in unit.calls():
            calls[number] += times
    rare = {*sorted(calls, key=lambda number: -calls[number])[BRANCHES_MAX - 1 :]}
    kept = []
    for unit in units:
        if rare.isdisjoint(step.statement for step in unit.steps):
            kept.append(unit)
        else:
            chosen.leave(unit, TOO_MANY)
    return kept


def _most(units: Sequence[Unit], chosen: Chosen) -> Sequence[Unit]:
    """Of units that do not fit those with the most calls and time."""
    if _fits(units, chosen):
        return units
    calls = sum(one.count for one in chosen.classes.values()) or 1
    time_s = sum(one.time_s for one in chosen.classes.values()) or 1.0

    def weight(unit: Unit) -> float:
        return sum(
            times / calls + chosen.time_s(chosen.statements[number].id, times) / time_s
            for number, times in unit.calls()
        )

    kept: list[Unit] = []
    names, forms = STATEMENTS_MAX, FORMS_MAX
    for unit in sorted(units, key=weight, reverse=True):
        if _names(unit) <= names and _forms(unit, chosen) <= forms and _is_short(unit):
            names, forms = names - _names(unit), forms - _forms(unit, chosen)
            kept.append(unit)
            continue
        chosen.leave(unit, TOO_MANY)
    return kept


def _fits(units: Sequence[Unit], chosen: Chosen) -> bool:
    names, forms = 0, 0
    for unit in units:
        names, forms = names + _names(unit), forms + _forms(unit, chosen)
        if names > STATEMENTS_MAX or forms > FORMS_MAX or not _is_short(unit):
            return False
    return True


def _names(unit: Unit) -> int:
    """How many classes of statements it takes."""
    return (
        unit.names if isinstance(unit, Branched) else len({step.statement for step in unit.steps})
    )


def _forms(unit: Unit, chosen: Chosen) -> int:
    """How many statements it takes, with all lengths of their lists."""
    return sum(lengths.forms(chosen.statements[n]) for n in {step.statement for step in unit.steps})


def _is_short(unit: Unit) -> bool:
    """Whether the engine takes it; others were checked one by one."""
    if not isinstance(unit, Branched):
        return True
    most = (slot.repeat * max(one.repeat for one in slot.branches) for slot in unit.slots)
    return sum(most) <= 2 * OPERATIONS_MAX


def _alike(units: Iterable[Unit]) -> list[Unit]:
    """Units that have become alike by omitting steps, as one."""
    counts: dict[tuple[bool, tuple[Step, ...]], int] = defaultdict(int)
    for unit in units:
        counts[unit.is_transaction, unit.steps] += unit.count
    return [
        Unit(count=count, is_transaction=is_transaction, is_rolled_back=False, steps=steps)
        for (is_transaction, steps), count in counts.items()
    ]
