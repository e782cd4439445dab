"""What leaves a run: columns of tables, metrics for Prometheus, what a bundle holds, what redaction
does."""

from __future__ import annotations

from dbdyno.share import bundle, families, tables
from dbdyno.share.exposition import Family
from dbdyno.share.redact import aliases
from reference_pages.markdown import code, sections, table


def page() -> str:
    """The page."""
    return sections(
        "# Sharing",
        "Guide: [sharing results](../guide/sharing.md).",
        "## Tables",
        "`dyno export RUN --csv DIR` and `--parquet DIR`. Each table begins with these columns, then one `level.FACTOR` for each factor. Empty: unknown, or"
        " does not apply. The tables contain all finished trials, void ones included (`status`), but not repeated attempts.",
        _columns(tables.KEYS),
        *(part for each in tables.TABLES.values() for part in _table(each)),
        "## Metrics for Prometheus",
        "`dyno run --metrics-listen [HOST:]PORT` serves them at `/metrics`, as OpenMetrics 1.0 where that is asked for, else in Prometheus' text format 0.0.4."
        " `dyno export --openmetrics` writes those of groups, generator and samplers with the time of each interval."
        " Labels: `experiment`, `trial`, `level_FACTOR` for each factor, `group`, `phase` (`warmup`, `measure`), `percentile` (50, 95, 99, 99.9); in an export also `status`."
        " At most "
        + str(_scrapes())
        + " scrapes are answered at once. A dashboard for Grafana: [share/grafana/dbdyno.json](../../share/grafana/dbdyno.json).",
        _families(),
        "## Bundles",
        f"A zip archive that begins with `{bundle.MARK}` (version {bundle.BUNDLE_VERSION}) and holds `manifest.json`, `result.json`, the files of all trials that are over, and the records of void"
        " attempts. The same run gives the same bytes. A reader takes no other names, and at most"
        f" {bundle.ENTRIES_MAX:,} entries, {bundle.ENTRY_BYTES_MAX >> 30} GiB each, {bundle.TOTAL_BYTES_MAX >> 30} GiB in all and {bundle.RATIO_MAX} times the size of the bundle.",
        "## Redaction",
        "`dyno report RUN --redact`. What becomes what; the same name has the same alias everywhere in a run.",
        _redaction(),
        f"Kinds of aliases: {', '.join(code(kind + '-N') for kind in aliases.KINDS)}. The table is `RUN/{aliases.FILE}`.",
    )


def _table(one: tables.Table) -> tuple[str, str, str]:
    return f"### {one.name}", f"{one.about[:1].upper()}{one.about[1:]}.", _columns(one.own)


def _columns(columns: tuple[tables.Column, ...]) -> str:
    return table(
        ("column", "type", "unit", "meaning"),
        [(code(c.name), c.type, c.unit, c.about) for c in columns],
    )


def _families() -> str:
    def served(family: Family) -> str:
        live, exported = family in families.LIVE, family in families.EXPORTED
        return "both" if live and exported else "live" if live else "export"

    every = dict.fromkeys((*families.LIVE, *families.EXPORTED))
    return table(
        ("metric", "type", "where", "meaning"),
        [(code(f.sample_name), f.type, served(f), f.help) for f in every],
    )


def _scrapes() -> int:
    from dbdyno.share import listen

    return listen.SCRAPES_MAX


def _redaction() -> str:
    return table(
        ("what", "becomes"),
        [
            (
                "hosts, addresses, domains, users, schemas, tables, columns, parameters",
                "an alias; loopback, built-in accounts and dbdyno's own tables stay",
            ),
            ("author, customer", "an alias, also for each word of the name"),
            ("paths, commands, messages of servers", "an alias of the whole"),
            (
                "literals in statements, query plans and quotations",
                "`?`; keywords, operators and what the planner counted stay",
            ),
            (
                "values of settings",
                "quantities and plain words stay, unless the setting tells who or where (`hostname`, `init_connect`, ...)",
            ),
            ("context, notes, words of claims (`say`), comments of the file", "omitted"),
            (
                "names of the experiment itself: targets, groups, factors, levels, statements",
                "stay, except for names of the kinds above in them",
            ),
            ("numbers, metrics, settings' names, versions, the machine's kind", "stay"),
            ("output of commands, logs, what the engine was given", "not copied"),
        ],
    )
