"""Reads an experiment: YAML, overrides, factors, one validated setup a cell, claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from pydantic import ValidationError

from dbdyno.errors import DynoError, Mistakes, Where
from dbdyno.experiment import audit, checks, factors, model, prices, typed
from dbdyno.experiment.claims import conditions
from dbdyno.experiment.claims import scope as scopes
from dbdyno.experiment.claims.metrics import Scope, is_cost
from dbdyno.experiment.claims.parser import parse_condition
from dbdyno.experiment.claims.resolver import resolve
from dbdyno.experiment.claims.types import Claim, Condition, ResolvedPart
from dbdyno.experiment.claims.written import claims as written_claims
from dbdyno.experiment.file import document, overrides, paths, problems
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.model import HeadModel, SetupModel
from dbdyno.experiment.targets import hooks, names, routers, server_url
from dbdyno.experiment.types import About, Cell, Factor, Looks, Needs, Spec
from dbdyno.experiment.workloads import measuring

FILE_BYTES_MAX = 1 << 20


def load(
    path_or_text: Path | str, overrides_: Sequence[str] = (), *, file: Path | None = None
) -> Spec:
    """The experiment in a file (or in a text: anything with a line break in it).

    `overrides_` are `path=value` texts, as after `--set`. `file` is where a text came from: paths
    in it are relative to that, and messages name it. Raises DynoError with file, line and column
    for what is wrong; DynoErrors, by line, for several mistakes that do not hang together.
    """
    text, origin = _read(path_or_text)
    origin = file or origin
    server_url.refuse_passwords_typed(overrides_)
    document_root = document.parse(text, origin)
    server_url.refuse_passwords(document_root)
    mistakes = Mistakes()
    collect = mistakes.collect
    root = paths.normal(document_root)
    _refuse_unknown_keys(root, mistakes)
    changes = overrides.read(overrides_, root)
    written, root = root, overrides.apply(changes, root)
    with collect():
        checks.names(root)
    with collect():
        head = _head(root)
    setup = _setup_of(root)
    with collect():
        setup_model = _validated(paths.with_setup(setup))
    with collect():
        raw_factors = factors.read(root.mapping.get("factors"), paths.Paths.of(root))
    with collect():
        parsed = written_claims(root)
    mistakes.stop()  # what follows is about all parts together
    checks.overrides_matter({change.keys: change.path for change in changes}, raw_factors)
    cells = _cells(setup, raw_factors)
    scope = scopes.of(cells)
    typed_factors = tuple(factor.typed() for factor in raw_factors)
    with collect():
        checks.targets_used(cells, root)
    with collect():
        checks.levels_differ(raw_factors, cells)
    with collect():
        place = (root.mapping.get("duration") or root).where
        measuring.check_matters(cells, head.matters, place)
    with collect():
        hooked = hooks.read(head.hooks, {each.name: each.hooks() for each in raw_factors}, root)
        hooks.check_moments(hooked, cells, root)
    with collect():
        require = _conditions(root, scope)
    with collect():
        claims = _claims(parsed, root, typed_factors, cells, scope)
    with collect():
        priced = prices.read(head.prices, root, typed_factors, scope)
    with collect():
        looks = _looks(head, root)
    mistakes.stop()
    return Spec(
        name=head.experiment,
        question=head.question.strip(),
        factors=typed_factors,
        cells=cells,
        blocks=head.trials.max if head.trials else head.blocks,
        data=setup_model.state.data,
        cache=setup_model.state.cache,
        seed=head.seed,
        matters=head.matters,
        needs=Needs(head.needs.cores, head.needs.memory),
        require=require,
        budget_s=head.budget,
        claims=claims,
        claim_needs=_claim_needs(head),
        scope=scope,
        drain_s=head.drain,
        load_threads=head.load_threads or 0,
        text=overrides.rewrite(text, changes, written),
        path=str(origin),
        prices=priced,
        places={key: node.where for key, node in root.mapping.items()},
        about=_about(head),
        looks=looks,
        hooks=hooked,
    )


def _read(path_or_text: Path | str) -> tuple[str, Path | str]:
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return path_or_text, "experiment"
    path = Path(path_or_text)
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise DynoError(
            f"{path} cannot be read: {error.strerror}",
            cause="a misspelt path, or no permission",
            fix="give the path of an experiment file, or the name of a study",
        ) from None
    if len(raw) > FILE_BYTES_MAX:
        raise DynoError(f"{path} is larger than 1 MiB, so it is hardly an experiment")
    try:
        return raw.decode("utf-8-sig"), path
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DynoError(
            "the file is not UTF-8 text", where=Where(path, line, 1), fix="save it as UTF-8"
        ) from None


def _refuse_unknown_keys(root: Node, mistakes: Mistakes) -> None:
    """Collects keys that do not exist; raises where those that must be there are missing."""
    known = (*model.TOP_KEYS,)
    for key, node in root.mapping.items():
        if key not in known:
            unknown = DynoError(
                f"there is no key `{key}` in an experiment",
                where=node.place,
                fix=did_you_mean(key, known),
            )
            mistakes.add(unknown)
    try:
        _require(root)
    except DynoError:
        mistakes.stop()  # a misspelt key is why another one is missing
        raise


def _require(root: Node) -> None:
    for key, example in (
        ("experiment", "experiment: NAME"),
        ("targets", "targets: {db: {kind: sqlite}}"),
        ("groups", "workload: {kind: oltp}"),
    ):
        if key not in root.mapping or root.mapping[key].value is None:
            name = "workload` or `groups" if key == "groups" else key
            raise DynoError(f"`{name}` is missing", where=root.where, fix=f"add `{example}`")


def _head(root: Node) -> HeadModel:
    part = _part(root, model.HEAD_KEYS)
    if "hooks" in part.mapping:
        spelt_out = hooks.normal(part.mapping["hooks"])
        part = replace(part, value={**part.mapping, "hooks": spelt_out})
    try:
        return HeadModel.model_validate(part.plain())
    except ValidationError as error:
        raise problems.translate(error, part, HeadModel) from None


def _setup_of(root: Node) -> Node:
    return _part(root, ("targets", "groups", *model.SETUP_KEYS))


def _part(root: Node, keys: Sequence[str]) -> Node:
    """The entries under these keys; one without a value (`budget:`, `--set cpus=null`) counts as
    not given."""
    kept = {key: node for key, node in root.mapping.items() if key in keys}
    return replace(root, value={k: node for k, node in kept.items() if node.value is not None})


def _validated(setup: Node) -> SetupModel:
    setup = _null_is_a_kind(setup)
    try:
        return SetupModel.model_validate(setup.plain())
    except ValidationError as error:
        raise problems.translate(error, setup, SetupModel) from None


def _null_is_a_kind(setup: Node) -> Node:
    """`kind: null` names the null driver, though YAML reads no value there."""
    targets = {}
    for name, target in setup.mapping["targets"].mapping.items():
        kind = target.mapping.get("kind")
        if kind is not None and kind.value is None and kind.text == "null":
            named = {**target.mapping, "kind": replace(kind, value="null")}
            target = replace(target, value=named)
        targets[name] = target
    if not targets:
        return setup
    patched = replace(setup.mapping["targets"], value=targets)
    return replace(setup, value={**setup.mapping, "targets": patched})


def _cells(setup: Node, raw_factors: tuple[factors.RawFactor, ...]) -> tuple[Cell, ...]:
    cells, mistakes = [], Mistakes()
    places: set[Where | None] = set()
    for index, chosen in enumerate(factors.combinations(raw_factors)):
        levels = {f.name: level.name for f, level in zip(raw_factors, chosen, strict=True)}
        try:
            cells.append(_cell(setup, chosen, index, levels))
        except DynoError as error:
            label = ", ".join(f"{name}={level}" for name, level in levels.items())
            for one in error.each:
                if one.where not in places:  # of one mistake in many cells, the first
                    places.add(one.where)
                    mistakes.add(_in_cell(one, label))
    mistakes.stop()
    return tuple(cells)


def _cell(
    setup: Node, chosen: Sequence[factors.Level], index: int, levels: Mapping[str, str]
) -> Cell:
    patched = setup
    for level in chosen:
        patched = paths.patch(patched, level.patches)
    patched = paths.with_setup(patched)
    cell = typed.cell(index, levels, _validated(patched), patched)
    checks.shared_data(cell, patched)
    checks.capabilities(cell, patched)
    checks.routes(cell, patched)
    checks.pipelines(cell, patched)
    checks.schemas(cell, patched)
    checks.several_primaries(cell, patched)
    routers.check(cell, patched)
    names.check(cell, patched)
    audit.check(cell, patched)
    return cell


def _in_cell(error: DynoError, levels: str) -> DynoError:
    """The same error, saying in which cell it arises."""
    what = f"{error.what} (in cell {levels})" if levels else error.what
    return DynoError(what, where=error.where, cause=error.cause, fix=error.fix)


def _claims(
    parsed: Sequence[tuple[Claim, Node]],
    root: Node,
    typed_factors: tuple[Factor, ...],
    cells: tuple[Cell, ...],
    scope: Scope,
) -> tuple[Claim, ...]:
    mistakes = Mistakes()
    for claim, node in parsed:
        with mistakes.collect():
            parts = resolve(claim, typed_factors, cells, scope)
            if "prices" not in root.mapping:
                _refuse_costs(parts, node)
    mistakes.stop()
    return tuple(claim for claim, _ in parsed)


def _looks(head: HeadModel, root: Node) -> Looks | None:
    """How many blocks there are, if that is left to the claims."""
    asked = head.trials
    if asked is None:
        return None
    trials, blocks = root.mapping["trials"], root.mapping.get("blocks")
    if blocks is not None and blocks.value is not None:
        raise DynoError(
            "`blocks` and `trials` both set the number of blocks",
            where=max(trials.place, blocks.place, key=lambda one: one.line),
            fix="keep `blocks: 6` for a fixed number, or `trials: {max: 12, until: decided}`;"
            " `--set trials=null` or `--set blocks=null` removes one of them",
        )
    if asked.min > asked.max:
        raise DynoError(
            f"`min` ({asked.min}) is more than `max` ({asked.max})",
            where=(trials.mapping.get("min") or trials).where,
            fix="raise `max`, or remove `min`",
        )
    if not head.claims:
        raise DynoError(
            "`until: decided` waits for claims, and the experiment has none",
            where=trials.place,
            fix="add claims, or write `blocks: 6`",
        )
    return Looks(asked.min, asked.max)


def _refuse_costs(parts: Sequence[ResolvedPart], node: Node) -> None:
    for part in parts:
        if any(side is not None and is_cost(side.metric) for side in (part.left, part.right)):
            raise DynoError(
                "the claim is about a cost, and the experiment has no `prices`",
                where=node.where,
                fix="add `prices: {base: 120/month}`, or a price for each level of a factor",
            )


def _about(head: HeadModel) -> About:
    texts = {field.name: getattr(head, field.name).strip() for field in fields(About)}
    return About(**texts)


def _claim_needs(head: HeadModel) -> dict[str, Needs]:
    """What single claims need beyond the experiment, by their text."""
    return {entry.claim: Needs(entry.needs.cores, entry.needs.memory) for entry in head.claims}


def _conditions(root: Node, scope: Scope) -> tuple[Condition, ...]:
    nodes = root.mapping["require"].items if "require" in root.mapping else ()
    mistakes, found = Mistakes(), []
    for node in nodes:
        with mistakes.collect():
            condition = parse_condition(str(node.value), scope, node.start)
            priced = prices.of_trial(condition, node.where)
            found.append(conditions.of_surroundings(priced, node.where))
    mistakes.stop()
    return tuple(found)
