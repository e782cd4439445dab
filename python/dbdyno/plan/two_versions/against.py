"""Two versions of one experiment as one: every cell twice, in the same blocks.

Two runs, one after the other, differ in whatever the machine did in between. So `dyno run NEW
--against BASE` runs both at once: a first factor distinguishes the versions, and whatever a block
has in common cancels in the ratio of its two trials. Pure. docs/decisions/run-against.md says what
was refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.errors import DynoError
from dbdyno.experiment.claims import scope as scopes
from dbdyno.experiment.claims.grammar import EQUAL, Claim, parse
from dbdyno.experiment.file.hidden import without_commands
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.types import Cell, Factor, Group, Spec
from dbdyno.plan.types import Against, Skipped

# What holds for a run as a whole, or for both versions of a cell: the new file's.
_OF_RUN = {
    "blocks": "blocks",
    "looks": "trials",
    "matters": "matters",
    "data": "state",
    "require": "require",
    "budget_s": "budget",
    "needs": "needs",
    "drain_s": "drain",
    "load_threads": "load_threads",
}
_OF_CELL = {
    "warmup_s": "warmup",
    "duration_s": "duration",
    "until_steady": "duration",
    "steady_min_s": "duration",
    "interval_s": "interval",
    "sampling_s": "sampling",
    "audit": "audit",
    "cpus": "cpus",
    "cache": "state",
}

Key = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Base:
    """What the new version is compared with. `source` is what it was read from; `notes`: notes on
    that; `matters`: what the comparison holds for a difference, if not what the experiment does."""

    spec: Spec
    source: str
    notes: tuple[str, ...] = ()
    matters: float | None = None


@dataclass(frozen=True)
class Union:
    """Both versions as one experiment, what was omitted of either, and notes on it."""

    spec: Spec
    against: Against
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


def unite(new: Spec, against_base: Base) -> Union:
    """The experiment that compares `new` with a base.

    Cells that only one of them has are omitted and reported. DynoError, with reasons, for what
    cannot be compared: other factors, other groups, another kind of workload or loop, other hooks,
    no cell in common.
    """
    base = against_base.spec
    _refuse_other_factors(new, base)
    if new.hooks != base.hooks:
        raise _refused(
            "their commands under `hooks` or of levels differ",
            "each version would be measured under the other's commands too",
            "use the same commands, or make their effect a factor of one experiment",
        )
    theirs = {_key(cell): cell for cell in base.cells}
    ours = {_key(cell): cell for cell in new.cells}
    common = [cell for cell in new.cells if _key(cell) in theirs]
    if not common:
        raise _refused(
            "they have no cell in common",
            f"levels of the base: {_levels(base)}; here: {_levels(new)}",
            "give one factor levels that both have",
        )
    for cell in common:
        _refuse_other_load(cell, theirs[_key(cell)])
    (factor,) = free(("version",), {name for each in new.factors for name in names_of(each.name)})
    taken = {level for each in new.factors for level in each.levels}
    names = free(("base", "new"), taken)
    matters = new.matters if against_base.matters is None else against_base.matters
    text = without_commands(base.text)
    against = Against(factor, names[0], names[1], against_base.source, text, matters)
    cells = _cells(common, [theirs[_key(cell)] for cell in common], against)
    claims = tuple(held_at(claim, against.factor, against.new) for claim in new.claims)
    spec = replace(
        new,
        factors=(Factor(factor, names, None), *_factors(new.factors, common)),
        cells=cells,
        claims=claims,
        claim_needs={
            after.text: new.claim_needs[before.text]
            for before, after in zip(new.claims, claims, strict=True)
            if before.text in new.claim_needs
        },
        scope=scopes.of(cells),
    )
    skipped = (
        *_left_out(new, theirs, f"{factor}={against.new}", "the base"),
        *_left_out(base, ours, f"{factor}={against.base}", "the new version"),
    )
    notes = _notes(new, base, common, theirs, against)
    return Union(spec, against, skipped, (*notes, *against_base.notes))


# -- what can be compared ------------------------------------------------------------------------


def _refuse_other_factors(new: Spec, base: Spec) -> None:
    here, there = ({factor.name for factor in spec.factors} for spec in (new, base))
    if here == there:
        return
    only = [
        f"{listed(sorted(names))} only in {where}"
        for names, where in ((here - there, "the new version"), (there - here, "the base"))
        if names
    ]
    raise _refused(
        f"their factors differ: {'; '.join(only)}",
        "a cell of one has no counterpart in the other",
        "give both the same factors: one of two levels in either file is enough",
    )


def _refuse_other_load(new: Cell, base: Cell) -> None:
    groups = [{group.name: group for group in cell.groups} for cell in (new, base)]
    if groups[0].keys() != groups[1].keys():
        raise _refused(
            f"their groups differ: {listed(groups[0])} here, {listed(groups[1])} in the base",
            "the numbers of one group are not those of another",
            "name the groups alike",
        )
    for name, group in groups[0].items():
        pair = [(_load(each), each) for each in (group, groups[1][name])]
        if pair[0][0] != pair[1][0]:
            raise _refused(
                f"group `{name}` is {pair[0][0]} here, and {pair[1][0]} in the base",
                "another load, or another question to it: its numbers mean something else",
                "compare versions under one kind of load",
            )


def _load(group: Group) -> str:
    """What kind of load a group is, as far as it decides what its numbers mean."""
    if group.find:
        return f"a search by {group.kind} for the rate at which {', '.join(group.find.conditions)}"
    return f"{'an open' if group.arrivals else 'a closed'} loop of {group.kind}"


def _refused(what: str, cause: str, fix: str) -> DynoError:
    return DynoError(f"the two cannot be compared: {what}", cause=cause, fix=fix)


# -- the union -----------------------------------------------------------------------------------


def _cells(new: Sequence[Cell], base: Sequence[Cell], against: Against) -> tuple[Cell, ...]:
    """The base's cells, then the new version's, pair by pair alike in all but server and load."""
    both = [
        (against.base, replace(own, targets=other.targets, groups=other.groups))
        for own, other in zip(new, base, strict=True)
    ]
    both += [(against.new, own) for own in new]
    return tuple(
        replace(cell, index=index, levels={against.factor: version, **cell.levels})
        for index, (version, cell) in enumerate(both)
    )


def _factors(factors: Sequence[Factor], cells: Sequence[Cell]) -> tuple[Factor, ...]:
    """The factors with the levels that some cell has."""
    found = []
    for factor in factors:
        used = {cell.levels[factor.name] for cell in cells}
        kept = [place for place, level in enumerate(factor.levels) if level in used]
        values = factor.values and tuple(factor.values[place] for place in kept)
        levels = tuple(factor.levels[place] for place in kept)
        found.append(Factor(factor.name, levels, values))
    return tuple(found)


def held_at(claim: Claim, factor: str, level: str) -> Claim:
    """The same claim at one level of a factor that its author did not know."""
    ends_in_levels = (claim.at or claim.each) and claim.operator != EQUAL  # else in `within 3%`
    joined = "," if ends_in_levels else " at"
    held = parse(f"{claim.text}{joined} {factor}={level}", claim.where)
    return replace(held, say=claim.say)


def _left_out(
    spec: Spec, others: Mapping[Key, Cell], version: str, lacking: str
) -> tuple[Skipped, ...]:
    """The cells that only one version has: by level where all of a level are, else one by one."""
    alone = {cell.index for cell in spec.cells if _key(cell) not in others}
    found = []
    for factor in spec.factors:
        for level in factor.levels:
            having = {cell.index for cell in spec.cells if cell.levels[factor.name] == level}
            if having <= alone:
                found.append(f"{version}, {factor.name}={level}")
                spec = replace(spec, cells=tuple(c for c in spec.cells if c.index not in having))
                alone -= having
    for cell in spec.cells:
        if cell.index in alone:
            found.append(", ".join([version, *(f"{k}={v}" for k, v in cell.levels.items())]))
    why = f"{lacking} has no such cell to compare it with"
    return tuple(Skipped(what, why, "give both the same levels") for what in found)


# -- notes ---------------------------------------------------------------------------------------


def _notes(
    new: Spec,
    base: Spec,
    common: Sequence[Cell],
    theirs: Mapping[Key, Cell],
    against: Against,
) -> tuple[str, ...]:
    notes = [
        f"Two versions in the same blocks: {against.new} is this experiment, {against.base} is"
        f" {against.source}."
    ]
    pairs = [(cell, theirs[_key(cell)]) for cell in common]
    if all((a.targets, a.groups) == (b.targets, b.groups) for a, b in pairs):
        notes.append(
            "Nothing that the experiment's files say differs between the two versions, so what is"
            " compared is the noise of this machine."
        )
    aside = [word for name, word in _OF_RUN.items() if getattr(new, name) != getattr(base, name)]
    aside += [
        word
        for name, word in _OF_CELL.items()
        if any(getattr(a, name) != getattr(b, name) for a, b in pairs)
    ]
    if aside:
        words = ", ".join(dict.fromkeys(aside))
        notes.append(f"Both versions run by the new file's {words}; the base's own differ.")
    return tuple(notes)


def _levels(spec: Spec) -> str:
    return "; ".join(f"{factor.name}: {', '.join(factor.levels)}" for factor in spec.factors)


def names_of(factor: str) -> tuple[str, str]:
    """What a claim may call a factor: its path, or the last component of it."""
    return factor, factor.rpartition(".")[2]


def free(names: tuple[str, ...], taken: set[str]) -> tuple[str, ...]:
    """`names`, numbered if one of them is taken: claims name factors and levels alike."""
    tried = names
    for number in itertools.count(2):
        if not taken & set(tried):
            break
        tried = tuple(f"{name}-{number}" for name in names)
    return tried


def _key(cell: Cell) -> Key:
    return frozenset(cell.levels.items())
