"""Finds the cells that a claim compares, or says why it cannot be meant."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, TypeVar

from dbdyno.errors import DynoError
from dbdyno.experiment.claims import metrics
from dbdyno.experiment.claims.types import (
    CELL,
    PEAK,
    CellLike,
    Claim,
    Each,
    FactorLike,
    MissingCell,
    ResolvedPart,
    Selector,
    Side,
    Term,
    claim_error,
    shifted,
)
from dbdyno.experiment.file import synonyms
from dbdyno.experiment.file.names import did_you_mean, listed

PARTS_MAX = 1000  # comparisons of one claim

F = TypeVar("F", bound=FactorLike)


def find_factor(name: str, factors: Sequence[F]) -> F | None:
    """The factor called `name`, in full or, where unique, by the last component of its path; by
    another tool's word for it (`threads` for `sessions`) where none is called that."""
    for factor in factors:
        if factor.name == name:
            return factor
    last = [factor for factor in factors if factor.name.rpartition(".")[2] == name]
    last = last or [factor for factor in factors if synonyms.same(factor.name, name)]
    return last[0] if len(last) == 1 else None


def resolve(
    claim: Claim,
    factors: Sequence[FactorLike],
    cells: Sequence[CellLike],
    scope: metrics.Scope,
) -> tuple[ResolvedPart, ...]:
    """The comparisons that a claim makes, as concrete cells: one for each level of `at each`.

    `scope` says what names of metrics may start with. Combinations of `at each` that are not among
    the cells (their system is missing here) are omitted; MissingCell if that leaves nothing, or if
    a named cell is missing; DynoError for anything that cannot be meant.
    """
    return _Resolver(claim, factors, cells, scope).parts()


class _Resolver:
    def __init__(
        self,
        claim: Claim,
        factors: Sequence[FactorLike],
        cells: Sequence[CellLike],
        scope: metrics.Scope,
    ) -> None:
        self.claim = claim
        self.factors = factors
        self.scope = scope
        self.cells = {self._key(cell.levels): cell.index for cell in cells}

    def parts(self) -> tuple[ResolvedPart, ...]:
        fixed = self._assign({}, self.claim.at)
        each = [self._each(item, fixed) for item in self.claim.each]
        if len({factor.name for factor in each}) < len(each):
            self._fail(self.claim.each[-1].offset, "a factor is given twice after `each`")
        parts: list[ResolvedPart] = []
        missing: MissingCell | None = None
        for levels in itertools.product(*(factor.levels for factor in each)):
            names = (factor.name for factor in each)
            at = {**fixed, **dict(zip(names, levels, strict=True))}
            try:
                parts += [self._part(at, one) for one in (self.claim, *self.claim.further)]
            except MissingCell as error:
                missing = missing or error
            if len(parts) > PARTS_MAX:
                self._fail(0, f"the claim makes more than {PARTS_MAX} comparisons")
        if missing is not None and (not parts or not each):
            raise missing
        return tuple(parts)

    def _part(self, at: dict[str, str], claim: Claim) -> ResolvedPart:
        left = self._side(claim.left, at)
        right = self._side(claim.right, at) if claim.right else None
        if right is not None and replace(left, text="") == replace(right, text=""):
            self._fail(
                claim.left.offset,
                "both sides are the same metric of the same cell",
                "give each side its own level, as in `tps[on] > tps[off]`",
            )
        return ResolvedPart(at, left, right, claim.operator, claim.threshold, claim.margin)

    def _side(self, term: Term, at: dict[str, str]) -> Side:
        metric = metrics.canonical(term.metric, self.scope, shifted(self.claim.where, term.offset))
        levels = self._assign(at, term.selectors)
        if term.peak is None:
            return Side(CELL, metric, term.text, cell=self._cell(term, levels))
        factor = self._factor(term.peak, term.offset)
        if factor.values is None:
            self._fail(
                term.offset,
                f"`peak` needs numbers, and `{factor.name}` has {listed(factor.levels)}",
                f"numeric factors: {self._numeric()}",
            )
        if factor.name in levels:
            self._fail(
                term.offset,
                f"`peak` compares all levels of `{factor.name}`, so none can be selected",
                f"remove `{factor.name}` from the selectors and from `at`",
            )
        points = tuple(
            (value, self._cell(term, {**levels, factor.name: level}))
            for level, value in zip(factor.levels, factor.values, strict=True)
            if self._exists({**levels, factor.name: level})
        )
        if not points:
            self._cell(term, {**levels, factor.name: factor.levels[0]})
        return Side(PEAK, metric, term.text, points=points)

    def _cell(self, term: Term, levels: dict[str, str]) -> int:
        chosen = {}
        for factor in self.factors:
            if factor.name in levels:
                chosen[factor.name] = levels[factor.name]
            elif len(factor.levels) == 1:
                chosen[factor.name] = factor.levels[0]
            else:
                self._fail(
                    term.offset,
                    f"`{term.text}` leaves `{factor.name}` open",
                    f"say `at {factor.name}=...` (one of {listed(factor.levels)}) "
                    f"or `at each {factor.name}`",
                )
        found = self.cells.get(self._key(chosen))
        if found is None:
            combination = ", ".join(f"{name}={level}" for name, level in chosen.items())
            raise claim_error(
                self.claim.text,
                self.claim.where,
                term.offset,
                f"there is no cell {combination}",
                "this run omits it; see the list of skipped cells",
                MissingCell,
            )
        return found

    def _exists(self, levels: dict[str, str]) -> bool:
        """Whether a cell exists, or is unknown because a factor is open (reported later)."""
        full = {f.name: levels.get(f.name, f.levels[0]) for f in self.factors}
        is_open = any(f.name not in levels and len(f.levels) > 1 for f in self.factors)
        return is_open or self._key(full) in self.cells

    def _assign(self, levels: dict[str, str], selectors: Sequence[Selector]) -> dict[str, str]:
        result = dict(levels)
        for selector in selectors:
            factor, level = self._selected(selector)
            if factor.name in result:
                self._fail(
                    selector.offset,
                    f"`{factor.name}` is given twice: {result[factor.name]} and {level}",
                    "select it once, in the brackets or after `at`",
                )
            result[factor.name] = level
        return result

    def _selected(self, selector: Selector) -> tuple[FactorLike, str]:
        if selector.factor is not None:
            factor = self._factor(selector.factor, selector.offset)
            level = _find_level(selector.level, factor)
            if level is None:
                self._fail(
                    selector.level_offset,
                    f"factor `{factor.name}` has no level `{selector.level}`",
                    did_you_mean(selector.level, factor.levels),
                )
            return factor, level
        having = [(f, level) for f in self.factors if (level := _find_level(selector.level, f))]
        if len(having) == 1:
            return having[0]
        if having:
            names = " or ".join(f"`{factor.name}={selector.level}`" for factor, _ in having)
            what = f"several factors have `{selector.level}`"
            self._fail(selector.offset, what, f"write {names}")
        known = [level for factor in self.factors for level in factor.levels]
        raise self._error(
            selector.offset,
            f"no factor has a level `{selector.level}`",
            did_you_mean(selector.level, known),
        )

    def _each(self, item: Each, fixed: dict[str, str]) -> FactorLike:
        factor = self._factor(item.factor, item.offset)
        if factor.name in fixed:
            self._fail(item.offset, f"`{factor.name}` is fixed by `at` and also under `each`")
        return factor

    def _factor(self, name: str, offset: int) -> FactorLike:
        factor = find_factor(name, self.factors)
        if factor is not None:
            return factor
        same = [f.name for f in self.factors if f.name.rpartition(".")[2] == name]
        if same:
            self._fail(offset, f"several factors end in `{name}`", f"write {listed(same)}")
        known = [factor.name for factor in self.factors]
        raise self._error(offset, f"there is no factor `{name}`", did_you_mean(name, known))

    def _numeric(self) -> str:
        return listed(f.name for f in self.factors if f.values is not None) or "none here"

    def _key(self, levels: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(levels[factor.name] for factor in self.factors)

    def _fail(self, offset: int, what: str, fix: str = "") -> NoReturn:
        raise self._error(offset, what, fix)

    def _error(self, offset: int, what: str, fix: str = "") -> DynoError:
        return claim_error(self.claim.text, self.claim.where, offset, what, fix)


def _find_level(name: str, factor: FactorLike) -> str | None:
    """The level written `name`; numbers may be spelt otherwise (`1e6`, `1_000_000`)."""
    if name in factor.levels:
        return name
    if factor.values is None:
        return None
    try:
        value = float(name.replace("_", ""))
    except ValueError:
        return None
    matches = [lv for lv, v in zip(factor.levels, factor.values, strict=True) if v == value]
    return matches[0] if matches else None
