"""Parses claims and conditions by recursive descent; the grammar is in `claims`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.claims import amounts, metrics
from dbdyno.experiment.claims.amounts import Amount
from dbdyno.experiment.claims.types import (
    EQUAL,
    OPERATORS,
    Claim,
    Condition,
    Each,
    Selector,
    Term,
    claim_error,
    shifted,
)
from dbdyno.experiment.file.names import listed

_FLIPPED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", EQUAL: EQUAL}
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_%-]+)*")
_PERCENT = re.compile(r"([0-9][0-9_]*(\.[0-9]+)?([eE][+-]?[0-9]+)?)\s*%")
_MARGIN_MAX = 1.0  # beyond twice and half, "equal" is no word for it
_OPERATOR = re.compile(r">=|<=|>|<|~=|==|=|!=")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_SELECTOR_TEXT = re.compile(r"[^\],=\"']+")
_CONDITION_TEXT = re.compile(r"[^,=\"'\s]+")
_KEYWORDS = frozenset({"at", "each", "and", "within"})


def parse(text: str, where: Where | None = None) -> Claim:
    """Parses a claim. `where` is the place of its first character; DynoError if it is no claim."""
    return _Parser(text, where).claim()


def parse_condition(text: str, scope: metrics.Scope, where: Where | None = None) -> Condition:
    """Parses an entry of `require:`, `metric operator number`, as a user writes it.

    The result has the canonical name, also in its text. DynoError if it is no condition.
    """
    bare = parse_bare_condition(text, where)
    offset = text.index(bare.metric)
    name = metrics.canonical(bare.metric, scope, shifted(where, offset))
    return Condition(
        f"{name} {bare.operator} {bare.threshold:.17g}", name, bare.operator, bare.threshold
    )


def parse_bare_condition(text: str, where: Where | None = None) -> Condition:
    """Parses `metric operator number` and leaves the name alone. DynoError if it is none."""
    claim = parse(text, where)
    term = claim.left
    alone = claim.right is None and not (claim.at or claim.each or claim.further)
    if not alone or term.selectors or term.peak:
        raise DynoError(
            f"`{text}` is not a condition on one metric",
            where=where,
            cause="a condition applies to every trial, whatever its cell",
            fix="write it as `status.Created_tmp_disk_tables <= 10`",
        )
    if claim.operator == EQUAL:
        raise DynoError(
            f"`{text}` cannot be a condition",
            where=where,
            cause="equality within a margin is judged over blocks; a condition, in each trial",
            fix="bound the metric by >= and <=, in two conditions",
        )
    return Condition(text, term.metric, claim.operator, claim.threshold)


@dataclass
class _Product:
    """A product of a number and terms above and below the line; `amount`: its factor that has a
    unit."""

    coefficient: float
    above: list[Term]
    below: list[Term]
    amount: Amount | None = None


@dataclass(frozen=True)
class _Comparison:
    left: _Product
    operator: str
    right: _Product
    margin: float | None


class _Parser:
    def __init__(self, text: str, where: Where | None) -> None:
        self.text = text
        self.where = where
        self.at = 0

    def claim(self) -> Claim:
        found = [self._comparison()]
        while self._keyword("and"):
            found.append(self._comparison())
        fixed: list[Selector] = []
        each: list[Each] = []
        while True:
            if self._keyword("at"):
                self._conditions(fixed, each)
            elif self._keyword("within"):
                last = found[-1]
                found[-1] = replace(last, margin=self._margin(last.operator, last.margin))
            else:
                break
        if not self._end():
            self._fail(f"`{self._rest()}` is unexpected", "a claim ends after its conditions")
        claims = [self._normal(one, tuple(fixed), tuple(each)) for one in found]
        return replace(claims[0], further=tuple(claims[1:]))

    def _comparison(self) -> _Comparison:
        """One comparison; of those before the last, `within` follows it directly."""
        left, operator, right = self._product(), self._operator(), self._product()
        margin = self._margin(operator, None) if self._keyword("within") else None
        return _Comparison(left, operator, right, margin)

    def _margin(self, operator: str, before: float | None) -> float:
        """What follows `within`: a percentage, as a ratio minus one."""
        start = self._skip()
        if operator != EQUAL:
            self._fail(f"`within` belongs to `~=`, not to `{operator}`", "remove it", start)
        if before is not None:
            self._fail("`within` is given twice", "one margin applies to the whole claim", start)
        found = _PERCENT.match(self.text, start)
        if found is None:
            self._fail("`within` needs a percentage", "write it like `within 3%`", start)
        margin = float(found.group(1).replace("_", "")) / 100
        if not 0 < margin <= _MARGIN_MAX:
            self._fail(
                f"equal within {margin * 100:g} % cannot be meant",
                f"a margin is above 0 % and at most {_MARGIN_MAX * 100:g} %",
                start,
            )
        self.at = found.end()
        return margin

    def _product(self) -> _Product:
        product = _Product(1.0, [], [])
        divide = False
        while True:
            self._skip()
            operand = self._operand()
            if isinstance(operand, Term):
                (product.below if divide else product.above).append(operand)
            else:
                self._multiply(product, operand, divide)
            self._skip()
            if isinstance(operand, Amount) and operand.kind == amounts.RATIO and self._at_name():
                divide = False  # `1.5x tps[off]`
                continue
            if not self._peeked("*/"):
                return product
            divide = self.text[self.at] == "/"
            self.at += 1

    def _multiply(self, product: _Product, amount: Amount, divide: bool) -> None:
        if divide and amount.value == 0:
            self._fail("a claim cannot divide by zero", offset=amount.offset)
        if amount.kind and (divide or product.amount is not None):
            self._fail(
                f"`{amount.text}` has a unit, so it can only stand for itself",
                "write one number with its unit: `p95 <= 5ms`",
                amount.offset,
            )
        product.coefficient *= 1 / amount.value if divide else amount.value
        if amount.kind:
            product.amount = amount

    def _at_name(self) -> bool:
        name = _NAME.match(self.text, self.at)
        return name is not None and name.group() not in _KEYWORDS

    def _operand(self) -> Term | Amount:
        start = self._skip()
        if found := amounts.read(self.text, start):
            amount, self.at = found
            return amount
        name = _NAME.match(self.text, start)
        if name is None or name.group() in _KEYWORDS:
            self._fail_operand(start)
        self.at = name.end()
        if name.group() == "peak" and self._peeked("(", skip=True):
            metric, factor = self._peak()
        else:
            metric, factor = self._with_unit(name.group()), None
        selectors = self._selectors() if self._peeked("[", skip=True) else ()
        return Term(metric, factor, selectors, self.text[start : self.at].strip(), start)

    def _peak(self) -> tuple[str, str]:
        self._expect("(")
        metric = self._with_unit(self._name("a metric"))
        self._expect(",")
        factor = self._name("a factor")
        self._expect(")")
        return metric, factor

    def _with_unit(self, name: str) -> str:
        """`p95 ms` is one name: tables head their columns so, and people copy them."""
        unit = re.compile(r"\s+ms\b").match(self.text, self.at)
        if unit is None:
            return name
        self.at = unit.end()
        return f"{name} ms"

    def _selectors(self) -> tuple[Selector, ...]:
        self._expect("[")
        found = [self._selector(_SELECTOR_TEXT)]
        while self._peeked(",", skip=True):
            self.at += 1
            found.append(self._selector(_SELECTOR_TEXT))
        self._expect("]")
        return tuple(found)

    def _conditions(self, fixed: list[Selector], each: list[Each]) -> None:
        while True:
            if self._keyword("each"):
                offset = self._skip()
                each.append(Each(self._name("a factor"), offset))
            else:
                fixed.append(self._selector(_CONDITION_TEXT))
            if self._peeked(",", skip=True):
                self.at += 1
            elif not self._keyword("and"):
                return

    def _selector(self, pattern: re.Pattern[str]) -> Selector:
        offset = self._skip()
        first = self._word(pattern)
        if not self._peeked("=", skip=True):
            return Selector(None, first, offset, offset)
        self.at += 1
        level_offset = self._skip()
        return Selector(first, self._word(pattern), offset, level_offset)

    def _word(self, pattern: re.Pattern[str]) -> str:
        start = self._skip()
        if quoted := _QUOTED.match(self.text, start):
            self.at = quoted.end()
            return quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
        word = pattern.match(self.text, start)
        if word is None or not word.group().strip():
            self._fail("a level is missing here", "write `level` or `factor=level`", start)
        self.at = word.end()
        return word.group().strip()

    def _operator(self) -> str:
        start = self._skip()
        found = _OPERATOR.match(self.text, start)
        if found is None:
            rest = self._rest()
            seen = f"not `{rest}`" if rest else "but the claim ends"
            self._fail(f"a comparison is expected here, {seen}", f"use one of {listed(OPERATORS)}")
        if found.group() in ("==", "="):
            self._fail(
                f"`{found.group()}` is not a comparison of claims: noise makes any two differ",
                "for equality within a margin write `a ~= b within 3%`",
            )
        if found.group() not in OPERATORS:
            self._fail(
                f"`{found.group()}` is not a comparison of claims", f"use {listed(OPERATORS)}"
            )
        self.at = found.end()
        return found.group()

    def _normal(
        self, compared: _Comparison, at: tuple[Selector, ...], each: tuple[Each, ...]
    ) -> Claim:
        """Divides both sides by the right-hand terms and by the left-hand number."""
        left, operator, right = compared.left, compared.operator, compared.right
        if operator == EQUAL and compared.margin is None:
            self._fail(
                "`~=` needs a margin: no measurement shows that two quantities are just equal",
                "give the margin that counts as equal: `a ~= b within 3%`",
            )
        above, below = left.above + right.below, left.below + right.above
        numbers = left.coefficient, right.coefficient
        if not above and len(below) == 1:
            above, below, operator = below, above, _FLIPPED[operator]
            numbers = right.coefficient, left.coefficient
        if not above:
            self._fail("the claim names no metric", "write one like `tps[on] > tps[off]`", 0)
        if len(above) > 1 or len(below) > 1:
            self._fail(
                f"the claim has {len(above) + len(below)} quantities",
                "compare two, or one with a number; split it into several claims",
                0,
            )
        if numbers[0] <= 0 or (below and numbers[1] <= 0):
            self._fail("a quantity times zero is always zero", "use a factor above zero", 0)
        threshold = numbers[1] / numbers[0]
        for product in (left, right):
            if product.amount is not None:
                threshold = self._in_own_unit(threshold, product.amount, above[0], bool(below))
        if operator == EQUAL:
            self._check_equality(threshold, above + below)
        return Claim(
            text=self.text,
            left=above[0],
            right=below[0] if below else None,
            operator=operator,
            threshold=threshold,
            at=at,
            each=each,
            where=self.where,
            margin=compared.margin or 0.0,
        )

    def _in_own_unit(self, threshold: float, amount: Amount, term: Term, is_ratio: bool) -> float:
        """The threshold as the metric's own unit has it. Refuses an amount of another kind."""
        if is_ratio:
            if amount.kind in (amounts.RATIO, amounts.SHARE):
                return threshold
            self._fail(
                f"`{amount.text}` is {amount.kind}, and two quantities are compared by their ratio",
                "write `1.5x`, `95%` or a plain number",
                amount.offset,
            )
        unit = "" if term.peak else metrics.info(term.metric).unit
        scaled = amount.in_unit(unit) if not (term.peak and amount.kind) else None
        if scaled is None:
            counted = {"1/s": "a second", "1/min": "a minute", "": "without a unit"}
            named = counted.get(unit, f"in {unit}")
            self._fail(
                f"`{amount.text}` is {amount.kind}, and `{term.text}` is {named}",
                "a number without a unit is in the metric's own; `1.5x` needs a second quantity",
                amount.offset,
            )
        return scaled if threshold == amount.value else threshold * scaled / amount.value

    def _check_equality(self, threshold: float, terms: list[Term]) -> None:
        if threshold <= 0:
            self._fail(
                "nothing but zero equals zero within a percentage",
                "bound it from above instead: `errors_per_s[on] <= 0.1`",
                0,
            )
        for term in terms:
            if term.peak is not None:
                self._fail(
                    "a peak comes in steps, so it cannot be equal within a percentage",
                    "bound it: `peak(tps, sessions)[on] <= 4`, or compare the metric itself",
                    term.offset,
                )

    def _name(self, what: str) -> str:
        start = self._skip()
        found = _NAME.match(self.text, start)
        if found is None:
            self._fail(f"{what} is missing here", offset=start)
        self.at = found.end()
        return found.group()

    def _keyword(self, word: str) -> bool:
        self._skip()
        found = re.compile(rf"{word}\b(?!\s*=)").match(self.text, self.at)
        if found:
            self.at = found.end()
        return found is not None

    def _expect(self, character: str) -> None:
        if not self._peeked(character, skip=True):
            rest = self._rest()
            self._fail(
                f"`{character}` is expected here, {f'not `{rest}`' if rest else 'at the end'}"
            )
        self.at += 1

    def _peeked(self, characters: str, *, skip: bool = False) -> bool:
        if skip:
            self._skip()
        return self.at < len(self.text) and self.text[self.at] in characters

    def _skip(self) -> int:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def _end(self) -> bool:
        return self._skip() == len(self.text)

    def _rest(self) -> str:
        rest = self.text[self.at :].strip()
        return rest if len(rest) <= 20 else f"{rest[:20]}..."

    def _fail_operand(self, start: int) -> NoReturn:
        if re.compile(r"[0-9]").match(self.text, start):
            self._fail(
                f"`{self._rest()}` is not a number of claims",
                "write `5ms`, `10k`, `600/min`, `1.5x` or a plain number: times are in ms, rates a"
                " second",
                start,
            )
        what = f"not `{self._rest()}`" if self._rest() else "but the claim ends"
        self._fail(
            f"a metric or a number is expected here, {what}", "write `tps[on] > tps[off]`", start
        )

    def _fail(self, what: str, fix: str = "", offset: int | None = None) -> NoReturn:
        raise claim_error(self.text, self.where, self.at if offset is None else offset, what, fix)
