"""One option with two values: the last line wins, and the others mislead.

Source: "Using Option Files" (MySQL), "Setting Parameters" (PostgreSQL), redis.conf's own comments.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.facts.files.optionfile import is_server
from dbdyno.rules.check.rule import Found, Rule, edits

# Each line of these adds to the others.
_ADDING = frozenset(
    """binlog_do_db binlog_ignore_db early_plugin_load ignore_db_dir ignore_db_dirs init_rpl_role
    innodb_monitor_enable optimizer_switch performance_schema_instrument plugin_load_add
    replicate_do_db replicate_do_table replicate_ignore_db replicate_ignore_table
    replicate_rewrite_db replicate_wild_do_table replicate_wild_ignore_table set_variable
    save user rename-command client-output-buffer-limit loadmodule include
    sentinel debug_dbug""".split()  # noqa: SIM905
)


def _judge(facts: Facts) -> Iterator[Found]:
    options = facts.table("options")
    by_name: dict[str, list[int]] = {}
    for i, row in enumerate(options.rows):
        if is_server(str(row.get("group", "mysqld"))):
            by_name.setdefault(str(row["name"]), []).append(i)
    for name, places in by_name.items():
        rows = [options.rows[i] for i in places]
        if name in _ADDING or len({_folded(row["value"]) for row in rows}) < 2:
            continue
        last = rows[-1]
        one_file = len({str(row["place"]).rsplit(":", 2)[0] for row in rows}) == 1
        yield Found(
            what=f"{name} is set {len(rows)} times, to different values",
            evidence=tuple(options.fact(row, "value", name) for row in rows),
            effect=f"only the last counts, `{last['value']}`: {len(rows) - 1} lines have no effect,"
            " and a change to one of them changes nothing",
            fix=edits(f"Keep one line of {name}: {last['place']} is in effect."),
            undo=edits("Write the lines back; the server behaves as before."),
            about=name,
            # Files of conf.d that lay one value over another's are a practice.
            severity="" if one_file else "low",
        )


def _folded(value: object) -> str:
    return str(value).strip().lower()


RULES = tuple(
    Rule(
        id=f"{engine}-option-twice",
        pack="configuration",
        title="One option with two values",
        about="An option of one server occurs several times with different values. Options whose"
        " lines add up are left alone; in several files, one over the other, severity is low.",
        severity="medium",
        applies=applies,
        sources=("file",),
        needs=("options",),
        judge=_judge,
        source=source,
    )
    for engine, applies, source in (
        (
            "mysql",
            ("mysql", "mariadb"),
            "https://dev.mysql.com/doc/refman/8.4/en/option-files.html",
        ),
        (
            "postgres",
            ("postgres",),
            "https://www.postgresql.org/docs/current/config-setting.html",
        ),
        (
            "redis",
            ("redis",),
            "https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/",
        ),
    )
)
