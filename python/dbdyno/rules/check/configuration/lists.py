"""Lists that are written in one way and read in another: blanks after commas, commas in lists that
are no lists.

That servers refuse `sql_mode = A, B`, and MySQL takes blanks in `bind_address`, is what they do
themselves (`tests/live/test_check_options.py`). PostgreSQL trims its lists: blanks there are fine.
Sources: the manuals' pages on these options; the comments of redis.conf on `bind`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.facts.files.optionfile import is_server
from dbdyno.rules.check.rule import Found, Rule, edits, setting

REFUSED = ("log_output", "optimizer_switch", "sql_mode", "tls_version")
MISREAD = ("wsrep_cluster_address",)
FILTERS = (
    *("binlog_do_db", "binlog_ignore_db"),
    *("replicate_do_db", "replicate_ignore_db", "replicate_do_table", "replicate_ignore_table"),
    *("replicate_wild_do_table", "replicate_wild_ignore_table"),
)


def _blanks(facts: Facts) -> Iterator[Found]:
    options = facts.table("options")
    wrong: dict[str, list[Fact]] = {}
    for row in options.rows:
        name, value = str(row["name"]), str(row["value"])
        if name not in (*REFUSED, *MISREAD) or not is_server(str(row["group"])):
            continue
        if "," in value and any(character.isspace() for character in value.strip()):
            wrong.setdefault(name, []).append(options.fact(row, "value", name))
    for name, lines in wrong.items():
        value = lines[-1].text  # what counts of several
        tight = "".join(value.split())
        yield Found(
            what=f"{name} has blanks after its commas: `{value}`",
            evidence=lines,
            effect="the server does not start with it"
            if name in REFUSED
            else f"{tight.count(',')} of {tight.count(',') + 1} addresses begin with a blank"
            " and are not found",
            fix=setting(name, tight),
            undo=setting(name, value),
            about=name,
        )


def _filters(facts: Facts) -> Iterator[Found]:
    options = facts.table("options")
    for row in options.rows:
        name, value = str(row["name"]), str(row["value"])
        if name not in FILTERS or "," not in value or not is_server(str(row["group"])):
            continue
        parts = [part.strip() for part in value.split(",")]
        lines = "; ".join(f"{name} = {part}" for part in parts)
        yield Found(
            what=f"{name} is one name with commas in it: `{value}`",
            evidence=(options.fact(row, "value", name),),
            effect=f"{len(parts)} names are meant and 0 match: none of them is filtered as meant",
            fix=edits(f"Write the option {len(parts)} times: {lines}"),
            undo=edits(f"Write back: {name} = {value}"),
            about=name,
        )


def _redis_bind(facts: Facts) -> Iterator[Found]:
    bind = facts.get("setting.bind")
    if bind is None or "," not in bind.text:
        return
    apart = " ".join(bind.text.replace(",", " ").split())
    yield Found(
        what=f"bind is separated by commas: `{bind.text}`",
        evidence=(bind,),
        effect="the words are taken as addresses with a comma in them: the server does not start",
        fix=setting("bind", apart),
        undo=setting("bind", bind.text),
    )


_OPTIONS = "https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html"
RULES = (
    Rule(
        id="mysql-list-blanks",
        pack="configuration",
        title="Blanks in a comma list",
        about="`sql_mode = A, B` and lists alike: the server refuses them, or takes the blank as"
        " part of a name. Lists of which the server trims its parts are left alone.",
        severity="high",
        applies=("mysql", "mariadb"),
        sources=("file",),
        needs=("options",),
        judge=_blanks,
        source=_OPTIONS,
    ),
    Rule(
        id="mysql-filter-commas",
        pack="configuration",
        title="Commas in a replication filter",
        about="Filters of replication and of the binary log take one name a line: `a,b` is a"
        " database of that name.",
        severity="high",
        applies=("mysql", "mariadb"),
        sources=("file",),
        needs=("options",),
        judge=_filters,
        source="https://dev.mysql.com/doc/refman/8.4/en/replication-options-replica.html",
    ),
    Rule(
        id="redis-bind-commas",
        pack="configuration",
        title="Commas in Redis' bind",
        about="`bind` takes addresses separated by blanks.",
        severity="high",
        applies=("redis",),
        sources=("file",),
        needs=("options",),
        judge=_redis_bind,
        source="https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/",
    ),
)
