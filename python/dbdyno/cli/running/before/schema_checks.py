"""What of the statements of `mix` will fail or match no row, for --check and --dry-run: by the file
alone, and with --with-schema by the schemas of the servers that it names."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.digest.workload.schema import findings, naming, prepared, reading
from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.experiment.types import Group, Spec, Target
from dbdyno.experiment.workloads import mix
from dbdyno.systems.external import reach
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.external import PostgresRemote


def found(loaded: Spec, *, asks: bool) -> list[str]:
    """The findings, each once. `asks`: servers are asked; one that cannot be is a finding."""
    said: dict[str, None] = {}
    for target, group in _groups(loaded):
        options = workloads.of(group.kind).effective(group.options)
        of = _asked(target, group.name, options) if asks and target.existing else None
        said |= dict.fromkeys(findings.alone(group.name, options) if of is None else of)
    return list(said)


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


def _asked(target: Target, group: str, options: dict[str, object]) -> list[str] | None:
    """What the server says; None where it is not an external one."""
    if target.url is None or target.existing is None:
        return None
    try:
        server = reach.connect(target, target.url)
    except DynoError as error:
        return [f"the schema of target `{target.name}` is not known: {error.what}"]
    try:
        assert isinstance(server, MysqlRemote | PostgresRemote)
        catalog = reading.read(server, target.existing, _tables(options))
        refused = prepared.refused(server, target.existing, group, findings.sent(options))
        return [*refused, *findings.by_schema(group, options, catalog)]
    except DynoError as error:
        return [f"the schema of target `{target.name}` is not known: {error.what}"]
    finally:
        server.stop()


def _tables(options: dict[str, object]) -> set[str]:
    """Names that may be those of tables."""
    return {name for one in findings.sent(options) for name in naming.names(one.sql)}
