"""The file's shape: pydantic models of what may be written, strict, nothing extra.

They are at the edge only: `typed` turns their result into the frozen dataclasses of `types`, and
`schema` publishes them to editors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from dbdyno.experiment import workloads
from dbdyno.experiment.targets.hooks import HooksModel
from dbdyno.experiment.targets.host import checked as checked_host
from dbdyno.experiment.targets.permissions import Allowed, DataModel, MayModel, NodesModel
from dbdyno.experiment.targets.setups import DataSetup
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
    config: dict[str, Scalar] = Field({}, description="settings by the system's names")
    durability: Literal["full", "os_crash_unsafe", "none"] | None = Field(
        None, description="what survives: a power cut, a crash of the server only, nothing"
    )
    isolation: (
        Literal["read_uncommitted", "read_committed", "repeatable_read", "serializable"] | None
    ) = Field(None, description="isolation of the load's transactions")
    memory: Size | None = Field(None, description="memory for its caches, such as 1Gi")
    basedir: str | None = Field(None, description="where its programs are")
    version: Version | None = Field(
        None, description='which of the versions installed, by its leading numbers: `"11.8"`'
    )
    protocol: Literal["prepared", "text"] = Field("prepared", description="how statements go")
    tls: str | None = Field(
        None,
        pattern=TLS_PATTERN,
        description="verify | require | prefer | off | ca:FILE; default: prefer on loopback and "
        "sockets, else verify",
    )
    transport: Literal["tcp", "socket"] = Field("tcp", description="loopback or Unix socket")
    optional: bool = Field(False, description="if it is not installed, its cells are skipped")
    options: dict[str, Any] = Field({}, description="options of the engine's driver")
    instances: Whole = Field(
        1,
        ge=1,
        le=INSTANCES_MAX,
        description="servers alike, over which the sessions of its groups are dealt",
    )
    session: list[Annotated[str, Field(min_length=1)]] = Field(
        [],
        description="statements that each connection of the load runs first, after dyno's own; of"
        " an external server only SET of the session's own settings",
    )
    setup: DataSetup | None = Field(None, description="data loaded before any trial")
    url: str | None = Field(
        None, description="an external server: mysql://USER@HOST:PORT/SCHEMA; never a password"
    )
    nodes: NodesModel | None = Field(None, description="instead of `url`: with replicas")
    password_env: str | None = Field(None, description="environment variable with the password")
    password_file: str | None = Field(None, description="file with nothing but the password")
    password_command: str | None = Field(None, description="its first line is the password")
    defaults_group: str | None = Field(None, description="a group of ~/.my.cnf")
    cleartext_password: Allowed = Field(
        False, description="the password itself may be sent, over TLS or a Unix socket"
    )
    server_public_key: str | None = Field(
        None,
        min_length=1,
        description="PEM file of the server's RSA key, or `get` to take the one it shows: without"
        " TLS the password may be sent under it (MySQL)",
    )
    may: MayModel | None = Field(None, description="what is allowed on an external server")
    data: DataModel | None = Field(None, description="existing tables, instead of generated ones")
    host: Host | None = Field(
        None,
        description="where samples of its machine come from: `ssh://user@db1`, or"
        " `prometheus:http://prom:9090?instance=db1:9100`",
    )


class GroupBase(Strict):
    """One workload with its own sessions."""

    kind: Literal[tuple(workloads.WORKLOADS)] = Field(description="which workload")  # type: ignore[valid-type]
    target: str | None = Field(None, description="a target's name; default: the only one")
    sessions: Whole = Field(1, ge=1, le=SESSIONS_MAX, description="connections")
    rate: Schedule | None = Field(
        None,
        description="open loop: transactions due a second of all sessions together, or a schedule"
        " of steps; default: closed loop, as fast as answers come",
    )
    arrivals: Literal["poisson", "uniform"] | None = Field(
        None, description="how the arrivals of a `rate` are spaced; default: poisson"
    )
    find: Search | None = Field(
        None, description="open loop: search for the highest rate that meets conditions"
    )
    think: ThinkTime | None = Field(
        None,
        description="pauses of a session: after each transaction (closed loop), or before each"
        " operation",
    )
    node: Literal["write", "read"] = Field(
        "write", description="which servers of a target with `nodes`"
    )
    deadline: Duration = Field(60.0, description="a transaction older than this is cancelled")
    retries: int = Field(10, ge=0, le=1000, description="attempts after a retryable error")


def _group_model(kind: str, own: type[Strict]) -> type[GroupBase]:
    """The keys of all groups, then those of one workload."""
    bases: Any = (own, GroupBase)
    fields: dict[str, Any] = {"kind": (Literal[kind], Field(description="which workload"))}
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
    """What each trial starts from."""

    data: Literal["reuse", "restore"] | None = Field(
        None, description="default: reuse if no workload changes data, else restore"
    )
    cache: Literal["warm", "cold"] = Field("warm", description="whether caches are kept")


class CpusModel(Strict):
    """CPUs by number; default: disjoint if there are at least four."""

    generator: list[Annotated[int, Field(ge=0)]] = Field([])
    servers: list[Annotated[int, Field(ge=0)]] = Field([])


class SetupModel(Strict):
    """The part of a file that levels patch: what runs in one cell."""

    targets: dict[Annotated[str, Field(pattern=WORD_PATTERN)], TargetModel] = Field(min_length=1)
    groups: dict[Annotated[str, Field(pattern=WORD_PATTERN)], GroupModel] = Field(min_length=1)
    setup: DataSetup | None = Field(
        None, description="data of each target; a target's `setup` overrides it"
    )
    warmup: Pause = Field(10.0, description="load before measuring")
    duration: MeasuredTime = Field(
        30.0, description="measured time of a trial; or `{until: steady, max: 30m}`"
    )
    interval: Duration = Field(
        1.0, description="length of a reported interval; default: less for trials under a second"
    )
    sampling: Sampling = Field(
        1.0, description="interval of the samplers, at least 100ms; or `off`: no samples at all"
    )
    state: StateModel = Field(default_factory=lambda: StateModel.model_validate({}))
    cpus: CpusModel = Field(default_factory=lambda: CpusModel.model_validate({}))


class TrialsModel(Strict):
    """As many blocks as it takes to decide every claim; instead of `blocks`."""

    min: Whole = Field(
        LOOK_MIN,
        ge=LOOK_MIN,
        le=LOOKED_MAX,
        description="blocks before the first interim look",
    )
    max: Whole = Field(
        ge=LOOK_MIN, le=LOOKED_MAX, description="blocks after which the run ends in any case"
    )
    until: Literal["decided"] = Field(
        description="when it ends before: once all claims that can be judged are decided"
    )


class NeedsModel(Strict):
    """Below this, claims are not tested here."""

    cores: int | None = Field(None, ge=1)
    memory: Size | None = None


class ClaimModel(Strict):
    """A claim with its author's words, or one that only some machines can test."""

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
    """What cells cost: every other key is a factor's name, with a price for each of its levels."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, dict[str, Price]]

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="ISO 4217")
    base: Price = Field(0.0, description="what every cell costs: 120/month, 2.5/h")
    under: list[str] = Field([], description="conditions on metrics that make a cell fast enough")


class HeadModel(Strict):
    """The part of a file that is the same for all cells."""

    experiment: str = Field(pattern=NAME_PATTERN, description="its name, [a-z0-9-]")
    question: str = Field("", description="question that the experiment answers, in one sentence")
    author: str = Field("", description="who asks; shown in the report")
    customer: str = Field("", description="for whom")
    context: str = Field("", description="the setting in which it is asked")
    notes: str = Field("", description="further information for the reader")
    blocks: Whole = Field(6, ge=1, le=BLOCKS_MAX, description="passes over all cells")
    trials: TrialsModel | None = Field(
        None, description="instead of `blocks`: as many as it takes, `{max: 12, until: decided}`"
    )
    state: StateModel = Field(default_factory=lambda: StateModel.model_validate({}))
    seed: int | None = Field(
        None,
        ge=0,
        le=2**53 - 1,
        description="everything random follows from it: order, requests, rows; drawn for each run"
        " and recorded, unless it is given",
    )
    matters: Fraction = Field(0.0, description="smallest interesting effect, such as 3%")
    needs: NeedsModel = Field(default_factory=lambda: NeedsModel.model_validate({}))
    require: list[str] = Field([], description="conditions on metrics that void a trial")
    budget: Duration | None = Field(None, description="cuts whole blocks, such as 1h")
    prices: PricesModel | None = Field(None, description="what each level costs")
    load_threads: Whole | None = Field(
        None, ge=1, le=1024, description="threads of the generator; default: probed, then fixed"
    )
    drain: Pause = Field(
        10.0, description="open loop: how long the backlog is worked off after the end, at most"
    )
    hooks: HooksModel = Field(default_factory=lambda: HooksModel.model_validate({}))
    claims: list[Annotated[ClaimModel, BeforeValidator(_spelt_out)]] = Field(
        [], description="what the experiment asserts"
    )


SETUP_KEYS = ("setup", "warmup", "duration", "interval", "sampling", "cpus", "state")
HEAD_KEYS = tuple(HeadModel.model_fields)
_FIRST_KEYS = ("experiment", "question", "targets", "workload", "groups", "factors", *SETUP_KEYS)
TOP_KEYS = (*_FIRST_KEYS, *(key for key in HEAD_KEYS if key not in _FIRST_KEYS))
TARGET_KEYS = tuple(TargetModel.model_fields)
# Keys of a group by its workload; of one whose kind is not known, those of all.
GROUP_KEYS_OF = {kind: tuple(model.model_fields) for kind, model in GROUP_MODELS.items()}
GROUP_KEYS = tuple(dict.fromkeys(key for keys in GROUP_KEYS_OF.values() for key in keys))
OPEN_KEYS = ("config", "options")  # of a target: flat mappings of names that only it knows
