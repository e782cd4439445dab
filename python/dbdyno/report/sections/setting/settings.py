"""What the servers were: versions, how words became settings, which settings differ, their
plans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.plan.types import Cell, Plan
from dbdyno.report.layout import Layout
from dbdyno.store.record import TrialRecord

# Settings that differ between any two starts and mean nothing: names, places, identities.
_VOLATILE = re.compile(
    r"(^|_)(pid|socket|port|datadir|hostname|basedir|tmpdir|uuid|server_id|timestamp|log_error|"
    r"pseudo_thread_id|rand_seed\d*|last_insert_id|data_directory|config_file|hba_file|ident_file|"
    r"external_pid_file|unix_socket_directories|report_port|gtid\w*|general_log_file|"
    r"lc_messages_dir|plugin_dir|character_sets_dir|slow_query_log_file|log_bin\w*|relay_log\w*|secure_file_priv|load_tmpdir|pid_file)($|_)"
)
DIFFERENT_MAX = 60  # rows of settings that differ
_NUMBERS = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class WordRow:
    """A word of the experiment and the settings that it became, on one kind of target."""

    target: str
    word: str
    settings: tuple[tuple[str, str], ...]
    note: str
    cells: str  # which cells, "" for all


@dataclass(frozen=True)
class SettingRow:
    """A setting that differs between cells of one target."""

    target: str
    name: str
    values: tuple[tuple[str, str], ...]  # (value, cells that have it)


@dataclass(frozen=True)
class PlanView:
    """EXPLAIN of one class of statements: one entry for each plan that was seen."""

    name: str  # group/class
    sql: str
    differs: bool  # two shapes of plan on one kind of server
    plans: tuple[tuple[str, str], ...]  # (cells, text)


def identity(facts: Mapping[str, Any]) -> str:
    """Kind and version of a target: "mariadb 10.11.14"."""
    kind, version = str(facts.get("kind", "")), str(facts.get("version", ""))
    return version if kind and version.lower().startswith(kind) else f"{kind} {version}".strip()


def versions(records: Iterable[TrialRecord]) -> list[str]:
    """Every system and version that was measured, once."""
    return list(dict.fromkeys(identity(f) for r in records for f in r.targets.values()))


def words(records: Sequence[TrialRecord], cells: Sequence[Cell], layout: Layout) -> list[WordRow]:
    """The words' mapping, each distinct one once, with the cells it holds for."""
    found: dict[tuple[str, str, tuple[tuple[str, str], ...], str], dict[int, None]] = {}
    for record in records:
        for name, facts in record.targets.items():
            for word in facts.get("words", ()):
                settings = tuple((str(k), str(v)) for k, v in word.get("settings", {}).items())
                key = (_who(name, facts), str(word["word"]), settings, str(word.get("note", "")))
                found.setdefault(key, {})[record.cell] = None
    return [
        WordRow(target, word, settings, note, which(list(where), cells, layout))
        for (target, word, settings, note), where in found.items()
    ]


def _who(name: str, facts: Mapping[str, Any]) -> str:
    kind = str(facts.get("kind", ""))
    return name if not kind or kind == name else f"{name} ({kind})"


def which(chosen: Sequence[int], cells: Sequence[Cell], layout: Layout) -> str:
    """Names the cells by the fewest levels that single them out; "" for all of them."""
    wanted = set(chosen)
    if wanted >= {c.index for c in cells}:
        return ""
    parts = []
    for factor in layout.factors:
        levels = [
            v for v in factor.levels if any(cells[i].levels[factor.name] == v for i in wanted)
        ]
        if len(levels) < len(factor.levels):
            parts.append(" or ".join(layout.level(factor.name, v) for v in levels))
    product = [c for c in cells if _matches(c, wanted, cells, layout)]
    if parts and {c.index for c in product} == wanted:
        return ", ".join(parts)
    shown = [layout.cell(cells[i].levels) for i in sorted(wanted)]
    return "; ".join(shown[:4]) + (f"; and {len(shown) - 4} more cells" if len(shown) > 4 else "")


def _matches(cell: Cell, wanted: set[int], cells: Sequence[Cell], layout: Layout) -> bool:
    """Whether each of the cell's levels occurs among the wanted cells."""
    return all(
        any(cells[i].levels[f.name] == cell.levels[f.name] for i in wanted) for f in layout.factors
    )


def different_settings(
    records: Sequence[TrialRecord], cells: Sequence[Cell], layout: Layout
) -> list[SettingRow]:
    """Settings whose value differs between cells, within one kind of target; the page shows the
    first `DIFFERENT_MAX`."""
    values: dict[tuple[str, str], dict[str, dict[int, None]]] = {}
    for record in records:
        for target, facts in record.targets.items():
            who = _who(target, facts)
            for name, value in facts.get("settings", {}).items():
                if not _VOLATILE.search(name.lower()):
                    values.setdefault((who, name), {}).setdefault(str(value), {})[record.cell] = (
                        None
                    )
    rows = []
    for (who, name), found in sorted(values.items()):
        if len(found) < 2 or _jitters(found):
            continue
        rows.append(
            SettingRow(
                who, name, tuple((v, which(list(w), cells, layout)) for v, w in found.items())
            )
        )
    return rows


def _jitters(found: Mapping[str, Mapping[int, None]]) -> bool:
    """Whether one cell had two values: then it is no level's doing, but a start's."""
    seen = [cell for cells in found.values() for cell in cells]
    return len(seen) != len(set(seen))


def plans(records: Sequence[TrialRecord], plan: Plan, layout: Layout) -> list[PlanView]:
    """EXPLAIN by class of statement; equal texts are shown once with all their cells."""
    texts: dict[str, dict[str, dict[int, None]]] = {}
    shapes: dict[tuple[str, str], set[str]] = {}
    sql: dict[str, str] = {}
    for record in records:
        kinds = {t: str(f.get("kind", "")) for t, f in record.targets.items()}
        target_of = {g.name: g.target for g in plan.cells[record.cell].groups}
        for name, statement in record.statements.items():
            sql.setdefault(name, statement)
        for name, text in record.explain.items():
            texts.setdefault(name, {}).setdefault(text, {})[record.cell] = None
            kind = kinds.get(target_of.get(name.partition("/")[0], ""), "")
            shapes.setdefault((name, kind), set()).add(shape(text))
    views = []
    for name in sorted({*texts, *sql}):
        differs = any(len(found) > 1 for (n, _), found in shapes.items() if n == name)
        seen = tuple(
            (which(list(where), plan.cells, layout) or "all cells", text)
            for text, where in _merge_shapes(texts.get(name, {})).items()
        )
        views.append(PlanView(name, sql.get(name, ""), differs, seen))
    return sorted(views, key=lambda view: not view.differs)


def _merge_shapes(texts: Mapping[str, Mapping[int, None]]) -> dict[str, dict[int, None]]:
    """Plans that differ in nothing but numbers (costs, row estimates), shown as the first of
    them."""
    first: dict[str, str] = {}
    merged: dict[str, dict[int, None]] = {}
    for text, where in texts.items():
        kept = first.setdefault(shape(text), text)
        merged.setdefault(kept, {}).update(where)
    return merged


def shape(text: str) -> str:
    """A plan without its numbers and spacing: equal shapes are the same plan at another size."""
    return " ".join(_NUMBERS.sub("#", text).split())
