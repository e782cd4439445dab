"""Settings of the servers: what the experiment's words became, and which differ between cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.plan.types import Cell
from dbdyno.report.context import Context
from dbdyno.report.layout import Layout, which
from dbdyno.report.section import Section
from dbdyno.report.sections.setting.environment import sources
from dbdyno.store.record import TrialRecord

# Settings that differ between any two starts and mean nothing: names, places, identities.
_VOLATILE = re.compile(
    r"(^|_)(pid|socket|port|datadir|hostname|basedir|tmpdir|uuid|server_id|timestamp|log_error|"
    r"pseudo_thread_id|rand_seed\d*|last_insert_id|data_directory|config_file|hba_file|ident_file|"
    r"external_pid_file|unix_socket_directories|report_port|gtid\w*|general_log_file|"
    r"lc_messages_dir|plugin_dir|character_sets_dir|slow_query_log_file|log_bin\w*|relay_log\w*|secure_file_priv|load_tmpdir|pid_file)($|_)"
)
DIFFERENT_MAX = 60  # rows of settings that differ


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
class View:
    """Both tables. `different` are the first of `different_all` rows; `told`: tools state them,
    and no server was asked."""

    words: list[WordRow]
    different: list[SettingRow]
    different_all: int
    told: bool


def view(context: Context) -> View | None:
    """None where no word became a setting and none differs."""
    cells, layout = context.plan.cells, context.layout
    mapped = words(context.complete, cells, layout)
    different = different_settings(context.complete, cells, layout)
    if not mapped and not different:
        return None
    told = bool(sources(context.run))
    return View(mapped, different[:DIFFERENT_MAX], len(different), told)


def words(records: Sequence[TrialRecord], cells: Sequence[Cell], layout: Layout) -> list[WordRow]:
    """The words' mapping, each distinct one once, with the cells it holds for."""
    found: dict[tuple[str, str, tuple[tuple[str, str], ...], str], dict[int, None]] = {}
    for record in records:
        for name, facts in record.targets.items():
            for word in facts.get("words", ()):
                settings = tuple((str(k), str(v)) for k, v in word.get("settings", {}).items())
                key = (
                    target_label(name, facts),
                    str(word["word"]),
                    settings,
                    str(word.get("note", "")),
                )
                found.setdefault(key, {})[record.cell] = None
    return [
        WordRow(target, word, settings, note, which(list(where), cells, layout))
        for (target, word, settings, note), where in found.items()
    ]


def target_label(name: str, facts: Mapping[str, Any]) -> str:
    """A target with its kind."""
    kind = str(facts.get("kind", ""))
    return name if not kind or kind == name else f"{name} ({kind})"


def different_settings(
    records: Sequence[TrialRecord], cells: Sequence[Cell], layout: Layout
) -> list[SettingRow]:
    """Settings whose value differs between cells, within one kind of target; the page shows the
    first `DIFFERENT_MAX`."""
    values: dict[tuple[str, str], dict[str, dict[int, None]]] = {}
    for record in records:
        for target, facts in record.targets.items():
            who = target_label(target, facts)
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


SECTION = Section(view, "Settings")
