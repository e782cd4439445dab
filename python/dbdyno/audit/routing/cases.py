"""The statements of an examination of a router, for PostgreSQL.

Each case has sessions of its own, two at most. The second one takes a connection of the pool
whenever the first has given one back, so that a pooler that lends connections for a transaction
has to hand the first session another one.

What must hold, from PostgreSQL's manual on hot standby ("User's Overview") and pgpool-II's on load
balancing ("Condition for Load Balancing"): whatever writes, locks rows or draws from a sequence
runs at the primary; so does each read in a transaction that has written, or it does not see its own
changes; and a session keeps its settings, temporary tables, prepared statements and advisory locks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

PRIMARY_ONLY = "primary"
ANYWHERE = ""
TABLE, SEQUENCE, FUNCTION = "dbdyno_routing", "dbdyno_routing_seq", "dbdyno_routing_write"
ROWS = 10
SIMPLE, EXTENDED, PREPARED, NAMED = "simple", "extended", "prepared", "named"
"""How a statement is sent: as text; parsed, bound and executed; only parsed, under a name; what was
parsed so is bound and executed."""
ERROR = "!"  # begins a result that is an error, before its SQLSTATE

CREATE = (
    f"DROP TABLE IF EXISTS {TABLE}",
    f"DROP SEQUENCE IF EXISTS {SEQUENCE}",
    f"DROP FUNCTION IF EXISTS {FUNCTION}()",
    f"CREATE TABLE {TABLE} (id integer PRIMARY KEY, v bigint NOT NULL)",
    f"INSERT INTO {TABLE} SELECT n, 0 FROM generate_series(1, {ROWS}) AS n",
    f"CREATE SEQUENCE {SEQUENCE}",
    f"CREATE FUNCTION {FUNCTION}() RETURNS bigint LANGUAGE sql VOLATILE AS"
    f" $$UPDATE {TABLE} SET v = v + 1 WHERE id = 3 RETURNING v$$",
)
DROP = CREATE[:3]

_READ = f"SELECT v FROM {TABLE} WHERE id = 1"
_WRITE = f"UPDATE {TABLE} SET v = {{n}} WHERE id = 1"


@dataclass(frozen=True)
class Step:
    """A statement. `{n}` in it is a number that no other case of any round has; `about` names it in
    the table, empty: it only leads there. `want`: the result's first value as text, or ERROR and a
    SQLSTATE; None: anything but an error."""

    sql: str
    must: str = ANYWHERE
    about: str = ""
    want: str | None = None
    session: str = "a"
    way: str = SIMPLE


@dataclass(frozen=True)
class Case:
    """Statements in their order."""

    name: str
    steps: tuple[Step, ...]


def _other(*steps: Step) -> tuple[Step, ...]:
    """The other session has a transaction open around steps of the first."""
    return (
        Step("BEGIN", session="b"),
        Step("SELECT 1", session="b"),
        *steps,
        Step("COMMIT", session="b"),
    )


def _write(about: str = "") -> Step:
    return Step(_WRITE, PRIMARY_ONLY, about)


CASES = (
    Case("by itself", (Step(_READ, about="SELECT"), _write("UPDATE"))),
    Case(
        "transaction that reads",
        (Step("BEGIN", about="BEGIN"), Step(_READ, about="SELECT"), Step("COMMIT")),
    ),
    Case(
        "transaction that is declared to read only",
        (Step("BEGIN READ ONLY"), Step(_READ, about="SELECT"), Step("COMMIT")),
    ),
    Case(
        "transaction that writes",
        (
            Step("BEGIN"),
            Step(_READ, about="SELECT before the write"),
            _write("UPDATE"),
            Step(_READ, PRIMARY_ONLY, "SELECT after the write", "{n}"),
            Step("COMMIT"),
        ),
    ),
    Case(
        "after a savepoint was rolled back",
        (
            Step("BEGIN"),
            _write(),
            Step("SAVEPOINT s"),
            Step(f"UPDATE {TABLE} SET v = -1 WHERE id = 1", PRIMARY_ONLY),
            Step("ROLLBACK TO SAVEPOINT s"),
            Step(_READ, PRIMARY_ONLY, "SELECT after the first write", "{n}"),
            Step("COMMIT"),
        ),
    ),
    Case(
        "row locks",
        (
            Step(f"{_READ} FOR UPDATE", PRIMARY_ONLY, "SELECT FOR UPDATE"),
            Step("BEGIN"),
            Step(f"{_READ} FOR SHARE", PRIMARY_ONLY, "SELECT FOR SHARE in a transaction"),
            Step("COMMIT"),
        ),
    ),
    Case(
        "reads that write",
        (
            Step(f"SELECT {FUNCTION}()", PRIMARY_ONLY, "SELECT of a function that writes"),
            Step(f"SELECT nextval('{SEQUENCE}')", PRIMARY_ONLY, "SELECT nextval"),
            Step(
                f"WITH w AS (UPDATE {TABLE} SET v = {{n}} WHERE id = 2 RETURNING v)"
                " SELECT v FROM w",
                PRIMARY_ONLY,
                "WITH that updates, SELECT",
                "{n}",
            ),
            Step(
                f"EXPLAIN ANALYZE UPDATE {TABLE} SET v = {{n}} WHERE id = 2",
                PRIMARY_ONLY,
                "EXPLAIN ANALYZE of an UPDATE",
            ),
            Step(f"DO $$BEGIN PERFORM {FUNCTION}(); END$$", PRIMARY_ONLY, "DO block that writes"),
            # No row changes; yet a standby refuses it. It is declared stable, as what only reads.
            Step("SELECT txid_current() > 0", about="SELECT txid_current", want="True"),
        ),
    ),
    Case(
        "temporary table",
        (
            Step("CREATE TEMPORARY TABLE t_{n} (v integer)", PRIMARY_ONLY, "CREATE"),
            *_other(
                Step("INSERT INTO t_{n} VALUES (7)", PRIMARY_ONLY, "INSERT"),
                Step("SELECT v FROM t_{n}", PRIMARY_ONLY, "SELECT", "7"),
            ),
            Step("DROP TABLE t_{n}", PRIMARY_ONLY),
        ),
    ),
    Case(
        "PREPARE",
        (
            Step(f"PREPARE r_{{n}} AS {_READ}"),
            Step(f"PREPARE w_{{n}} AS {_WRITE}"),
            *_other(
                Step("EXECUTE r_{n}", about="EXECUTE of a SELECT"),
                Step("EXECUTE w_{n}", PRIMARY_ONLY, "EXECUTE of an UPDATE"),
            ),
            Step("BEGIN"),
            Step("EXECUTE w_{n}", PRIMARY_ONLY),
            Step("EXECUTE r_{n}", PRIMARY_ONLY, "EXECUTE of a SELECT after a write", "{n}"),
            Step("COMMIT"),
        ),
    ),
    Case(
        "statement prepared by the protocol",
        (
            Step(_READ, about="SELECT, unnamed", way=EXTENDED),
            Step(_WRITE, PRIMARY_ONLY, "UPDATE, unnamed", way=EXTENDED),
            Step(_READ, about="Parse of a named one, which no log has", way=PREPARED),
            *_other(Step(_READ, about="SELECT, named", way=NAMED)),
            Step("BEGIN", way=EXTENDED),
            Step(_WRITE, PRIMARY_ONLY, way=EXTENDED),
            Step(_READ, PRIMARY_ONLY, "SELECT after a write", "{n}", way=EXTENDED),
            Step("COMMIT", way=EXTENDED),
        ),
    ),
    Case(
        "after an error in a transaction",
        (
            Step("BEGIN"),
            _write(),
            Step("SELECT 1 / 0", PRIMARY_ONLY, "SELECT that fails", f"{ERROR}22012"),
            Step(_READ, PRIMARY_ONLY, "SELECT, which is refused", f"{ERROR}25P02"),
            Step("ROLLBACK"),
            Step(_READ, about="SELECT after ROLLBACK"),
            _write("UPDATE after ROLLBACK"),
        ),
    ),
    Case(
        "setting of the session",
        (
            Step("SET dyno.mark = '{n}'", about="SET"),
            *_other(
                Step("SELECT current_setting('dyno.mark', true)", about="SELECT of it", want="{n}")
            ),
        ),
    ),
    Case(
        "sequence of the session",
        (
            Step(f"SELECT nextval('{SEQUENCE}')", PRIMARY_ONLY),
            *_other(Step(f"SELECT currval('{SEQUENCE}') > 0", about="SELECT currval", want="True")),
        ),
    ),
    Case(
        "advisory lock",
        (
            Step("SELECT pg_advisory_lock({n})", PRIMARY_ONLY, "SELECT pg_advisory_lock"),
            Step(
                "SELECT pg_try_advisory_lock({n})",
                PRIMARY_ONLY,
                "the same lock by another session, which is refused",
                "False",
                session="b",
            ),
            Step("SELECT pg_advisory_unlock({n})", PRIMARY_ONLY, "its release", "True"),
        ),
    ),
)


@dataclass(frozen=True)
class Tag:
    """Which statement one is, as a comment behind it says to the servers' logs."""

    round: int
    case: int
    step: int

    def executed(self, case: Case) -> Tag:
        """Of a step that only parses: that of the one that executes it."""
        ways = [step.way for step in case.steps]
        return replace(self, step=ways.index(NAMED, self.step))

    def behind(self, sql: str) -> str:
        """The statement as it is sent."""
        return f"{sql} /* dyno {self.round}.{self.case}.{self.step} */"


def steps(round_: int, number: int) -> Iterator[tuple[Tag, Case, Step]]:
    """The statements of a round, in their order. What stands for `{n}` begins with `number`, and is
    another one for each case: a row that is read has not been changed to it before."""
    for at_case, case in enumerate(CASES):
        n = f"{number}{at_case:02}"
        for at_step, step in enumerate(case.steps):
            want = step.want and step.want.replace("{n}", n)
            made = replace(step, sql=step.sql.replace("{n}", n), want=want)
            yield Tag(round_, at_case, at_step), case, made
