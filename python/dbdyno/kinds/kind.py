"""What dbdyno knows about a kind of server without asking one: plain data, one file a kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.kinds.counter import Counter

MYSQL, POSTGRES, REDIS, MONGODB = "mysql", "postgres", "redis", "mongodb"
"""Languages: what a kind's clients speak, and in which its logs are written."""

# Capabilities: what a kind can do and a workload may need. Names as in `dyno-engine list --json`.
SQL, TRANSACTIONS, POPULATE = "sql", "transactions", "populate"
KEY_VALUE, KEY_RANGES, IO = "key_value", "key_ranges", "io"
PIPELINING, IDENTIFIED_WRITES = "pipelining", "identified_writes"
OF_SQL = (SQL, TRANSACTIONS, KEY_VALUE, KEY_RANGES, POPULATE)
ALL = (*OF_SQL, IO, PIPELINING, IDENTIFIED_WRITES)

# What levels of isolation may permit, as `audit: append` and `audit: bank` count it. A sum is wrong
# after a lost update or in a read with skew.
WRITE_SKEW = "write_skew"
SKEWS = ("lost_update", "read_skew", WRITE_SKEW, "wrong_sums", "negative")
UNCOMMITTED = ("dirty_reads", "intermediate_reads", "circular_information")

ON = frozenset({"on", "yes", "true", "1", "enabled"})
OFF = frozenset({"off", "no", "false", "0", "disabled"})
"""Words of switches among servers' settings, in small letters."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of server, as `kind:` of a target names it. Estimates are of a machine with an SSD."""

    name: str
    title: str  # as its vendor writes it
    module: str  # below `dbdyno.systems`: holds `SYSTEM`
    untested: str = ""  # why no experiment has it as a target; empty: they do
    capabilities: tuple[str, ...] = ()
    language: str = ""  # MYSQL, POSTGRES, REDIS, MONGODB; empty where no server is spoken to
    stores_data: bool = True
    in_engine: bool = False  # the engine's load threads do the system's work
    schemes: tuple[str, ...] = ()  # of URLs; the first is its own; empty: only managed
    schemes_with_tls: tuple[str, ...] = ()  # those of them that say so; empty: `tls:` decides
    port: int = 0  # where an external server listens unless its URL says otherwise
    topologies: tuple[str, ...] = ()  # in which servers that we start can work together
    replications: tuple[str, ...] = ()  # of replicas, the default first; empty: there is but one
    waits_for_replicas: int = 0  # how many a commit can wait for, at most
    waits_for_ever: bool = False  # for them: without a limit of time
    backups: tuple[str, ...] = ()  # tools of `systems.backups`, the default first
    backups_with_logs: tuple[str, ...] = ()  # those after which logs can be replayed
    log_setting: str = ""  # that switches such logs on; empty: they are always written
    log_off_settings: tuple[str, ...] = ()  # those that switch them off, whatever that one says
    schema_changes: tuple[str, ...] = ()  # tools of the fault `alter`, the default first
    upgrades: bool = False  # whether newer programs can go on with older data
    programs: str = ""  # names of a server's main process, separated by spaces
    clients: str = ""  # names of its own client program, the likeliest first, separated by spaces
    client_package: str = ""  # of Debian, in which that is
    start_s: float = 0.0  # of a managed server; 0: nothing is started
    initialise_s: float = 0.0  # of a data directory
    directory_bytes: int = 0  # of an empty data directory
    drop_schema: str = ""  # with a place for the quoted name
    sees_sessions: str = ""  # the privilege or role without which others' sessions are hidden
    open_transactions: str = ""  # a query: one row for each, the same as long as it is open
    password_variable: str = ""  # of the environment, in which its own client finds a password
    default_isolation: str = ""
    # Anomalies that each level of isolation permits, by the vendor's documentation. A level that is
    # not here permits none.
    permits: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    example_setting: str = ""  # for `dyno init`: one that a DBA of this kind might change
    counters: tuple[Counter, ...] = ()  # columns of a report, what is asked for first
    summed: tuple[str, ...] = ()  # counters that say something of all nodes of a topology together

    def permitted(self, isolation: str) -> tuple[str, ...]:
        """Anomalies that a level of isolation permits."""
        return self.permits.get(isolation, ())

    def writes_log(self, config: Mapping[str, object]) -> bool:
        """Whether a server with these settings of the user's writes logs that can be replayed."""
        if not self.log_setting:
            return True
        words = {
            name.strip().replace("-", "_").lower(): str(value).strip().lower()
            for name, value in config.items()
        }
        if any(words.get(name, "off") not in OFF for name in self.log_off_settings):
            return False
        return words.get(self.log_setting, "off") not in OFF

    @property
    def speaks_sql(self) -> bool:
        """Whether statements of SQL can be sent to it."""
        return SQL in self.capabilities
