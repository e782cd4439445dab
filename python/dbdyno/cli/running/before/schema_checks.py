"""What of the statements of `mix` will fail or match no row, for --check and --dry-run: by the file
alone, and with --with-schema by the servers that it names. These prepare each statement, and say
what their schemas hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.digest.workload.schema import findings, naming, reading
from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.experiment.file.statements import RefusedStatement
from dbdyno.experiment.types import Group, Spec, Target
from dbdyno.experiment.workloads import mix
from dbdyno.systems.base import Refusal
from dbdyno.systems.external import reach
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.external import PostgresRemote

STATEMENTS_MAX = 400  # of a group: more are not prepared here


@dataclass(frozen=True)
class Found:
    """Sentences on what will fail or match nothing, and the statements that servers refuse."""

    warnings: tuple[str, ...]
    refused: tuple[RefusedStatement, ...]


def found(loaded: Spec, *, asks: bool) -> Found:
    """The findings, each once. `asks`: servers are asked; one that cannot be is a warning."""
    said: dict[str, None] = {}
    refused: dict[str, RefusedStatement] = {}
    for target, group in _groups(loaded):
        options = workloads.of(group.kind).effective(group.options)
        of = _asked(target, group.name, options) if asks and target.existing else None
        said |= dict.fromkeys(findings.alone(group.name, options) if of is None else of.warnings)
        for one in of.refused if of else ():
            one.locate(loaded.path)
            refused.setdefault(str(one), one)
    return Found(tuple(said), tuple(refused.values()))


def _groups(loaded: Spec) -> Iterator[tuple[Target, Group]]:
    """Groups of `mix` with their targets, those that are alike once."""
    seen: list[tuple[Target, Group]] = []
    for cell in loaded.cells:
        targets = {target.name: target for target in cell.targets}
        for group in cell.groups:
            pair = (targets[group.target], group)
            if group.kind == mix.WORKLOAD.name and pair not in seen:
                seen.append(pair)
                yield pair


def _asked(target: Target, group: str, options: dict[str, object]) -> Found | None:
    """What the server says; None where it is not an external one."""
    if target.url is None or target.existing is None:
        return None
    try:
        server = reach.connect(target, target.url)
    except DynoError as error:
        return _unknown(target, error)
    try:
        assert isinstance(server, MysqlRemote | PostgresRemote)
        catalog = reading.read(server, target.existing, _tables(options))
        places = mix.prepared(options)
        refused = server.refusals(target.existing, target.session, [*places][:STATEMENTS_MAX])
        warnings = findings.by_schema(group, options, catalog)
        return Found(tuple(warnings), tuple(_mistake(group, places, one) for one in refused))
    except DynoError as error:
        return _unknown(target, error)
    finally:
        server.stop()


def _unknown(target: Target, error: DynoError) -> Found:
    return Found((f"the schema of target `{target.name}` is not known: {error.what}",), ())


def _mistake(group: str, places: Mapping[str, str], one: Refusal) -> RefusedStatement:
    what = f"group `{group}`, {places[one.sql]}: it will fail: {one.why}"
    return RefusedStatement(what, sql=one.sql, at=one.at, fix=one.hint or "correct the statement")


def _tables(options: dict[str, object]) -> set[str]:
    """Names that may be those of tables."""
    return {name for one in findings.sent(options) for name in naming.names(one.sql)}
