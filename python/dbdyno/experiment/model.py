"""The file's shape: pydantic models of what may be written, strict, nothing extra.

They are at the edge only: `typed` turns their result into the frozen dataclasses of `types`, and
`schema` publishes them to editors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from dbdyno.experiment import workloads
from dbdyno.experiment.audit import Audited
from dbdyno.experiment.faults import FAULTS_MAX, FaultModel
from dbdyno.experiment.targets.hooks import HooksModel
from dbdyno.experiment.targets.host import checked as checked_host
from dbdyno.experiment.targets.limits import LimitsModel
from dbdyno.experiment.targets.permissions import Allowed, DataModel, MayModel, NodesModel
from dbdyno.experiment.targets.setups import DataSetup
from dbdyno.experiment.targets.topologies import TopologyModel
from dbdyno.experiment.targets.volumes import VolumeModel
from dbdyno.experiment.types import Scalar
from dbdyno.experiment.values.scalars import (
    Duration,
    Fraction,
    Pause,
    Price,
    Size,
    Strict,
    Version,
    Whole,
)
from dbdyno.experiment.values.unions import one_of
from dbdyno.experiment.workloads.arrivals import Schedule, Search, ThinkTime
from dbdyno.experiment.workloads.measuring import MeasuredTime, Sampling
from dbdyno.kinds import KindName

# Lengths: names become parts of the names of files.
NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,99}$"
WORD_PATTERN = r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"
TLS_PATTERN = r"^(verify|require|prefer|off|ca:.+)$"
BLOCKS_MAX = 1000
LOOKED_MAX = 100  # blocks, where they end when all is decided
LOOK_MIN = 4  # blocks before the first look
SESSIONS_MAX = 100_000
INSTANCES_MAX = 64


Host = Annotated[
    str, BeforeValidator(checked_host), Field(pattern=r"^(ssh://|prometheus:https?://).+$")
]


class TargetModel(Strict):
    """A system under test."""

    kind: KindName | None = Field(
        None, description="kind of system; required, here or in every level of a factor"
    )
    config: dict[str, Scalar] = Field({}, description="server settings, by the system's own names")
    durability: Literal["full", "os_crash_unsafe", "none"] | None = Field(
        None,
        description="what commits survive: a power cut, a crash of the server only, nothing",
    )
    isolation: (
        Literal["read_uncommitted", "read_committed", "repeatable_read", "serializable"] | None
    ) = Field(None, description="isolation of the load's transactions")
    memory: Size | None = Field(None, description="memory for its caches, such as 1Gi")
    basedir: str | None = Field(None, description="directory of the server's programs")
    version: Version | None = Field(
        None, description='installed version, by its leading numbers: `"11.8"`'
    )
    protocol: Literal["prepared", "text"] = Field(
        "prepared", description="prepared statements, or statement text on every call"
    )
    tls: str | None = Field(
        None,
        pattern=TLS_PATTERN,
        description="verify | require | prefer | off | ca:FILE; default: prefer on loopback and "
        "sockets, else verify",
    )
    transport: Literal["tcp", "socket"] = Field("tcp", description="loopback or Unix socket")
    optional: bool = Field(False, description="skip its cells if it is not installed")
    options: dict[str, Any] = Field({}, description="options of the engine's driver")
    instances: Whole = Field(
        1,
        ge=1,
        le=INSTANCES_MAX,
        description="number of identical servers, which share the sessions of its groups",
    )
    topology: TopologyModel | None = Field(
        None, description="servers that work together: a cluster, or a primary with replicas"
    )
    session: list[Annotated[str, Field(min_length=1)]] = Field(
        [],
        description="statements that each connection of the load runs first, after dyno's own; on"
        " an external server only SET of session variables",
    )
    limits: LimitsModel | None = Field(
        None, description="limits of a managed server: `{network: {delay: 2ms}}`"
    )
    volume: VolumeModel | None = Field(
        None,
        description="a disk of its own for the data directory of each managed server, whose power"
        " can be cut: `{size: 2Gi}`; needs root; default: the scratch directory",
    )
    setup: DataSetup | None = Field(None, description="data loaded before the first trial")
    url: str | None = Field(
        None, description="external server: mysql://USER@HOST:PORT/SCHEMA, without a password"
    )
    nodes: NodesModel | None = Field(
        None, description="external server with replicas; instead of `url`"
    )
    password_env: str | None = Field(None, description="environment variable with the password")
    password_file: str | None = Field(None, description="file that contains only the password")
    password_command: str | None = Field(
        None, description="command that prints the password as its first line"
    )
    defaults_group: str | None = Field(None, description="group of ~/.my.cnf")
    cleartext_password: Allowed = Field(
        False, description="allow sending the password in cleartext, over TLS or a Unix socket"
    )
    server_public_key: str | None = Field(
        None,
        min_length=1,
        description="PEM file of the server's RSA key, or `get` to request it from the server;"
        " without TLS, it encrypts the password (MySQL)",
    )
    may: MayModel | None = Field(None, description="permissions on an external server")
    data: DataModel | None = Field(None, description="existing tables, instead of generated ones")
    host: Host | None = Field(
        None,
        description="source of host metrics: `ssh://user@db1`, or"
        " `prometheus:http://prom:9090?instance=db1:9100`",
    )


class GroupBase(Strict):
    """One workload with its own sessions."""

    kind: Literal[tuple(workloads.WORKLOADS)] = Field(description="kind of workload")  # type: ignore[valid-type]
    target: str | None = Field(None, description="name of a target; default: the only one")
    sessions: Whole = Field(1, ge=1, le=SESSIONS_MAX, description="number of connections")
    rate: Schedule | None = Field(
        None,
        description="open loop: transactions per second of all sessions together, or a schedule"
        " of steps; default: closed loop",
    )
    arrivals: Literal["poisson", "uniform"] | None = Field(
        None, description="arrival process of a `rate`; default: poisson"
    )
    find: Search | None = Field(
        None, description="open loop: search for the highest rate that meets conditions"
    )
    think: ThinkTime | None = Field(
        None,
        description="think time of a session: after each transaction (closed loop), or before each"
        " operation",
    )
    node: Literal["write", "read"] = Field(
        "write", description="servers to use of a target with `nodes`"
    )
    route: str | None = Field(
        None,
        min_length=1,
        description="nodes that the sessions are dealt over: `primary` (of a Galera cluster, the"
        " first node), `replicas` (the others), `any`, a node's name, such as `db.2`, or `router`:"
        " what the topology has in front of them; default: `primary`",
    )
    deadline: Duration = Field(60.0, description="age at which a transaction is cancelled")
    retries: int = Field(
        10, ge=0, le=1000, description="retries of a transaction after retryable errors"
    )


def _group_model(kind: str, own: type[Strict]) -> type[GroupBase]:
    """The keys of all groups, then those of one workload."""
    bases: Any = (own, GroupBase)
    fields: dict[str, Any] = {"kind": (Literal[kind], Field(description="kind of workload"))}
    model: type[GroupBase] = create_model(
        f"{kind.title()}Group", __base__=bases, __doc__=own.__doc__, **fields
    )
    return model


class _AnyGroup(GroupBase):
    """Type of a group without a known `kind`, so that the error is about that."""

    model_config = ConfigDict(extra="allow")


GROUP_MODELS: Mapping[str, type[GroupBase]] = {
    name: _group_model(name, each.model) for name, each in workloads.WORKLOADS.items()
}


def _kind_of(group: Any) -> str | None:
    kind = group.get("kind")
    return kind if isinstance(kind, str) and kind in GROUP_MODELS else None


GroupModel: Any = one_of([*GROUP_MODELS.items(), ("any", _AnyGroup)], _kind_of)


class StateModel(Strict):
    """State of data and caches at the start of each trial."""

    data: Literal["reuse", "restore"] | None = Field(
        None, description="default: reuse if no workload changes data, otherwise restore"
    )
    cache: Literal["warm", "cold"] = Field(
        "warm", description="whether caches are kept between trials"
    )


class CpusModel(Strict):
    """CPU numbers; default: disjoint sets if there are at least four CPUs."""

    generator: list[Annotated[int, Field(ge=0)]] = Field([])
    servers: list[Annotated[int, Field(ge=0)]] = Field([])


class SetupModel(Strict):
    """The part of a file that levels patch: what runs in one cell."""

    targets: dict[Annotated[str, Field(pattern=WORD_PATTERN)], TargetModel] = Field(min_length=1)
    groups: dict[Annotated[str, Field(pattern=WORD_PATTERN)], GroupModel] = Field(min_length=1)
    setup: DataSetup | None = Field(
        None, description="data of each target; a target's `setup` overrides it"
    )
    warmup: Pause = Field(10.0, description="time of load before the measurement")
    duration: MeasuredTime = Field(
        30.0, description="measured time of a trial; or `{until: steady, max: 30m}`"
    )
    interval: Duration = Field(
        1.0, description="length of a reported interval; default: shorter for trials under a second"
    )
    sampling: Sampling = Field(
        1.0, description="interval of the samplers, at least 100ms; `off`: no samples"
    )
    audit: Audited = Field(
        None,
        description="`commits`: compare the transactions acknowledged in a trial with what all"
        " servers hold after it; `register`, `append`, `bank`: check the history of the workload of"
        " that name for linearizability, for anomalies of isolation, for a constant sum",
    )
    state: StateModel = Field(default_factory=lambda: StateModel.model_validate({}))
    cpus: CpusModel = Field(default_factory=lambda: CpusModel.model_validate({}))
    faults: list[FaultModel] = Field(
        [], max_length=FAULTS_MAX, description="faults of servers during the measured time, in turn"
    )


class TrialsModel(Strict):
    """Sequential design: blocks until every claim is decided; instead of `blocks`."""

    min: Whole = Field(
        LOOK_MIN,
        ge=LOOK_MIN,
        le=LOOKED_MAX,
        description="number of blocks before the first interim look",
    )
    max: Whole = Field(ge=LOOK_MIN, le=LOOKED_MAX, description="maximum number of blocks")
    until: Literal["decided"] = Field(
        description="stopping rule: all claims that can be judged are decided"
    )


class NeedsModel(Strict):
    """Minimum resources of this machine: with less, claims are not tested."""

    cores: int | None = Field(None, ge=1)
    memory: Size | None = None


class ClaimModel(Strict):
    """A claim, with its author's words and the resources that its test needs."""

    claim: str = Field(description="what is judged")
    say: str = Field(
        "",
        description="the claim in words, for readers: reports show it behind the verdict, above the"
        " claim itself",
    )
    needs: NeedsModel = Field(default_factory=lambda: NeedsModel.model_validate({}))


def _spelt_out(value: object) -> object:
    """A claim given as text alone, as the mapping that it abbreviates."""
    return {"claim": value} if isinstance(value, str) else value


class PricesModel(BaseModel):
    """Prices of cells: every other key is the name of a factor, with a price for each level."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, dict[str, Price]]

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="currency code (ISO 4217)")
    base: Price = Field(0.0, description="price that is part of every cell: 120/month, 2.5/h")
    under: list[str] = Field([], description="conditions on metrics that make a cell fast enough")


class HeadModel(Strict):
    """The part of a file that is the same for all cells."""

    experiment: str = Field(pattern=NAME_PATTERN, description="name of the experiment, [a-z0-9-]")
    question: str = Field("", description="question that the experiment answers, in one sentence")
    author: str = Field("", description="author, shown in the report")
    customer: str = Field("", description="customer of the experiment")
    context: str = Field("", description="context of the question")
    notes: str = Field("", description="further information for the reader")
    blocks: Whole = Field(6, ge=1, le=BLOCKS_MAX, description="number of passes over all cells")
    trials: TrialsModel | None = Field(
        None, description="sequential design, instead of `blocks`: `{max: 12, until: decided}`"
    )
    state: StateModel = Field(default_factory=lambda: StateModel.model_validate({}))
    seed: int | None = Field(
        None,
        ge=0,
        le=2**53 - 1,
        description="seed of all random numbers: order, requests, rows; default: drawn for each"
        " run and recorded",
    )
    matters: Fraction = Field(0.0, description="smallest interesting effect, such as 3%")
    needs: NeedsModel = Field(default_factory=lambda: NeedsModel.model_validate({}))
    require: list[str] = Field([], description="conditions on metrics that void a trial")
    budget: Duration | None = Field(None, description="time limit, such as 1h; drops blocks")
    prices: PricesModel | None = Field(None, description="prices of levels")
    load_threads: Whole | None = Field(
        None, ge=1, le=1024, description="number of load threads; default: probed, then fixed"
    )
    drain: Pause = Field(
        10.0,
        description="open loop: maximum time for working off the backlog after the measured time",
    )
    hooks: HooksModel = Field(default_factory=lambda: HooksModel.model_validate({}))
    claims: list[Annotated[ClaimModel, BeforeValidator(_spelt_out)]] = Field(
        [], description="claims that the experiment tests"
    )


SETUP_KEYS = (
    *("setup", "warmup", "duration", "interval", "sampling", "audit", "cpus", "state", "faults"),
)
HEAD_KEYS = tuple(HeadModel.model_fields)
_FIRST_KEYS = ("experiment", "question", "targets", "workload", "groups", "factors", *SETUP_KEYS)
TOP_KEYS = (*_FIRST_KEYS, *(key for key in HEAD_KEYS if key not in _FIRST_KEYS))
TARGET_KEYS = tuple(TargetModel.model_fields)
# Keys of a group by its workload; of one whose kind is not known, those of all.
GROUP_KEYS_OF = {kind: tuple(model.model_fields) for kind, model in GROUP_MODELS.items()}
GROUP_KEYS = tuple(dict.fromkeys(key for keys in GROUP_KEYS_OF.values() for key in keys))
OPEN_KEYS = ("config", "options")  # of a target: flat mappings of names that only it knows
