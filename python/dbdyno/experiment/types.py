"""An experiment as its author means it: patched, typed and checked, independent of machines.

Plain frozen data; `load` makes it, `plan` reads it. Lengths in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dbdyno.errors import Where
from dbdyno.experiment.claims.metrics import Scope
from dbdyno.experiment.claims.types import Claim, Condition
from dbdyno.experiment.values.faults import Fault

Scalar = str | int | float | bool | None

DURABILITY = ("full", "os_crash_unsafe", "none")
ISOLATION = ("read_uncommitted", "read_committed", "repeatable_read", "serializable")
GALERA, REPLICAS, GROUP = "galera", "replicas", "group"
SENTINEL, CLUSTER = "sentinel", "cluster"
"""Kinds of topologies."""
PHYSICAL, LOGICAL = "physical", "logical"
"""How replicas follow, where there is a choice: by the log, or by changes of rows."""
OBEYED, IGNORED = "obeyed", "ignored"
"""How the disk of a volume answers requests to flush its write cache."""


@dataclass(frozen=True)
class May:
    """What is allowed on a server that we did not start."""

    restart: bool = False
    set_global: bool = False
    create_schema: bool = True
    write: bool = False


@dataclass(frozen=True)
class Credentials:
    """Where a password comes from; never the password. At most one source is set: else the user's
    own files (`~/.my.cnf`, `~/.pgpass`) and then a prompt are asked. And what a server may have of
    the password that asks for more than a proof (docs/reference/security.md)."""

    env: str | None = None  # name of an environment variable
    file: str | None = None  # path of a file that holds nothing else
    command: str | None = None  # its first line of output
    defaults_group: str | None = None  # a group of ~/.my.cnf
    cleartext: bool = False  # the password itself may go over TLS or a socket
    server_public_key: str | None = None  # `get`, or a PEM file: without TLS it may go under this


@dataclass(frozen=True)
class Setup:
    """What is put into dbdyno's schema before any load, in this order. Paths are absolute."""

    template: str | None = None  # a stopped data directory to start from
    schema: str | None = None  # the template's schema that is used; None: the only one
    dump: str | None = None  # SQL, perhaps gzipped or zstd
    sql: tuple[str, ...] = ()  # files of SQL
    tables: Mapping[str, Any] = field(default_factory=dict)  # declared, for the engine to fill
    after: tuple[str, ...] = ()  # statements once all rows are in
    hashes: Mapping[str, str] = field(default_factory=dict)  # path -> its content when read


@dataclass(frozen=True)
class Node:
    """One server of a target. `name` is the engine's for it: `db`, `db.2`, `db.read1`."""

    name: str
    role: str  # PRIMARY | INSTANCE | REPLICA | MEMBER: its role at the start of a trial
    url: str | None = None  # where it is reached; None: it is started here


@dataclass(frozen=True)
class Network:
    """A network between the load and a server, or between nodes: a relay on loopback."""

    delay_s: float = 0.0  # of one way
    bytes_per_s: int | None = None  # of each direction, all connections together; None: no limit


@dataclass(frozen=True)
class Limits:
    """What a server that is started here may have."""

    network: Network | None = None  # None: loopback itself


@dataclass(frozen=True)
class Volume:
    """Where the data directory of each server of a target lies: a file system on a disk of its own,
    whose cache forgets what was not flushed when its power is cut."""

    size_bytes: int = 2 << 30
    filesystem: str = "ext4"  # ext4 | xfs | btrfs
    mount_options: str = ""  # as mount(8) takes them: "nobarrier,noatime"
    flushes: str = OBEYED  # OBEYED | IGNORED


PRIMARY = "primary"  # the only one that takes writes
INSTANCE = "instance"  # one of several alike, each with data of its own
REPLICA = "replica"  # follows the primary, and is only read
MEMBER = "member"  # one of several with the same data, each of which takes writes
DOWN = "down"  # asked of a running topology only: it does not answer, or has left the others
ROUTER = "router"  # no server: it passes sessions on to servers
ARBITRATOR = "arbitrator"  # no server: it has a vote among the nodes, and no data

# Routes of a group: what its sessions are dealt over. A node's name is a route, too.
TO_PRIMARY = "primary"  # the one that takes writes; of members, the first
TO_REPLICAS = "replicas"  # all others
TO_ANY = "any"
TO_ROUTER = "router"  # the router in front of them, which decides


@dataclass(frozen=True)
class Failover:
    """Another node takes over from a primary that is lost, and sessions follow it."""

    after_s: float | None = None  # how long it must not have answered; None: the nodes elect


RSYNC, MARIABACKUP = "rsync", "mariabackup"
"""How all data of a Galera cluster come to a node (SST)."""
PGBOUNCER, PGPOOL, HAPROXY = "pgbouncer", "pgpool", "haproxy"
"""Kinds of routers."""
SESSION_POOL, TRANSACTION_POOL = "session", "transaction"
"""For how long a session of a pooler keeps a session of the server."""


@dataclass(frozen=True)
class Dns:
    """Clients find the nodes of a topology by names."""

    ttl_s: float  # of the records, whole seconds
    keep_s: float | None = None  # how long clients keep an answer; None: for its TTL


@dataclass(frozen=True)
class Router:
    """A pooler or load balancer in front of a topology. What means nothing to its kind has the
    value here."""

    kind: str  # pgbouncer | pgpool | haproxy
    pool_mode: str = ""  # of PgBouncer: SESSION_POOL | TRANSACTION_POOL
    pool_size: int = 0  # of PgBouncer: sessions of the server; of pgpool: clients at once
    check_s: float = 0.0  # between two health checks of a node; 0: it checks none
    config: Mapping[str, Scalar] = field(default_factory=dict)  # in the router's own names
    conformance: bool = False  # whether it is asked after each trial which node runs what


@dataclass(frozen=True)
class Topology:
    """How the servers of a target work together; what a kind of it is, `topology` knows."""

    kind: str  # galera | replicas | group | sentinel | cluster
    nodes: int = 3
    wait_for_replicas: int = 0  # that must have received a commit before it is acknowledged
    failover: Failover | None = None
    network: Network | None = None  # between the nodes; None: loopback itself
    cluster_replicas: int = 0  # of each primary of a `cluster`
    router: Router | None = None  # in front of them
    dns: Dns | None = None  # None: clients know addresses
    logical: bool = False  # whether replicas subscribe to rows, instead of replaying the log
    multi_primary: bool = False  # of a `group`: each node takes writes
    arbitrator: bool = False  # of `galera`: whether a member without data has a vote
    sst: str = RSYNC  # of `galera`: RSYNC | MARIABACKUP

    @property
    def all_write(self) -> bool:
        """Whether each node has all data and takes writes."""
        return self.kind == GALERA or self.multi_primary

    @property
    def primaries(self) -> int:
        """The number of parts of the data, each of which one node takes writes for at the start;
        1 except for a `cluster`."""
        return self.nodes // (1 + self.cluster_replicas) if self.kind == CLUSTER else 1


@dataclass(frozen=True)
class Target:
    """A system under test. `optional`: a machine without it drops its cells, visibly."""

    name: str
    kind: str
    config: Mapping[str, Scalar] = field(default_factory=dict)  # in the system's own names
    durability: str | None = None  # one of DURABILITY
    isolation: str | None = None  # one of ISOLATION
    memory_bytes: int | None = None  # what the system may use for caching
    basedir: str | None = None  # where its binaries are, if not where Debian puts them
    version: str | None = None  # its leading numbers, `11.8`; None: the first that is found
    protocol: str = "prepared"  # prepared | text
    tls: str = "prefer"  # verify | require | prefer | off | ca:FILE
    transport: str = "tcp"  # tcp | socket
    options: Mapping[str, Any] = field(default_factory=dict)  # of the engine's driver
    optional: bool = False
    instances: int = 1  # servers alike, over which the sessions of its groups are dealt
    topology: Topology | None = None  # servers that work together; None: each is alone
    session: tuple[str, ...] = ()  # statements for each new connection of the load
    limits: Limits = field(default_factory=Limits)
    volume: Volume | None = None  # None: data directories lie in the scratch directory
    setup: Setup | None = None
    # Of an external server: all of it empty for one that we start.
    url: str | None = None  # where it is written to; never with a password
    read_urls: tuple[str, ...] = ()  # its replicas
    credentials: Credentials = field(default_factory=Credentials)
    may: May = field(default_factory=May)
    existing: str | None = None  # an existing schema: read, and written only with leave
    host: str | None = None  # ssh://user@host | prometheus:URL: where its metrics come from

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its servers, replicas last. Their roles in a topology are those at its start."""
        if self.topology is not None:
            return tuple(
                Node(name, self._role(number)) for number, name in enumerate(self._names(), 1)
            )
        replicas = (
            Node(f"{self.name}.read{number}", REPLICA, url)
            for number, url in enumerate(self.read_urls, 1)
        )
        if self.instances == 1:
            return (Node(self.name, PRIMARY, self.url), *replicas)
        return tuple(Node(name, INSTANCE) for name in self._names())

    def nodes_for(self, access: str) -> tuple[Node, ...]:
        """Those that sessions of a group are dealt over; `access` is the group's."""
        nodes = self.nodes
        if access == TO_ANY:
            return nodes
        if access == TO_ROUTER:
            return () if self.router is None else (Node(self.router_name, ROUTER),)
        if access in ("read", TO_REPLICAS, "write", TO_PRIMARY):
            following = access in ("read", TO_REPLICAS)
            return tuple(each for each in nodes if self._follows(each) == following)
        return tuple(each for each in nodes if each.name == access)

    @property
    def router(self) -> Router | None:
        """What passes sessions on to the nodes of its topology."""
        return None if self.topology is None else self.topology.router

    @property
    def router_name(self) -> str:
        """The engine's name for the router, if it has one."""
        return f"{self.name}.{ROUTER}"

    @property
    def arbitrator(self) -> Node | None:
        """What has a vote among its nodes, and no data."""
        if self.topology is None or not self.topology.arbitrator:
            return None
        return Node(f"{self.name}.{ARBITRATOR}", ARBITRATOR)

    @property
    def linked(self) -> tuple[Node, ...]:
        """All that reach each other over links of a topology: its nodes, and their arbitrator."""
        return self.nodes if self.arbitrator is None else (*self.nodes, self.arbitrator)

    @property
    def server_count(self) -> int:
        """How many servers are started here."""
        return 0 if self.url is not None else len(self.nodes)

    def _names(self) -> tuple[str, ...]:
        count = self.topology.nodes if self.topology is not None else self.instances
        return (self.name, *(f"{self.name}.{number}" for number in range(2, count + 1)))

    def _role(self, number: int) -> str:
        assert self.topology is not None
        if self.topology.all_write:
            return MEMBER
        return PRIMARY if number <= self.topology.primaries else REPLICA

    def _follows(self, node: Node) -> bool:
        """Whether a node is not what is written to by default: of members, all but the first."""
        return node.role == REPLICA or (node.role == MEMBER and node.name != self.name)


@dataclass(frozen=True)
class RateStep:
    """A stretch of a schedule of arrivals: from one rate to another, evenly. Transactions a
    second of the whole group. The last step has no end."""

    for_s: float | None
    from_per_s: float
    to_per_s: float


@dataclass(frozen=True)
class Arrivals:
    """An open loop: when transactions are due. Steps begin with the measured phase; the warm-up
    runs at the rate that the first one begins with."""

    process: str  # poisson | uniform
    steps: tuple[RateStep, ...]


@dataclass(frozen=True)
class Find:
    """The highest rate at which all conditions hold, searched within each trial by probes.
    `within`: relative width of the bracket at which the search ends."""

    conditions: tuple[str, ...]  # on metrics of the group: `response_ms_p99 < 20`
    process: str = "poisson"
    start_per_s: float = 100.0
    within: float = 0.02
    failed_max: float = 0.001  # of the arrivals: what a rate that holds may fail at most
    probes_max: int = 32  # runs of one search; findings by then count, and are reported


@dataclass(frozen=True)
class Think:
    """A pause of a session: after each transaction (closed loop), as a user makes it, or before
    each operation and within the transaction's time (any loop), as a slow client program does."""

    mean_s: float
    distribution: str = "constant"  # constant | exponential
    per: str = "transaction"  # transaction | operation


@dataclass(frozen=True)
class Group:
    """One workload with its own sessions. `options` are those written, presets not expanded.
    At most one of `arrivals`, `find` and a `think` between transactions is set."""

    name: str
    kind: str
    target: str
    sessions: int
    deadline_s: float
    retries: int
    options: Mapping[str, Any]
    arrivals: Arrivals | None = None
    find: Find | None = None
    think: Think | None = None
    node: str = "write"  # write | read: which servers of a target with replicas
    route: str = ""  # what instead: TO_PRIMARY, TO_REPLICAS, TO_ANY, TO_ROUTER, a node's name

    @property
    def access(self) -> str:
        """What `Target.nodes_for` is asked."""
        return self.route or self.node


@dataclass(frozen=True)
class Hook:
    """A command of the user's. `on`: `ssh://user@host`, or None for here."""

    run: str
    on: str | None = None
    deadline_s: float = 300.0
    every_s: float = 1.0  # between two tries of a `wait_until`


@dataclass(frozen=True)
class MomentHook(Hook):
    """A command that runs at a second of a trial's measured time."""

    at_s: float = 0.0


@dataclass(frozen=True)
class LevelHooks:
    """What brings a level about that no setting can: run before its cells, undone after them."""

    apply: tuple[Hook, ...] = ()
    undo: tuple[Hook, ...] = ()
    wait_until: tuple[Hook, ...] = ()  # each tried again until it exits with 0


@dataclass(frozen=True)
class Hooks:
    """Commands at fixed points of a run. `levels`: by factor, then by level."""

    before_run: tuple[Hook, ...] = ()
    before_cell: tuple[Hook, ...] = ()
    before_trial: tuple[Hook, ...] = ()
    during_trial: tuple[MomentHook, ...] = ()
    after_trial: tuple[Hook, ...] = ()
    after_run: tuple[Hook, ...] = ()
    levels: Mapping[str, Mapping[str, LevelHooks]] = field(default_factory=dict)


POINTS = tuple(each.name for each in fields(Hooks) if each.name != "levels")  # in their order


@dataclass(frozen=True)
class Prices:
    """What a cell costs a month of 2,592,000 s: `base` and what its levels add."""

    currency: str = "USD"
    base_per_month: float = 0.0
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by factor, level
    under: tuple[str, ...] = ()  # conditions on metrics: what fast enough is


@dataclass(frozen=True)
class About:
    """Who asked, for whom, in which setting: shown in the report as written."""

    author: str = ""
    customer: str = ""
    context: str = ""
    notes: str = ""


@dataclass(frozen=True)
class Cpus:
    """CPUs given by hand; empty: not given."""

    generator: tuple[int, ...] = ()
    servers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A combination of levels with all their patches applied. `targets` are those in use."""

    index: int
    levels: Mapping[str, str]
    targets: tuple[Target, ...]
    groups: tuple[Group, ...]
    warmup_s: float
    duration_s: float  # of `until_steady`: at most
    interval_s: float
    until_steady: bool = False  # whether it ends when throughput is steady and known well enough
    steady_min_s: float | None = None  # slowest cycle that it must contain; None: the default
    sampling_s: float | None = 1.0  # None: no samplers
    audit: str | None = None  # what a trial is checked for: see `experiment.audit`
    cpus: Cpus = Cpus()
    cache: str = "warm"  # or "cold"
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Factor:
    """What varies. `values` are set where every level is a number."""

    name: str
    levels: tuple[str, ...]
    values: tuple[float, ...] | None


@dataclass(frozen=True)
class Needs:
    """What the machine must have for the claims to be tested."""

    cores: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Looks:
    """Blocks until every claim is decided: interim looks happen after each whole block from `first`
    on, up to `max` blocks."""

    first: int
    max: int
    decided_at: int | None = None  # the block after which the run ended since all was decided


@dataclass(frozen=True)
class Spec:
    """A whole experiment. `data` None: follows from the workloads."""

    name: str
    question: str
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    blocks: int
    data: str | None  # reuse | restore
    cache: str  # warm | cold
    seed: int | None  # None: drawn when it is run (`seeds.py`)
    matters: float
    needs: Needs
    require: tuple[Condition, ...]
    budget_s: float | None
    claims: tuple[Claim, ...]
    claim_needs: Mapping[str, Needs]  # of claims that need more than `needs`, by their text
    scope: Scope  # what metric names may start with
    text: str  # YAML that gives this experiment again, `--set` applied
    path: str  # the file, or its name in messages
    places: Mapping[str, Where]  # of the top-level keys
    drain_s: float = 10.0  # how long an open loop's backlog is worked off after the end
    load_threads: int = 0  # 0: not given
    hooks: Hooks = field(default_factory=Hooks)
    prices: Prices | None = None
    about: About = field(default_factory=About)
    looks: Looks | None = None  # None: just `blocks` of them
