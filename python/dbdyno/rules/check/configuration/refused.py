"""Options that the server itself refuses: misspelt ones too, which no list has.

Source: the MySQL manual, "Server Configuration Validation"; MariaDB's page on mariadbd's options.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.rule import Found, Rule, edits


def _judge(facts: Facts) -> Iterator[Found]:
    table = facts.table("validated")
    for row in table.rows:
        if row["state"] != "refused":
            continue  # ignored ones are those of `mysql-option-removed`
        name = str(row["name"])
        yield Found(
            what=f"the server refuses {name}, or its value",
            evidence=(table.fact(row, "state", name),),
            effect="it does not start with this file; it names 1 such option at a time",
            fix=edits(f"Correct or remove {name} at {row['place']}, and check again."),
            undo=edits("Write the line back; the server does not start with it."),
            about=name,
        )


RULES = (
    Rule(
        id="mysql-option-refused",
        pack="configuration",
        title="An option that the server itself refuses",
        about="With `--server PROGRAM`, mysqld or mariadbd reads the file and names the first"
        " option that it does not know, or whose value it does not take. No data is opened.",
        severity="high",
        applies=("mysql", "mariadb"),
        sources=("file",),
        needs=("validated",),
        judge=_judge,
        source="https://dev.mysql.com/doc/refman/8.4/en/server-configuration-validation.html",
    ),
)
