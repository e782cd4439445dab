"""`prices:` as written: a base, and what the levels of some factors add."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.claims.metrics import Scope, is_cost
from dbdyno.experiment.claims.parser import parse_condition
from dbdyno.experiment.claims.types import Condition
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import did_you_mean, listed
from dbdyno.experiment.model import PricesModel
from dbdyno.experiment.types import Factor, Prices


def read(
    model: PricesModel | None, root: Node, factors: Sequence[Factor], scope: Scope
) -> Prices | None:
    """The prices of an experiment. DynoError for a factor or level that is not there, a level of
    a priced factor without a price, and a condition that no trial can meet or miss."""
    if model is None:
        return None
    node = root.mapping["prices"]
    by_name = {factor.name: factor for factor in factors}
    levels = model.__pydantic_extra__ or {}
    for name, prices in levels.items():
        entry = node.mapping[name]
        if name not in by_name:
            raise DynoError(
                f"`prices` names a factor `{name}`, and there is none",
                where=entry.place,
                fix=did_you_mean(name, by_name) if by_name else "write `base: PRICE`",
            )
        known = by_name[name].levels
        for level in prices:
            if level not in known:
                raise DynoError(
                    f"factor `{name}` has no level `{level}`",
                    where=entry.mapping[level].place,
                    fix=did_you_mean(level, known),
                )
        if missing := [level for level in known if level not in prices]:
            raise DynoError(
                f"`prices.{name}` gives no price for {listed(missing)}",
                where=entry.place,
                cause="a cell without a price could not be compared with the others",
                fix="price every level of the factor; `0/month` is a price",
            )
    return Prices(
        currency=model.currency,
        base_per_month=model.base,
        levels={name: dict(prices) for name, prices in levels.items()},
        under=tuple(
            of_trial(parse_condition(str(item.value), scope, item.where), item.where).text
            for item in _conditions(node)
        ),
    )


def _conditions(node: Node) -> tuple[Node, ...]:
    return node.mapping["under"].items if "under" in node.mapping else ()


def of_trial(condition: Condition, where: Where) -> Condition:
    """The condition, which no trial can be compared with if it is about a cost: DynoError then."""
    if is_cost(condition.metric):
        raise DynoError(
            f"`{condition.text}` is not a condition on a trial",
            where=where,
            cause="a cost follows from a trial's throughput and the prices, once it is over",
            fix="name a latency or a rate: `service_ms_p99 < 20`",
        )
    return condition
