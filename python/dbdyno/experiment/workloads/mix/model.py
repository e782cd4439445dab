"""What an experiment may write of a `mix`, and the engine's limits of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from dbdyno.experiment.values.generators import generator
from dbdyno.experiment.values.scalars import Strict, Whole
from dbdyno.experiment.values.unions import Short, one_of

CLASSES_MAX = 64  # the engine's histograms; what has none counts as `other`
STATEMENTS_MAX = 250  # different ones: each is prepared on every connection, once a list's length
STEPS_MAX = 1000
LENGTH_MAX = 65_535  # what servers take as parameters of a statement
SQL_MAX = 100_000  # characters
REPEAT_MAX = 10_000
BRANCHES_MAX = 1000  # of a step
CHOICES_MAX = 64  # that steps of a transaction share
SQL_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,62}$"
ENGINES_OWN = ("begin", "commit", "other")  # names of classes

Name = Annotated[str, Field(pattern=SQL_NAME)]
Repeat = Annotated[Whole, Field(ge=1, le=REPEAT_MAX)]
Weight = Annotated[float, Field(ge=0)]


def _count(value: object) -> object:
    ends: list[Any] = value if isinstance(value, list) else [value]
    whole = all(isinstance(end, int) and not isinstance(end, bool) and end >= 0 for end in ends)
    if not whole or len(ends) not in (1, 2) or (isinstance(value, list) and len(ends) != 2):
        raise ValueError("must be a number of rows, or [least, most]")
    if ends[0] > ends[-1]:
        raise ValueError(f"must be [least, most], and {ends[0]} is above {ends[-1]}")
    return value


_NUMBER = {"type": "integer", "minimum": 0}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
Count = Annotated[
    int | list[int], BeforeValidator(_count), WithJsonSchema({"anyOf": [_NUMBER, _PAIR]})
]


class Expect(Strict):
    """Expected result of a statement; a different one counts as an error `check`."""

    rows: Count | None = Field(None, description="number of rows returned, or [least, most]")
    affected: Count | None = Field(None, description="number of rows changed, or [least, most]")

    @model_validator(mode="after")
    def _check(self) -> Expect:
        if self.rows is None and self.affected is None:
            raise ValueError("must give `rows` or `affected`")
        return self


class ListOf(Strict):
    """A list of variable length in a statement."""

    of: str = Field(min_length=1, description="the element as written once in `sql`")
    lengths: list[Annotated[Whole, Field(ge=1, le=LENGTH_MAX)]] = Field(
        min_length=1, max_length=100, description="numbers of elements to draw from"
    )
    weights: list[Weight] | None = Field(None, description="weights of `lengths`; default: equal")

    @model_validator(mode="after")
    def _check(self) -> ListOf:
        if self.weights is not None:
            if len(self.weights) != len(self.lengths):
                raise ValueError(
                    f"must have as many `weights` ({len(self.weights)}) "
                    f"as `lengths` ({len(self.lengths)})"
                )
            if not sum(self.weights) > 0:
                raise ValueError("must have a weight above 0")
        return self


class Sql(Strict):
    """One statement, with parameters as `:name`."""

    sql: str = Field(min_length=1, max_length=SQL_MAX, description="text of the statement")
    lists: list[ListOf] | None = Field(
        None, description="lists of variable length: `IN (:id)`, `VALUES (:a, :b)`"
    )
    expect: Expect | None = Field(None, description="expected result")
    reads: bool | None = Field(
        None, description="whether the statement only reads; default: from its first word"
    )


class Statement(Sql):
    """A statement that is a transaction of its own."""

    weight: Weight = Field(1.0, description="relative frequency")


class Step(Sql):
    """A statement of a transaction."""

    name: Name | None = Field(
        None, description="name of the statement class; default: TRANSACTION_NUMBER"
    )
    repeat: Repeat | None = Field(None, description="number of consecutive executions")


class Branch(Step):
    """A statement that a step may send."""

    sql: str | None = Field(  # type: ignore[assignment]
        None,
        min_length=1,
        max_length=SQL_MAX,
        description="text of the statement; default: send nothing",
    )
    weight: Weight = Field(1.0, description="relative frequency among the branches")

    @model_validator(mode="after")
    def _check(self) -> Branch:
        more = self.model_fields_set - {"weight", "sql"}
        if self.sql is None and more:
            raise ValueError(f"has `{min(more)}`, but no `sql`: it would send nothing")
        return self


class OneOf(Strict):
    """A step that sends one of several statements."""

    one_of: list[Annotated[Branch, Short("sql")]] = Field(
        min_length=1, max_length=BRANCHES_MAX, description="branches, drawn by weight"
    )
    choice: Name | None = Field(
        None,
        description="steps of a transaction with the same name take branches of the same position",
    )
    repeat: Repeat | None = Field(None, description="number of repetitions, each with its own draw")


def _kind_of_step(value: Mapping[str, Any]) -> str:
    return "one_of" if "one_of" in value else "sql"


AnyStep: Any = one_of([("one_of", OneOf), ("sql", Step)], _kind_of_step, explains=False)


class Transaction(Strict):
    """A transaction of several statements."""

    weight: Weight = Field(1.0, description="relative frequency")
    atomic: bool | None = Field(
        None, description="whether the steps run between BEGIN and COMMIT; default: yes"
    )
    steps: list[Annotated[AnyStep, Short("sql")]] = Field(
        min_length=1, max_length=STEPS_MAX, description="statements in order"
    )


ParamModel: Any = generator(
    "Param",
    per=(
        Literal["transaction", "statement", "repetition"],
        Field(
            "transaction",
            description="scope of a value: shared by the transaction, drawn for each statement, or"
            " for each repetition (a sequence then restarts in each transaction)",
        ),
    ),
)


class MixOptions(Strict):
    """Your own statements and transactions, weighted, with typed parameters."""

    params: dict[Name, ParamModel] = Field({}, description="parameters by name, `:name` in SQL")
    statements: dict[Name, Annotated[Statement, Short("sql")]] = Field(
        {}, description="single statements by name, each a transaction"
    )
    transactions: dict[Name, Transaction] = Field({}, description="transactions by name")
