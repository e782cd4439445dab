"""`mix`: the user's own statements and transactions, weighted, with typed parameters.

Source: `engine/workloads/src/mix/`. It loads nothing itself: see `setup:` of its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.targets.read_only.statements import refusal
from dbdyno.experiment.values.generators import generator
from dbdyno.experiment.values.scalars import Strict, Whole
from dbdyno.experiment.values.unions import Short, one_of
from dbdyno.experiment.workloads.base import Check, Contradiction, Keys, NoFiles, Option, Options
from dbdyno.kinds.kind import SQL

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
PREPARED = ("select", "insert", "update", "delete", "replace", "with", "values")
FRAME = ("begin", "start", "commit", "rollback", "end", "savepoint", "release", "xa")

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


class Mix(NoFiles):
    """See the module."""

    name = "mix"
    needs = (SQL,)
    model: type[Strict] = MixOptions
    options: tuple[Option, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def effective(self, options: Options) -> dict[str, Any]:
        return {key: options.get(key, {}) for key in ("params", "statements", "transactions")}

    def meaning(self, options: Options) -> dict[str, Any]:
        """What has no weight is never sent, and a parameter that only it names never drawn."""
        full = self.effective(options)
        for part in ("statements", "transactions"):
            full[part] = {k: v for k, v in full[part].items() if v.get("weight", 1.0) > 0}
        used = {name for _, each in _sqls(full) for name in sqltext.parameters(each["sql"])}
        used |= {term for name in used for term in _terms(full["params"].get(name, {}))}
        full["params"] = {k: v for k, v in full["params"].items() if k in used}
        return full

    def data_options(self, options: Options) -> None:
        return None

    def changes_data(self, options: Options) -> bool:
        return any(not _reads(each) for _, each in _sqls(self.meaning(options)))

    def escapes_guard(self, options: Options, kind: str) -> str:
        for keys, each in _sqls(self.meaning(options)):
            why = refusal(each["sql"], kind)
            if why:
                return f"{'.'.join(keys)}: {why}"
        return ""

    def data_bytes(self, data: Options) -> int:
        return 0

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        yield from _nothing_sent(full)
        yield from _parameters(full)
        yield from _sums(full["params"])
        yield from _lists(full)
        yield from _choices(full)
        yield from _frames(full)
        classes = _classes(full)
        if len(classes) > STATEMENTS_MAX:
            yield Contradiction(
                classes[STATEMENTS_MAX][0],
                f"it has {len(classes)} different statements, and {STATEMENTS_MAX} is the most",
                "give steps that belong together the same `name`, or use several groups",
            )
        names: dict[str, Keys] = {}
        for keys, name in classes:
            other = names.setdefault(name, keys)
            if other != keys and other[:2] != keys[:2]:
                yield Contradiction(
                    keys,
                    f"two statements are called `{name}`",
                    "rename one of them",
                )

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        """The same: how large its tables are is not its own business."""
        return dict(options)

    def sent(self, options: Options) -> dict[str, Any]:
        return self.effective(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        count = len(_classes(self.meaning(options)))
        if count <= CLASSES_MAX:
            return ()
        return (
            f"The workload has {count} classes of statements, and a trial keeps the latencies of"
            f" {CLASSES_MAX}, begin and commit counted: the last ones in the file are `other`"
            " together.",
        )


WORKLOAD = Mix()


def columns(options: Options) -> dict[str, str]:
    """Parameters whose values are queried: name -> `table.column`."""
    params: Mapping[str, Any] = options.get("params", {})
    return {name: each["column"] for name, each in params.items() if "column" in each}


def statements(options: Options) -> Iterator[tuple[str, str]]:
    """Every statement that is ever sent: its place, and its text."""
    for keys, _, each in sent(options):
        yield ".".join(keys), each["sql"]


def classes(options: Options) -> dict[str, bool]:
    """Classes of statements that are ever sent, with whether all statements of each only read."""
    found: dict[str, bool] = {}
    for _, name, each in sent(options):
        found[name] = found.get(name, True) and _reads(each)
    return found


def sent(options: Options) -> Iterator[tuple[Keys, str, Mapping[str, Any]]]:
    """Every statement that is ever sent: the keys that lead to it (positions of steps as `0`, `1`),
    its class, and what is written of it."""
    for keys, each in _sqls(WORKLOAD.meaning(options)):
        yield keys, _class_of(keys, each), each


def prepared(options: Options) -> dict[str, str]:
    """Statements that are ever sent and may be prepared to see whether a server takes them, which
    runs nothing: by their text, the first place of each."""
    found: dict[str, str] = {}
    for place, sql in statements(options):
        if sqltext.keyword(sql) in PREPARED:
            found.setdefault(sql, place)
    return found


def _sqls(full: Options) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Every statement, with the keys that lead to it (positions of steps as `0`, `1`)."""
    for name, statement in full["statements"].items():
        yield ("statements", name), statement
    for keys, step in _steps(full):
        if "one_of" not in step:
            yield keys, step
        for number, branch in enumerate(step.get("one_of", ())):
            if branch.get("sql") is not None:
                yield (*keys, "one_of", str(number)), branch


def _steps(full: Options) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    for name, transaction in full["transactions"].items():
        for number, step in enumerate(transaction["steps"]):
            yield ("transactions", name, "steps", str(number)), step


def _classes(full: Options) -> list[tuple[Keys, str]]:
    """Every class of statement that the engine keeps a histogram of, once, with its place."""
    found: dict[tuple[Keys, str], Keys] = {}
    for keys, each in _sqls(full):
        found.setdefault((keys[:2], _class_of(keys, each)), keys)
    return [(keys, name) for (_, name), keys in found.items()]


def _class_of(keys: Keys, each: Mapping[str, Any]) -> str:
    """The name of the class of a statement."""
    if keys[0] == "statements":
        return keys[1]
    positions = (str(int(key) + 1) for key in keys[3::2])
    return each.get("name") or "_".join((keys[1], *positions))


def _reads(each: Mapping[str, Any]) -> bool:
    declared = each.get("reads")
    return sqltext.reads(each["sql"]) if declared is None else bool(declared)


def _nothing_sent(full: Options) -> Iterator[Contradiction]:
    parts = [*full["statements"].values(), *full["transactions"].values()]
    if not parts:
        yield Contradiction(
            (),
            "it has neither `statements` nor `transactions`, so nothing would be sent",
            'write `statements: {find: "SELECT ..."}`',
        )
    elif not any(part.get("weight", 1.0) > 0 for part in parts):
        first = "statements" if full["statements"] else "transactions"
        yield Contradiction(
            (first,), "all weights are 0, so nothing would be sent", "raise one of them"
        )


def _choices(full: Options) -> Iterator[Contradiction]:
    shared: dict[tuple[str, str], list[float]] = {}
    for keys, step in _steps(full):
        if "one_of" not in step:
            continue
        branches = step["one_of"]
        weights = [branch.get("weight", 1.0) for branch in branches]
        named = zip(branches, weights, strict=True)
        if not any(branch.get("sql") is not None and weight > 0 for branch, weight in named):
            yield Contradiction(
                (*keys, "one_of"),
                "it has no statement with a weight above 0, so nothing would be sent",
                "give one of its branches `sql`, and raise its weight",
            )
        most = max((b.get("repeat") or 1 for b in branches), default=1) * (step.get("repeat") or 1)
        if most > REPEAT_MAX:
            yield Contradiction(
                keys,
                f"it would send {most:,} statements in a row, and {REPEAT_MAX:,} is the most",
                "lower a `repeat`",
            )
        choice = step.get("choice")
        if choice is None:
            continue
        if shared.setdefault((keys[1], choice), weights) != weights:
            yield Contradiction(
                (*keys, "choice"),
                f"steps that share the choice `{choice}` have other weights",
                "give all of them as many branches, with the same weights",
            )
        if sum(name == keys[1] for name, _ in shared) > CHOICES_MAX:
            yield Contradiction(
                (*keys, "choice"),
                f"the transaction has more than {CHOICES_MAX} choices that steps share",
                "let some steps choose for themselves",
            )


def _frames(full: Options) -> Iterator[Contradiction]:
    """Statements that would begin or end a transaction, and names that the engine uses."""
    for keys, each in _sqls(full):
        word = sqltext.keyword(each["sql"])
        if word in FRAME:
            yield Contradiction(
                keys,
                f"`{word}` cannot be a statement",
                "begin and commit are sent before and after the `steps` of a transaction",
            )
    for keys, name in _classes(full):
        if name in ENGINES_OWN:
            yield Contradiction(keys, f"`{name}` is reserved by the engine", "choose another name")


def _parameters(full: Options) -> Iterator[Contradiction]:
    declared = full["params"]
    used: set[str] = set()
    for keys, each in _sqls(full):
        for name in sqltext.parameters(each["sql"]):
            used.add(name)
            if name not in declared:
                known = did_you_mean(name, declared) if declared else "there are none yet"
                yield Contradiction(
                    keys,
                    f"the statement names a parameter `:{name}`, which is not declared",
                    f"declare it under `params:`; {known}",
                )
        for name in sqltext.out_of_reach(each["sql"]):
            yield Contradiction(
                keys,
                f"`:{name}` is in a comment that servers read, where no parameter can be",
                "write a value in its place: hints and `/*! */` are sent unchanged",
            )
    used |= {term for name in used for term in _terms(declared.get(name, {}))}
    for name in declared:
        if name not in used:
            yield Contradiction(
                ("params", name),
                f"parameter `{name}` is declared, but no statement names `:{name}`",
                "remove it, or use it",
            )


def _terms(param: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a sum is made of."""
    return tuple(param.get("sum", ()))


def _sums(declared: Mapping[str, Any]) -> Iterator[Contradiction]:
    for name, each in declared.items():
        for number, term in enumerate(_terms(each)):
            keys = ("params", name, "sum", str(number))
            if term not in declared:
                known = did_you_mean(term, declared)
                yield Contradiction(
                    keys, f"there is no parameter `{term}`", f"declare it next to `{name}`; {known}"
                )
            elif not _adds_up(declared[term], is_first=number == 0):
                what = "numbers, days or moments" if number == 0 else "numbers"
                yield Contradiction(
                    keys,
                    f"`{term}` does not make {what}",
                    "a sum is of a number, day or moment, and of numbers: units, days, seconds",
                )


def _adds_up(param: Mapping[str, Any], *, is_first: bool) -> bool:
    if "sum" in param or "text" in param:
        return False
    if "dates" in param or "times" in param or param.get("as_text"):
        return is_first
    listed = param.get("values", [param["const"]] if "const" in param else [])
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in listed
    )


def _lists(full: Options) -> Iterator[Contradiction]:
    for keys, each in _sqls(full):
        for number, one in enumerate(each.get("lists") or ()):
            at = (*keys, "lists", str(number), "of")
            if sqltext.occurrences(each["sql"], one["of"]) != 1:
                yield Contradiction(
                    at,
                    f"`{one['of']}` does not occur exactly once in the statement",
                    "give the list's element as `sql` has it: `:id`, `(:a, :b)`",
                )
            elif not sqltext.parameters(one["of"]):
                yield Contradiction(
                    at, "there is no parameter in it", "name its values: `:id`, `(:a, :b)`"
                )
