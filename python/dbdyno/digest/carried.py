"""Which of a log's units a runnable workload has, and what becomes of the others.

Every call of the log is accounted for: it is carried over, or it is left out for a reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.digest import lengths
from dbdyno.digest.document import Class, Document
from dbdyno.digest.places import Places, look
from dbdyno.digest.shape import Counter, Shape, Statement, Step, Tie, Unit
from dbdyno.spec import sqltext
from dbdyno.spec.workloads.mix import REPEAT_MAX, SQL_MAX, STATEMENTS_MAX

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

EDGES = "sent in transactions that were cut off by the log's ends, too rare or too long to be kept"
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
NOT_KEPT = "classes beyond those whose values are looked at"


@dataclass
class Left:
    """Calls that are left out, by reason and class: reason -> class ID -> calls."""

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
    merged: frozenset[tuple[Step, ...]] = frozenset()  # units whose repetitions are means
    unplaced: int = 0  # calls of which the log does not tell the session
    homeless: int = 0  # calls in no database that the log names, taken to be of the first one

    def time_s(self, id_: str, calls: int) -> float:
        """What so many calls of a class take, by its mean."""
        one = self.classes.get(id_)
        return calls * one.time_s / one.count if one is not None and one.count else 0.0

    def leave(self, unit: Unit, reason: str) -> None:
        """All calls of a unit are left out."""
        for step in unit.steps:
            id_ = self.statements[step.statement].id
            self.left.add(reason, id_, unit.count * step.repeat)


def choose(document: Document, shape: Shape) -> Chosen:
    """What is carried over. `document` must list all classes."""
    classes = {one.id: one for one in document.classes}
    places = [look(one.template, one.parameters) for one in shape.statements]
    refused = [_refused(one, place) for one, place in zip(shape.statements, places, strict=True)]
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
    )
    _outside(document, shape, chosen.left)
    by_database: dict[str, list[Unit]] = defaultdict(list)
    unseen = {number: one.count for number, one in enumerate(shape.statements)}
    for unit in shape.units:
        for step in unit.steps:
            unseen[step.statement] -= unit.count * step.repeat
        kept = _kept(unit, refused, chosen)
        if kept is not None:
            by_database[statements[kept.steps[0].statement].database].append(kept)
    for number, calls in unseen.items():
        one = shape.statements[number]
        chosen.left.add(refused[number] or EDGES, one.id, calls)
    units, merged = {}, set()
    for database, all_ in _main(by_database, chosen).items():
        units[database], means = _limited(all_, chosen)
        merged |= means
    return replace(chosen, units=units, merged=frozenset(merged))


def _at_home(statements: Sequence[Statement]) -> Sequence[Statement]:
    """Those that ran in no database that the log names are taken to be of the main one."""
    calls: dict[str, int] = defaultdict(int)
    for one in statements:
        calls[one.database] += one.count * bool(one.database)
    main = max(calls, key=lambda name: calls[name], default="")
    return [one if one.database else replace(one, database=main) for one in statements]


def _refused(statement: Statement, places: Places) -> str | None:
    """Why a statement is never sent."""
    word = sqltext.keyword(statement.template)
    if word in (*WORK, *FRAME, *SESSION) and len(sqltext.statements(statement.template)) > 1:
        return SEVERAL
    if word not in WORK or _OUTFILE.search(statement.template):
        return NO_WORK
    if places.refused is not None:
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
        return "statements whose text cannot be taken apart with certainty"
    return None


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


def _limited(units: Sequence[Unit], chosen: Chosen) -> tuple[Sequence[Unit], set[tuple[Step, ...]]]:
    """Units with at most `STATEMENTS_MAX` statements; and those whose repetitions are means."""
    units = _alike(units)
    merged: set[tuple[Step, ...]] = set()
    if _classes(units) > STATEMENTS_MAX:
        units, merged = _averaged(units)
    if _classes(units) <= STATEMENTS_MAX:
        return sorted(units, key=lambda unit: -unit.count), merged
    calls = sum(one.count for one in chosen.classes.values()) or 1
    time_s = sum(one.time_s for one in chosen.classes.values()) or 1.0

    def weight(unit: Unit) -> float:
        return sum(
            unit.count * step.repeat / calls
            + chosen.time_s(chosen.statements[step.statement].id, unit.count * step.repeat) / time_s
            for step in unit.steps
        )

    kept: list[Unit] = []
    room = STATEMENTS_MAX
    for unit in sorted(units, key=weight, reverse=True):
        needs = _classes([unit])
        if needs <= room:
            room -= needs
            kept.append(unit)
            continue
        chosen.leave(unit, TOO_MANY)
    return sorted(kept, key=lambda unit: -unit.count), merged


def _classes(units: Iterable[Unit]) -> int:
    return sum(len({step.statement for step in unit.steps}) for unit in units)


def _alike(units: Iterable[Unit]) -> list[Unit]:
    """Units that have become alike by leaving out steps, as one."""
    counts: dict[tuple[bool, tuple[Step, ...]], int] = defaultdict(int)
    for unit in units:
        counts[unit.is_transaction, unit.steps] += unit.count
    return [
        Unit(count=count, is_transaction=is_transaction, is_rolled_back=False, steps=steps)
        for (is_transaction, steps), count in counts.items()
    ]


def _averaged(units: Iterable[Unit]) -> tuple[list[Unit], set[tuple[Step, ...]]]:
    """Units that differ in their repetitions only, as one with the mean of them."""
    alike: dict[tuple[bool, tuple[int, ...]], list[Unit]] = defaultdict(list)
    for unit in units:
        alike[unit.is_transaction, tuple(step.statement for step in unit.steps)].append(unit)
    made, merged = [], set()
    for (is_transaction, statements), group in alike.items():
        count = sum(unit.count for unit in group)
        repeats = [
            round(sum(unit.count * unit.steps[at].repeat for unit in group) / count)
            for at in range(len(statements))
        ]
        steps = tuple(
            Step(statement=statement, repeat=max(1, repeat))
            for statement, repeat in zip(statements, repeats, strict=True)
        )
        if len(group) > 1:
            merged.add(steps)
        made.append(
            Unit(count=count, is_transaction=is_transaction, is_rolled_back=False, steps=steps)
        )
    return made, merged
