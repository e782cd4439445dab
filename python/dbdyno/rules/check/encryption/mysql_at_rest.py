"""Encryption at rest in MySQL and MariaDB that contradicts itself: tables are encrypted, and a copy
of their rows is not.

A server without any encryption has no finding here. Sources: the manuals' pages on InnoDB
data-at-rest encryption, on encrypting binary logs, and MariaDB's on encryption and its variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dbdyno.facts.at_rest import classes, keys
from dbdyno.facts.fact import Fact, Facts, setting_name
from dbdyno.rules.check.encryption import layers
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, statements

_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/"
_MARIADB = "https://mariadb.com/docs/server/security/encryption/data-at-rest-encryption/"
_BOTH = ("mysql >=8.0.16", "mariadb >=10.1.7")


_WHEN = {
    "mysql": "It holds at once, if a keyring is loaded",
    "mariadb": "It holds after a restart (encrypt_tmp_disk_tables at once)",
}


def _plain(kind: str, what: str, effect: str) -> Callable[[Facts], Iterator[Found]]:
    """A class that settings turn on, and that is off while tables are encrypted."""

    def judge(facts: Facts) -> Iterator[Found]:
        if kind == classes.BINLOG and not facts.setting("log_bin").on:
            return
        told = layers.by_setting(facts, kind)
        why = layers.meant(facts)
        off = [fact for fact in told.evidence if not layers.is_on(fact)]
        if why is None or not off:
            return
        names = tuple(setting_name(fact) for fact in off)
        yield Found(
            what=f"tables are encrypted, and {what}: {', '.join(f'`{n}`' for n in names)} is off",
            evidence=(*off, why),
            effect=effect,
            fix=Fix(
                settings=tuple((name, "ON") for name in names),
                edits=(
                    f"{_WHEN[facts.engine]}. What was written before stays plain until the server"
                    " overwrites or purges it.",
                ),
            ),
            undo=Fix(settings=tuple((setting_name(fact), fact.text) for fact in off)),
            about=kind,
        )

    return judge


def _system(facts: Facts) -> Iterator[Found]:
    """MariaDB: undo logs and the change buffer follow innodb_encrypt_tables, not ENCRYPTED=YES."""
    default, count = facts.setting("innodb_encrypt_tables"), layers.encrypted_tables(facts)
    if layers.is_on(default) or not count:
        return
    yield Found(
        what=f"{count:,} tables are encrypted one by one, and undo logs and the system tablespace"
        " are not: `innodb_encrypt_tables` is OFF",
        evidence=(default, layers.meant(facts) or default),
        effect="old versions of rows that were changed lie in the undo logs in the clear",
        fix=edits(
            "Set innodb_encrypt_tables = ON and innodb_encryption_threads = 4; tables that must"
            " stay plain get ENCRYPTED=NO first.",
            "Threads then read and write each page of each table once:"
            " innodb_encryption_rotation_iops bounds it.",
        ),
        undo=edits(
            f"Set innodb_encrypt_tables = {default.text}; threads decrypt all tables without"
            " ENCRYPTED=YES again."
        ),
        about=classes.UNDO,
    )


def _left_plain(facts: Facts) -> Iterator[Found]:
    default = facts.setting(layers.DEFAULT[facts.engine])
    if not layers.is_on(default):
        return
    table = facts.table("tablespace_encryption")
    rows = [row for row in table.rows if row["class"] == classes.TABLES]
    plain = [row for row in rows if row["encryption"] == "N"]
    if not plain:
        return
    count, example = sum(int(row["spaces"]) for row in plain), str(plain[0]["example"])
    # Of a partition's tablespace (t#p#p0, t#P#p0), the table.
    name = ".".join(f"`{part}`" for part in re.split("#p#", example, flags=re.I)[0].split("/", 1))
    option = "ENCRYPTION = 'Y'" if facts.engine == "mysql" else "ENCRYPTED = DEFAULT"
    none = "ENCRYPTION = 'N'" if facts.engine == "mysql" else "ENCRYPTED = NO"
    yield Found(
        what=f"new tables are encrypted, and {count:,} tables are not, such as {example}",
        evidence=(default, Fact("plain tables", count, table.place)),
        effect=f"the rows of {count:,} tables are readable in their files",
        fix=Fix(
            statements=(f"ALTER TABLE {name} {option}",),
            edits=(
                "And the other tables likewise. Each is copied, which needs its size on disk"
                " again; in"
                " MySQL writes to it wait meanwhile, and replicas do it after the source.",
            ),
        ),
        undo=statements(f"ALTER TABLE {name} {none}"),
        about="tables",
    )


def _threads(facts: Facts) -> Iterator[Found]:
    default, threads = (
        facts.setting("innodb_encrypt_tables"),
        facts.setting("innodb_encryption_threads"),
    )
    if not layers.is_on(default) or threads.number > 0:
        return
    yield Found(
        what="tables are to be encrypted, and no thread encrypts existing pages:"
        " `innodb_encryption_threads` is 0",
        evidence=(default, threads),
        effect="tables that were there before innodb_encrypt_tables was set stay plain, and old"
        " pages"
        " keep the version of the key that they were written with",
        fix=Fix(
            settings=(("innodb_encryption_threads", "4"),),
            edits=(
                "They read and write every page once: innodb_encryption_rotation_iops bounds it.",
            ),
        ),
        undo=Fix(settings=(("innodb_encryption_threads", threads.text),)),
        about="innodb_encryption_threads",
    )


def _aria(facts: Facts) -> Iterator[Found]:
    aria, why = facts.setting("aria_encrypt_tables"), layers.meant(facts)
    rows = facts.table("engines_in_use").rows
    count = sum(int(row["tables"]) for row in rows if row["engine"] == "Aria")
    if why is None or layers.is_on(aria) or not count:
        return
    yield Found(
        what=f"tables of InnoDB are encrypted, and {count:,} of Aria are not:"
        " `aria_encrypt_tables` is off",
        evidence=(aria, why),
        effect=f"the rows of {count:,} tables are readable in their files; Aria's log is"
        " not encrypted",
        fix=Fix(
            settings=(("aria_encrypt_tables", "ON"),),
            edits=(
                "Then rebuild those tables (ALTER TABLE ... ENGINE=Aria ROW_FORMAT=PAGE); each is"
                " copied,"
                " and writes to it wait meanwhile.",
            ),
        ),
        undo=Fix(settings=(("aria_encrypt_tables", aria.text),)),
        about=classes.OTHER,
    )


def _statement_logs(facts: Facts) -> Iterator[Found]:
    why, output = layers.meant(facts), facts.setting("log_output")
    named = {"general_log": "medium", "slow_query_log": "low"}
    on = [(facts.setting(name), severity) for name, severity in named.items()]
    for fact, severity in on:
        if why is None or not fact.on or output.text.upper() == "NONE":
            continue
        name = setting_name(fact)
        yield Found(
            what=f"tables are encrypted, and `{name}` writes statements with their values",
            evidence=(fact, output, why),
            effect="values of rows, and keys that are given to AES_ENCRYPT, are in a file that no"
            " setting encrypts",
            fix=edits(
                f"Set {name} = OFF, or keep its file on an encrypted file system and let statements"
                " carry keys as parameters that are not logged."
            ),
            undo=edits(f"Set {name} = ON."),
            about=name,
            severity=severity,
        )


def _may_be_plain(facts: Facts) -> Iterator[Found]:
    """An account that may create a table decides whether it is plain."""
    default = facts.setting(layers.DEFAULT[facts.engine])
    if not layers.is_on(default):
        return
    if facts.engine == "mysql":
        check = facts.setting("table_encryption_privilege_check")
        if check.on:
            return
        weak, right = check, "ON"
    else:
        if default.text.upper() == "FORCE":
            return
        weak, right = default, "FORCE"
    yield Found(
        what="new tables are encrypted unless a statement says otherwise",
        evidence=tuple(dict.fromkeys((default, weak))),
        effect="an account with CREATE or ALTER makes a table plain, and 0 privileges more are"
        " asked for",
        fix=Fix(settings=((setting_name(weak), right),)),
        undo=Fix(settings=((setting_name(weak), weak.text),)),
        about="default",
    )


def _dictionary(facts: Facts) -> Iterator[Found]:
    why = layers.meant(facts)
    if why is None:
        return
    told = layers.by_catalogue(facts, classes.DICTIONARY)
    if told.state == layers.NO:
        yield Found(
            what="tables are encrypted, and the tablespace `mysql` is not",
            evidence=(*told.evidence, why),
            effect="definitions of tables, default values and histograms, which hold values of"
            " columns,"
            " can be read in mysql.ibd",
            fix=Fix(
                statements=("ALTER TABLESPACE mysql ENCRYPTION = 'Y'",),
                edits=(
                    "The server does not start without the key from then on: see first that the"
                    " keyring is there at every start, and in the backup.",
                ),
            ),
            undo=statements("ALTER TABLESPACE mysql ENCRYPTION = 'N'"),
            about=classes.DICTIONARY,
        )


def _rotation(facts: Facts) -> Iterator[Found]:
    """MariaDB: a plugin that knows one version of each key, or threads that may not rotate."""
    why = layers.meant(facts)
    if why is None:
        return
    table = facts.table("plugins")
    by_file = any(
        str(row["plugin_name"]) == "file_key_management" and row["plugin_status"] == "ACTIVE"
        for row in table.rows
    )
    age = facts.setting("innodb_encryption_rotate_key_age")
    old = sum(int(row.get("old_keys") or 0) for row in facts.table("tablespace_encryption").rows)
    if by_file:
        what, evidence = (
            "keys cannot be rotated: file_key_management has one version of each",
            Fact("plugins", "file_key_management is ACTIVE", table.place),
        )
        fix = edits("Take a plugin with versions of keys (such as hashicorp_key_management).")
    elif age.number == 0 and old:
        what, evidence = f"{old:,} tablespaces have pages under an old key, and none rotates", age
        fix = edits("Set innodb_encryption_rotate_key_age = 1 and innodb_encryption_threads = 4.")
    else:
        return
    yield Found(
        what=what,
        evidence=(evidence, why),
        effect="each holder of an old key reads all that was written under it, until each table is"
        " rebuilt under another key",
        fix=fix,
        undo=edits("Nothing to undo before another plugin or age is set; keep the old keys."),
        about="rotation",
    )


def _keys_beside(facts: Facts) -> Iterator[Found]:
    if layers.meant(facts) is None:
        return
    key, datadir = keys.file(facts), facts.setting("datadir")
    shared = facts.get(keys.DEVICE)
    inside = key.text.startswith(datadir.text.rstrip("/") + "/")
    if not inside and (shared is None or not shared.value):
        return
    where = "in the data directory" if inside else "on the device of the data directory"
    yield Found(
        what=f"the file of keys is {where}: {key.text}",
        evidence=(key, datadir) if inside else (key, datadir, shared or key),
        effect="a copy of the disk, or a backup of the directory, holds the data and the keys to"
        " it",
        fix=edits("Keep the keys on another device, or in a key management service."),
        undo=edits(f"Move the keys back to {key.text}."),
        about="keys",
        severity="high" if inside else "medium",
    )


def _rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    judge: Callable[[Facts], Iterator[Found]],
    source: str,
    *applies: str,
    sources: tuple[str, ...] = ("server",),
    proof: str | None = "Write a value that you know, and look for it in the files: `dyno check URL"
    " DATADIR --write-needle`.",
) -> Rule:
    return Rule(
        id=id,
        pack="encryption",
        title=title,
        about=about,
        severity=severity,
        applies=applies or _BOTH,
        sources=sources,
        judge=judge,
        source=source,
        proof=proof,
    )


RULES = (
    _rule(
        "mysql-encryption-redo-plain",
        "Encrypted tables, a plain redo log",
        "The redo log holds each change of each page. MySQL: innodb_redo_log_encrypt; MariaDB:"
        " innodb_encrypt_log.",
        "medium",
        _plain(
            classes.REDO,
            "the redo log is not",
            "each row that was changed lies in the redo log in the clear until it is overwritten",
        ),
        _MYSQL + "innodb-data-encryption.html",
        sources=("server", "file"),
    ),
    _rule(
        "mysql-encryption-undo-plain",
        "Encrypted tables, plain undo logs",
        "Undo logs hold the old versions of rows. MySQL encrypts them by innodb_undo_log_encrypt.",
        "medium",
        _plain(
            classes.UNDO,
            "undo logs are not",
            "old versions of rows that were changed lie in the undo logs in the clear",
        ),
        _MYSQL + "innodb-data-encryption.html",
        "mysql >=8.0.16",
        sources=("server", "file"),
    ),
    _rule(
        "mariadb-encryption-undo-plain",
        "Tables encrypted one by one, plain undo logs",
        "ENCRYPTED=YES encrypts the table's own file. Undo logs and the system tablespace are"
        " encrypted by innodb_encrypt_tables.",
        "medium",
        _system,
        _MARIADB + "innodb-encryption/innodb-encryption-overview",
        "mariadb >=10.1.4",
    ),
    _rule(
        "mysql-encryption-binlog-plain",
        "Encrypted tables, a plain binary log",
        "ENCRYPTION='Y' encrypts the table's file. Every row that is written is also in the binary"
        " log, and on each replica in its relay log. MySQL: binlog_encryption; MariaDB:"
        " encrypt_binlog.",
        "high",
        _plain(
            classes.BINLOG,
            "the binary log is not",
            "each row that was written lies in the binary logs in the clear, here, in their backups"
            " and in the relay logs of replicas",
        ),
        _MYSQL + "replication-binlog-encryption.html",
        "mysql >=8.0.16",
        "mariadb >=10.1.7",
        sources=("server", "file"),
    ),
    _rule(
        "mariadb-encryption-temporary-plain",
        "Encrypted tables, plain temporary files",
        "Sorts, temporary tables on disk and caches of the binary log hold rows of encrypted"
        " tables: encrypt_tmp_files, encrypt_tmp_disk_tables, innodb_encrypt_temporary_tables.",
        "low",
        _plain(
            classes.TEMPORARY,
            "what spills from memory is not",
            "rows that a sort or a temporary table writes to disk are in the clear while they last,"
            " and after that on the device",
        ),
        _MARIADB + "data-at-rest-encryption-tde-fundamentals",
        "mariadb >=10.4.7",
        sources=("server", "file"),
    ),
    _rule(
        "mysql-encryption-tables-left",
        "Tables that the default for new ones left plain",
        "The default is for tables that are made later. In MariaDB threads encrypt the others,"
        " unless they were made with ENCRYPTED=NO.",
        "medium",
        _left_plain,
        _MYSQL + "innodb-data-encryption.html",
    ),
    _rule(
        "mariadb-encryption-threads",
        "No thread encrypts existing pages",
        "innodb_encryption_threads is 0, as by default, and innodb_encrypt_tables is on.",
        "medium",
        _threads,
        _MARIADB + "innodb-encryption/innodb-background-encryption-threads",
        "mariadb >=10.1.4",
        sources=("server", "file"),
    ),
    _rule(
        "mariadb-encryption-aria-plain",
        "Encrypted tables of InnoDB, plain ones of Aria",
        "innodb_encrypt_tables is for InnoDB.",
        "low",
        _aria,
        _MARIADB + "aria-encryption/aria-encryption-overview",
        "mariadb >=10.1.4",
    ),
    _rule(
        "mysql-encryption-statement-logs",
        "Encrypted tables, and logs with values",
        "The general and the slow log are files that no setting encrypts.",
        "medium",
        _statement_logs,
        _MARIADB + "data-at-rest-encryption-tde-fundamentals",
    ),
    _rule(
        "mysql-encryption-not-forced",
        "A statement may make a table plain",
        "MySQL checks TABLE_ENCRYPTION_ADMIN with table_encryption_privilege_check; MariaDB refuses"
        " ENCRYPTED=NO with innodb_encrypt_tables = FORCE.",
        "low",
        _may_be_plain,
        _MYSQL + "innodb-data-encryption.html",
        sources=("server", "file"),
        proof=None,
    ),
    _rule(
        "mysql-encryption-dictionary-plain",
        "Encrypted tables, a plain data dictionary",
        "The tablespace `mysql` of MySQL 8 and later.",
        "low",
        _dictionary,
        _MYSQL + "innodb-data-encryption.html",
        "mysql >=8.0.16",
    ),
    _rule(
        "mariadb-encryption-rotation",
        "Keys are not rotated",
        "file_key_management knows one version of each key. With another plugin threads rotate"
        " pages whose key is innodb_encryption_rotate_key_age versions old; 0 turns that off.",
        "low",
        _rotation,
        _MARIADB + "innodb-encryption/innodb-encryption-keys",
        "mariadb >=10.1.4",
        proof=None,
    ),
    _rule(
        "mysql-encryption-keys-with-data",
        "Keys stored with the data",
        "file_key_management_filename (MariaDB), keyring_file_data or the Data_file of"
        " component_keyring_file (MySQL) is in the data directory, or on its device.",
        "medium",
        _keys_beside,
        _MYSQL + "keyring-file-component.html",
        proof=None,
    ),
)
