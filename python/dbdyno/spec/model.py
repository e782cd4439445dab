"""The file's shape: pydantic models of what may be written, strict, nothing extra.

They stand at the edge only: `typed` turns their result into the frozen dataclasses of `types`, and
`schema` publishes them to editors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from dbdyno.spec import units, workloads
from dbdyno.spec.types import Scalar

NAME_PATTERN = r"^[a-z0-9][a-z0-9-]*$"
WORD_PATTERN = r"^[A-Za-z_][A-Za-z0-9_-]*$"
TLS_PATTERN = r"^(verify|require|prefer|off|ca:.+)$"
BLOCKS_MAX = 1000
SESSIONS_MAX = 100_000
LENGTH_MAX_S = 30 * 86_400  # the engine's limit too


def _text(pattern: str, example: str, *, number: str = "") -> WithJsonSchema:
    text = {"type": "string", "pattern": pattern, "examples": [example]}
    return WithJsonSchema({"anyOf": [text, {"type": number, "minimum": 0}]} if number else text)


def _length(value: object) -> float:
    seconds = units.duration_s(value)
    if seconds > LENGTH_MAX_S:
        raise ValueError(f"must be at most {LENGTH_MAX_S // 86_400} days")
    return seconds


def _positive(value: object) -> float:
    seconds = _length(value)
    if seconds <= 0:
        raise ValueError("must be longer than nothing")
    return seconds


Size = Annotated[
    int, BeforeValidator(units.size_bytes), _text(units.SIZE_PATTERN, "1Gi", number="integer")
]
Duration = Annotated[float, BeforeValidator(_positive), _text(units.DURATION_PATTERN, "30s")]
Pause = Annotated[float, BeforeValidator(_length), _text(units.DURATION_PATTERN, "10s")]
Rate = Annotated[float, BeforeValidator(units.rate_per_s), _text(units.RATE_PATTERN, "66.7/s")]
Fraction = Annotated[
    float,
    BeforeValidator(units.fraction),
    _text(units.PERCENT_PATTERN, "3%", number="number"),
]


Price = Annotated[
    float, BeforeValidator(units.price_per_month), _text(units.PRICE_PATTERN, "2035.49/month")
]


Whole = Annotated[int, BeforeValidator(units.whole)]


class Strict(BaseModel):
    """Refuses unknown keys and converts nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TargetModel(Strict):
    """A system under test."""

    kind: Literal["sqlite", "mariadb", "mysql", "postgres", "null"] | None = Field(
        None, description="what it is; required, here or in every level of a factor"
    )
    config: dict[str, Scalar] = Field({}, description="settings in the system's own names")
    durability: Literal["full", "os_crash_unsafe", "none"] | None = Field(
        None, description="what survives: a power cut, a crash of the server only, nothing"
    )
    isolation: (
        Literal["read_uncommitted", "read_committed", "repeatable_read", "serializable"] | None
    ) = Field(None, description="isolation of the load's transactions")
    memory: Size | None = Field(None, description="what it may use for caching, such as 1Gi")
    basedir: str | None = Field(None, description="where its programs are")
    protocol: Literal["prepared", "text"] = Field("prepared", description="how statements go")
    tls: str = Field(
        "prefer", pattern=TLS_PATTERN, description="verify | require | prefer | off | ca:FILE"
    )
    transport: Literal["tcp", "socket"] = Field("tcp", description="loopback or Unix socket")
    optional: bool = Field(False, description="where it is missing its cells are left out")
    options: dict[str, Any] = Field({}, description="options of the engine's driver")


class GroupBase(Strict):
    """One workload with its own sessions."""

    kind: Literal["oltp"] = Field(description="which workload")
    target: str | None = Field(None, description="a target's name; default: the only one")
    sessions: Whole = Field(1, ge=1, le=SESSIONS_MAX, description="connections")
    rate: Rate | None = Field(None, description="transactions a second; default: unlimited")
    arrivals: Literal["poisson", "uniform"] = Field(
        "poisson", description="how the arrivals of a `rate` are spaced"
    )
    deadline: Duration = Field(60.0, description="a transaction older than this is cancelled")
    retries: int = Field(10, ge=0, le=1000, description="attempts after a retryable error")


def _option_field(option: workloads.Option) -> tuple[Any, Any]:
    limits: dict[str, Any] = {}
    if option.low is not None:
        limits["ge"] = option.low
    if option.high is not None:
        limits["le"] = option.high
    kind: Any = {
        workloads.INTEGER: Whole,
        workloads.NUMBER: float,
        workloads.FLAG: bool,
        workloads.TEXT: str,
    }.get(option.type)
    if option.type == workloads.WORD:
        kind = Literal[option.words]
    default = "" if option.default in (None, "") else f"; default: {option.default}"
    return (kind | None, Field(None, description=f"{option.about}{default}", **limits))


_fields: dict[str, Any] = {option.name: _option_field(option) for option in workloads.OLTP}
GroupModel: type[GroupBase] = create_model(
    "GroupModel", __base__=GroupBase, __doc__=GroupBase.__doc__, **_fields
)


class SetupModel(Strict):
    """The part of a file that levels patch: what runs in one cell."""

    targets: dict[Annotated[str, Field(pattern=WORD_PATTERN)], TargetModel] = Field(min_length=1)
    groups: dict[Annotated[str, Field(pattern=WORD_PATTERN)], GroupModel] = Field(  # type: ignore[valid-type]
        min_length=1
    )
    warmup: Pause = Field(10.0, description="load before measuring")
    duration: Duration = Field(30.0, description="measured time of a trial")
    interval: Duration = Field(1.0, description="length of a reported interval")


class StateModel(Strict):
    """What each trial starts from."""

    data: Literal["reuse", "restore"] | None = Field(
        None, description="default: reuse if no workload changes data, else restore"
    )
    cache: Literal["warm", "cold"] = Field("warm", description="whether caches are kept")


class NeedsModel(Strict):
    """Below this, claims are not tested here."""

    cores: int | None = Field(None, ge=1)
    memory: Size | None = None


class CpusModel(Strict):
    """CPUs by number; default: disjoint where there are at least four."""

    generator: list[Annotated[int, Field(ge=0)]] = Field([])
    servers: list[Annotated[int, Field(ge=0)]] = Field([])


class ClaimModel(Strict):
    """A claim that only some machines can test."""

    claim: str
    needs: NeedsModel = Field(default_factory=lambda: NeedsModel.model_validate({}))


def _spelt_out(value: object) -> object:
    """A claim given as text alone, as the mapping it stands for."""
    return {"claim": value} if isinstance(value, str) else value


class PricesModel(BaseModel):
    """What cells cost: every other key is a factor's name, with a price for each of its levels."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, dict[str, Price]]

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="ISO 4217")
    base: Price = Field(0.0, description="what every cell costs: 120/month, 2.5/h")
    under: list[str] = Field([], description="conditions on metrics: what is fast enough")


class HeadModel(Strict):
    """The part of a file that is the same for all cells."""

    experiment: str = Field(pattern=NAME_PATTERN, description="its name, [a-z0-9-]")
    question: str = Field("", description="what it answers, in one sentence")
    blocks: Whole = Field(6, ge=1, le=BLOCKS_MAX, description="passes over all cells")
    state: StateModel = Field(default_factory=lambda: StateModel.model_validate({}))
    seed: int = Field(1, ge=0, le=2**53 - 1, description="everything random follows from it")
    matters: Fraction = Field(0.0, description="smallest interesting effect, such as 3%")
    needs: NeedsModel = Field(default_factory=lambda: NeedsModel.model_validate({}))
    require: list[str] = Field([], description="conditions on metrics that void a trial")
    budget: Duration | None = Field(None, description="cuts whole blocks, such as 1h")
    prices: PricesModel | None = Field(None, description="what each level costs")
    cpus: CpusModel = Field(default_factory=lambda: CpusModel.model_validate({}))
    claims: list[Annotated[ClaimModel, BeforeValidator(_spelt_out)]] = Field(
        [], description="what the experiment asserts"
    )


SETUP_KEYS = ("warmup", "duration", "interval")
HEAD_KEYS = tuple(HeadModel.model_fields)
_FIRST_KEYS = ("experiment", "question", "targets", "workload", "groups", "factors", *SETUP_KEYS)
TOP_KEYS = (*_FIRST_KEYS, *(key for key in HEAD_KEYS if key not in _FIRST_KEYS))
TARGET_KEYS = tuple(TargetModel.model_fields)
GROUP_KEYS = tuple(GroupModel.model_fields)
OPEN_KEYS = ("config", "options")  # of a target: flat mappings of names that only it knows
