"""The query cache of MariaDB (and of MySQL before 8.0.3): whether it pays, by what it does now.

It did help quiet servers with many equal reads, so there is no verdict on principle. Of the
SELECTs that were searched in the cache while we watched,

    hit ratio  = hits / (hits + inserts + not cached)
    break-even = cost / (cost + saving) = 0.13 / (0.13 + 0.70) = 16 %

A lookup that misses costs up to 13 % of the statement; one that hits saves 70 % of a lookup of one
row, the cheapest statement (it is 238 % faster), and more of dearer ones. Both numbers are of one
session. With more than `FEW` threads at work the cache's one lock decides. No counter shows it: if
sessions are seen to wait for it, it costs, else that is to be measured (study `query-cache`).

Com_select is not used: MySQL leaves hits out of it, MariaDB does not.

Source: the MySQL 5.7 manual, "The MySQL Query Cache"; MariaDB's page "Query Cache".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dbdyno.facts.fact import Fact, Facts, Missing, setting_name
from dbdyno.rules.check.rule import Fix, Found, Rule, edits
from dbdyno.wording.plurals import count

COST, SAVING = 0.13, 1 - 1 / 3.38
BREAK_EVEN = COST / (COST + SAVING)
LOCK = "Waiting for query cache lock"  # a state of sessions
FEW = 4  # threads running at once, ours among them
DEFAULT_SIZE = 1 << 20  # MariaDB's, while the cache is off
TABLES, SHOWN = "watched_tables", 3
_WRITES = ("com_insert", "com_update", "com_delete", "com_replace")
_OFF = Fix(settings=(("query_cache_type", "0"), ("query_cache_size", "0")))
_SOURCE = "https://mariadb.com/kb/en/query-cache/"


def is_on(facts: Facts) -> bool:
    """Whether statements are searched in it: it has a type and a size."""
    kind, size = facts.setting("query_cache_type"), facts.setting("query_cache_size")
    return kind.text.upper() not in ("OFF", "0") and size.number > 0


def _ratio(facts: Facts, sort: str) -> tuple[float, float]:
    """(hit ratio, SELECTs that were searched in it)."""
    hits, inserts, others = (
        facts.fact(f"{sort}.qcache_{name}").number for name in ("hits", "inserts", "not_cached")
    )
    looked_up = hits + inserts + others
    return (hits / looked_up if looked_up else 0.0), looked_up


def _verdict(facts: Facts) -> Iterator[Found]:
    if not is_on(facts):
        return
    if facts.get("watched.seconds") is None:
        raise Missing("watched.qcache_hits", "totals since the start hide what is now: see --for")
    ratio, looked_up = _ratio(facts, "watched")
    seconds = facts.fact("watched.seconds").number
    if not looked_up:
        raise Missing("watched.qcache_hits", f"no SELECT came in {seconds:.0f} s")
    running = facts.status("threads_running")
    writes = sum(facts.fact(f"watched.{name}").number for name in _WRITES)
    evidence = [
        *(facts.fact(f"watched.qcache_{name}") for name in ("hits", "inserts", "not_cached")),
        facts.fact("watched.qcache_lowmem_prunes"),
        running,
        *_settings(facts),
    ]
    seen = (
        f"{ratio:.0%} of {looked_up:,.0f} SELECTs were hits in {seconds:.0f} s"
        f" ({_ratio(facts, 'status')[0]:.0%} since the start), with {writes / seconds:,.1f}"
        f" writes/s and {running.number:.0f} threads running; it pays from {BREAK_EVEN:.0%} on"
    )
    waiting = _waiting(facts)
    if waiting is not None:
        evidence.append(waiting)
    seen += _by_table(facts, seconds)
    evidence += _written(facts)
    yield _found(ratio, running.number, seen, evidence, facts)


def _by_table(facts: Facts, seconds: float) -> str:
    """Whose results are thrown away, and whose stay."""
    if TABLES not in facts.tables:
        return ""
    rows = facts.table(TABLES).rows
    written = [row for row in rows if row["written"]]
    named = [
        f"{row['schema']}.{row['table']} ({row['written'] / seconds:,.1f} rows/s)"
        for row in written[:SHOWN]
    ]
    more = f" and {len(written) - SHOWN} more" if len(written) > SHOWN else ""
    stay = len(rows) - len(written)
    return (
        f". Each write to {', '.join(named)}{more} throws away all results of that table"
        if written
        else ". No table was written"
    ) + f"; {count(stay, 'table')} {'was' if stay == 1 else 'were'} read and not written"


def _written(facts: Facts) -> list[Fact]:
    if TABLES not in facts.tables:
        return []
    table = facts.table(TABLES)
    return [
        table.fact(row, "written", f"rows written to {row['schema']}.{row['table']}")
        for row in table.rows[:SHOWN]
        if row["written"]
    ]


def _waiting(facts: Facts) -> Fact | None:
    """Sessions that waited for the cache's lock when they were listed; None: none was seen."""
    states = facts.tables.get("session_states")
    for row in states.rows if states is not None else ():
        if states is not None and row.get("state") == LOCK:
            return states.fact(row, "sessions", LOCK)
    return None


def _found(ratio: float, running: float, seen: str, evidence: list[Fact], facts: Facts) -> Found:
    kind, size = _settings(facts)
    back = Fix(settings=((setting_name(kind), kind.text), (setting_name(size), size.text)))
    if ratio < BREAK_EVEN:
        return Found(
            what=f"the query cache costs more than it brings: {seen}",
            evidence=evidence,
            effect=f"about {COST * (1 - ratio) - SAVING * ratio:.0%} of the time of cheap SELECTs,"
            " at one session; more with many",
            fix=_without_written(facts),
            undo=back,
            severity="medium",
        )
    waiting = _waiting(facts)
    if running > FEW and waiting is not None:
        return Found(
            what=f"sessions wait for the query cache's lock: {seen}",
            evidence=evidence,
            effect=f"{waiting.number:.0f} of {running:.0f} running threads waited for it at once",
            fix=_OFF,
            undo=back,
            severity="medium",
        )
    if running > FEW:
        return Found(
            what=f"the query cache is hit, and many threads share its lock: {seen}",
            evidence=evidence,
            effect=f"between a gain of {SAVING * ratio - COST * (1 - ratio):.0%} and a loss:"
            " counters do not show the wait for its lock",
            fix=edits("Measure it with your own ratio of writes: dyno run query-cache."),
            undo=edits("Nothing to undo."),
            severity="low",
        )
    return Found(
        what=f"the query cache pays: {seen}",
        evidence=evidence,
        effect=f"about {SAVING * ratio - COST * (1 - ratio):.0%} of the time of cheap SELECTs"
        " saved",
        fix=edits("Keep it, and look again when threads or writes become more."),
        undo=edits("Nothing to undo."),
        severity="info",
    )


def _without_written(facts: Facts) -> Fix:
    """Off; where some tables are read and never written, their results alone may be worth it."""
    rows = facts.tables[TABLES].rows if TABLES in facts.tables else ()
    quiet = [f"{row['schema']}.{row['table']}" for row in rows if not row["written"]]
    if not quiet or len(quiet) == len(rows):
        return _OFF
    kept = ", ".join(quiet[:SHOWN])
    return replace(
        _OFF,
        edits=(
            "Or query_cache_type = DEMAND, with SELECT SQL_CACHE for statements on tables that are"
            f" not written, such as {kept}.",
        ),
    )


def _half_off(facts: Facts) -> Iterator[Found]:
    kind, size = _settings(facts)
    off = kind.text.upper() in ("OFF", "0")
    if off == (size.number == 0) or (off and size.number == DEFAULT_SIZE):
        return
    if off and not facts.is_server and facts.engine == "mariadb":
        what = "the query cache is meant to be off, and its size turns it on"
        effect = (
            f"MariaDB starts with the cache on, with {size.number / 2**20:.0f} MiB, whatever the"
            " type is: only a size of 0 (or the default, 1 MiB) keeps it off"
        )
    elif off:
        what = "the query cache is off by its type, and has memory"
        effect = (
            f"{size.number / 2**20:.0f} MiB are held for nothing; it is wholly off, without its"
            " lock, only if both are 0 when the server starts"
        )
    else:
        what = "the query cache is on, and has no memory"
        effect = (
            "no SELECT can be a hit; type and size must both be 0 when the server starts to take"
            " its lock away"
        )
    yield Found(
        what=what,
        evidence=(kind, size),
        effect=effect,
        fix=_OFF,
        undo=Fix(settings=((setting_name(kind), kind.text), (setting_name(size), size.text))),
    )


def _settings(facts: Facts) -> tuple[Fact, Fact]:
    return facts.setting("query_cache_type"), facts.setting("query_cache_size")


RULES = (
    Rule(
        id="mysql-query-cache-verdict",
        pack="configuration",
        title="Does the query cache pay?",
        about="A verdict on the query cache from what its counters grow by over `--for`, with its"
        " break-even: 16 % of SELECTs must be hits (a miss costs 13 %, a hit saves 70 % of the"
        " cheapest SELECT, at one session). Totals since the start are not used.",
        severity="medium",
        applies=("mysql <8.0.3", "mariadb"),
        sources=("server",),
        needs=("setting.query_cache_type", "setting.query_cache_size"),
        judge=_verdict,
        source=_SOURCE,
        proof="dyno run query-cache: the cache on and off, by range of ids, with an updater",
    ),
    Rule(
        id="mysql-query-cache-half-off",
        pack="configuration",
        title="The query cache is half off",
        about="Type off and a size, or a type and no size. The default of MariaDB, off with 1 MiB,"
        " is left alone.",
        severity="low",
        applies=("mysql <8.0.3", "mariadb"),
        needs=("setting.query_cache_type", "setting.query_cache_size"),
        judge=_half_off,
        source=_SOURCE,
    ),
)
