"""Inputs of a model: from text to values, with where each came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.values import units
from dbdyno.models.kinds import Value
from dbdyno.models.model import Input, Model

LIST_MAX = 10_000
DEFAULT = "default"
TYPED = "given"


@dataclass(frozen=True)
class Given:
    """What a model is asked. `origin`: of each name "given", "default" or the place it was read
    from; `currency` is that of all prices, empty if none was named."""

    values: Mapping[str, Value]
    written: Mapping[str, str]
    origin: Mapping[str, str]
    currency: str


def assignments(typed: Iterable[str], model: Model) -> dict[str, str]:
    """`k=v` of a command line. DynoError for what is none, or is given twice."""
    found: dict[str, str] = {}
    for one in typed:
        name, equals, value = one.partition("=")
        if not equals or not name or not value.strip():
            raise DynoError(f"`{one}` is no input: NAME=VALUE", fix=f"such as {example(model)}")
        known(model, name)
        if name in found:
            raise DynoError(f"`{name}` is given twice", fix="give it once")
        found[name] = value.strip()
    return found


def known(model: Model, name: str) -> Input:
    """The input of a name. DynoError with the right names."""
    found = model.input(name)
    if found is None:
        names = [one.name for one in model.inputs]
        raise DynoError(f"{model.name} has no input `{name}`", fix=did_you_mean(name, names))
    return found


def example(model: Model) -> str:
    """A call's inputs: those that must be given or are asked for, else the first."""
    must = [one for one in model.inputs if one.default is None or one.asked]
    must = must or list(model.inputs[:1])
    return " ".join(f"{one.name}={quoted(one.written)}" for one in must)


def quoted(text: str) -> str:
    """A value as a shell takes it."""
    return text if re.fullmatch(r"[\w.,:/%+-]+", text) else f'"{text}"'


def take(model: Model, typed: Mapping[str, str], read: Mapping[str, tuple[str, str]]) -> Given:
    """Values of all inputs: typed ones first, then those `read` elsewhere (name -> text, place),
    then defaults. DynoError for one that is missing, has another unit, or is out of range."""
    values: dict[str, Value] = {}
    written: dict[str, str] = {}
    origin: dict[str, str] = {}
    currencies: dict[str, str] = {}
    missing = []
    for one in model.inputs:
        text, place = one.default, DEFAULT
        if one.name in typed:
            text, place = typed[one.name], TYPED
        elif one.name in read:
            text, place = read[one.name]
        if text is None:
            missing.append(one)
            continue
        values[one.name] = value_of(model, one, text, place)
        written[one.name], origin[one.name] = text, place
        if one.kind_name == "price":
            for part in _parts(one, text):
                currency = units.price_and_currency(part)[1]
                if currency:
                    currencies.setdefault(currency, one.name)
    if missing:
        names = ", ".join(f"`{one.name}` ({one.about})" for one in missing)
        raise DynoError(
            f"{model.name} needs {names}", fix=f"dyno model {model.name} {example(model)}"
        )
    if len(currencies) > 1:
        raise _two_currencies(currencies)
    return Given(values, written, origin, next(iter(currencies), ""))


def in_currency(given: Given, texts: Iterable[str]) -> Given:
    """The same, with the currency of further prices. DynoError if there are two."""
    named = {given.currency} | {units.price_and_currency(text)[1] for text in texts}
    named.discard("")
    if len(named) > 1:
        raise _two_currencies(named)
    return replace(given, currency=next(iter(named), ""))


def _two_currencies(named: Iterable[str]) -> DynoError:
    return DynoError(
        f"prices in {' and '.join(sorted(named))} cannot be combined",
        fix="write all prices in one currency",
    )


def _parts(one: Input, text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if one.many else [text]


def value_of(model: Model, one: Input, text: str, place: str = TYPED) -> Value:
    """One input's value. DynoError says what would be right."""
    parts = _parts(one, text)
    if len(parts) > LIST_MAX:
        raise DynoError(f"`{one.name}` has {len(parts):,} values", fix=f"at most {LIST_MAX:,}")
    found = [_scalar(model, one, part, place) for part in parts]
    return tuple(float(value) for value in found) if one.many else found[0]


def _scalar(model: Model, one: Input, text: str, place: str) -> float | str:
    from_where = "" if place == TYPED else f", from {place}" if place != DEFAULT else " (default)"
    if one.kind_name == "word":
        if text not in one.words:
            raise DynoError(
                f"{model.name}: {one.name}={text}{from_where} is none of its words",
                fix=did_you_mean(text, one.words),
            )
        return text
    try:
        value = float(one.kind.parse(text))
    except (ValueError, OverflowError) as error:
        raise DynoError(
            f"{model.name}: {one.name}={text}{from_where} {error}",
            cause=f"`{one.name}` is a {one.kind_name}: {one.about}",
            fix=f"such as {one.name}={quoted(one.written)}",
        ) from None
    wrong = outside(one, value)
    if wrong:
        plain = "; a plain number is bytes" if one.kind_name == "size" and text.isdecimal() else ""
        raise DynoError(
            f"{model.name}: {one.name}={text}{from_where} is out of range: it must be {wrong}",
            cause=f"`{one.name}` is {one.about}{plain}",
            fix=f"such as {one.name}={quoted(one.written)}",
        )
    return value


def limits(one: Input) -> tuple[float, float]:
    """What an input may be, at least and at most."""
    low = float(one.kind.parse(one.low)) if one.low is not None else -float("inf")
    high = float(one.kind.parse(one.high)) if one.high is not None else float("inf")
    return low, high


def outside(one: Input, value: float) -> str:
    """Why a value is out of range, or nothing."""
    low, high = limits(one)
    if value < low:
        return f"at least {one.low}"
    if value > high:
        return f"at most {one.high}"
    if one.whole and value != int(value):
        return "a whole number"
    return ""
